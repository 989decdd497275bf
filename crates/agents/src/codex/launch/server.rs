//! `codex app-server`: the two-way form. The thread's settings are sent when it is opened, not as arguments.

use serde_json::{Map, Value, json};

use super::{keys, rules::CodexSessionRules};
use crate::{
    AgentLaunch, LaunchRequest, UnsupportedOperation,
    codex::driver::{CodexDriver, ThreadOpening},
};

pub fn launch_app_server(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let rules = CodexSessionRules::from_order(order)?;
    let key = keys::find_api_key(order.host);
    let mut args = Vec::new();
    if key.is_some() {
        // The key is given to the running server; this setting prevents it from being stored.
        args.extend(["-c".to_owned(), "cli_auth_credentials_store=\"ephemeral\"".to_owned()]);
    }
    args.push("app-server".to_owned());
    let opening = thread_opening(order, &rules);
    Ok(AgentLaunch {
        args,
        source: "codex:app-server",
        driver: Some(Box::new(CodexDriver::new(opening, key))),
        env: rules.env,
        weaker: rules.weaker,
        ..AgentLaunch::default()
    })
}

/// Returns the request that opens the thread.
///
/// Codex's own sandbox is always off. The agent runs in Switchboard's sandbox or, if none is wanted, in none: a command
/// that Codex's own sandbox stops would leave no trace (0.166), and an approved one runs outside of it anyway. With
/// `untrusted`, which only the app-server accepts, Codex asks about everything, including commands that only read.
fn thread_opening(order: &LaunchRequest<'_>, rules: &CodexSessionRules) -> ThreadOpening {
    let mut params = Map::new();
    let approval = if rules.must_ask() { "untrusted" } else { "never" };
    params.insert("approvalPolicy".to_owned(), json!(approval));
    // Never an automatic reviewer, regardless of the user's configuration.
    params.insert("approvalsReviewer".to_owned(), json!("user"));
    params.insert("sandbox".to_owned(), json!("danger-full-access"));
    if let Some(model) = &order.config.model {
        params.insert("model".to_owned(), json!(model));
    }
    if !rules.config.is_empty() {
        params.insert("config".to_owned(), Value::Object(rules.config.clone()));
    }
    let Some(resume) = order.resume else {
        // The default is the directory of the process. If one is given, Codex stores that it is trusted (0.166).
        return ThreadOpening { method: "thread/start", params };
    };
    params.insert("threadId".to_owned(), json!(resume.session));
    params.insert("cwd".to_owned(), json!(order.cwd));
    params.insert("excludeTurns".to_owned(), json!(true));
    ThreadOpening { method: if resume.fork { "thread/fork" } else { "thread/resume" }, params }
}
