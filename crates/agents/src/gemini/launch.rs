//! Launch of Gemini CLI: `gemini --acp`, or `gemini --output-format stream-json` for one prompt and one answer.

use switchboard_event::{ApprovalMode, SandboxMode};

use super::{policy, sessions, settings};
use crate::{
    Abilities, Agent, AgentEndpoint, AgentLaunch, HostAccess, LaunchRequest, ResumeRequest, StateDirectory, StdinMode,
    UnsupportedOperation, Versions,
    acp::{AcpAgentQuirks, AcpDriver, AcpSessionSetup, AcpSessionStart},
    launch::{public_endpoints, vertex_endpoints},
};

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
        // Over ACP, Gemini CLI 0.61.0 never reports the output of commands.
        detailed_one_shot: true,
        ..Abilities::NONE
    },
    launch,
    login: settings::check_login,
    config: settings::read_config,
    endpoints,
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

const LOGIN_HINT: &str = "set GEMINI_API_KEY, or run `gemini` and choose how to log in";

/// Variables that direct Gemini CLI to another server.
const BASE_URL_VARIABLES: &[&str] = &["GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT"];

/// The APIs for keys, Google accounts and Vertex AI, with their logins.
fn endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let mut endpoints = public_endpoints(&[
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "accounts.google.com",
        "www.googleapis.com",
    ]);
    endpoints.extend(vertex_endpoints(host, &["GOOGLE_CLOUD_LOCATION"]));
    endpoints.extend(AgentEndpoint::from_env(host, BASE_URL_VARIABLES));
    endpoints.extend(
        settings::read_user_variables(host, BASE_URL_VARIABLES)
            .iter()
            .filter_map(|url| AgentEndpoint::from_configured_url(url)),
    );
    endpoints
}

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let mut launch = base_launch(order)?;
    if order.one_shot {
        configure_one_shot(order, &mut launch)?
    } else {
        configure_acp(order, &mut launch)?
    }
    Ok(launch)
}

/// Returns the part that both forms share.
fn base_launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let mut launch = AgentLaunch { program: "gemini".to_owned(), ..AgentLaunch::default() };
    launch.state = state_directories(order.host);
    // Otherwise it restarts itself as a child process, which signals do not reach (0.61.0).
    launch.env.push(("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned()));
    // Otherwise it refuses a directory that was not trusted in its terminal, in any mode.
    launch.env.push(("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned()));
    set_api_key(order, &mut launch);
    if let Some(model) = &order.config.model {
        launch.args.extend(["--model".to_owned(), model.clone()]);
    }
    launch.args.extend(["--approval-mode".to_owned(), approval_mode_flag(order).to_owned()]);
    launch.args.extend(is_debugging(order.host).then(|| "--debug".to_owned()));
    add_policy(order, &mut launch)?;
    Ok(launch)
}

/// `GEMINI_DEBUG` is a variable of Switchboard, because Gemini CLI only has the flag, which makes standard error more
/// verbose.
fn is_debugging(host: &dyn HostAccess) -> bool {
    host.env_var("GEMINI_DEBUG").is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// Sessions are in `tmp`, next to a directory of downloaded programs that run later.
fn state_directories(host: &dyn HostAccess) -> Vec<StateDirectory> {
    let path = settings::gemini_home(host);
    let programs = StateDirectory::new_discarded(path.join("tmp/bin"));
    let kept_files = &["oauth_creds.json", "google_accounts.json", "gemini-credentials.json"];
    vec![StateDirectory { path, kept_directories: &["tmp"], kept_files }, programs]
}

/// In the two-way form Gemini CLI asks, and Switchboard answers by the session's approval mode. The one-shot form
/// cannot ask, so the closest mode of Gemini CLI is used.
fn approval_mode_flag(order: &LaunchRequest<'_>) -> &'static str {
    match order.config.approval_mode.unwrap_or_default() {
        ApprovalMode::AutoAll => "yolo",
        ApprovalMode::AutoEdit | ApprovalMode::AskDangerous if order.one_shot => "auto_edit",
        _ => "default",
    }
}

/// Adds the session's rules to those of the user.
fn add_policy(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) -> Result<(), UnsupportedOperation> {
    let rules = policy::build_policy(order.config, order.one_shot);
    if rules.is_empty() {
        return Ok(());
    }
    let file = order.private.join("policy.toml");
    let path = file.to_string_lossy().into_owned();
    // Gemini CLI splits the argument at commas, and would then read no rules at all.
    if path.contains(',') {
        return Err(UnsupportedOperation::new(format!("Gemini CLI cannot read rules from {path}"))
            .with_hint("choose a folder for temporary files that has no comma in its name"));
    }
    launch.files.push((file, rules));
    let others = settings::policy_paths(order.host, order.cwd);
    for policy in others.into_iter().chain([path]) {
        launch.args.extend(["--policy".to_owned(), policy]);
    }
    Ok(())
}

/// Sets the key if it is only available under another name, and the base URL if no login method was chosen.
fn set_api_key(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) {
    let set = |name: &str| order.host.env_var(name).filter(|value| !value.is_empty());
    let method = settings::login_method(order.host, order.cwd);
    let vertex = method.as_deref() == Some("vertex-ai") || set("GOOGLE_GENAI_USE_VERTEXAI").is_some();
    let key = set("GEMINI_API_KEY");
    let other = set("GOOGLE_API_KEY").filter(|_| key.is_none() && !vertex);
    let has_key = key.is_some() || other.is_some();
    if let Some(value) = other {
        launch.env.push(("GEMINI_API_KEY".to_owned(), value));
    }
    // Without a chosen login method, 0.61.0 opens new sessions with the key but loads no existing ones, unless a base
    // URL is set, even the default one.
    let unchosen = method.is_none() && has_key && set("GOOGLE_GEMINI_BASE_URL").is_none();
    if unchosen && !order.one_shot && order.resume.is_some() {
        let usual = "https://generativelanguage.googleapis.com/";
        launch.env.push(("GOOGLE_GEMINI_BASE_URL".to_owned(), usual.to_owned()));
    }
}

fn configure_acp(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) -> Result<(), UnsupportedOperation> {
    // With an MCP server it never exits (0.61.0).
    let lingers = !order.config.mcp_servers.is_empty() || settings::has_mcp_servers(order.host, order.cwd);
    let habits = AcpAgentQuirks { late_history: true, expands: true, lingers };
    let start = order.resume.map_or(Ok(AcpSessionStart::New), |resume| resume_session(order, resume, launch))?;
    let setup = AcpSessionSetup {
        cwd: order.cwd.to_string_lossy().into_owned(),
        servers: order.config.mcp_servers.clone(),
        start,
        approval: order.config.approval_mode.unwrap_or_default(),
        login: Some(LOGIN_HINT.to_owned()),
        habits,
        ..AcpSessionSetup::default()
    };
    // Its sandbox would read its input to the end before it starts.
    if settings::is_sandbox_enabled(order.host, order.cwd) && !order.confined {
        let fine = order.config.sandbox_mode == Some(SandboxMode::FullAccess);
        launch.weaker.extend(
            (!fine).then(|| "its own sandbox (tools.sandbox) is off: it works in its terminal only".to_owned()),
        );
    }
    launch.env.push(("GEMINI_SANDBOX".to_owned(), "false".to_owned()));
    launch.args.push("--acp".to_owned());
    launch.source = "gemini:acp";
    launch.driver = Some(Box::new(AcpDriver::new(setup)));
    Ok(())
}

/// Prepares the session to resume, and protects it by a copy under another name (see `sessions.rs`). The id in
/// `session/load` has a leading space, which Gemini CLI trims before it looks up the session, but not before it names
/// the new file (0.61.0), so the new file conflicts with no other.
fn resume_session(
    order: &LaunchRequest<'_>,
    resume: ResumeRequest<'_>,
    launch: &mut AgentLaunch,
) -> Result<AcpSessionStart, UnsupportedOperation> {
    let blank = |session: &str| AcpSessionStart::Resume(format!(" {session}"));
    if resume.fork {
        let (id, file, text) = sessions::copy_session(order.host, order.cwd, resume.session, order.secret)
            .ok_or_else(|| session_not_found(resume.session))?;
        let made = order.private.join("session.jsonl");
        launch.copies.push((made.clone(), file));
        launch.files.push((made, text));
        return Ok(blank(&id));
    }
    back_up_session(order, resume, launch);
    Ok(blank(resume.session))
}

/// Copies a session before it is resumed for the first time. If it is not found, Gemini CLI does not find it either.
fn back_up_session(order: &LaunchRequest<'_>, resume: ResumeRequest<'_>, launch: &mut AgentLaunch) {
    let stored = sessions::find_session(order.host, order.cwd, resume.session);
    launch.copies.extend(stored.and_then(|stored| Some((stored.file, stored.safe?))));
}

fn session_not_found(session: &str) -> UnsupportedOperation {
    UnsupportedOperation::new(format!("the session {session} of Gemini CLI is not there to be copied"))
        .with_hint("`gemini --list-sessions` in the same folder shows which are")
}

fn configure_one_shot(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) -> Result<(), UnsupportedOperation> {
    refuse_unsupported_one_shot(order)?;
    match order.resume {
        Some(resume) if resume.fork => {
            let stored = sessions::find_session(order.host, order.cwd, resume.session);
            let file = stored.ok_or_else(|| session_not_found(resume.session))?.file;
            launch.args.extend(["--session-file".to_owned(), file.to_string_lossy().into_owned()]);
        }
        Some(resume) => {
            back_up_session(order, resume, launch);
            launch.args.extend(["--resume".to_owned(), resume.session.to_owned()]);
        }
        None => {}
    }
    if order.confined || order.config.sandbox_mode == Some(SandboxMode::FullAccess) {
        launch.env.push(("GEMINI_SANDBOX".to_owned(), "false".to_owned()));
    }
    if order.config.approval_mode != Some(ApprovalMode::AutoAll) {
        launch
            .weaker
            .push("a one-shot run cannot ask: tools that need an approval are not offered to the model".to_owned());
    }
    launch.args.extend(["--output-format".to_owned(), "stream-json".to_owned()]);
    // On standard input, a prompt can have any length and any beginning.
    launch.input = StdinMode::Text(order.prompt.text.clone());
    launch.source = "gemini";
    Ok(())
}

fn refuse_unsupported_one_shot(order: &LaunchRequest<'_>) -> Result<(), UnsupportedOperation> {
    let two_ways = "leave out --one-shot";
    if !order.config.mcp_servers.is_empty() {
        return Err(
            UnsupportedOperation::new("Gemini CLI takes no MCP servers for one answer alone").with_hint(two_ways)
        );
    }
    if !order.prompt.images.is_empty() {
        return Err(UnsupportedOperation::new("Gemini CLI takes no images for one answer alone").with_hint(two_ways));
    }
    if order.prompt.output_schema.is_some() {
        return Err(UnsupportedOperation::new("Gemini CLI cannot be given a schema for its answer"));
    }
    // Otherwise it chooses a login method that it does not accept itself (exit code 41, 0.61.0).
    let address = order.host.env_var("GOOGLE_GEMINI_BASE_URL").is_some();
    if address && settings::login_method(order.host, order.cwd).is_none() {
        return Err(UnsupportedOperation::new(
            "Gemini CLI needs a chosen way to log in where GOOGLE_GEMINI_BASE_URL is set",
        )
        .with_hint("leave out --one-shot, or run `gemini` once and choose to use an API key"));
    }
    Ok(())
}
