//! `list_sessions`: past and running sessions.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_logs::{LogSession, export::Redactor};

use super::{FilterArguments, LogTool, ToolReply, arguments_schema, clamp_limit, parse_arguments, truncate_chars};
use crate::{failure::Failure, mcp::RefreshedLibrary};

pub const TOOL: LogTool = LogTool {
    name: "list_sessions",
    title: "List past sessions",
    description: "List past and running sessions of all coding agents on this machine, the latest first: id, agent, directory, \
                  branch, title, first prompt, times. Filter by directory, agent, model, time, or words of the title or prompt. \
                  Page with `offset`. Use search_sessions to search inside sessions.",
    schema: arguments_schema::<ListArguments>,
    call: list_sessions,
};

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "List")]
struct ListArguments {
    /// Only in directories whose path contains this text, such as the name of a repository.
    project: Option<String>,
    /// Only sessions of this agent.
    agent: Option<String>,
    /// Only models whose name contains this text.
    model: Option<String>,
    /// Only sessions whose title or first prompt contains this text, ignoring case.
    text: Option<String>,
    /// Only from this time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Only up to this time; a day is included as a whole.
    until: Option<String>,
    /// Time zone of days and times, such as `Europe/Berlin`, `UTC` or `+02:00`; by default the system's.
    timezone: Option<String>,
    /// Maximum number of results.
    #[schemars(range(min = 1, max = 100), extend("default" = 20))]
    limit: Option<u32>,
    /// Number of latest sessions to skip: `nextOffset` of the previous page.
    #[schemars(range(min = 0), extend("default" = 0))]
    offset: Option<u32>,
}

fn list_sessions(archive: &RefreshedLibrary, value: Value) -> Result<ToolReply, Failure> {
    let ListArguments { project, agent, model, text, since, until, timezone, limit, offset } = parse_arguments(value)?;
    let said = FilterArguments {
        agent: agent.as_deref(),
        project: project.as_deref(),
        model: model.as_deref(),
        since: since.as_deref(),
        until: until.as_deref(),
        timezone: timezone.as_deref(),
    };
    let (filter, limit) = (said.filter()?, clamp_limit(limit, 20, 100));
    let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(0);
    let redactor = Redactor::new()?;
    archive.ask(|library| {
        let mut sessions = library.list_sessions(&filter)?;
        if let Some(text) = text.map(|text| text.to_lowercase()) {
            sessions.retain(|session| matches_text(session, &text));
        }
        let shown: Vec<Value> =
            sessions.iter().skip(offset).take(limit).map(|session| session_json(session, &redactor)).collect();
        let next = (offset + limit < sessions.len()).then_some(offset + limit);
        Ok(ToolReply::Json(json!({ "sessions": shown, "total": sessions.len(), "nextOffset": next })))
    })
}

fn matches_text(session: &LogSession, text: &str) -> bool {
    let said = [&session.facts.title, &session.facts.prompt];
    said.into_iter().flatten().any(|said| said.to_lowercase().contains(text))
}

/// Formats a session in brief, for a model.
fn session_json(session: &LogSession, redactor: &Redactor) -> Value {
    let facts = &session.facts;
    let said = |text: &str| truncate_chars(&redactor.redact_text(text), 200);
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

    use super::session_json;

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
        let shown = session_json(&session, &Redactor::new().unwrap()).to_string();
        assert!(!shown.contains(secret) && shown.contains("use the key"), "{shown}");
    }
}
