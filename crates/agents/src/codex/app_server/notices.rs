//! Everything that is neither a thread, nor a turn, nor an item.

use switchboard_event::{Decider, Dir, Level, Notice, Outcome, RequestResolved, Topic};

use super::{AppServer, reader::control};
use crate::{Object, Scribe};

impl AppServer {
    /// Notifications of all other kinds. What is not known is left, or is an event of the model's API.
    pub(super) fn other(&mut self, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        self.threads.enter(params.str("threadId").as_deref(), scribe);
        match method {
            "warning" | "guardianWarning" | "configWarning" | "deprecationNotice" => warn(method, params, scribe),
            "model/rerouted" => self.rerouted(params, scribe),
            "account/rateLimits/updated" => {
                let detail = params.raw("rateLimits");
                scribe.notice(Notice { detail, ..Notice::new(Topic::RateLimit).with_level(Level::Debug) });
            }
            "account/updated" | "account/login/completed" | "mcpServer/oauthLogin/completed" => {
                scribe.notice(Notice::new(Topic::Auth).with_name(method));
            }
            "mcpServer/startupStatus/updated" => self.mcp_server(params, scribe),
            "hook/started" | "hook/completed" => hook(method, params, scribe),
            "serverRequest/resolved" => self.resolved(params, scribe),
            _ if is_known(method) => scribe.notice(control(method).with_level(Level::Debug)),
            _ => return self.responses.event(Dir::In, method, params, scribe),
        }
        scribe.otherwise(control(method));
    }

    fn rerouted(&mut self, params: &Object<'_>, scribe: &mut Scribe) {
        let (from, to) = (params.string("fromModel").unwrap_or_default(), params.string("toModel").unwrap_or_default());
        let notice = Notice::new(Topic::ModelChanged).with_name(to.clone()).with_text(format!("{from} -> {to}"));
        scribe.notice(Notice { detail: params.raw("reason"), ..notice });
        scribe.info(self.settings.model(to));
    }

    fn mcp_server(&mut self, params: &Object<'_>, scribe: &mut Scribe) {
        scribe.info(self.settings.mcp(params));
        if let Some(error) = params.filled("error") {
            let name = params.str("name").unwrap_or_default();
            let text = format!("MCP server {name}: {error}");
            scribe.notice(Notice::new(Topic::Warning).with_level(Level::Warning).with_name(name).with_text(text));
        }
    }

    /// A request was answered or cleared. One that is still open here was answered by somebody else.
    fn resolved(&mut self, params: &Object<'_>, scribe: &mut Scribe) {
        let Some(request) = params.get("requestId").and_then(|id| self.requests.take(id.text())) else { return };
        let (outcome, by) = (Outcome::Withdrawn, Decider::Agent);
        scribe.request_resolved(RequestResolved { request: request.id, outcome, by, ..RequestResolved::default() });
    }
}

fn warn(method: &str, params: &Object<'_>, scribe: &mut Scribe) {
    let said = params.filled("message").or_else(|| params.filled("summary")).unwrap_or_default();
    let text = params.filled("details").map_or(said.clone(), |details| format!("{said}\n{details}"));
    scribe.notice(Notice::new(Topic::Warning).with_level(Level::Warning).with_name(method).with_text(text));
}

/// Hooks are called as in other agents: `SessionStart`, `PreToolUse`.
fn hook(method: &str, params: &Object<'_>, scribe: &mut Scribe) {
    let run = params.object("run");
    let event = run.str("eventName").unwrap_or_default();
    let mut letters = event.chars();
    let name: String = letters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(letters).collect();
    let status = match (method, run.str("status").as_deref()) {
        ("hook/started", _) => "started",
        (_, Some("failed" | "blocked" | "stopped")) => "failed",
        _ => "completed",
    };
    let entries: Vec<_> = run.array("entries").into_iter().filter_map(|entry| entry.object().filled("text")).collect();
    let text = run.filled("statusMessage").into_iter().chain(entries).collect::<Vec<_>>().join("\n");
    let notice = Notice::new(Topic::Hook).with_name(name).with_status(status);
    scribe.notice(Notice { text: Some(text).filter(|text| !text.is_empty()), detail: params.raw("run"), ..notice });
}

/// Families of notifications that concern the host alone.
fn is_known(method: &str) -> bool {
    const FAMILIES: &[&str] = &[
        "account",
        "app",
        "autoApprovalReview",
        "command",
        "environment",
        "externalAgentConfig",
        "fs",
        "fuzzyFileSearch",
        "mcpServer",
        "model",
        "process",
        "project",
        "rawResponse",
        "rawResponseItem",
        "remoteControl",
        "skills",
        "windows",
        "windowsSandbox",
    ];
    method.split_once('/').is_some_and(|(family, _)| FAMILIES.contains(&family))
}
