//! The control protocol: what Claude asks of its host, and what the host asks of Claude.

use std::{collections::VecDeque, ops::Deref};

use serde_json::value::RawValue;
use switchboard_event::{Decider, Id, Info, Item, Level, Notice, Outcome, RequestResolved, Topic};

use super::{
    driver::HELLO,
    items,
    live::Live,
    modes,
    offers::{self, BUDGET, DEFAULT, EFFORT},
    requests,
};
use crate::{Json, Object, Scribe};

/// Requests that change a setting of the session.
const SETTINGS: [&str; 4] = ["set_model", "set_permission_mode", "apply_flag_settings", "set_max_thinking_tokens"];

/// How many of each are remembered.
const REMEMBERED: usize = 256;

/// Requests of the control protocol, both ways.
#[derive(Default)]
pub struct Asks {
    /// What we asked for, by the id of the request.
    ours: VecDeque<(String, Ours)>,
    /// What Claude asked for and is not shown as a request: hooks, by name and tool call, and MCP traffic.
    theirs: VecDeque<(String, (String, Option<String>))>,
    /// Tool calls that were allowed with another input, and are not seen yet.
    changed: VecDeque<(Id, Box<RawValue>)>,
    /// Tool calls that were not allowed.
    denied: VecDeque<Id>,
    /// What a request is about.
    calls: VecDeque<(Id, Subject)>,
}

/// A tool call that Claude asks about, and what it would do.
struct Subject {
    call: Id,
    input: Option<Box<RawValue>>,
}

/// Something that we asked of Claude.
struct Ours {
    subtype: String,
    /// What it is about: a model, a prompt, or the value of a setting.
    what: Option<String>,
}

fn remember<T>(list: &mut VecDeque<T>, entry: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(entry);
}

fn take<K: Deref<Target = str>, T>(list: &mut VecDeque<(K, T)>, id: &str) -> Option<T> {
    let index = list.iter().position(|(known, _)| **known == *id)?;
    list.remove(index).map(|(_, what)| what)
}

impl Asks {
    /// A tool call was not allowed.
    pub fn denied(&mut self, call: &str) {
        remember(&mut self.denied, Id::from(call));
    }

    /// The input that a tool call was allowed with, if it is another. Answers once.
    pub fn changed(&mut self, call: &str) -> Option<Box<RawValue>> {
        let index = self.changed.iter().position(|(id, _)| *id == *call)?;
        self.changed.remove(index).map(|(_, input)| input)
    }

    /// The tool call was not allowed. Answers once.
    pub fn was_denied(&mut self, call: &str) -> bool {
        let index = self.denied.iter().position(|id| *id == *call);
        index.and_then(|index| self.denied.remove(index)).is_some()
    }
}

impl Live {
    /// `control_request` from Claude.
    pub(super) fn asked(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = fields.string("request_id").unwrap_or_default();
        let request = fields.object("request");
        let subtype = request.string("subtype").unwrap_or_default();
        match subtype.as_str() {
            "can_use_tool" => self.can_use_tool(&id, &request, scribe),
            "elicitation" => scribe.request_opened(None, requests::elicitation(&id, &request)),
            "hook_callback" => {
                let input = request.object("input");
                let event = input.string("hook_event_name").unwrap_or_default();
                let name = input.string("tool_name").map_or(event.clone(), |tool| format!("{event}:{tool}"));
                remember(&mut self.asks.theirs, (id, (name.clone(), request.string("tool_use_id"))));
                scribe.notice(Notice::new(Topic::Hook).with_name(name).with_status("started"));
            }
            other => {
                remember(&mut self.asks.theirs, (id, (String::new(), None)));
                scribe.notice(Notice::new(Topic::Control).with_name(other));
            }
        }
    }

    fn can_use_tool(&mut self, id: &str, request: &Object<'_>, scribe: &mut Scribe) {
        let call = request.str("tool_use_id").map(Id::from);
        let task = request.str("agent_id");
        if let Some(task) = task {
            // A subagent asks before its tool call is seen: only the task says where it belongs.
            scribe.within(self.tasks.call_of(&task), Some(Id::from(task)));
        }
        let name = request.str("tool_name").unwrap_or_default();
        let opened = requests::of_tool(id, &name, request, &self.todos, scribe);
        if let Some(call) = &call {
            remember(&mut self.asks.calls, (Id::from(id), Subject { call: call.clone(), input: request.raw("input") }));
        }
        scribe.request_opened(call, opened);
    }

    /// `control_cancel_request`: Claude no longer asks.
    pub(super) fn withdrawn(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let request = Id::from(fields.str("request_id").unwrap_or_default());
        let resolved =
            RequestResolved { request, outcome: Outcome::Withdrawn, by: Decider::Agent, ..Default::default() };
        scribe.request_resolved(resolved);
        scribe.otherwise(Notice::new(Topic::Control).with_name("control_cancel_request"));
    }

    /// `control_response` to Claude: a decision, or an answer that concerns nobody else.
    pub(super) fn decided(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let response = fields.object("response");
        let id = response.str("request_id").unwrap_or_default();
        if scribe.request_is_open(&id) {
            return self.resolved(requests::resolution(&id, &response), scribe);
        }
        match take(&mut self.asks.theirs, &id) {
            Some((hook, call)) if !hook.is_empty() => {
                let decision = response.object("response").object("hookSpecificOutput");
                if let Some(call) = call.filter(|_| decision.is("permissionDecision", "deny")) {
                    self.asks.denied(&call);
                }
                scribe.notice(Notice::new(Topic::Hook).with_name(hook).with_status("completed"));
            }
            _ => scribe.notice(Notice::new(Topic::Control).with_name("control_response")),
        }
    }

    /// A request about a tool call was decided: what was declined never runs, and what was changed runs changed.
    fn resolved(&mut self, mut resolved: RequestResolved, scribe: &mut Scribe) {
        let subject = take(&mut self.asks.calls, &resolved.request);
        let asked = subject.as_ref().and_then(|subject| subject.input.as_deref());
        // A yes always has an input; only another one is news.
        resolved.input.take_if(|input| asked.is_some_and(|asked| asked.get() == input.get()));
        let (outcome, input) = (resolved.outcome, resolved.input.clone());
        scribe.request_resolved(resolved);
        let Some(Subject { call, .. }) = subject else { return };
        match (outcome, input) {
            (Outcome::Declined | Outcome::Cancelled, _) => self.asks.denied(&call),
            (Outcome::Allowed, Some(input)) => self.change_input(call, input, scribe),
            _ => {}
        }
    }

    fn change_input(&mut self, call: Id, input: Box<RawValue>, scribe: &mut Scribe) {
        let Some(item) = scribe.item(&call).cloned() else {
            return remember(&mut self.asks.changed, (call, input));
        };
        let asked = item.call.as_deref();
        if asked.and_then(|asked| asked.input.as_deref()).is_some_and(|asked| asked.get() != input.get()) {
            let name = asked.map(|asked| asked.name.clone()).unwrap_or_default();
            let changed = items::item(&name, Some(Json::of(&input)), &self.todos, scribe);
            scribe.item_set(&call, Item { reply: item.reply, ..changed });
        }
    }

    /// `control_request` to Claude.
    pub(super) fn told(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let request = fields.object("request");
        let subtype = request.string("subtype").unwrap_or_default();
        if let Some(id) = fields.string("request_id") {
            let set = offers::setting(&subtype, &request).map(|(_, value)| value);
            let what = set.or_else(|| request.filled("model")).or_else(|| request.filled("message_uuid"));
            remember(&mut self.asks.ours, (id, Ours { subtype: subtype.clone(), what }));
        }
        if subtype == "interrupt" {
            if scribe.in_turn() {
                scribe.interrupted();
            }
            return scribe.notice(Notice::new(Topic::Interrupt));
        }
        scribe.notice(Notice::new(Topic::Control).with_name(subtype));
    }

    /// `control_response` from Claude: what became of our request. With `--replay-user-messages`, our own come back.
    pub(super) fn answered(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let response = fields.object("response");
        let id = response.str("request_id").unwrap_or_default();
        let Some(Ours { subtype, what }) = take(&mut self.asks.ours, &id) else {
            return scribe.notice(Notice::new(Topic::Echo).with_name("control_response"));
        };
        let payload = response.object("response");
        if response.is("subtype", "success") {
            match subtype.as_str() {
                "initialize" => self.initialized(&id, &payload, scribe),
                "cancel_async_message" if payload.is_true("cancelled") => {
                    self.waiting.remove(what.as_deref().unwrap_or_default());
                }
                setting if SETTINGS.contains(&setting) => self.set(setting, what, &payload, scribe),
                _ => {}
            }
        }
        let refused = response.filled("error");
        let mut notice = Notice::new(Topic::Control).with_name(subtype.as_str()).with_status("answered");
        if refused.is_some() && SETTINGS.contains(&subtype.as_str()) {
            (notice.topic, notice.level) = (Topic::Warning, Level::Warning);
        }
        scribe.otherwise(Notice { text: refused, ..notice });
    }
}

/// The answer to `initialize`: what can be chosen, and who can be called.
impl Live {
    fn initialized(&mut self, id: &str, payload: &Object<'_>, scribe: &mut Scribe) {
        self.offers.told(payload);
        if let Some(model) = scribe.start().config.model.clone() {
            self.offers.uses(&model);
        }
        // The mode is told with the first turn, but we know how we start it.
        let mode = (id == HELLO).then(|| modes::FIRST.to_owned());
        scribe.info(Info { modes: modes::all(), mode, ..self.offers.info() });
    }

    /// A setting was changed.
    fn set(&mut self, subtype: &str, what: Option<String>, payload: &Object<'_>, scribe: &mut Scribe) {
        let what = what.unwrap_or_else(|| DEFAULT.to_owned());
        let mut info = Info::default();
        match subtype {
            // The next turn says which model that really is.
            "set_model" => {
                self.offers.uses(&what);
                info.model = self.offers.real(&what).map(str::to_owned);
            }
            "apply_flag_settings" => self.offers.set(EFFORT, &what),
            "set_max_thinking_tokens" => self.offers.set(BUDGET, &what),
            _ => info.mode = payload.filled("mode"),
        }
        scribe.info(Info { options: self.offers.options(), ..info });
    }
}
