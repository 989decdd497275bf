//! What is said and thought. What subagents say is kept apart from the answer: their latest message is the content of
//! the tool call under which they work, and the rest is told by our own notification.

use serde::{Deserialize, Serialize};
use switchboard_event::{Content as Piece, ContentType, Details, Event, Field, Item, UserMessage};

use super::{
    cards::Cards,
    project::Sink,
    tools,
    wire::{Chunk, Content, Meta, Method, Ours, SubagentRole, SubagentSaid, ToolFields, ToolUpdate, Update, text},
};
use crate::{
    subagents::Subagents,
    track::{Track, Tracked, text_of},
};

/// What was said in the turn so far, as far as it matters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Speech {
    /// The prompt, which agents repeat.
    prompt: Option<String>,
    /// The agent said something.
    answered: bool,
}

/// What kind of speech it is.
#[derive(Clone, Copy)]
enum Kind {
    Message,
    Thought,
}

fn kind(item: &Item) -> Option<Kind> {
    match &item.details {
        Details::AgentMessage(_) => Some(Kind::Message),
        Details::Reasoning(_) => Some(Kind::Thought),
        _ => None,
    }
}

fn is_subagents(event: &Event) -> bool {
    event.thread.is_some()
}

/// An item begins; some have text already.
pub fn begun(item: &Item, track: &mut Track, speech: &mut Speech, out: &mut Sink<'_>) {
    let Some(id) = out.event.item.as_deref() else { return };
    let said = text_of(item, None);
    if kind(item).is_some() && !said.is_empty() && track.grew(id, Field::Text, said).is_some() {
        speech.grown(item, said, out);
    }
}

impl Speech {
    /// A turn begins. The protocol has no word for that but what the user said.
    pub fn prompted(&mut self, prompt: Option<&str>, out: &mut Sink<'_>) {
        self.answered = false;
        self.prompt = prompt.map(str::to_owned);
        if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
            user(text(prompt), None, out);
        }
    }

    /// The turn has an answer of its own: it is the answer if there was no other.
    pub fn answered(&mut self, answer: &str, out: &mut Sink<'_>) {
        if !self.answered && !answer.is_empty() {
            out.update(Update::AgentMessageChunk(Chunk {
                content: text(answer),
                message_id: None,
                meta: Meta::default(),
            }));
        }
    }

    /// More is said.
    pub fn grown(&mut self, item: &Item, said: &str, out: &mut Sink<'_>) {
        let Some(kind) = kind(item).filter(|_| !is_subagents(out.event) && !said.is_empty()) else { return };
        self.chunk(kind, text(said), out);
    }

    fn chunk(&mut self, kind: Kind, content: Content<'_>, out: &mut Sink<'_>) {
        let chunk = Chunk { content, message_id: out.event.item.as_deref(), meta: Meta::default() };
        out.update(match kind {
            Kind::Message => {
                self.answered = true;
                Update::AgentMessageChunk(chunk)
            }
            Kind::Thought => Update::AgentThoughtChunk(chunk),
        });
    }

    /// It is all said.
    pub fn finished(&mut self, item: &Item, tracked: &Tracked, agents: &Subagents, cards: &Cards, out: &mut Sink<'_>) {
        if is_subagents(out.event) {
            return subagent(item, tracked, agents, cards, out);
        }
        if let Some(kind) = kind(item) {
            let rest = tracked.rest(text_of(item, tracked.field));
            if !rest.is_empty() {
                self.chunk(kind, text(rest), out);
            }
        }
        match &item.details {
            Details::AgentMessage(message) => message.content.iter().for_each(|piece| beside(piece, out)),
            Details::UserMessage(message) if !message.synthetic => self.repeated(message, out),
            Details::Plan(plan) if item.call.is_none() && plan.entries.is_empty() => {
                if let Some(proposed) = plan.text.as_deref().filter(|plan| !plan.is_empty()) {
                    planned(proposed, out);
                }
            }
            _ => {}
        }
    }

    /// What the user said: not again what began the turn, but what came with it.
    fn repeated(&self, message: &UserMessage, out: &mut Sink<'_>) {
        let known = self.prompt.as_ref() == Some(&message.joined());
        for piece in message.content.iter().filter(|piece| !known || piece.kind != ContentType::Text) {
            if let Some(content) = Content::of(piece) {
                user(content, out.event.item.as_deref(), out);
            }
        }
    }
}

fn user(content: Content<'_>, message_id: Option<&str>, out: &mut Sink<'_>) {
    out.update(Update::UserMessageChunk(Chunk { content, message_id, meta: Meta::default() }));
}

/// What a message has beside its text: an image, a file; code, which is shown as such.
fn beside(piece: &Piece, out: &mut Sink<'_>) {
    let code = piece.kind == ContentType::Code;
    let language = piece.language.as_deref().unwrap_or_default();
    let fenced = piece.text.as_deref().filter(|_| code).map(|said| tools::fenced(said, language));
    let Some(content) = fenced.map(text).or_else(|| Content::of(piece)) else { return };
    let meta = Meta::ours(Ours { channel: Some("beside"), ..Ours::default() });
    out.update(Update::AgentMessageChunk(Chunk { content, message_id: out.event.item.as_deref(), meta }));
}

/// A plan in words is for the user to read, and not the answer.
fn planned(proposed: &str, out: &mut Sink<'_>) {
    let meta = Meta::ours(Ours { channel: Some("plan"), ..Ours::default() });
    let message_id = out.event.item.as_deref();
    out.update(Update::AgentMessageChunk(Chunk { content: text(proposed), message_id, meta }));
}

/// What a subagent said, thought or was told, all at once.
fn subagent(item: &Item, tracked: &Tracked, agents: &Subagents, cards: &Cards, out: &mut Sink<'_>) {
    let event = out.event;
    let Some(id) = event.item.as_deref() else { return };
    let (role, said) = match &item.details {
        Details::AgentMessage(message) => (SubagentRole::Agent, message.text.clone()),
        Details::Reasoning(_) => (SubagentRole::Thought, text_of(item, tracked.field).to_owned()),
        Details::UserMessage(message) => (SubagentRole::User, message.joined()),
        _ => return,
    };
    if said.is_empty() {
        return;
    }
    let (call, _) = agents.of(event);
    let thread = event.thread.as_deref();
    if role == SubagentRole::Agent && cards.knows(call) {
        let meta = Meta::ours(Ours { thread, item: Some(id), ..Ours::default() });
        let fields = ToolFields { content: Some(vec![tools::block(said.as_str())]), meta, ..ToolFields::default() };
        return out.update(Update::ToolChanged(ToolUpdate { tool_call_id: call, title: None, fields }));
    }
    out.tell(Method::Subagent(SubagentSaid {
        session_id: &event.session,
        tool_call_id: Some(call).filter(|call| cards.knows(call)),
        thread,
        message_id: id,
        role,
        text: &said,
    }));
}
