//! Assigns events to conversations. One bus carries all sessions of a directory: the main session of this stream, the
//! sessions of its subagents, and unrelated ones.

use switchboard_event::{Id, Info};

use super::{bus::BusEvent, offers};
use crate::{JsonObject, RunRecorder, bounded::BoundedMap};

/// The known sessions on the bus.
#[derive(Default)]
pub struct SessionTree {
    /// The main session of this stream: the first one with any activity.
    main: Option<Id>,
    /// Creation time in milliseconds. Older messages were copied from another session.
    born: Option<u64>,
    roots: BoundedMap<MainSession>,
    /// Sessions of subagents, each with the item of the tool call that started it, once known.
    children: BoundedMap<Option<Id>>,
    /// The server belongs to this stream, so all sessions on it do.
    ours: bool,
}

#[derive(Default)]
struct MainSession {
    info: Info,
    born: Option<u64>,
}

/// The conversation that an event belongs to.
pub enum EventOwner {
    /// The main conversation.
    Main,
    /// A subagent: the item of its tool call, and its session.
    Child(Option<Id>, Id),
    /// A session that may become the main conversation.
    Undecided,
    /// Another conversation.
    Foreign(Id),
    /// No session.
    Server,
}

impl SessionTree {
    /// Finds the conversation of an event, and learns about sessions from it.
    pub fn find_owner(&mut self, event: &BusEvent<'_>, recorder: &mut RunRecorder) -> EventOwner {
        let Some(session) = event.session() else { return EventOwner::Server };
        if matches!(&*event.kind, "session.created" | "session.updated") {
            self.add_session(&session, &event.fields.get_object("info"));
        }
        if self.main.as_deref() == Some(&*session) {
            return EventOwner::Main;
        }
        if let Some(item) = self.children.get(&session) {
            return EventOwner::Child(item.clone(), Id::from(session));
        }
        match &self.main {
            // The bus does not buffer events, so the beginning of a subagent may have been missed.
            Some(_) if self.ours && !self.roots.has(&session) => {
                self.children.insert(Id::from(&*session), None);
                EventOwner::Child(None, Id::from(session))
            }
            Some(_) => EventOwner::Foreign(Id::from(session)),
            None if is_work(event) => {
                self.choose(&session, recorder);
                EventOwner::Main
            }
            None => self.wait(&session, recorder),
        }
    }

    fn add_session(&mut self, session: &str, info: &JsonObject<'_>) {
        let Some(parent) = info.get_str("parentID") else {
            let root = MainSession { info: about(info), born: info.get_object("time").get_u64("created") };
            self.roots.insert(Id::from(session), root);
            return;
        };
        let stranger = self.main.is_some() && self.main.as_deref() != Some(&*parent) && !self.children.has(&parent);
        if !stranger && !self.children.has(session) {
            self.children.insert(Id::from(session), None);
        }
    }

    /// The first session is reported before any activity. It most likely becomes the main session.
    fn wait(&self, session: &str, recorder: &mut RunRecorder) -> EventOwner {
        if let Some(root) =
            self.roots.get(session).filter(|_| self.roots.first().is_some_and(|first| *first == *session))
        {
            recorder.update_info(root.info.clone());
        }
        EventOwner::Undecided
    }

    fn choose(&mut self, session: &str, recorder: &mut RunRecorder) {
        recorder.set_agent_session(session);
        self.main = Some(Id::from(session));
        if let Some(root) = self.roots.get(session) {
            self.born = root.born;
            recorder.update_info(root.info.clone());
        }
    }

    /// Makes the session that the server returned the main session. Everything in it so far is past.
    pub fn adopt_main(&mut self, info: &JsonObject<'_>, existed: bool, recorder: &mut RunRecorder) {
        let Some(session) = info.get_non_empty("id").filter(|id| self.main.as_deref().is_none_or(|main| main == id))
        else {
            return;
        };
        self.ours = true;
        if self.main.is_some() {
            return recorder.update_info(about(info));
        }
        self.add_session(&session, info);
        self.choose(&session, recorder);
        if existed {
            self.born = info.get_object("time").get_u64("updated").or(self.born);
        }
    }

    pub fn main(&self) -> Option<Id> {
        self.main.clone()
    }

    pub fn is_main(&self, session: &str) -> bool {
        self.main.as_deref() == Some(session)
    }

    /// Returns whether Switchboard itself sends the prompts of the session.
    pub fn sends_prompts(&self) -> bool {
        self.ours
    }

    /// Returns the item of the tool call that a subagent's session works for, if known.
    pub fn item_of(&self, session: &str) -> Option<Id> {
        self.children.get(session).cloned().flatten()
    }

    /// Chooses the first session at the end of the stream, if none had any activity.
    pub fn settle(&mut self, recorder: &mut RunRecorder) {
        if let (None, Some(first)) = (&self.main, self.roots.first().cloned()) {
            self.choose(&first, recorder);
        }
    }

    /// Links a session to the tool call that works through it.
    pub fn link(&mut self, session: &str, item: &Id) {
        if self.main.as_deref() != Some(session) {
            self.children.insert(Id::from(session), Some(item.clone()));
        }
    }

    /// Returns whether a message is, or may be, older than this stream. This is known only for sessions seen from their
    /// creation.
    pub fn is_past(&self, created: Option<u64>) -> bool {
        self.born.is_none() || self.is_copied(created)
    }

    /// A message older than its session was copied when the session was forked.
    pub fn is_copied(&self, created: Option<u64>) -> bool {
        matches!((created, self.born), (Some(created), Some(born)) if created < born)
    }
}

/// Returns whether an event shows activity in the session, not only information about it.
fn is_work(event: &BusEvent<'_>) -> bool {
    match &*event.kind {
        "session.status" => !event.fields.get_object("status").str_equals("type", "idle"),
        "session.created" | "session.updated" | "session.deleted" | "session.diff" | "session.idle" => false,
        _ => true,
    }
}

/// Parses OpenCode's description of a session.
pub fn about(info: &JsonObject<'_>) -> Info {
    let model = info.get_object("model");
    let provider = model.get_non_empty("providerID");
    Info {
        cwd: info.get_non_empty("directory"),
        title: info.get_non_empty("title"),
        version: info.get_non_empty("version"),
        mode: info.get_non_empty("agent"),
        model: offers::full(provider.clone(), model.get_non_empty("id").or_else(|| model.get_non_empty("modelID"))),
        provider,
        ..Info::default()
    }
}
