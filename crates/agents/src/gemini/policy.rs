//! The session's rules for tools, as a policy file of Gemini CLI (`--policy`, TOML). A denied tool is not even shown to
//! the model. The user's own rules stay: where they forbid, they win over what is merely allowed here.

use switchboard_event::{ApprovalMode, McpServerConfig, SessionConfig};

/// Above the built-in rules, below whatever the user has.
const ASKED: u32 = 1;
const ALLOWED: u32 = 100;
/// Above what the user allows.
const OTHERS_DENIED: u32 = 990;
const INCLUDED: u32 = 995;
const DENIED: u32 = 999;

/// Tools that change files.
const EDITS: [&str; 2] = ["write_file", "replace"];

/// Tools that leave the machine; the built-in rules let some of them run unasked.
const WEB: [&str; 2] = ["web_fetch", "google_web_search"];

/// The rules of a session; empty where the built-in ones do. Where a person can be asked, edits are not allowed here but
/// when they are asked for, which is when protected files are recognized.
pub fn rules(config: &SessionConfig, one_shot: bool) -> String {
    let mut rules = Rules::default();
    let all = config.approval_mode == Some(ApprovalMode::AutoAll);
    if !all {
        rules.add(&Rule::of(&WEB.map(str::to_owned), "ask_user", ASKED));
    }
    let is_edit = |entry: &&String| EDITS.iter().chain(&["edit"]).any(|tool| entry.eq_ignore_ascii_case(tool));
    for entry in config.allowed_tools.iter().flatten().filter(|entry| one_shot || !is_edit(entry)) {
        rules.add(&Rule::entry(entry, "allow", ALLOWED));
    }
    for entry in config.blocked_tools.iter().flatten() {
        rules.add(&Rule::entry(entry, "deny", DENIED));
    }
    let any = |entry: &String| entry.eq_ignore_ascii_case("mcp");
    let unasked = all || config.allowed_tools.iter().flatten().any(any);
    for (name, server) in &config.mcp_servers {
        rules.add_server(name, server, unasked);
    }
    rules.0
}

#[derive(Default)]
struct Rules(String);

struct Rule<'a> {
    server: Option<&'a str>,
    tools: Vec<String>,
    prefix: Option<&'a str>,
    decision: &'static str,
    priority: u32,
}

impl Rules {
    fn add(&mut self, rule: &Rule<'_>) {
        let mut line = |key: &str, value: String| self.0.extend([key, " = ", value.as_str(), "\n"]);
        line("\n[[rule]]\ndecision", quoted(rule.decision));
        line("priority", rule.priority.to_string());
        if let Some(server) = rule.server {
            line("mcpName", quoted(server));
        }
        let tools: Vec<_> = rule.tools.iter().map(|tool| quoted(tool)).collect();
        line("toolName", format!("[{}]", tools.join(", ")));
        if let Some(prefix) = rule.prefix {
            line("commandPrefix", quoted(prefix));
        }
        if rule.decision == "allow" {
            line("allowRedirection", "true".to_owned());
        }
    }

    /// What a server may do: ACP has no word for trust and for lists of tools.
    fn add_server(&mut self, name: &str, server: &McpServerConfig, unasked: bool) {
        let every = || vec!["*".to_owned()];
        let mut rule = |tools: Vec<String>, decision, priority| {
            if !tools.is_empty() {
                self.add(&Rule { server: Some(name), tools, prefix: None, decision, priority });
            }
        };
        let trusted = if server.trust || unasked { "allow" } else { "ask_user" };
        if server.trust {
            rule(every(), "allow", ALLOWED);
        }
        if let Some(included) = &server.include_tools {
            rule(every(), "deny", OTHERS_DENIED);
            rule(included.clone(), trusted, INCLUDED);
        }
        rule(server.exclude_tools.clone(), "deny", DENIED);
    }
}

impl<'a> Rule<'a> {
    fn of(tools: &[String], decision: &'static str, priority: u32) -> Self {
        Self { server: None, tools: tools.to_vec(), prefix: None, decision, priority }
    }

    /// An entry of a list of tools: a kind, a tool's name, or `run_shell_command(how the command begins)`.
    fn entry(entry: &'a str, decision: &'static str, priority: u32) -> Self {
        if let Some(tools) = of_kind(entry) {
            let tools: Vec<_> = tools.iter().map(|tool| (*tool).to_owned()).collect();
            return Self::of(&tools, decision, priority);
        }
        let narrowed = entry.strip_suffix(')').and_then(|entry| entry.split_once('('));
        let (tool, prefix) = narrowed.map_or((entry, None), |(tool, prefix)| (tool, Some(prefix)));
        Self { prefix, ..Self::of(&[tool.to_owned()], decision, priority) }
    }
}

/// The tools of a kind.
fn of_kind(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind.to_ascii_lowercase().as_str() {
        "command" => &["run_shell_command"],
        "edit" => &EDITS,
        "read" => &["read_file", "read_many_files", "list_directory", "glob", "grep_search"],
        "web" => &WEB,
        "mcp" => &["mcp_*"],
        _ => return None,
    })
}

/// A text in TOML, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    switchboard_event::raw(&text).get().to_owned()
}
