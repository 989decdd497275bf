//! What we ask of the app-server, and what it replies.

use std::collections::VecDeque;

use switchboard_event::{Id, Level, Notice, Topic};

use super::{
    super::{driver::DECLINED, errors, user},
    AppServer,
    reader::control,
    settings,
};
use crate::{Json, Object, Scribe};

/// How many requests are remembered. One that was interrupted twice is never answered (0.166).
const LIMIT: usize = 256;

/// What somebody wants of the session, and hears of if it is refused.
const CHANGES: [&str; 4] = ["thread/settings/update", "thread/compact/start", "thread/name/set", "thread/unsubscribe"];

/// Our requests that wait for a reply.
#[derive(Default)]
pub struct Calls {
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    /// The JSON of its id.
    key: String,
    method: String,
    /// It asks for what follows after a first page.
    further: bool,
}

impl Calls {
    fn push(&mut self, id: Json<'_>, method: &str, params: &Object<'_>) {
        if self.waiting.len() >= LIMIT {
            self.waiting.pop_front();
        }
        let further = params.get("cursor").is_some();
        self.waiting.push_back(Waiting { key: id.text().to_owned(), method: method.to_owned(), further });
    }

    fn take(&mut self, key: &str) -> Option<Waiting> {
        let index = self.waiting.iter().position(|waiting| waiting.key == key)?;
        self.waiting.remove(index)
    }
}

impl AppServer {
    /// A request or a notification of ours.
    pub(super) fn call(&mut self, id: Option<Json<'_>>, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        if let Some(id) = id {
            self.calls.push(id, method, params);
        }
        let key = id.map(Json::text).unwrap_or_default();
        match method {
            "initialize" => self.settings.client(params),
            "thread/start" | "thread/fork" => self.threads.is_opening(true),
            "thread/unsubscribe" => self.threads.left(&params.str("threadId").unwrap_or_default(), scribe),
            "thread/resume" => {
                let main = self.threads.enter(params.str("threadId").as_deref(), scribe);
                if let Some(thread) = params.filled("threadId").filter(|_| main) {
                    scribe.resumed(Id::from(thread));
                }
            }
            "turn/start" | "turn/steer" => return self.said(key, method, params, scribe),
            "thread/compact/start" | "review/start" => self.commanded(key, params, scribe),
            "turn/interrupt" => return self.interrupted(params, scribe),
            "thread/inject_items" => self.reason = reason(params),
            _ => self.responses.event(switchboard_event::Dir::Out, method, params, scribe),
        }
        scribe.otherwise(control(method));
    }

    /// What we say becomes an item when the app-server repeats it: only then has the agent heard it.
    fn said(&mut self, key: &str, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        let text = user::message(params.get("input")).joined();
        self.threads.is_opening(false);
        if self.threads.enter(params.str("threadId").as_deref(), scribe) && method == "turn/start" {
            self.turns.ask(key, Some(text.clone()));
        }
        scribe.notice(control(method).with_text(text));
    }

    fn commanded(&mut self, key: &str, params: &Object<'_>, scribe: &mut Scribe) {
        if self.threads.enter(params.str("threadId").as_deref(), scribe) {
            self.turns.ask(key, None);
        }
    }

    fn interrupted(&mut self, params: &Object<'_>, scribe: &mut Scribe) {
        let main = self.threads.enter(params.str("threadId").as_deref(), scribe);
        let turn = params.str("turnId").unwrap_or_default();
        if main && (turn.is_empty() || self.turns.is_active(&turn)) {
            scribe.interrupted();
        }
        scribe.notice(Notice::new(Topic::Interrupt).with_name("turn/interrupt"));
    }

    /// A reply to a request of ours.
    pub(super) fn response(&mut self, id: Json<'_>, fields: &Object<'_>, scribe: &mut Scribe) {
        let waiting = self.calls.take(id.text());
        let (method, further) = waiting.map(|call| (call.method, call.further)).unwrap_or_default();
        if matches!(method.as_str(), "thread/start" | "thread/fork") {
            self.threads.is_opening(false);
        }
        if let Some(error) = fields.get("error") {
            return self.refused(id.text(), &method, &error.object(), scribe);
        }
        let result = fields.object("result");
        match method.as_str() {
            "initialize" => scribe.info(self.settings.server(&result)),
            "thread/start" | "thread/resume" | "thread/fork" => self.opened(&method, &result, scribe),
            "turn/start" | "review/start" => self.turns.answered(id.text(), &result.object("turn")),
            "model/list" => scribe.info(self.settings.offers(&result, !further)),
            "collaborationMode/list" => scribe.info(self.settings.modes(&result)),
            "thread/turns/list" => self.turn_listed(&result, scribe),
            // One direction of the wire was not written down.
            "" if result.has("thread") && result.has("model") => self.opened("", &result, scribe),
            "" if result.has("userAgent") => scribe.info(self.settings.server(&result)),
            _ => {}
        }
        let name = if method.is_empty() { "response" } else { &method };
        scribe.otherwise(control(name).with_status("answered"));
    }

    fn opened(&mut self, method: &str, result: &Object<'_>, scribe: &mut Scribe) {
        let thread = result.object("thread");
        let id = thread.str("id").unwrap_or_default();
        let main = self.threads.enter(Some(&id), scribe);
        self.threads.identify(scribe);
        let from = thread.filled("forkedFromId");
        match (method, from) {
            ("thread/start", _) => {
                self.threads.is_fresh(&id);
                self.threads.is_another(&id);
            }
            (_, Some(from)) if method != "thread/resume" => {
                self.threads.is_fork(&id, &from);
                if main {
                    scribe.resumed(Id::from(from));
                }
            }
            _ => {}
        }
        if main {
            (self.opened, self.error) = (true, None);
            scribe.config(|config| settings::policies(result, config));
            let info = self.settings.of(result);
            scribe.info(info);
        }
    }

    /// The failure of what the session needs is told; any other concerns the host.
    fn refused(&mut self, key: &str, method: &str, error: &Object<'_>, scribe: &mut Scribe) {
        let fault = errors::from_rpc(error);
        self.turns.refused(key);
        let name = if method.is_empty() { "response" } else { method };
        let mut notice = control(name).with_level(Level::Warning).with_text(fault.message.clone());
        let another = method == "thread/start" && self.opened;
        if another || CHANGES.contains(&method) {
            notice.topic = Topic::Warning;
        }
        let needed = match method {
            "thread/start" | "thread/resume" | "thread/fork" => !self.opened,
            "turn/start" | "review/start" => true,
            _ => false,
        };
        if !needed {
            return scribe.notice(notice);
        }
        scribe.notice(Notice { topic: Topic::Warning, error: Some(fault.clone()), ..notice });
        if !scribe.in_turn() {
            self.error = Some(fault);
        }
    }
}

/// Why a request will be declined: we put that into the conversation before we answer.
fn reason(params: &Object<'_>) -> Option<String> {
    let items = params.array("items");
    let content = items.first()?.object().array("content");
    let text = content.first()?.object().string("text")?;
    text.strip_prefix(DECLINED).map(str::to_owned)
}
