//! `list_sessions`: which sessions there were.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_logs::{LogSession, export::Redactor};

use super::{Looking, Reply, Said, count, given, schema, short};
use crate::{failure::Failure, mcp::archive::Archive};

/// The tool.
pub const TOOL: Looking = Looking {
    name: "list_sessions",
    title: "List past sessions",
    description: "List past and running sessions of all coding agents on this machine, the latest first: id, agent, folder, \
                  branch, title, first prompt, times. Filter by folder, agent, model, time, or words of the title or prompt. \
                  Page with `offset`. Use search_sessions to look for what was said inside sessions.",
    schema: schema::<List>,
    call: list,
};

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct List {
    /// Only in folders whose path has this text in it, such as the name of a repository.
    project: Option<String>,
    /// Only of this agent.
    agent: Option<String>,
    /// Only with models whose name has this text in it.
    model: Option<String>,
    /// Only with this text in the title or the first prompt, whatever its case.
    text: Option<String>,
    /// Only from this time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Only up to this time; a day is in it as a whole.
    until: Option<String>,
    /// The time zone of days and times, such as `Europe/Berlin`, `UTC` or `+02:00`; the system's if not given.
    timezone: Option<String>,
    /// So many at most.
    #[schemars(range(min = 1, max = 100), extend("default" = 20))]
    limit: Option<u32>,
    /// How many to leave out, the latest first: `nextOffset` of the page before.
    #[schemars(range(min = 0), extend("default" = 0))]
    offset: Option<u32>,
}

fn list(archive: &Archive, value: Value) -> Result<Reply, Failure> {
    let List { project, agent, model, text, since, until, timezone, limit, offset } = given(value)?;
    let said = Said {
        agent: agent.as_deref(),
        project: project.as_deref(),
        model: model.as_deref(),
        since: since.as_deref(),
        until: until.as_deref(),
        timezone: timezone.as_deref(),
    };
    let (filter, limit) = (said.filter()?, count(limit, 20, 100));
    let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(0);
    let redactor = Redactor::new()?;
    archive.ask(|library| {
        let mut sessions = library.list_sessions(&filter)?;
        if let Some(text) = text.map(|text| text.to_lowercase()) {
            sessions.retain(|session| has_text(session, &text));
        }
        let shown: Vec<Value> =
            sessions.iter().skip(offset).take(limit).map(|session| shown(session, &redactor)).collect();
        let next = (offset + limit < sessions.len()).then_some(offset + limit);
        Ok(Reply::Json(json!({ "sessions": shown, "total": sessions.len(), "nextOffset": next })))
    })
}

fn has_text(session: &LogSession, text: &str) -> bool {
    let said = [&session.facts.title, &session.facts.prompt];
    said.into_iter().flatten().any(|said| said.to_lowercase().contains(text))
}

/// A session in few words: an agent reads them all.
fn shown(session: &LogSession, redactor: &Redactor) -> Value {
    let facts = &session.facts;
    let said = |text: &str| short(&redactor.redact_text(text), 200);
    let mut shown = json!({
        "id": session.id,
        "agent": session.agent,
        "project": facts.cwd,
        "branch": facts.branch,
        "model": facts.model,
        "title": facts.title.as_deref().map(said),
        "prompt": facts.prompt.as_deref().map(said),
        "began": facts.began,
        "updated": facts.updated,
        "turns": facts.prompts,
        "machine": session.machine,
    });
    if let Some(fields) = shown.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    shown
}

#[cfg(test)]
mod tests {
    use switchboard_agents::SessionFacts;
    use switchboard_logs::{LogSession, export::Redactor};

    use super::shown;

    #[test]
    fn secrets_in_what_was_asked_are_masked() {
        let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
        let said = Some(format!("use the key {secret} please"));
        let session = LogSession {
            id: "1".to_owned(),
            agent: "x".to_owned(),
            machine: None,
            facts: SessionFacts { title: said.clone(), prompt: said, ..SessionFacts::default() },
            files: Vec::new(),
            gone: false,
            archived: false,
            bytes: None,
            own: None,
            subagents: Vec::new(),
        };
        let shown = shown(&session, &Redactor::new().unwrap()).to_string();
        assert!(!shown.contains(secret) && shown.contains("use the key"), "{shown}");
    }
}
