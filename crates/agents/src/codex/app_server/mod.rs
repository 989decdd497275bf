//! Reader for `codex app-server`: JSON-RPC in both directions. Client messages are read too, because a reply can only
//! be interpreted together with its request. Several threads can share a connection: the first is the session, the
//! others are subagents.

mod calls;
mod items;
mod request_params;
mod requests;
mod settings;
mod threads;
mod turns;

use calls::TranscriptClientRequests;
use items::ReasoningParts;
use requests::TranscriptServerRequests;
use settings::AppServerSettings;
use switchboard_event::{Decider, Dir, EndReason, Fault, Level, Notice, Outcome, RequestResolved, Timestamp, Topic};
use threads::AppServerThreads;
use turns::AppServerTurns;

use super::{errors, responses_api::ResponsesApiReader};
use crate::{EngineNote, JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding};

/// Reads a transcript of the app-server.
#[derive(Default)]
pub struct AppServerReader {
    pub(super) threads: AppServerThreads,
    pub(super) turns: AppServerTurns,
    pub(super) calls: TranscriptClientRequests,
    pub(super) requests: TranscriptServerRequests,
    pub(super) settings: AppServerSettings,
    pub(super) parts: ReasoningParts,
    pub(super) responses: ResponsesApiReader,
    /// The last error, until later records show that the work continued.
    pub(super) error: Option<Fault>,
    /// The session's thread is open.
    pub(super) opened: bool,
    /// Reason for declining the next request; the answer itself cannot carry one.
    pub(super) reason: Option<String>,
    /// A turn has run.
    worked: bool,
    /// Switchboard is stopping the process, so its last messages are no failure.
    stopping: bool,
}

impl RecordReader for AppServerReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        recorder.set_record_time(fields.get("emittedAtMs").and_then(JsonView::as_i64).and_then(Timestamp::from_millis));
        let (method, id) = (fields.get_str("method"), fields.get("id"));
        let params = fields.get_object("params");
        match (dir, method, id) {
            (Dir::In, Some(method), None) => self.read_notification(&method, &params, recorder),
            // Request ids of the server are a separate space and collide with those of the client.
            (Dir::In, Some(method), Some(id)) => self.read_request(id, &method, &params, recorder),
            (Dir::Out, Some(method), id) => self.read_client_message(id, &method, &params, recorder),
            (Dir::In, None, Some(id)) => self.read_response(id, &fields, recorder),
            (Dir::Out, None, Some(id)) => self.read_answer(id, &fields, recorder),
            (_, None, None) => self.responses.read(dir, record, recorder),
        }
        self.worked |= recorder.in_turn();
    }

    fn handle_note(&mut self, note: &EngineNote<'_>, _: &mut RunRecorder) {
        self.stopping |= matches!(note, EngineNote::Stopping(_));
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.threads.identify_session(recorder);
        if self.stopping {
            return;
        }
        match self.error.take() {
            Some(fault) if recorder.in_turn() => recorder.turn_completed(errors::failed_turn(fault, None)),
            Some(fault) if !self.worked => {
                recorder.session_ending(SessionEnding { reason: EndReason::Failed, error: Some(fault) });
            }
            // A thread that was opened and never prompted ended successfully.
            None if !self.worked && self.opened && !self.turns.has_requested_turns() => {
                recorder.session_ending(SessionEnding { reason: EndReason::Completed, error: None });
            }
            _ => self.responses.end(recorder),
        }
    }
}

impl AppServerReader {
    fn read_notification(&mut self, method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match method.split('/').next() {
            Some("item") => self.read_item(method, params, recorder),
            Some("turn" | "error") => self.read_turn_notification(method, params, recorder),
            Some("thread") => self.read_thread_notification(method, params, recorder),
            _ => self.read_other_notification(method, params, recorder),
        }
    }
}

/// Notice for a message between host and agent.
pub fn control_notice(name: &str) -> Notice {
    Notice::new(Topic::Control).with_name(name)
}

impl AppServerReader {
    /// Reads any other notification. An unknown one may be an event of the model's API.
    fn read_other_notification(&mut self, method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder);
        match method {
            "warning" | "guardianWarning" | "configWarning" | "deprecationNotice" => {
                report_warning(method, params, recorder)
            }
            "model/rerouted" => self.report_model_reroute(params, recorder),
            "account/rateLimits/updated" => {
                let detail = params.get_raw("rateLimits");
                recorder.write_notice(Notice { detail, ..Notice::new(Topic::RateLimit).with_level(Level::Debug) });
            }
            "account/updated" | "account/login/completed" | "mcpServer/oauthLogin/completed" => {
                recorder.write_notice(Notice::new(Topic::Auth).with_name(method));
            }
            "mcpServer/startupStatus/updated" => self.update_mcp_server(params, recorder),
            "hook/started" | "hook/completed" => report_hook(method, params, recorder),
            "serverRequest/resolved" => self.withdraw_request(params, recorder),
            _ if is_host_notification(method) => recorder.write_notice(control_notice(method).with_level(Level::Debug)),
            _ => return self.responses.read_event(Dir::In, method, params, recorder),
        }
        recorder.write_notice_if_no_event(control_notice(method));
    }

    fn report_model_reroute(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let (from, to) =
            (params.get_string("fromModel").unwrap_or_default(), params.get_string("toModel").unwrap_or_default());
        let notice = Notice::new(Topic::ModelChanged).with_name(to.clone()).with_text(format!("{from} -> {to}"));
        recorder.write_notice(Notice { detail: params.get_raw("reason"), ..notice });
        recorder.update_info(self.settings.set_model(to));
    }

    fn update_mcp_server(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.update_info(self.settings.update_mcp_server(params));
        if let Some(error) = params.get_non_empty("error") {
            let name = params.get_str("name").unwrap_or_default();
            let text = format!("MCP server {name}: {error}");
            recorder
                .write_notice(Notice::new(Topic::Warning).with_level(Level::Warning).with_name(name).with_text(text));
        }
    }

    /// The request was answered or cleared. If it is still open here, another client answered it.
    fn withdraw_request(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(request) = params.get("requestId").and_then(|id| self.requests.take(id.raw_text())) else { return };
        let (outcome, by) = (Outcome::Withdrawn, Decider::Agent);
        recorder.request_resolved(RequestResolved { request: request.id, outcome, by, ..RequestResolved::default() });
    }
}

fn report_warning(method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let said = params.get_non_empty("message").or_else(|| params.get_non_empty("summary")).unwrap_or_default();
    let text = params.get_non_empty("details").map_or(said.clone(), |details| format!("{said}\n{details}"));
    recorder.write_notice(Notice::new(Topic::Warning).with_level(Level::Warning).with_name(method).with_text(text));
}

/// Hooks get the names that other agents use: `SessionStart`, `PreToolUse`.
fn report_hook(method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let run = params.get_object("run");
    let event = run.get_str("eventName").unwrap_or_default();
    let mut letters = event.chars();
    let name: String = letters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(letters).collect();
    let status = match (method, run.get_str("status").as_deref()) {
        ("hook/started", _) => "started",
        (_, Some("failed" | "blocked" | "stopped")) => "failed",
        _ => "completed",
    };
    let entries: Vec<_> =
        run.get_array("entries").into_iter().filter_map(|entry| entry.as_object().get_non_empty("text")).collect();
    let text = run.get_non_empty("statusMessage").into_iter().chain(entries).collect::<Vec<_>>().join("\n");
    let notice = Notice::new(Topic::Hook).with_name(name).with_status(status);
    recorder.write_notice(Notice {
        text: Some(text).filter(|text| !text.is_empty()),
        detail: params.get_raw("run"),
        ..notice
    });
}

/// Returns whether the notification belongs to a family that concerns the host alone.
fn is_host_notification(method: &str) -> bool {
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
