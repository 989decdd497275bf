//! How Claude Code is started: its flags and files from what is wanted of a session. What is said to it then is in
//! `driver.rs`; which of its rules follow from the settings, in `rules.rs`.

use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SandboxMode};

use super::{driver::Claude, login, mcp, offers, prompts, rules, settings};
use crate::{Abilities, Agent, Host, Input, Launch, Order, StateDirectory, Unsupported, Versions, WhileRunning};

/// Claude Code, as it can be run.
pub const AGENT: Agent = Agent {
    name: "claude",
    title: "Claude Code",
    provider: "anthropic",
    program: Some("claude"),
    install: Some("npm install -g @anthropic-ai/claude-code"),
    versions: Some(Versions { args: &["--version"], oldest: "2.1.0", tested: "2.1.326" }),
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        changed_input: true,
        questions: true,
        interrupt: true,
        while_running: WhileRunning::Steer,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        images: true,
        mcp: true,
        output_schema: true,
        one_shot: true,
        detailed_one_shot: false,
    },
    launch,
    login: login::login,
    config: settings::config,
    protected_paths: &[
        ".claude/settings*.json",
        ".claude/hooks/**",
        ".claude/commands/**",
        ".claude/agents/**",
        ".claude/skills/**",
        ".claude/plugins/**",
        ".claude/output-styles/**",
        ".claude/workflows/**",
        ".claude/launch.json",
        ".claude-plugin/**",
        "~/.claude.json",
        "/etc/claude-code/**",
    ],
};

/// What an outer Claude Code tells its commands: here it would be about somebody else. `CLAUDECODE` makes versions
/// before 2.1.97 refuse to start; `CLAUDE_CODE_CHILD_SESSION` can keep a session from being written to disk.
const OUTER: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
];

fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    check(order)?;
    let mut launch = Launch {
        program: "claude".to_owned(),
        env: env(order),
        unset: OUTER.to_vec(),
        source: "claude",
        state: vec![state(order.host)],
        weaker: weaker(order),
        counts_turns: true,
        ..Launch::default()
    };
    talk(order, &mut launch);
    launch.args.extend(session(order));
    launch.args.extend(rules::flags(order));
    for (flag, name, content) in
        [("--mcp-config", "mcp.json", mcp::file(order)), ("--settings", "settings.json", rules::file(order))]
    {
        if let Some(content) = content {
            let path = order.private.join(name);
            launch.args.push(format!("{flag}={}", path.display()));
            launch.files.push((path, content.to_string()));
        }
    }
    Ok(launch)
}

/// Shell snapshots and hooks run later, so only transcripts, what belongs to them and the login are kept. `~/.claude.json`
/// lies outside and is read-only, which Claude Code 2.1.197 and 2.1.326 do not mind.
pub fn state(host: &dyn Host) -> StateDirectory {
    StateDirectory {
        path: settings::folder(host),
        kept_directories: &["projects", "todos", "tasks", "plans", "file-history"],
        kept_files: &[".credentials.json"],
    }
}

fn check(order: &Order<'_>) -> Result<(), Unsupported> {
    // Claude Code 2.1.197 takes 0 for no limit.
    if order.config.max_turns == Some(0) {
        return Err(Unsupported::new("Claude Code cannot take 0 turns").with_hint("leave maxTurns out for no limit"));
    }
    if order.one_shot && order.prompt.text.trim().is_empty() && order.prompt.images.is_empty() {
        return Err(Unsupported::new("Claude Code needs a prompt to run once"));
    }
    settings::check_hooks(order.host, order.cwd)?;
    mcp::check(order.config)
}

/// How it is spoken with. Two-way, everything goes over its input, the prompt too: many of its flags would swallow a
/// prompt that follows them. In a one-shot the prompt is all that its input ever has, and then it is closed: Claude
/// Code waits three seconds for an open one.
fn talk(order: &Order<'_>, launch: &mut Launch) {
    let schema = order.prompt.output_schema.clone();
    let mut args = vec!["-p", "--output-format=stream-json", "--verbose", "--include-partial-messages"];
    if order.one_shot {
        if order.prompt.images.is_empty() {
            launch.input = Input::Text(order.prompt.text.clone());
        } else {
            args.push("--input-format=stream-json");
            launch.input = Input::Text(prompts::message(order.prompt, None).to_string() + "\n");
        }
    } else {
        args.extend(["--input-format=stream-json", "--permission-prompt-tool=stdio"]);
        launch.driver = Some(Box::new(Claude::new(order)));
    }
    launch.args.extend(args.into_iter().map(str::to_owned));
    // Two-way, the schema goes with the handshake, where it may be of any length.
    launch.args.extend(schema.filter(|_| order.one_shot).map(|schema| format!("--json-schema={}", schema.get())));
}

/// What the session is.
fn session(order: &Order<'_>) -> Vec<String> {
    let mut args = vec![format!("--permission-mode={}", rules::mode(order))];
    args.extend(model(order).map(|model| format!("--model={model}")));
    args.extend(thinking(order));
    args.extend(order.config.max_turns.map(|turns| format!("--max-turns={turns}")));
    if let Some(resume) = order.resume {
        args.push(format!("--resume={}", resume.session));
        args.extend(resume.fork.then(|| "--fork-session".to_owned()));
    }
    args.extend(debug(order));
    args
}

/// The model to begin with.
pub fn model(order: &Order<'_>) -> Option<String> {
    order.config.model.clone().or_else(|| order.host.env("CLAUDE_MODEL"))
}

/// How the model thinks. Two-way, that is set once it runs, where it can be said what is not possible.
fn thinking(order: &Order<'_>) -> Vec<String> {
    let chosen = |id| order.config.options.get(id).filter(|value| order.one_shot && *value != offers::DEFAULT);
    let effort = chosen(offers::EFFORT).map(|effort| format!("--effort={effort}"));
    let budget = chosen(offers::BUDGET).map(|tokens| format!("--max-thinking-tokens={tokens}"));
    effort.into_iter().chain(budget).collect()
}

/// `CLAUDE_DEBUG` is a word of ours: yes, or what to look at. Claude Code writes to `debug/` in its folder.
fn debug(order: &Order<'_>) -> Option<String> {
    match order.host.env("CLAUDE_DEBUG")?.as_str() {
        "" | "0" | "false" => None,
        "1" | "true" => Some("--debug".to_owned()),
        filter => Some(format!("--debug={filter}")),
    }
}

fn env(order: &Order<'_>) -> Vec<(String, String)> {
    let mut env = vec![("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS".to_owned(), "1".to_owned())];
    if order.confined {
        // Its commands' output goes to `claude-UID` in here; elsewhere it could not be written.
        env.push(("CLAUDE_CODE_TMPDIR".to_owned(), order.private.display().to_string()));
    }
    if rules::mode(order) == "bypassPermissions" && order.root {
        // As root it takes this mode only in a sandbox, and there is one.
        env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
    }
    env
}

fn weaker(order: &Order<'_>) -> Vec<String> {
    let mut weaker = Vec::new();
    let asks = rules::approval(order) != ApprovalMode::AutoAll;
    let allowing = settings::allowing(order.host, order.cwd);
    if asks && !allowing.is_empty() {
        weaker.push(format!("rules of the user let Claude Code do more without asking: {}", allowing.join(", ")));
    }
    if order.one_shot && asks {
        weaker.push("in a one-shot nobody can be asked: Claude Code declines what needs an approval".to_owned());
    } else if order.one_shot && rules::mode(order) != "bypassPermissions" {
        weaker
            .push("as root, Claude Code does in a one-shot only what its usual tools do, and declines the rest".into());
    }
    weaker
}

/// Claude Code's own sandbox has no place in ours, and none where none is wanted.
pub fn without_own_sandbox(order: &Order<'_>) -> Option<Value> {
    let off = order.confined || order.config.sandbox_mode == Some(SandboxMode::FullAccess);
    off.then(|| json!({ "enabled": false }))
}
