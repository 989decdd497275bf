//! What is said: chunks of messages and thoughts, joined into items. An agent that names its messages groups them by
//! that; otherwise a message lasts until something else happens.

use switchboard_event::{
    AgentMessage, Content, ContentType, Details, Field, Id, Info, Item, Notice, Reasoning, Status, Topic, UserMessage,
};

use super::{
    content::content,
    live::{Live, control},
    session::Place,
};
use crate::{Object, Scribe};

/// How many sessions on one connection may speak at once.
const SPEAKERS: usize = 64;

/// What is being said at the moment, by thread.
#[derive(Default)]
pub struct Speeches {
    open: Vec<(Option<Id>, Speech)>,
}

struct Speech {
    item: Id,
    kind: Kind,
    /// The message that the agent says it belongs to.
    message: Option<String>,
}

/// Who speaks, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The user.
    User,
    /// The agent.
    Agent,
    /// The agent, to itself.
    Thought,
}

impl Speeches {
    /// What is being said in a thread is complete.
    pub fn end(&mut self, thread: Option<&Id>, scribe: &mut Scribe) {
        if let Some(speech) = self.forget(thread) {
            scribe.item_closed(&speech, Status::Completed);
        }
    }

    /// Nothing is being said in a thread any more.
    pub fn forget(&mut self, thread: Option<&Id>) -> Option<Id> {
        let index = self.open.iter().position(|(known, _)| known.as_ref() == thread)?;
        Some(self.open.remove(index).1.item)
    }

    /// The item that a chunk goes on with.
    fn going_on(&self, thread: Option<&Id>, kind: Kind, message: Option<&str>) -> Option<Id> {
        let (_, speech) = self.open.iter().find(|(known, _)| known.as_ref() == thread)?;
        // What the user said comes in whole messages; only a name shows that one goes on.
        let same = speech.kind == kind && speech.message.as_deref() == message;
        (same && (kind != Kind::User || message.is_some())).then(|| speech.item.clone())
    }

    fn begin(&mut self, thread: Option<&Id>, speech: Speech, scribe: &mut Scribe) {
        if self.open.len() == SPEAKERS {
            let (_, oldest) = self.open.remove(0);
            scribe.item_closed(&oldest.item, Status::Completed);
        }
        self.open.push((thread.cloned(), speech));
    }
}

impl Live {
    /// `agent_message_chunk`, `agent_thought_chunk` and `user_message_chunk`.
    pub(super) fn chunk(&mut self, kind: Kind, update: &Object<'_>, place: &Place, scribe: &mut Scribe) {
        let Some(piece) = update.get("content").map(content) else { return };
        let text = piece.text.as_deref().unwrap_or_default();
        if kind == Kind::Agent && mode_told(text, scribe) {
            return;
        }
        if kind == Kind::User && matches!(place, Place::Main) && self.prompts.is_echo(text) {
            return scribe.notice(Notice::new(Topic::Echo).with_text(text));
        }
        let message = update.filled("messageId");
        let explains = kind == Kind::Agent && matches!(place, Place::Main);
        if explains && self.prompts.explain_failure(text, message.as_deref()) {
            return scribe.notice(control("agent_message_chunk").with_text(text.trim()));
        }
        self.settle_declined(place.thread(), scribe);
        if matches!(place, Place::Main) {
            self.active(scribe);
        }
        let thread = place.thread();
        let going_on =
            self.speeches.going_on(thread, kind, message.as_deref()).filter(|item| scribe.item_is_open(item));
        let item = match (going_on, kind) {
            (Some(item), _) => item,
            (None, Kind::User) => {
                self.speak(kind, message, thread, whole(piece), scribe);
                return;
            }
            (None, Kind::Agent) => self.speak(kind, message, thread, Item::new(AgentMessage::default()), scribe),
            (None, Kind::Thought) => self.speak(kind, message, thread, Item::new(Reasoning::default()), scribe),
        };
        add(&item, piece, scribe);
        if matches!(place, Place::Main) {
            let reply = scribe.item(&item).and_then(|item| item.reply.clone());
            self.spending.replied(&update.object("_meta").object("usage"), reply, scribe);
        }
    }

    /// Somebody begins to say something else.
    fn speak(
        &mut self,
        kind: Kind,
        message: Option<String>,
        thread: Option<&Id>,
        item: Item,
        scribe: &mut Scribe,
    ) -> Id {
        self.speeches.end(thread, scribe);
        let id = self.next_id(if kind == Kind::Thought { "thought" } else { "message" }, scribe);
        let reply = self.reply(kind, message.as_deref(), thread, scribe);
        scribe.item_started(&id, Item { reply, ..item });
        self.speeches.begin(thread, Speech { item: id.clone(), kind, message }, scribe);
        id
    }

    /// The reply of the model that something said belongs to, by the agent's name or by ours.
    fn reply(&mut self, kind: Kind, message: Option<&str>, thread: Option<&Id>, scribe: &Scribe) -> Option<Id> {
        let named = message.map(Id::from);
        match (kind, thread, &named) {
            (Kind::User, ..) => None,
            (_, None, Some(name)) => {
                self.replies.named(name.clone());
                named
            }
            (_, None, None) => Some(self.replies.next(scribe)),
            (_, Some(_), _) => named,
        }
    }
}

/// What the user said: it comes whole, or piece by piece under one name.
fn whole(piece: Content) -> Item {
    let synthetic = piece.text.as_deref().is_some_and(is_made_up);
    Item::new(UserMessage { content: vec![piece], synthetic, queued: false })
}

/// One agent (0.61.0) tells a changed mode as a message instead of an update. Nobody is meant to read it.
fn mode_told(text: &str, scribe: &mut Scribe) -> bool {
    let Some(mode) = text.strip_prefix("[MODE_UPDATE] ") else { return false };
    scribe.info(Info { mode: Some(mode.trim().to_owned()), ..Info::default() });
    scribe.otherwise(Notice::new(Topic::Status).with_name("mode").with_text(mode.trim()));
    true
}

fn add(item: &Id, piece: Content, scribe: &mut Scribe) {
    let Some(mut said) = scribe.item(item).cloned() else { return };
    match &mut said.details {
        Details::UserMessage(message) => match message.content.last_mut() {
            Some(last) if (last.kind, piece.kind) == (ContentType::Text, ContentType::Text) => {
                last.text.get_or_insert_default().push_str(piece.text.as_deref().unwrap_or_default());
            }
            _ => message.content.push(piece),
        },
        _ if piece.kind == ContentType::Text => {
            // Some agents begin or end a message with an empty piece.
            if let Some(text) = piece.text.as_deref().filter(|text| !text.is_empty()) {
                scribe.item_append(item, Field::Text, 0, text);
            }
            return;
        }
        Details::AgentMessage(message) => message.content.push(piece),
        _ => return,
    }
    scribe.item_set(item, said);
}

/// In a replayed history, some agents show what they told the model in the user's name.
fn is_made_up(text: &str) -> bool {
    text.starts_with("<session_context>") || text.starts_with("[Function Response: ")
}
