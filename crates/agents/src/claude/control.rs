//! The control protocol: requests from Claude Code to its host, and from the host to Claude Code.

use std::{collections::VecDeque, ops::Deref};

use serde_json::value::RawValue;
use switchboard_event::{Decider, Id, Info, Item, Level, Notice, Outcome, RequestResolved, Topic};

use super::{
    ClaudeStreamReader,
    driver::INITIALIZE_REQUEST_ID,
    items,
    offers::{self, DEFAULT, EFFORT_OPTION_ID, THINKING_BUDGET_OPTION_ID},
    requests, rules,
};
use crate::{JsonObject, JsonView, RunRecorder, bounded::push_bounded};

/// Request subtypes that change a setting of the session.
const SETTING_SUBTYPES: [&str; 4] =
    ["set_model", "set_permission_mode", "apply_flag_settings", "set_max_thinking_tokens"];

/// The maximum number of remembered entries per list.
const MAX_REMEMBERED_REQUESTS: usize = 256;

/// Control requests in both directions.
#[derive(Default)]
pub struct ClaudeControlRequests {
    /// Requests sent to Claude Code, by request id.
    ours: VecDeque<(String, SentControlRequest)>,
    /// Requests from Claude Code that are not shown as requests: hooks, with name and tool call, and MCP traffic.
    theirs: VecDeque<(String, (String, Option<String>))>,
    /// Inputs of tool calls that were approved with a changed input and have not appeared yet.
    changed: VecDeque<(Id, Box<RawValue>)>,
    /// Tool calls that were denied.
    denied: VecDeque<Id>,
    /// The tool call that each request is about.
    calls: VecDeque<(Id, PermissionSubject)>,
}

/// A tool call that Claude Code asks permission for, with its input.
struct PermissionSubject {
    call: Id,
    input: Option<Box<RawValue>>,
}

/// A request sent to Claude Code.
struct SentControlRequest {
    subtype: String,
    /// The subject of the request: a model, a prompt, or the value of a setting.
    what: Option<String>,
}

fn take_entry<K: Deref<Target = str>, T>(list: &mut VecDeque<(K, T)>, id: &str) -> Option<T> {
    let index = list.iter().position(|(known, _)| **known == *id)?;
    list.remove(index).map(|(_, what)| what)
}

impl ClaudeControlRequests {
    /// Remembers that a tool call was denied.
    pub fn mark_denied(&mut self, call: &str) {
        push_bounded(&mut self.denied, Id::from(call), MAX_REMEMBERED_REQUESTS);
    }

    /// Takes the changed input that a tool call was approved with, if any.
    pub fn take_changed_input(&mut self, call: &str) -> Option<Box<RawValue>> {
        let index = self.changed.iter().position(|(id, _)| *id == *call)?;
        self.changed.remove(index).map(|(_, input)| input)
    }

    /// Returns whether the tool call was denied, and forgets it.
    pub fn take_denied(&mut self, call: &str) -> bool {
        let index = self.denied.iter().position(|id| *id == *call);
        index.and_then(|index| self.denied.remove(index)).is_some()
    }
}

impl ClaudeStreamReader {
    /// Reads a `control_request` from Claude Code.
    pub(super) fn read_control_request(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = fields.get_string("request_id").unwrap_or_default();
        let request = fields.get_object("request");
        let subtype = request.get_string("subtype").unwrap_or_default();
        match subtype.as_str() {
            "can_use_tool" => self.open_tool_request(&id, &request, recorder),
            "elicitation" => recorder.request_opened(None, requests::elicitation_request(&id, &request)),
            "hook_callback" => {
                let input = request.get_object("input");
                let event = input.get_string("hook_event_name").unwrap_or_default();
                let name = input.get_string("tool_name").map_or(event.clone(), |tool| format!("{event}:{tool}"));
                push_bounded(
                    &mut self.asks.theirs,
                    (id, (name.clone(), request.get_string("tool_use_id"))),
                    MAX_REMEMBERED_REQUESTS,
                );
                recorder.write_notice(Notice::new(Topic::Hook).with_name(name).with_status("started"));
            }
            other => {
                push_bounded(&mut self.asks.theirs, (id, (String::new(), None)), MAX_REMEMBERED_REQUESTS);
                recorder.write_notice(Notice::new(Topic::Control).with_name(other));
            }
        }
    }

    fn open_tool_request(&mut self, id: &str, request: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let call = request.get_str("tool_use_id").map(Id::from);
        let task = request.get_str("agent_id");
        if let Some(task) = task {
            // A subagent asks before its tool call appears: only the task tells where the request belongs.
            recorder.set_scope(self.tasks.call_of_task(&task), Some(Id::from(task)));
        }
        let name = request.get_str("tool_name").unwrap_or_default();
        let opened = requests::tool_request(id, &name, request, &self.todos, recorder);
        if let Some(call) = &call {
            push_bounded(
                &mut self.asks.calls,
                (Id::from(id), PermissionSubject { call: call.clone(), input: request.get_raw("input") }),
                MAX_REMEMBERED_REQUESTS,
            );
        }
        recorder.request_opened(call, opened);
    }

    /// Reads a `control_cancel_request`: Claude Code withdraws a request.
    pub(super) fn read_cancel_request(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let request = Id::from(fields.get_str("request_id").unwrap_or_default());
        let resolved =
            RequestResolved { request, outcome: Outcome::Withdrawn, by: Decider::Agent, ..Default::default() };
        recorder.request_resolved(resolved);
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("control_cancel_request"));
    }

    /// Reads a `control_response` to Claude Code: a decision, or an answer without events of its own.
    pub(super) fn read_sent_response(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let response = fields.get_object("response");
        let id = response.get_str("request_id").unwrap_or_default();
        if recorder.request_is_open(&id) {
            return self.resolve_request(requests::parse_resolution(&id, &response), recorder);
        }
        match take_entry(&mut self.asks.theirs, &id) {
            Some((hook, call)) if !hook.is_empty() => {
                let decision = response.get_object("response").get_object("hookSpecificOutput");
                if let Some(call) = call.filter(|_| decision.str_equals("permissionDecision", "deny")) {
                    self.asks.mark_denied(&call);
                }
                recorder.write_notice(Notice::new(Topic::Hook).with_name(hook).with_status("completed"));
            }
            _ => recorder.write_notice(Notice::new(Topic::Control).with_name("control_response")),
        }
    }

    /// Resolves a request about a tool call: a declined call never runs, and a changed call runs with its new input.
    fn resolve_request(&mut self, mut resolved: RequestResolved, recorder: &mut RunRecorder) {
        let subject = take_entry(&mut self.asks.calls, &resolved.request);
        let asked = subject.as_ref().and_then(|subject| subject.input.as_deref());
        // An approval always has an input; only a changed one is worth reporting.
        resolved.input.take_if(|input| asked.is_some_and(|asked| asked.get() == input.get()));
        let (outcome, input) = (resolved.outcome, resolved.input.clone());
        recorder.request_resolved(resolved);
        let Some(PermissionSubject { call, .. }) = subject else { return };
        match (outcome, input) {
            (Outcome::Declined | Outcome::Cancelled, _) => self.asks.mark_denied(&call),
            (Outcome::Allowed, Some(input)) => self.change_input(call, input, recorder),
            _ => {}
        }
    }

    fn change_input(&mut self, call: Id, input: Box<RawValue>, recorder: &mut RunRecorder) {
        let Some(item) = recorder.open_item(&call).cloned() else {
            return push_bounded(&mut self.asks.changed, (call, input), MAX_REMEMBERED_REQUESTS);
        };
        let asked = item.call.as_deref();
        if asked.and_then(|asked| asked.input.as_deref()).is_some_and(|asked| asked.get() != input.get()) {
            let name = asked.map(|asked| asked.name.clone()).unwrap_or_default();
            let changed = items::tool_item(&name, Some(JsonView::from_raw(&input)), &self.todos, recorder);
            recorder.item_set(&call, Item { reply: item.reply, ..changed });
        }
    }

    /// Reads a `control_request` to Claude Code.
    pub(super) fn read_sent_request(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let request = fields.get_object("request");
        let subtype = request.get_string("subtype").unwrap_or_default();
        if let Some(id) = fields.get_string("request_id") {
            let set = offers::changed_setting(&subtype, &request).map(|(_, value)| value);
            let what = set.or_else(|| request.get_non_empty("model")).or_else(|| request.get_non_empty("message_uuid"));
            push_bounded(
                &mut self.asks.ours,
                (id, SentControlRequest { subtype: subtype.clone(), what }),
                MAX_REMEMBERED_REQUESTS,
            );
        }
        if subtype == "interrupt" {
            if recorder.in_turn() {
                recorder.mark_interrupted();
            }
            return recorder.write_notice(Notice::new(Topic::Interrupt));
        }
        recorder.write_notice(Notice::new(Topic::Control).with_name(subtype));
    }

    /// Reads a `control_response` from Claude Code. With `--replay-user-messages`, Switchboard's own responses come
    /// back too.
    pub(super) fn read_control_response(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let response = fields.get_object("response");
        let id = response.get_str("request_id").unwrap_or_default();
        let Some(SentControlRequest { subtype, what }) = take_entry(&mut self.asks.ours, &id) else {
            return recorder.write_notice(Notice::new(Topic::Echo).with_name("control_response"));
        };
        let payload = response.get_object("response");
        if response.str_equals("subtype", "success") {
            match subtype.as_str() {
                "initialize" => self.apply_initialize(&id, &payload, recorder),
                "cancel_async_message" if payload.is_true("cancelled") => {
                    self.waiting.remove(what.as_deref().unwrap_or_default());
                }
                setting if SETTING_SUBTYPES.contains(&setting) => self.apply_setting(setting, what, &payload, recorder),
                _ => {}
            }
        }
        let refused = response.get_non_empty("error");
        let mut notice = Notice::new(Topic::Control).with_name(subtype.as_str()).with_status("answered");
        if refused.is_some() && SETTING_SUBTYPES.contains(&subtype.as_str()) {
            (notice.topic, notice.level) = (Topic::Warning, Level::Warning);
        }
        recorder.write_notice_if_no_event(Notice { text: refused, ..notice });
    }
}

/// The response to `initialize`: models, commands, agents and settings.
impl ClaudeStreamReader {
    fn apply_initialize(&mut self, id: &str, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.offers.apply_initialize(payload);
        if let Some(model) = recorder.session_context().config.model.clone() {
            self.offers.set_model(&model);
        }
        // Claude Code reports its mode with the first turn, but the mode of the launch is already known.
        let mode = (id == INITIALIZE_REQUEST_ID).then(|| rules::INITIAL_MODE.to_owned());
        recorder.update_info(Info { modes: rules::permission_modes(), mode, ..self.offers.session_info() });
    }

    /// Applies a changed setting.
    fn apply_setting(
        &mut self,
        subtype: &str,
        what: Option<String>,
        payload: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let what = what.unwrap_or_else(|| DEFAULT.to_owned());
        let mut info = Info::default();
        match subtype {
            // The next turn tells which model the name resolves to.
            "set_model" => {
                self.offers.set_model(&what);
                info.model = self.offers.resolve_model(&what).map(str::to_owned);
            }
            "apply_flag_settings" => self.offers.set_option(EFFORT_OPTION_ID, &what),
            "set_max_thinking_tokens" => self.offers.set_option(THINKING_BUDGET_OPTION_ID, &what),
            _ => info.mode = payload.get_non_empty("mode"),
        }
        recorder.update_info(Info { options: self.offers.option_selectors(), ..info });
    }
}
