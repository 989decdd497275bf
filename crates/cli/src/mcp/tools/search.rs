//! `search_sessions`: where something was said or done.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_agents::PassageKind;
use switchboard_logs::{LogSearchQuery, SearchHit, SearchWords, export::Redactor};

use super::{Looking, Reply, Said, bad, count, given, schema, short};
use crate::{failure::Failure, mcp::archive::Archive};

/// The tool.
pub const TOOL: Looking = Looking {
    name: "search_sessions",
    title: "Search past sessions",
    description: "Full-text search in everything that was said and done in sessions of all coding agents on this machine: \
                  prompts, answers, reasoning, tool calls and their output. All words must occur in a passage; \"quoted \
                  phrases\" and prefix* work; or give a regular expression. The best hits come first, each with the session, \
                  the turn and a snippet. Read the place with show_session (session, turn).",
    schema: schema::<Search>,
    call: search,
};

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
struct Search {
    /// The words, `"phrases"` and `beginnings*`; or a regular expression, with `regex`.
    query: String,
    /// `query` is a regular expression; it does not mind the case unless it says `(?-i)`.
    #[schemars(extend("default" = false))]
    regex: Option<bool>,
    /// Only in passages of these kinds.
    #[schemars(schema_with = "kind_names")]
    kinds: Option<Vec<String>>,
    /// Only in this session, by its id or the beginning of it.
    session: Option<String>,
    /// Only in folders whose path has this text in it, such as the name of a repository.
    project: Option<String>,
    /// Only of this agent.
    agent: Option<String>,
    /// Only from this time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Only up to this time; a day is in it as a whole.
    until: Option<String>,
    /// The time zone of days and times, such as `Europe/Berlin`, `UTC` or `+02:00`; the system's if not given.
    timezone: Option<String>,
    /// So many at most.
    #[schemars(range(min = 1, max = 50), extend("default" = 10))]
    limit: Option<u32>,
}

fn kind_names(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let names = PassageKind::ALL.map(PassageKind::wire_name);
    schemars::json_schema!({ "type": "array", "items": { "type": "string", "enum": names } })
}

fn search(archive: &Archive, value: Value) -> Result<Reply, Failure> {
    let search: Search = given(value)?;
    let is_regex = search.regex == Some(true);
    if !search.query.contains(|c: char| !c.is_whitespace() && (is_regex || !"\"*".contains(c))) {
        return Err(bad("query", "there is nothing to search for in it"));
    }
    let said = Said {
        agent: search.agent.as_deref(),
        project: search.project.as_deref(),
        model: None,
        since: search.since.as_deref(),
        until: search.until.as_deref(),
        timezone: search.timezone.as_deref(),
    };
    let words = if is_regex { SearchWords::Regex } else { SearchWords::Plain };
    let mut query = LogSearchQuery {
        words: words(search.query),
        kinds: kinds(search.kinds.as_deref().unwrap_or_default())?,
        filter: said.filter()?,
        limit: count(search.limit, 10, 50),
    };
    let redactor = Redactor::new()?;
    archive.ask(|library| {
        if let Some(session) = &search.session {
            query.filter.session = Some(library.find_session(session)?.id);
        }
        let found = library.search(&query)?;
        let hits: Vec<Value> = found.hits.iter().map(|hit| shown(hit, &redactor)).collect();
        Ok(Reply::Json(json!({ "hits": hits, "more": found.more })))
    })
}

fn kinds(names: &[String]) -> Result<Vec<PassageKind>, Failure> {
    let kind = |name: &String| PassageKind::ALL.into_iter().find(|kind| kind.wire_name() == name);
    let unknown = |name: &str| {
        bad("kinds", format!("`{name}` is none; there are {}", PassageKind::ALL.map(PassageKind::wire_name).join(", ")))
    };
    names.iter().map(|name| kind(name).ok_or_else(|| unknown(name))).collect()
}

fn shown(hit: &SearchHit, redactor: &Redactor) -> Value {
    let mut shown = json!({
        "session": hit.session,
        "turn": hit.turn,
        "agent": hit.agent,
        "project": hit.project,
        "at": hit.at,
        "kind": hit.kind.wire_name(),
        "tool": hit.tool,
        "snippet": short(&redactor.redact_excerpt(&hit.snippet), 600),
        "machine": hit.machine,
    });
    if let Some(fields) = shown.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    shown
}

#[cfg(test)]
mod tests {
    use switchboard_agents::PassageKind;
    use switchboard_logs::{SearchHit, export::Redactor};

    use super::shown;

    #[test]
    fn the_cut_end_of_a_snippet_shows_no_part_of_a_secret() {
        let hit = SearchHit {
            session: "1".to_owned(),
            agent: "x".to_owned(),
            machine: None,
            project: None,
            subagent: None,
            at: None,
            kind: PassageKind::ToolCall,
            tool: None,
            turn: 1,
            snippet: "…cretV9 && export DB_PASSWORD=envSecretV…".to_owned(),
            marks: Vec::new(),
            path: "log".into(),
            offset: 0,
            score: 1.0,
        };
        assert_eq!(shown(&hit, &Redactor::new().unwrap())["snippet"], "… && export DB_PASSWORD=…");
    }
}
