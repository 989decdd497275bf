//! Tool names. The protocol has a field for them only since 2026; before, agents put them in various places.

use switchboard_event::CallKind;

use crate::{JsonObject, JsonView};

/// Returns the name of a tool, from wherever the agent put it.
pub fn tool_name(call: &JsonObject<'_>, id: &str, prefixed: bool) -> Option<String> {
    call.get_non_empty("name")
        .or_else(|| meta_name(&call.get_object("_meta")))
        .or_else(|| name_in_id(id))
        .or_else(|| prefix_of_id(id).filter(|_| prefixed))
        .or_else(|| call.get_non_empty("title").filter(|title| is_name(title) && !is_subject(title, call)))
}

/// `_meta` is specific to the agent, which may have put the name there, directly or in an object of its own.
fn meta_name(meta: &JsonObject<'_>) -> Option<String> {
    let inner = || meta.iter().find_map(|(_, value)| value.as_object().get_non_empty("toolName"));
    meta.get_non_empty("toolName").or_else(inner)
}

/// `NAME__NAME_<milliseconds>_<number>`: Gemini CLI 0.61.0 builds its ids this way and has the name nowhere else.
fn name_in_id(id: &str) -> Option<String> {
    let (name, rest) = id.split_once("__")?;
    let tail = rest.strip_prefix(name)?.strip_prefix('_')?;
    let digits = !tail.is_empty() && tail.chars().all(|c| c == '_' || c.is_ascii_digit());
    (digits && !name.is_empty()).then(|| name.to_owned())
}

/// `NAME__ID`: Gemini CLI with ids of the model's provider. Other agents have such ids too, without this meaning.
fn prefix_of_id(id: &str) -> Option<String> {
    let (name, _) = id.rsplit_once("__")?;
    Some(name.to_owned()).filter(|name| is_name(name))
}

/// Returns the number in such an id: the index of the call in its reply, from 0.
pub fn number_in_id(id: &str) -> Option<u32> {
    name_in_id(id)?;
    id.rsplit_once('_')?.1.parse().ok()
}

/// With some agents the first title of a call is its name; with others it is a sentence or a file.
fn is_name(title: &str) -> bool {
    title.len() <= 64 && title.chars().all(|c| c == '_' || c == '-' || c.is_ascii_alphanumeric())
}

/// Returns whether the title is only the subject of the tool: a command without input, or a file.
fn is_subject(title: &str, call: &JsonObject<'_>) -> bool {
    let command =
        call.str_equals("kind", "execute") && !call.get_object("rawInput").iter().any(|(_, value)| !value.is_null());
    let file = |location: JsonView<'_>| location.as_object().get_str("path").is_some_and(|path| path.ends_with(title));
    let begins = call.get_object("rawInput").get_str("command").is_some_and(|command| command.starts_with(title));
    command || begins || call.get_array("locations").into_iter().any(file)
}

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

/// Returns the name of a tool that has none.
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

/// `mcp__SERVER__TOOL`, the form several agents use for the tools of MCP servers.
pub fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// `TOOL (SERVER MCP Server)`, the title that Gemini CLI 0.61.0 gives to calls of such tools. It names them nowhere
/// else.
pub fn mcp_title(title: &str) -> Option<(&str, &str)> {
    let (tool, server) = title.strip_suffix(" MCP Server)")?.rsplit_once(" (")?;
    Some((server, tool))
}

/// Returns a command as typed: a text, or words of which the first two may be the shell and its flag.
pub fn command_line(command: JsonView<'_>) -> Option<String> {
    if let Some(text) = command.as_str() {
        return Some(text.into_owned());
    }
    let words: Vec<String> = command.as_array().into_iter().filter_map(|word| word.as_str().map(Into::into)).collect();
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
    use crate::JsonView;

    fn check_name(call: &str, id: &str, expected: Option<&str>) {
        assert_eq!(
            tool_name(&JsonView::parse(call).unwrap().as_object(), id, false).as_deref(),
            expected,
            "{call} {id}"
        );
    }

    #[test]
    fn a_name_before_any_id_counts_only_where_it_is_one() {
        let call = JsonView::parse(r#"{"title":"Reading x"}"#).unwrap().as_object();
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
            assert_eq!(command_line(JsonView::parse(command).unwrap()).as_deref(), Some(expected));
        }
    }
}
