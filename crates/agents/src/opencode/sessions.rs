//! Which conversation an event belongs to. One bus carries every session of a folder: the one that this stream is
//! about, its subagents' sessions, and others that are nobody's business here.

use switchboard_event::{Id, Info};

use super::{offers, recent::Recent, wire::Event};
use crate::{Object, Scribe};

/// The sessions on the bus, as far as they are known.
#[derive(Default)]
pub struct Sessions {
    /// The session that this stream is about: the first that is worked with.
    main: Option<Id>,
    /// When it was created, in milliseconds: older messages in it were copied from another.
    born: Option<u64>,
    roots: Recent<Root>,
    /// Sessions of subagents, each with the item of the tool that it works for, once that is known.
    children: Recent<Option<Id>>,
    /// The server is ours: whoever works there works for us.
    ours: bool,
}

#[derive(Default)]
struct Root {
    info: Info,
    born: Option<u64>,
}

/// Where an event belongs.
pub enum Seat {
    /// To the conversation.
    Main,
    /// To a subagent: the item it works for, and its session.
    Child(Option<Id>, Id),
    /// To a session that may become the conversation.
    Waiting,
    /// To another conversation.
    Elsewhere(Id),
    /// To no session.
    Nowhere,
}

impl Sessions {
    /// Finds the place of an event, and learns from it.
    pub fn seat(&mut self, event: &Event<'_>, scribe: &mut Scribe) -> Seat {
        let Some(session) = event.session() else { return Seat::Nowhere };
        if matches!(&*event.kind, "session.created" | "session.updated") {
            self.introduce(&session, &event.fields.object("info"));
        }
        if self.main.as_deref() == Some(&*session) {
            return Seat::Main;
        }
        if let Some(item) = self.children.get(&session) {
            return Seat::Child(item.clone(), Id::from(session));
        }
        match &self.main {
            // The bus does not keep what nobody hears: the beginning of a subagent may have been missed.
            Some(_) if self.ours && !self.roots.has(&session) => {
                self.children.insert(Id::from(&*session), None);
                Seat::Child(None, Id::from(session))
            }
            Some(_) => Seat::Elsewhere(Id::from(session)),
            None if is_work(event) => {
                self.choose(&session, scribe);
                Seat::Main
            }
            None => self.wait(&session, scribe),
        }
    }

    fn introduce(&mut self, session: &str, info: &Object<'_>) {
        let Some(parent) = info.str("parentID") else {
            let root = Root { info: about(info), born: info.object("time").u64("created") };
            return self.roots.insert(Id::from(session), root);
        };
        let stranger = self.main.is_some() && self.main.as_deref() != Some(&*parent) && !self.children.has(&parent);
        if !stranger && !self.children.has(session) {
            self.children.insert(Id::from(session), None);
        }
    }

    /// The first session is shown before anything is done with it; most likely it is the one.
    fn wait(&self, session: &str, scribe: &mut Scribe) -> Seat {
        if let Some(root) =
            self.roots.get(session).filter(|_| self.roots.first().is_some_and(|first| *first == *session))
        {
            scribe.info(root.info.clone());
        }
        Seat::Waiting
    }

    fn choose(&mut self, session: &str, scribe: &mut Scribe) {
        scribe.identify(session);
        self.main = Some(Id::from(session));
        if let Some(root) = self.roots.get(session) {
            self.born = root.born;
            scribe.info(root.info.clone());
        }
    }

    /// The server says which session we work with. What was said in it before is past.
    pub fn adopt(&mut self, info: &Object<'_>, existed: bool, scribe: &mut Scribe) {
        let Some(session) = info.filled("id").filter(|id| self.main.as_deref().is_none_or(|main| main == id)) else {
            return;
        };
        self.ours = true;
        if self.main.is_some() {
            return scribe.info(about(info));
        }
        self.introduce(&session, info);
        self.choose(&session, scribe);
        if existed {
            self.born = info.object("time").u64("updated").or(self.born);
        }
    }

    /// The session that this stream is about.
    pub fn main(&self) -> Option<Id> {
        self.main.clone()
    }

    /// This is the session that this stream is about.
    pub fn is_main(&self, session: &str) -> bool {
        self.main.as_deref() == Some(session)
    }

    /// Prompts to the session come from us.
    pub fn are_ours(&self) -> bool {
        self.ours
    }

    /// The item that a subagent's session works for, as far as it is known.
    pub fn item_of(&self, session: &str) -> Option<Id> {
        self.children.get(session).cloned().flatten()
    }

    /// Nothing more comes: a session that nobody worked with is still the one that was created.
    pub fn settle(&mut self, scribe: &mut Scribe) {
        if let (None, Some(first)) = (&self.main, self.roots.first().cloned()) {
            self.choose(&first, scribe);
        }
    }

    /// A tool's call works through this session.
    pub fn link(&mut self, session: &str, item: &Id) {
        if self.main.as_deref() != Some(session) {
            self.children.insert(Id::from(session), Some(item.clone()));
        }
    }

    /// A message was there before, or may have been: only of sessions that we began with it is known.
    pub fn is_past(&self, created: Option<u64>) -> bool {
        self.born.is_none() || self.is_copied(created)
    }

    /// A message that is older than its session was copied when the session was forked.
    pub fn is_copied(&self, created: Option<u64>) -> bool {
        matches!((created, self.born), (Some(created), Some(born)) if created < born)
    }
}

/// Something is done with the session, or in it; not only told about it.
fn is_work(event: &Event<'_>) -> bool {
    match &*event.kind {
        "session.status" => !event.fields.object("status").is("type", "idle"),
        "session.created" | "session.updated" | "session.deleted" | "session.diff" | "session.idle" => false,
        _ => true,
    }
}

/// What OpenCode says about a session.
pub fn about(info: &Object<'_>) -> Info {
    let model = info.object("model");
    let provider = model.filled("providerID");
    Info {
        cwd: info.filled("directory"),
        title: info.filled("title"),
        version: info.filled("version"),
        mode: info.filled("agent"),
        model: offers::full(provider.clone(), model.filled("id").or_else(|| model.filled("modelID"))),
        provider,
        ..Info::default()
    }
}
