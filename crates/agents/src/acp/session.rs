//! Sessions: opening them, what the agent says about itself and about them, and how they end.

use switchboard_event::{EndReason, Fault, Id, Info, Level, Notice, Status, Topic};

use super::{
    errors, info,
    live::{Live, Ours, answer_notice, control},
    rpc::Key,
};
use crate::{Ending, Json, Object, Scribe};

/// What is known about the session of this connection.
#[derive(Default)]
pub struct Session {
    /// The stream has what was sent to the agent, too.
    pub two_way: bool,
    /// History is being replayed: the thread that keeps it away from the answer.
    pub replay: Option<Id>,
    replays: u32,
    /// The session that is being loaded, resumed or forked.
    from: Option<Id>,
    /// The session was there before this connection.
    pub resumed: bool,
    /// The model that the session has when none is chosen.
    default_model: Option<String>,
    /// Why no session could be opened.
    fault: Option<Fault>,
    /// It says what can be done about it.
    advised: bool,
    closed: bool,
}

impl Session {
    /// Whoever gave up for what the agent said may know what can be done about it.
    pub fn advised(&mut self, advice: &Fault) {
        if let Some(fault) = &mut self.fault
            && fault.code == advice.code
            && !self.advised
        {
            (*fault, self.advised) = (advice.clone(), true);
        }
    }
}

/// Where an update belongs.
pub enum Place {
    /// The conversation itself.
    Main,
    /// Its history, told again.
    Replay(Id),
    /// Another session on the same connection.
    Other(Id),
}

impl Place {
    /// The thread that its events carry.
    pub fn thread(&self) -> Option<&Id> {
        match self {
            Self::Main => None,
            Self::Replay(thread) | Self::Other(thread) => Some(thread),
        }
    }
}

impl Live {
    /// Where a message about a session belongs. The first session that anything happens in is the session.
    pub(super) fn place(&mut self, params: &Object<'_>, scribe: &mut Scribe) -> Place {
        let session = session_id(params).unwrap_or_default();
        self.identify(&session, scribe);
        let other = !session.is_empty() && scribe.session().is_some_and(|main| *main != *session);
        let place = match (&self.session.replay, other) {
            (_, true) => Place::Other(Id::from(session)),
            (Some(thread), false) => Place::Replay(thread.clone()),
            (None, false) => Place::Main,
        };
        if let Some(thread) = place.thread() {
            scribe.within(self.subagents.item_of(thread), Some(thread.clone()));
        }
        place
    }

    /// Something happens in a session. Of the first, it is now known what it continues.
    fn identify(&mut self, session: &str, scribe: &mut Scribe) {
        if let Some(from) = self.session.from.take().filter(|_| scribe.session().is_none()) {
            self.session.resumed = true;
            scribe.resumed(from);
        }
        scribe.identify(session);
    }

    /// `session/new`, `load`, `resume` and `fork`.
    pub(super) fn opening(&mut self, method: &str, id: Option<Key>, params: &Object<'_>, scribe: &mut Scribe) {
        self.asked(method, id, params);
        let session = session_id(params);
        let mine = scribe.session().is_none() || scribe.session().map(Id::as_str) == session.as_deref();
        if method == "session/load" && mine {
            self.end_replay(scribe);
            self.session.replays += 1;
            self.session.replay = Some(scribe.local_id(&format!("replay_{}", self.session.replays)));
        }
        if scribe.session().is_none() {
            self.session.from = session.map(Id::from);
            let mcp = info::mcp_servers(params);
            scribe.info(Info { cwd: params.filled("cwd"), mcp, ..Info::default() });
        }
        scribe.otherwise(control(method));
    }

    /// What the agent answered to one of our requests.
    pub(super) fn answer(&mut self, id: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        let ours = self.ours.answered(id).unwrap_or_else(|| guess(&fields.object("result")));
        if ours.method == "session/prompt" {
            return self.prompt_answered(id, &ours, fields, scribe);
        }
        match fields.get("error") {
            Some(error) => self.refused(&ours, errors::fault(&error.object()), scribe),
            None => self.granted(&ours, &fields.object("result"), scribe),
        }
        scribe.otherwise(answer_notice(&ours.method, fields));
    }

    fn granted(&mut self, ours: &Ours, result: &Object<'_>, scribe: &mut Scribe) {
        let mine = ours.session.as_deref().is_none_or(|id| scribe.session().is_none_or(|main| *main == *id));
        match ours.method.as_str() {
            "initialize" => initialized(result, scribe),
            "session/new" | "session/load" | "session/resume" | "session/fork" => self.opened(ours, result, scribe),
            // What another session on the connection is set to says nothing about this one.
            _ if !mine => {}
            "session/set_mode" => scribe.info(Info { mode: ours.choice.clone(), ..Info::default() }),
            "session/set_model" => scribe.info(Info { model: ours.choice.clone(), ..Info::default() }),
            "session/set_title" => scribe.info(Info { title: ours.choice.clone(), ..Info::default() }),
            "session/set_config_option" => self.offered(result, scribe),
            "session/close" => self.session.closed = true,
            _ => {}
        }
    }

    fn opened(&mut self, ours: &Ours, result: &Object<'_>, scribe: &mut Scribe) {
        let session = session_id(result).or_else(|| ours.session.clone().filter(|_| ours.method != "session/fork"));
        let session = session.unwrap_or_default();
        self.identify(&session, scribe);
        if scribe.session().is_some_and(|main| *main == *session) {
            self.session.fault = None;
            self.session.closed = false;
            if ours.method == "session/new" {
                self.session.default_model = info::offers(result).model;
            }
            self.offered(result, scribe);
        } else {
            self.end_thread(&Id::from(session), scribe);
        }
    }

    /// What was said in a thread is complete.
    pub(super) fn end_thread(&mut self, thread: &Id, scribe: &mut Scribe) {
        self.speeches.forget(Some(thread));
        self.calls.forget(Some(thread));
        for item in scribe.open_items(Some(thread)) {
            scribe.item_closed(&item, Status::Completed);
        }
    }

    /// What the agent offers, in an answer or an update.
    pub(super) fn offered(&mut self, result: &Object<'_>, scribe: &mut Scribe) {
        let mut info = info::offers(result);
        for model in &mut info.models {
            model.default = self.session.default_model.as_ref() == Some(&model.id);
        }
        let approval = info::approval(&info);
        scribe.config(|config| config.approval_mode = config.approval_mode.or(approval));
        scribe.info(info);
    }

    /// An answer that says no. What somebody waits for is a warning; the rest is talk between the two sides.
    fn refused(&mut self, ours: &Ours, fault: Fault, scribe: &mut Scribe) {
        let topic = match ours.method.as_str() {
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                if ours.method == "session/load" {
                    self.end_replay(scribe);
                }
                self.session.from = None;
                if scribe.session().is_none() {
                    self.session.fault = Some(fault.clone());
                }
                Topic::Warning
            }
            "authenticate" => Topic::Auth,
            "session/set_mode" | "session/set_model" | "session/set_config_option" => Topic::Warning,
            _ => return,
        };
        let notice = Notice::new(topic).with_level(Level::Warning).with_name(ours.method.clone());
        scribe.notice(Notice { text: Some(fault.message.clone()), error: Some(fault), ..notice });
    }

    /// The history is over: what the agent says now is new.
    pub(super) fn end_replay(&mut self, scribe: &mut Scribe) {
        if let Some(thread) = self.session.replay.take() {
            self.end_thread(&thread, scribe);
        }
    }

    /// The stream is over. A connection on which nothing was prompted ends as its session did.
    pub(super) fn session_over(&mut self, scribe: &mut Scribe) {
        self.end_replay(scribe);
        self.settle_calls(scribe);
        if scribe.turns() > 0 || scribe.in_turn() {
            return;
        }
        if let Some(fault) = self.session.fault.take() {
            scribe.session_ending(Ending { reason: EndReason::Failed, error: Some(fault) });
        } else if self.session.closed {
            scribe.session_ending(Ending { reason: EndReason::Completed, error: None });
        }
    }
}

/// The id of a session. A blank before it is no part of it: one agent (0.61.0) must be told the id like that to load a
/// session without harm.
pub fn session_id(fields: &Object<'_>) -> Option<String> {
    let id = fields.str("sessionId")?;
    Some(id.trim()).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// What an answer belongs to whose request is not in the stream, by its shape.
fn guess(result: &Object<'_>) -> Ours {
    let method = if result.has("stopReason") {
        "session/prompt"
    } else if result.has("protocolVersion") {
        "initialize"
    } else if result.has("sessionId") {
        "session/new"
    } else if result.has("configOptions") {
        "session/set_config_option"
    } else {
        "response"
    };
    Ours { method: method.to_owned(), session: None, choice: None }
}

fn initialized(result: &Object<'_>, scribe: &mut Scribe) {
    scribe.info(Info {
        version: result.object("agentInfo").filled("version"),
        capabilities: result.get("agentCapabilities").map(Json::to_raw),
        auth_methods: result.get("authMethods").filter(|methods| !methods.array().is_empty()).map(Json::to_raw),
        ..Info::default()
    });
}
