//! Content blocks, and chunks of messages and thoughts, joined into items. Message ids group the chunks if the agent
//! sends them; otherwise a message lasts until another event.

use switchboard_event::{
    AgentMessage, Content, ContentType, Details, Field, Id, Info, Item, Notice, Reasoning, Status, Topic, UserMessage,
};

use super::{AcpReader, control, session::SessionScope};
use crate::{JsonObject, JsonView, RunRecorder};

/// The maximum number of open messages, at most one per thread.
const MAX_OPEN_MESSAGES: usize = 64;

/// The open messages by thread.
#[derive(Default)]
pub struct OpenMessages {
    open: Vec<(Option<Id>, OpenMessage)>,
}

struct OpenMessage {
    item: Id,
    kind: MessageKind,
    /// The agent's id of the message.
    message: Option<String>,
}

/// Author and kind of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    User,
    Agent,
    /// Reasoning of the agent.
    Thought,
}

impl OpenMessages {
    /// Completes the open message of a thread.
    pub fn end(&mut self, thread: Option<&Id>, recorder: &mut RunRecorder) {
        if let Some(speech) = self.forget(thread) {
            recorder.item_closed(&speech, Status::Completed);
        }
    }

    /// Removes the open message of a thread and returns its item.
    pub fn forget(&mut self, thread: Option<&Id>) -> Option<Id> {
        let index = self.open.iter().position(|(known, _)| known.as_ref() == thread)?;
        Some(self.open.remove(index).1.item)
    }

    /// Returns the item that a chunk continues.
    fn going_on(&self, thread: Option<&Id>, kind: MessageKind, message: Option<&str>) -> Option<Id> {
        let (_, speech) = self.open.iter().find(|(known, _)| known.as_ref() == thread)?;
        // Messages of the user arrive whole; only an id shows that one continues.
        let same = speech.kind == kind && speech.message.as_deref() == message;
        (same && (kind != MessageKind::User || message.is_some())).then(|| speech.item.clone())
    }

    fn begin(&mut self, thread: Option<&Id>, speech: OpenMessage, recorder: &mut RunRecorder) {
        if self.open.len() == MAX_OPEN_MESSAGES {
            let (_, oldest) = self.open.remove(0);
            recorder.item_closed(&oldest.item, Status::Completed);
        }
        self.open.push((thread.cloned(), speech));
    }
}

impl AcpReader {
    /// Reads `agent_message_chunk`, `agent_thought_chunk` and `user_message_chunk`.
    pub(super) fn chunk(
        &mut self,
        kind: MessageKind,
        update: &JsonObject<'_>,
        scope: &SessionScope,
        recorder: &mut RunRecorder,
    ) {
        let Some(piece) = update.get("content").map(content) else { return };
        let text = piece.text.as_deref().unwrap_or_default();
        if kind == MessageKind::Agent && mode_told(text, recorder) {
            return;
        }
        if kind == MessageKind::User && matches!(scope, SessionScope::Main) && self.prompts.is_echo(text) {
            return recorder.write_notice(Notice::new(Topic::Echo).with_text(text));
        }
        let message = update.get_non_empty("messageId");
        let explains = kind == MessageKind::Agent && matches!(scope, SessionScope::Main);
        if explains && self.prompts.explain_failure(text, message.as_deref()) {
            return recorder.write_notice(control("agent_message_chunk").with_text(text.trim()));
        }
        self.settle_declined(scope.thread(), recorder);
        if matches!(scope, SessionScope::Main) {
            self.active(recorder);
        }
        let thread = scope.thread();
        let going_on =
            self.open_messages.going_on(thread, kind, message.as_deref()).filter(|item| recorder.item_is_open(item));
        let item = match (going_on, kind) {
            (Some(item), _) => item,
            (None, MessageKind::User) => {
                self.speak(kind, message, thread, whole(piece), recorder);
                return;
            }
            (None, MessageKind::Agent) => {
                self.speak(kind, message, thread, Item::new(AgentMessage::default()), recorder)
            }
            (None, MessageKind::Thought) => {
                self.speak(kind, message, thread, Item::new(Reasoning::default()), recorder)
            }
        };
        add(&item, piece, recorder);
        if matches!(scope, SessionScope::Main) {
            let reply = recorder.open_item(&item).and_then(|item| item.reply.clone());
            self.spending.replied(&update.get_object("_meta").get_object("usage"), reply, recorder);
        }
    }

    /// Starts a new message and completes the previous one.
    fn speak(
        &mut self,
        kind: MessageKind,
        message: Option<String>,
        thread: Option<&Id>,
        item: Item,
        recorder: &mut RunRecorder,
    ) -> Id {
        self.open_messages.end(thread, recorder);
        let id = self.next_id(if kind == MessageKind::Thought { "thought" } else { "message" }, recorder);
        let reply = self.reply(kind, message.as_deref(), thread, recorder);
        recorder.item_started(&id, Item { reply, ..item });
        self.open_messages.begin(thread, OpenMessage { item: id.clone(), kind, message }, recorder);
        id
    }

    /// Returns the model reply that a message belongs to, by the agent's id or a generated one.
    fn reply(
        &mut self,
        kind: MessageKind,
        message: Option<&str>,
        thread: Option<&Id>,
        recorder: &RunRecorder,
    ) -> Option<Id> {
        let named = message.map(Id::from);
        match (kind, thread, &named) {
            (MessageKind::User, ..) => None,
            (_, None, Some(name)) => {
                self.replies.set_current_id(name.clone());
                named
            }
            (_, None, None) => Some(self.replies.id_for_output(recorder)),
            (_, Some(_), _) => named,
        }
    }
}

/// Returns the item of a user message, which arrives whole or in chunks with one id.
fn whole(piece: Content) -> Item {
    let synthetic = piece.text.as_deref().is_some_and(is_made_up);
    Item::new(UserMessage { content: vec![piece], synthetic, queued: false })
}

/// Gemini CLI 0.61.0 reports a changed mode as a message instead of an update. It is not meant for the user.
fn mode_told(text: &str, recorder: &mut RunRecorder) -> bool {
    let Some(mode) = text.strip_prefix("[MODE_UPDATE] ") else { return false };
    recorder.update_info(Info { mode: Some(mode.trim().to_owned()), ..Info::default() });
    recorder.write_notice_if_no_event(Notice::new(Topic::Status).with_name("mode").with_text(mode.trim()));
    true
}

fn add(item: &Id, piece: Content, recorder: &mut RunRecorder) {
    let Some(mut said) = recorder.open_item(item).cloned() else { return };
    match &mut said.details {
        Details::UserMessage(message) => match message.content.last_mut() {
            Some(last) if (last.kind, piece.kind) == (ContentType::Text, ContentType::Text) => {
                last.text.get_or_insert_default().push_str(piece.text.as_deref().unwrap_or_default());
            }
            _ => message.content.push(piece),
        },
        _ if piece.kind == ContentType::Text => {
            // Some agents begin or end a message with an empty chunk.
            if let Some(text) = piece.text.as_deref().filter(|text| !text.is_empty()) {
                recorder.item_append(item, Field::Text, 0, text);
            }
            return;
        }
        Details::AgentMessage(message) => message.content.push(piece),
        _ => return,
    }
    recorder.item_set(item, said);
}

/// In a replayed history, some agents include messages that they sent to the model in the user's name.
fn is_made_up(text: &str) -> bool {
    text.starts_with("<session_context>") || text.starts_with("[Function Response: ")
}

pub fn content(block: JsonView<'_>) -> Content {
    let fields = block.as_object();
    match fields.get_str("type").as_deref() {
        Some("text") => Content::text(fields.get_string("text").unwrap_or_default()),
        Some("image") => media(ContentType::Image, &fields),
        Some("audio") => media(ContentType::File, &fields),
        Some("resource_link") => Content {
            kind: ContentType::File,
            text: fields.get_non_empty("title").or_else(|| fields.get_non_empty("name")),
            media_type: fields.get_string("mimeType"),
            url: fields.get_string("uri"),
            ..Content::default()
        },
        Some("resource") => resource(&fields.get_object("resource")),
        _ => Content { kind: ContentType::Other, text: Some(block.raw_text().to_owned()), ..Content::default() },
    }
}

fn media(kind: ContentType, fields: &JsonObject<'_>) -> Content {
    Content {
        kind,
        media_type: fields.get_string("mimeType"),
        data: fields.get_string("data"),
        url: fields.get_string("uri"),
        ..Content::default()
    }
}

fn resource(fields: &JsonObject<'_>) -> Content {
    Content {
        kind: ContentType::File,
        text: fields.get_string("text"),
        media_type: fields.get_string("mimeType"),
        data: fields.get_string("blob"),
        url: fields.get_string("uri"),
        ..Content::default()
    }
}

pub fn contents(blocks: Vec<JsonView<'_>>) -> Vec<Content> {
    blocks.into_iter().map(content).collect()
}

/// Returns the text of text blocks, one per line.
pub fn text_of(contents: &[Content]) -> String {
    let texts = contents.iter().filter(|c| c.kind == ContentType::Text).filter_map(|c| c.text.as_deref());
    texts.collect::<Vec<_>>().join("\n")
}
