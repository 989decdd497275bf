//! What a tool is called. The protocol has had a name for it only since 2026; before, agents left it in various places.

use switchboard_event::CallKind;

use crate::{Json, Object};

/// The name of a tool, from where the agent left it.
pub fn tool_name(call: &Object<'_>, id: &str, prefixed: bool) -> Option<String> {
    call.filled("name")
        .or_else(|| meta_name(&call.object("_meta")))
        .or_else(|| name_in_id(id))
        .or_else(|| prefix_of_id(id).filter(|_| prefixed))
        .or_else(|| call.filled("title").filter(|title| is_name(title) && !is_subject(title, call)))
}

/// `_meta` belongs to the agent, which may have put the name there, alone or beside other things of its own.
fn meta_name(meta: &Object<'_>) -> Option<String> {
    let inner = || meta.iter().find_map(|(_, value)| value.object().filled("toolName"));
    meta.filled("toolName").or_else(inner)
}

/// `NAME__NAME_<milliseconds>_<number>`: one agent (0.61.0) makes its ids like this and says the name nowhere else.
fn name_in_id(id: &str) -> Option<String> {
    let (name, rest) = id.split_once("__")?;
    let tail = rest.strip_prefix(name)?.strip_prefix('_')?;
    let digits = !tail.is_empty() && tail.chars().all(|c| c == '_' || c.is_ascii_digit());
    (digits && !name.is_empty()).then(|| name.to_owned())
}

/// `NAME__ID`: the same agent, where the model's provider names the calls. Others have such ids too, and mean nothing.
fn prefix_of_id(id: &str) -> Option<String> {
    let (name, _) = id.rsplit_once("__")?;
    Some(name.to_owned()).filter(|name| is_name(name))
}

/// The number behind such an id: which of the calls of one reply it is, from 0.
pub fn number_in_id(id: &str) -> Option<u32> {
    name_in_id(id)?;
    id.rsplit_once('_')?.1.parse().ok()
}

/// The first title of a call is its name with some agents; with others it is a sentence or a file.
fn is_name(title: &str) -> bool {
    title.len() <= 64 && title.chars().all(|c| c == '_' || c == '-' || c.is_ascii_alphanumeric())
}

/// The title only says what the tool is about: a command whose input is not told, or a file.
fn is_subject(title: &str, call: &Object<'_>) -> bool {
    let command = call.is("kind", "execute") && !call.object("rawInput").iter().any(|(_, value)| !value.is_null());
    let file = |location: Json<'_>| location.object().str("path").is_some_and(|path| path.ends_with(title));
    let begins = call.object("rawInput").str("command").is_some_and(|command| command.starts_with(title));
    command || begins || call.array("locations").into_iter().any(file)
}

/// What sort of tool it is.
pub fn kind(word: &str) -> CallKind {
    match word {
        "read" => CallKind::Read,
        "edit" => CallKind::Edit,
        "delete" => CallKind::Delete,
        "move" => CallKind::Move,
        "search" => CallKind::Search,
        "execute" => CallKind::Execute,
        "think" => CallKind::Think,
        "fetch" => CallKind::Fetch,
        "switch_mode" => CallKind::Mode,
        _ => CallKind::Other,
    }
}

/// What a tool without a name is called.
pub fn kind_name(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Read => "read",
        CallKind::Edit => "edit",
        CallKind::Delete => "delete",
        CallKind::Move => "move",
        CallKind::Search => "search",
        CallKind::Execute => "execute",
        CallKind::Think => "think",
        CallKind::Fetch => "fetch",
        CallKind::Mode => "switch_mode",
        CallKind::Other => "tool",
    }
}

/// `mcp__SERVER__TOOL`, as several agents name the tools of MCP servers.
pub fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// `TOOL (SERVER MCP Server)`, as one agent (0.61.0) titles the calls of such tools. It has no other place for them.
pub fn mcp_title(title: &str) -> Option<(&str, &str)> {
    let (tool, server) = title.strip_suffix(" MCP Server)")?.rsplit_once(" (")?;
    Some((server, tool))
}

/// A command as it would be typed: a text, or words of which the first two may only be the shell.
pub fn command_line(command: Json<'_>) -> Option<String> {
    if let Some(text) = command.str() {
        return Some(text.into_owned());
    }
    let words: Vec<String> = command.array().into_iter().filter_map(|word| word.str().map(Into::into)).collect();
    match words.as_slice() {
        [] => None,
        [shell, flag, line] if shell.ends_with("sh") && flag.starts_with('-') && flag.ends_with('c') => {
            Some(line.clone())
        }
        words => Some(words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{command_line, tool_name};
    use crate::Json;

    fn check_name(call: &str, id: &str, expected: Option<&str>) {
        assert_eq!(tool_name(&Json::parse(call).unwrap().object(), id, false).as_deref(), expected, "{call} {id}");
    }

    #[test]
    fn a_name_before_any_id_counts_only_where_it_is_one() {
        let call = Json::parse(r#"{"title":"Reading x"}"#).unwrap().object();
        for (id, expected) in [("read_file__abc-1", Some("read_file")), ("glob__x", Some("glob")), ("call_1", None)] {
            assert_eq!(tool_name(&call, id, true).as_deref(), expected, "{id}");
            assert_eq!(tool_name(&call, id, false), None, "{id}");
        }
    }

    #[test]
    fn names_are_found_where_agents_leave_them() {
        check_name(r#"{"name":"grep","title":"x"}"#, "1", Some("grep"));
        check_name(r#"{"title":"`ls`","_meta":{"vendor":{"toolName":"Bash"}}}"#, "1", Some("Bash"));
        check_name(r#"{"title":"w.txt"}"#, "write_file__write_file_1794771010058_0", Some("write_file"));
        check_name(r#"{"title":"bash"}"#, "call_1", Some("bash"));
        check_name(r#"{"title":"Reading w.txt"}"#, "call__1", None);
        check_name(r#"{"title":"w.txt"}"#, "", None);
        check_name(r#"{"title":"Makefile","kind":"read","locations":[{"path":"/x/Makefile"}]}"#, "", None);
        check_name(r#"{"title":"ls","kind":"execute"}"#, "", None);
        check_name(r#"{"title":"ls","kind":"execute","rawInput":{"command":"ls -l"}}"#, "", None);
        check_name(r#"{"title":"bash","kind":"execute","rawInput":{"cwd":"/x"}}"#, "", Some("bash"));
    }

    #[test]
    fn a_title_may_name_a_server() {
        assert_eq!(super::mcp_title("read (x) (my files MCP Server)"), Some(("my files", "read (x)")));
        assert_eq!(super::mcp_title("read (x)"), None);
    }

    #[test]
    fn commands_are_texts_or_words() {
        for (command, expected) in
            [(r#""ls -l""#, "ls -l"), (r#"["bash","-lc","ls | wc"]"#, "ls | wc"), (r#"["git","status"]"#, "git status")]
        {
            assert_eq!(command_line(Json::parse(command).unwrap()).as_deref(), Some(expected));
        }
    }
}
