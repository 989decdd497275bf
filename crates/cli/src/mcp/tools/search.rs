//! `search_sessions`: full-text search.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_agents::PassageKind;
use switchboard_logs::{LogSearchQuery, SearchHit, SearchWords, export::Redactor};

use super::{FilterArguments, LogTool, ToolReply, arguments_schema, clamp_limit, parse_arguments, truncate_chars};
use crate::{failure::Failure, mcp::RefreshedLibrary};

pub const TOOL: LogTool = LogTool {
    name: "search_sessions",
    title: "Search past sessions",
    description: "Full-text search in the sessions of all coding agents on this machine: \
                  prompts, answers, reasoning, tool calls and their output. All words must occur in a passage; \"quoted \
                  phrases\" and prefix* work; or give a regular expression. The best hits come first, each with its session, \
                  turn and snippet. Read the context with show_session (session, turn).",
    schema: arguments_schema::<SearchArguments>,
    call: search_sessions,
};

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Search")]
struct SearchArguments {
    /// Words, `"phrases"` and `prefixes*`; or a regular expression, with `regex`.
    query: String,
    /// `query` is a regular expression. It ignores case; prefix `(?-i)` to match case.
    #[schemars(extend("default" = false))]
    regex: Option<bool>,
    /// Only passages of these kinds.
    #[schemars(schema_with = "kinds_schema")]
    kinds: Option<Vec<String>>,
    /// Only this session: its ID or the beginning of it.
    session: Option<String>,
    /// Only in directories whose path contains this text, such as the name of a repository.
    project: Option<String>,
    /// Only sessions of this agent.
    agent: Option<String>,
    /// Only from this time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Only up to this time; a day is included as a whole.
    until: Option<String>,
    /// Time zone of days and times, such as `Europe/Berlin`, `UTC` or `+02:00`; by default the system's.
    timezone: Option<String>,
    /// Maximum number of results.
    #[schemars(range(min = 1, max = 50), extend("default" = 10))]
    limit: Option<u32>,
}

fn kinds_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let names = PassageKind::ALL.map(PassageKind::wire_name);
    schemars::json_schema!({ "type": "array", "items": { "type": "string", "enum": names } })
}

fn search_sessions(archive: &RefreshedLibrary, value: Value) -> Result<ToolReply, Failure> {
    let search: SearchArguments = parse_arguments(value)?;
    let is_regex = search.regex == Some(true);
    if !search.query.contains(|c: char| !c.is_whitespace() && (is_regex || !"\"*".contains(c))) {
        return Err(Failure::bad_value("query", "there is nothing to search for in it"));
    }
    let said = FilterArguments {
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
        kinds: parse_kinds(search.kinds.as_deref().unwrap_or_default())?,
        filter: said.filter()?,
        limit: clamp_limit(search.limit, 10, 50),
    };
    let redactor = Redactor::new()?;
    archive.ask(|library| {
        if let Some(session) = &search.session {
            query.filter.session = Some(library.find_session(session)?.id);
        }
        let found = library.search(&query)?;
        let hits: Vec<Value> = found.hits.iter().map(|hit| hit_json(hit, &redactor)).collect();
        Ok(ToolReply::Json(json!({ "hits": hits, "more": found.more })))
    })
}

fn parse_kinds(names: &[String]) -> Result<Vec<PassageKind>, Failure> {
    let kind = |name: &String| PassageKind::ALL.into_iter().find(|kind| kind.wire_name() == name);
    let unknown = |name: &str| {
        Failure::bad_value(
            "kinds",
            format!("`{name}` is none; there are {}", PassageKind::ALL.map(PassageKind::wire_name).join(", ")),
        )
    };
    names.iter().map(|name| kind(name).ok_or_else(|| unknown(name))).collect()
}

fn hit_json(hit: &SearchHit, redactor: &Redactor) -> Value {
    let mut shown = json!({
        "session": hit.session,
        "turn": hit.turn,
        "agent": hit.agent,
        "project": hit.project,
        "at": hit.at,
        "kind": hit.kind.wire_name(),
        "tool": hit.tool,
        "snippet": truncate_chars(&redactor.redact_excerpt(&hit.snippet), 600),
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

    use super::hit_json;

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
        assert_eq!(hit_json(&hit, &Redactor::new().unwrap())["snippet"], "… && export DB_PASSWORD=…");
    }
}
