//! Reads the client's requests and the app-server's replies to them.

use std::collections::VecDeque;

use switchboard_event::{Id, Level, Notice, Topic};

use super::{AppServerReader, control_notice, settings};
use crate::{
    JsonObject, JsonView, RunRecorder,
    codex::{driver::DECLINE_PREFIX, errors, items},
};

/// Maximum number of remembered requests. Codex never answers an interrupt of a turn that is already interrupted
/// (0.166).
const MAX_PENDING_CLIENT_REQUESTS: usize = 256;

/// Methods that a user triggers: a refusal is reported as a warning.
const REPORTED_METHODS: [&str; 4] =
    ["thread/settings/update", "thread/compact/start", "thread/name/set", "thread/unsubscribe"];

/// Client requests that await a reply.
#[derive(Default)]
pub struct TranscriptClientRequests {
    waiting: VecDeque<TranscriptClientRequest>,
}

struct TranscriptClientRequest {
    /// JSON text of the request id.
    key: String,
    method: String,
    /// The request asks for a page after the first.
    further: bool,
}

impl TranscriptClientRequests {
    fn push(&mut self, id: JsonView<'_>, method: &str, params: &JsonObject<'_>) {
        if self.waiting.len() >= MAX_PENDING_CLIENT_REQUESTS {
            self.waiting.pop_front();
        }
        let further = params.get("cursor").is_some();
        self.waiting.push_back(TranscriptClientRequest {
            key: id.raw_text().to_owned(),
            method: method.to_owned(),
            further,
        });
    }

    fn take(&mut self, key: &str) -> Option<TranscriptClientRequest> {
        let index = self.waiting.iter().position(|waiting| waiting.key == key)?;
        self.waiting.remove(index)
    }
}

impl AppServerReader {
    /// Reads a request or a notification of the client.
    pub(super) fn read_client_message(
        &mut self,
        id: Option<JsonView<'_>>,
        method: &str,
        params: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        if let Some(id) = id {
            self.calls.push(id, method, params);
        }
        let key = id.map(JsonView::raw_text).unwrap_or_default();
        match method {
            "initialize" => self.settings.apply_client_info(params),
            "thread/start" | "thread/fork" => self.threads.set_opening(true),
            "thread/unsubscribe" => {
                self.threads.leave_thread(&params.get_str("threadId").unwrap_or_default(), recorder)
            }
            "thread/resume" => {
                let main = self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder);
                if let Some(thread) = params.get_non_empty("threadId").filter(|_| main) {
                    recorder.set_resumed_from(Id::from(thread));
                }
            }
            "turn/start" | "turn/steer" => return self.read_turn_prompt(key, method, params, recorder),
            "thread/compact/start" | "review/start" => self.read_turn_command(key, params, recorder),
            "turn/interrupt" => return self.read_interrupt(params, recorder),
            "thread/inject_items" => self.reason = parse_decline_reason(params),
            _ => self.responses.read_event(switchboard_event::Dir::Out, method, params, recorder),
        }
        recorder.write_notice_if_no_event(control_notice(method));
    }

    /// The prompt becomes an item only when the app-server echoes it, which shows that the agent received it.
    fn read_turn_prompt(&mut self, key: &str, method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let text = items::parse_user_message(params.get("input")).joined_text();
        self.threads.set_opening(false);
        if self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder) && method == "turn/start" {
            self.turns.expect_turn(key, Some(text.clone()));
        }
        recorder.write_notice(control_notice(method).with_text(text));
    }

    fn read_turn_command(&mut self, key: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder) {
            self.turns.expect_turn(key, None);
        }
    }

    fn read_interrupt(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let main = self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder);
        let turn = params.get_str("turnId").unwrap_or_default();
        if main && (turn.is_empty() || self.turns.is_active(&turn)) {
            recorder.mark_interrupted();
        }
        recorder.write_notice(Notice::new(Topic::Interrupt).with_name("turn/interrupt"));
    }

    /// Reads the reply to a client request.
    pub(super) fn read_response(&mut self, id: JsonView<'_>, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let waiting = self.calls.take(id.raw_text());
        let (method, further) = waiting.map(|call| (call.method, call.further)).unwrap_or_default();
        if matches!(method.as_str(), "thread/start" | "thread/fork") {
            self.threads.set_opening(false);
        }
        if let Some(error) = fields.get("error") {
            return self.report_refusal(id.raw_text(), &method, &error.as_object(), recorder);
        }
        let result = fields.get_object("result");
        match method.as_str() {
            "initialize" => recorder.update_info(self.settings.apply_initialize_result(&result)),
            "thread/start" | "thread/resume" | "thread/fork" => self.apply_opened_thread(&method, &result, recorder),
            "turn/start" | "review/start" => self.turns.accept_request(id.raw_text(), &result.get_object("turn")),
            "model/list" => recorder.update_info(self.settings.apply_model_list(&result, !further)),
            "collaborationMode/list" => recorder.update_info(self.settings.apply_mode_list(&result)),
            "thread/turns/list" => self.apply_turn_list(&result, recorder),
            // The transcript holds only one direction.
            "" if result.contains_key("thread") && result.contains_key("model") => {
                self.apply_opened_thread("", &result, recorder)
            }
            "" if result.contains_key("userAgent") => {
                recorder.update_info(self.settings.apply_initialize_result(&result))
            }
            _ => {}
        }
        let name = if method.is_empty() { "response" } else { &method };
        recorder.write_notice_if_no_event(control_notice(name).with_status("answered"));
    }

    fn apply_opened_thread(&mut self, method: &str, result: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let thread = result.get_object("thread");
        let id = thread.get_str("id").unwrap_or_default();
        let main = self.threads.enter_thread(Some(&id), recorder);
        self.threads.identify_session(recorder);
        let from = thread.get_non_empty("forkedFromId");
        match (method, from) {
            ("thread/start", _) => {
                self.threads.mark_fresh(&id);
                self.threads.remember_opened_thread(&id);
            }
            (_, Some(from)) if method != "thread/resume" => {
                self.threads.mark_fork(&id, &from);
                if main {
                    recorder.set_resumed_from(Id::from(from));
                }
            }
            _ => {}
        }
        if main {
            (self.opened, self.error) = (true, None);
            recorder.adjust_config(|config| settings::apply_policies(result, config));
            let info = self.settings.apply_thread_settings(result);
            recorder.update_info(info);
        }
    }

    /// Reports a refusal. It becomes the session's error only if the session needs the request; any other concerns the
    /// host.
    fn report_refusal(&mut self, key: &str, method: &str, error: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let fault = errors::from_rpc(error);
        self.turns.drop_request(key);
        let name = if method.is_empty() { "response" } else { method };
        let mut notice = control_notice(name).with_level(Level::Warning).with_text(fault.message.clone());
        let another = method == "thread/start" && self.opened;
        if another || REPORTED_METHODS.contains(&method) {
            notice.topic = Topic::Warning;
        }
        let needed = match method {
            "thread/start" | "thread/resume" | "thread/fork" => !self.opened,
            "turn/start" | "review/start" => true,
            _ => false,
        };
        if !needed {
            return recorder.write_notice(notice);
        }
        recorder.write_notice(Notice { topic: Topic::Warning, error: Some(fault.clone()), ..notice });
        if !recorder.in_turn() {
            self.error = Some(fault);
        }
    }
}

/// Extracts the reason for declining, which the driver injects into the conversation before it answers.
fn parse_decline_reason(params: &JsonObject<'_>) -> Option<String> {
    let items = params.get_array("items");
    let content = items.first()?.as_object().get_array("content");
    let text = content.first()?.as_object().get_string("text")?;
    text.strip_prefix(DECLINE_PREFIX).map(str::to_owned)
}
