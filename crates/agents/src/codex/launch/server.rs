//! `codex app-server`: the two-way form. What the thread is to be like is said when it is opened, not in the
//! arguments.

use serde_json::{Map, Value, json};

use super::{keys, rules::Rules};
use crate::{
    Launch, Order, Unsupported,
    codex::driver::{Conversation, Opening},
};

pub fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let rules = Rules::of(order)?;
    let key = keys::given(order.host);
    let mut args = Vec::new();
    if key.is_some() {
        // The key is given to the running server; this keeps it from being written down.
        args.extend(["-c".to_owned(), "cli_auth_credentials_store=\"ephemeral\"".to_owned()]);
    }
    args.push("app-server".to_owned());
    let opening = opening(order, &rules);
    Ok(Launch {
        args,
        source: "codex:app-server",
        driver: Some(Box::new(Conversation::new(opening, key))),
        env: rules.env,
        weaker: rules.weaker,
        ..Launch::default()
    })
}

/// How the thread is opened.
///
/// Codex's own sandbox is always off. Around the agent there is ours or, if none is wanted, none: a command that
/// Codex's own sandbox stops would leave no trace (0.166), and one that is approved runs outside of it anyway. With
/// `untrusted`, which only this way accepts, everything is asked about, also what only reads.
fn opening(order: &Order<'_>, rules: &Rules) -> Opening {
    let mut params = Map::new();
    let approval = if rules.must_ask() { "untrusted" } else { "never" };
    params.insert("approvalPolicy".to_owned(), json!(approval));
    // Not an automatic reviewer, whatever the user's configuration says.
    params.insert("approvalsReviewer".to_owned(), json!("user"));
    params.insert("sandbox".to_owned(), json!("danger-full-access"));
    if let Some(model) = &order.config.model {
        params.insert("model".to_owned(), json!(model));
    }
    if !rules.config.is_empty() {
        params.insert("config".to_owned(), Value::Object(rules.config.clone()));
    }
    let Some(resume) = order.resume else {
        // Without a folder it is that of the process. With one, Codex would write down that it trusts it (0.166).
        return Opening { method: "thread/start", params };
    };
    params.insert("threadId".to_owned(), json!(resume.session));
    params.insert("cwd".to_owned(), json!(order.cwd));
    params.insert("excludeTurns".to_owned(), json!(true));
    Opening { method: if resume.fork { "thread/fork" } else { "thread/resume" }, params }
}
