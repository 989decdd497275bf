//! The session's tool rules, as a policy file of Gemini CLI (`--policy`, TOML). A denied tool is hidden from the model.
//! The user's own rules remain in effect: their denials take precedence over what the session allows.

use switchboard_event::{ApprovalMode, McpServerConfig, SessionConfig};

/// Above the built-in rules, below the user's.
const ASK_PRIORITY: u32 = 1;

const ALLOW_PRIORITY: u32 = 100;

/// Above the rules with which the user allows tools.
const DENY_OTHERS_PRIORITY: u32 = 990;

const INCLUDE_PRIORITY: u32 = 995;

const DENY_PRIORITY: u32 = 999;

/// Tools that change files.
const EDIT_TOOLS: [&str; 2] = ["write_file", "replace"];

/// Tools that access the network; the built-in rules allow some of them without approval.
const WEB_TOOLS: [&str; 2] = ["web_fetch", "google_web_search"];

/// Returns the rules of a session; empty if the built-in ones suffice. Where a person can be asked, edits are not
/// allowed by a rule but when Gemini CLI asks, which is when protected files are recognized.
pub fn build_policy(config: &SessionConfig, one_shot: bool) -> String {
    let mut rules = GeminiPolicy::default();
    let all = config.approval_mode == Some(ApprovalMode::AutoAll);
    if !all {
        rules.add_rule(&GeminiPolicyRule::new(&WEB_TOOLS.map(str::to_owned), "ask_user", ASK_PRIORITY));
    }
    let is_edit = |entry: &&String| EDIT_TOOLS.iter().chain(&["edit"]).any(|tool| entry.eq_ignore_ascii_case(tool));
    for entry in config.allowed_tools.iter().flatten().filter(|entry| one_shot || !is_edit(entry)) {
        rules.add_rule(&GeminiPolicyRule::from_entry(entry, "allow", ALLOW_PRIORITY));
    }
    for entry in config.blocked_tools.iter().flatten() {
        rules.add_rule(&GeminiPolicyRule::from_entry(entry, "deny", DENY_PRIORITY));
    }
    let any = |entry: &String| entry.eq_ignore_ascii_case("mcp");
    let unasked = all || config.allowed_tools.iter().flatten().any(any);
    for (name, server) in &config.mcp_servers {
        rules.add_server(name, server, unasked);
    }
    rules.0
}

#[derive(Default)]
struct GeminiPolicy(String);

struct GeminiPolicyRule<'a> {
    server: Option<&'a str>,
    tools: Vec<String>,
    prefix: Option<&'a str>,
    decision: &'static str,
    priority: u32,
}

impl GeminiPolicy {
    fn add_rule(&mut self, rule: &GeminiPolicyRule<'_>) {
        let mut line = |key: &str, value: String| self.0.extend([key, " = ", value.as_str(), "\n"]);
        line("\n[[rule]]\ndecision", quote_toml(rule.decision));
        line("priority", rule.priority.to_string());
        if let Some(server) = rule.server {
            line("mcpName", quote_toml(server));
        }
        let tools: Vec<_> = rule.tools.iter().map(|tool| quote_toml(tool)).collect();
        line("toolName", format!("[{}]", tools.join(", ")));
        if let Some(prefix) = rule.prefix {
            line("commandPrefix", quote_toml(prefix));
        }
        if rule.decision == "allow" {
            line("allowRedirection", "true".to_owned());
        }
    }

    /// Adds the rules of a server: ACP has no fields for trust and for lists of tools.
    fn add_server(&mut self, name: &str, server: &McpServerConfig, unasked: bool) {
        let every = || vec!["*".to_owned()];
        let mut rule = |tools: Vec<String>, decision, priority| {
            if !tools.is_empty() {
                self.add_rule(&GeminiPolicyRule { server: Some(name), tools, prefix: None, decision, priority });
            }
        };
        let trusted = if server.trust || unasked { "allow" } else { "ask_user" };
        if server.trust {
            rule(every(), "allow", ALLOW_PRIORITY);
        }
        if let Some(included) = &server.include_tools {
            rule(every(), "deny", DENY_OTHERS_PRIORITY);
            rule(included.clone(), trusted, INCLUDE_PRIORITY);
        }
        rule(server.exclude_tools.clone(), "deny", DENY_PRIORITY);
    }
}

impl<'a> GeminiPolicyRule<'a> {
    fn new(tools: &[String], decision: &'static str, priority: u32) -> Self {
        Self { server: None, tools: tools.to_vec(), prefix: None, decision, priority }
    }

    /// Parses an entry of a tool list: a kind, a tool's name, or `run_shell_command(PREFIX)`.
    fn from_entry(entry: &'a str, decision: &'static str, priority: u32) -> Self {
        if let Some(tools) = tools_of_kind(entry) {
            let tools: Vec<_> = tools.iter().map(|tool| (*tool).to_owned()).collect();
            return Self::new(&tools, decision, priority);
        }
        let narrowed = entry.strip_suffix(')').and_then(|entry| entry.split_once('('));
        let (tool, prefix) = narrowed.map_or((entry, None), |(tool, prefix)| (tool, Some(prefix)));
        Self { prefix, ..Self::new(&[tool.to_owned()], decision, priority) }
    }
}

fn tools_of_kind(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind.to_ascii_lowercase().as_str() {
        "command" => &["run_shell_command"],
        "edit" => &EDIT_TOOLS,
        "read" => &["read_file", "read_many_files", "list_directory", "glob", "grep_search"],
        "web" => &WEB_TOOLS,
        "mcp" => &["mcp_*"],
        _ => return None,
    })
}

/// Quotes a TOML string, whose escapes are those of JSON.
fn quote_toml(text: &str) -> String {
    switchboard_event::to_raw_json(&text).get().to_owned()
}
