//! How Gemini CLI is started: `gemini --acp`, or `gemini --output-format stream-json` for one prompt and one answer.

use switchboard_event::{ApprovalMode, SandboxMode};

use super::{config, policy, sessions, settings};
use crate::{
    Abilities, Agent, Host, Input, Launch, Order, Resume, StateDirectory, Unsupported, Versions,
    acp::{Client, Habits, Setup, Start},
};

/// Gemini CLI, as it can be run.
pub const AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    provider: "google",
    program: Some("gemini"),
    install: Some("npm install -g @google/gemini-cli"),
    versions: Some(Versions { args: &["--version"], oldest: "0.56.0", tested: "0.61.0" }),
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        interrupt: true,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        images: true,
        mcp: true,
        one_shot: true,
        // Over ACP, Gemini CLI 0.61.0 never says what a command printed.
        detailed_one_shot: true,
        ..Abilities::NONE
    },
    launch,
    login: config::login,
    config: config::config,
    protected_paths: &[
        ".gemini/settings.json",
        ".gemini/.env",
        ".gemini/system.md",
        ".gemini/sandbox*",
        ".gemini/extensions/**",
        ".gemini/commands/**",
        ".gemini/policies/**",
        ".gemini/hooks/**",
        ".gemini/agents/**",
        ".gemini/skills/**",
        "~/.gemini/trustedFolders.json",
        "/etc/gemini-cli/**",
    ],
};

/// What a person can do who is not logged in.
const LOGIN: &str = "set GEMINI_API_KEY, or run `gemini` and choose how to log in";

fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let mut launch = base(order)?;
    if order.one_shot {
        one_shot(order, &mut launch)?
    } else {
        two_way(order, &mut launch)?
    }
    Ok(launch)
}

/// What both forms have in common.
fn base(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let mut launch = Launch { program: "gemini".to_owned(), ..Launch::default() };
    launch.state = state(order.host);
    // Else it starts itself again as a child, which signals do not reach (0.61.0).
    launch.env.push(("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned()));
    // Else it refuses a folder that nobody has looked at in its terminal, whatever the mode.
    launch.env.push(("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned()));
    keys(order, &mut launch);
    if let Some(model) = &order.config.model {
        launch.args.extend(["--model".to_owned(), model.clone()]);
    }
    launch.args.extend(["--approval-mode".to_owned(), mode(order).to_owned()]);
    launch.args.extend(is_debugging(order.host).then(|| "--debug".to_owned()));
    add_policy(order, &mut launch)?;
    Ok(launch)
}

/// `GEMINI_DEBUG` is a variable of Switchboard: Gemini CLI has only the flag. It then says more on standard error.
fn is_debugging(host: &dyn Host) -> bool {
    host.env("GEMINI_DEBUG").is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// Sessions lie in `tmp`, next to a directory of programs that it has downloaded and runs later.
fn state(host: &dyn Host) -> Vec<StateDirectory> {
    let path = settings::folder(host);
    let programs = StateDirectory::discarded(path.join("tmp/bin"));
    let kept_files = &["oauth_creds.json", "google_accounts.json", "gemini-credentials.json"];
    vec![StateDirectory { path, kept_directories: &["tmp"], kept_files }, programs]
}

/// In the two-way form it asks, and is answered by what the session allows. In the other, nobody can be asked: its
/// modes do what comes nearest.
fn mode(order: &Order<'_>) -> &'static str {
    match order.config.approval_mode.unwrap_or_default() {
        ApprovalMode::AutoAll => "yolo",
        ApprovalMode::AutoEdit | ApprovalMode::AskDangerous if order.one_shot => "auto_edit",
        _ => "default",
    }
}

/// The session's rules, beside those that the user has.
fn add_policy(order: &Order<'_>, launch: &mut Launch) -> Result<(), Unsupported> {
    let rules = policy::rules(order.config, order.one_shot);
    if rules.is_empty() {
        return Ok(());
    }
    let file = order.private.join("policy.toml");
    let path = file.to_string_lossy().into_owned();
    // It splits what it is given at commas, and would read no rules at all.
    if path.contains(',') {
        return Err(Unsupported::new(format!("Gemini CLI cannot read rules from {path}"))
            .with_hint("choose a folder for temporary files that has no comma in its name"));
    }
    launch.files.push((file, rules));
    let others = settings::policies(order.host, order.cwd);
    for policy in others.into_iter().chain([path]) {
        launch.args.extend(["--policy".to_owned(), policy]);
    }
    Ok(())
}

/// Keys by other names than its own, and the way to use them where none was chosen.
fn keys(order: &Order<'_>, launch: &mut Launch) {
    let set = |name: &str| order.host.env(name).filter(|value| !value.is_empty());
    let method = settings::login_method(order.host, order.cwd);
    let vertex = method.as_deref() == Some("vertex-ai") || set("GOOGLE_GENAI_USE_VERTEXAI").is_some();
    let key = set("GEMINI_API_KEY");
    let other = set("GOOGLE_API_KEY").filter(|_| key.is_none() && !vertex);
    let has_key = key.is_some() || other.is_some();
    if let Some(value) = other {
        launch.env.push(("GEMINI_API_KEY".to_owned(), value));
    }
    // Without a chosen way to log in, 0.61.0 opens a new session with the key but no old one, unless an address is
    // named, be it the usual one.
    let unchosen = method.is_none() && has_key && set("GOOGLE_GEMINI_BASE_URL").is_none();
    if unchosen && !order.one_shot && order.resume.is_some() {
        let usual = "https://generativelanguage.googleapis.com/";
        launch.env.push(("GOOGLE_GEMINI_BASE_URL".to_owned(), usual.to_owned()));
    }
}

fn two_way(order: &Order<'_>, launch: &mut Launch) -> Result<(), Unsupported> {
    // With an MCP server it waits for ever (0.61.0).
    let lingers = !order.config.mcp_servers.is_empty() || settings::has_servers(order.host, order.cwd);
    let habits = Habits { late_history: true, expands: true, lingers };
    let start = order.resume.map_or(Ok(Start::New), |resume| resumed(order, resume, launch))?;
    let setup = Setup {
        cwd: order.cwd.to_string_lossy().into_owned(),
        servers: order.config.mcp_servers.clone(),
        start,
        approval: order.config.approval_mode.unwrap_or_default(),
        login: Some(LOGIN.to_owned()),
        habits,
        ..Setup::default()
    };
    // Its sandbox would read its input to the end before it starts.
    if settings::sandboxed(order.host, order.cwd) && !order.confined {
        let fine = order.config.sandbox_mode == Some(SandboxMode::FullAccess);
        launch.weaker.extend(
            (!fine).then(|| "its own sandbox (tools.sandbox) is off: it works in its terminal only".to_owned()),
        );
    }
    launch.env.push(("GEMINI_SANDBOX".to_owned(), "false".to_owned()));
    launch.args.push("--acp".to_owned());
    launch.source = "gemini:acp";
    launch.driver = Some(Box::new(Client::new(setup)));
    Ok(())
}

/// The session to continue, and what keeps it from harm (see `sessions.rs`): a copy under another name. And
/// `session/load` is told the id with a blank before it, which it trims before it looks for the session, but not before
/// it names the new file (0.61.0): so that one is in nobody's way.
fn resumed(order: &Order<'_>, resume: Resume<'_>, launch: &mut Launch) -> Result<Start, Unsupported> {
    let blank = |session: &str| Start::Resume(format!(" {session}"));
    if resume.fork {
        let (id, file, text) = sessions::copy(order.host, order.cwd, resume.session, order.secret)
            .ok_or_else(|| not_found(resume.session))?;
        let made = order.private.join("session.jsonl");
        launch.copies.push((made.clone(), file));
        launch.files.push((made, text));
        return Ok(blank(&id));
    }
    keep(order, resume, launch);
    Ok(blank(resume.session))
}

/// Copies a session before it is continued for the first time. One that is not found is not there for Gemini CLI either.
fn keep(order: &Order<'_>, resume: Resume<'_>, launch: &mut Launch) {
    let stored = sessions::find(order.host, order.cwd, resume.session);
    launch.copies.extend(stored.and_then(|stored| Some((stored.file, stored.safe?))));
}

fn not_found(session: &str) -> Unsupported {
    Unsupported::new(format!("the session {session} of Gemini CLI is not there to be copied"))
        .with_hint("`gemini --list-sessions` in the same folder shows which are")
}

fn one_shot(order: &Order<'_>, launch: &mut Launch) -> Result<(), Unsupported> {
    refuse_what_needs_two_ways(order)?;
    match order.resume {
        Some(resume) if resume.fork => {
            let stored = sessions::find(order.host, order.cwd, resume.session);
            let file = stored.ok_or_else(|| not_found(resume.session))?.file;
            launch.args.extend(["--session-file".to_owned(), file.to_string_lossy().into_owned()]);
        }
        Some(resume) => {
            keep(order, resume, launch);
            launch.args.extend(["--resume".to_owned(), resume.session.to_owned()]);
        }
        None => {}
    }
    if order.confined || order.config.sandbox_mode == Some(SandboxMode::FullAccess) {
        launch.env.push(("GEMINI_SANDBOX".to_owned(), "false".to_owned()));
    }
    if order.config.approval_mode != Some(ApprovalMode::AutoAll) {
        launch.weaker.push("nobody can be asked: tools that would need it are not offered to the model".to_owned());
    }
    launch.args.extend(["--output-format".to_owned(), "stream-json".to_owned()]);
    // On its input a prompt can be as long as it likes, and can begin with anything.
    launch.input = Input::Text(order.prompt.text.clone());
    launch.source = "gemini";
    Ok(())
}

fn refuse_what_needs_two_ways(order: &Order<'_>) -> Result<(), Unsupported> {
    let two_ways = "leave out --one-shot";
    if !order.config.mcp_servers.is_empty() {
        return Err(Unsupported::new("Gemini CLI takes no MCP servers for one answer alone").with_hint(two_ways));
    }
    if !order.prompt.images.is_empty() {
        return Err(Unsupported::new("Gemini CLI takes no images for one answer alone").with_hint(two_ways));
    }
    if order.prompt.output_schema.is_some() {
        return Err(Unsupported::new("Gemini CLI cannot be given a schema for its answer"));
    }
    // It then chooses a way to log in that it does not accept itself (exit code 41, 0.61.0).
    let address = order.host.env("GOOGLE_GEMINI_BASE_URL").is_some();
    if address && settings::login_method(order.host, order.cwd).is_none() {
        return Err(Unsupported::new("Gemini CLI needs a chosen way to log in where GOOGLE_GEMINI_BASE_URL is set")
            .with_hint("leave out --one-shot, or run `gemini` once and choose to use an API key"));
    }
    Ok(())
}
