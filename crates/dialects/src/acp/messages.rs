//! Messages, reasoning, notices and context compactions as session updates. Subagent messages are kept out of the
//! answer: the latest one is the content of the subagent's tool call, the rest is sent as an extension notification.

use serde::{Deserialize, Serialize};
use switchboard_event::{
    Content as Piece, ContentType, Details, Event, Field, Item, Level, Notice, Status, Topic, UserMessage,
};

use super::project::AcpSink;
use super::tool_calls::{self, OpenToolCalls};
use super::wire::{
    Chunk, CompactionStatus, Content, MessageRetracted, Meta, Method, Severity, SubagentRole, SubagentSaid,
    SwitchboardMeta, ToolFields, ToolUpdate, Update, text_content,
};
use crate::track::{ItemTracker, SubagentLabels, TrackedItem, item_text};

/// The prompt and answer state of the current turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ConversationState {
    /// The prompt, which agents repeat as a user message.
    prompt: Option<String>,
    /// How many bytes of messages the agent has sent, without those that were taken back.
    answered_bytes: usize,
}

/// The kind of a text item.
#[derive(Clone, Copy)]
enum SpeechKind {
    Message,
    Thought,
}

fn speech_kind(item: &Item) -> Option<SpeechKind> {
    match &item.details {
        Details::AgentMessage(_) => Some(SpeechKind::Message),
        Details::Reasoning(_) => Some(SpeechKind::Thought),
        _ => None,
    }
}

fn is_from_subagent(event: &Event) -> bool {
    event.thread.is_some()
}

/// Sends the text that an item already has when it starts.
pub fn push_initial_text(item: &Item, track: &mut ItemTracker, speech: &mut ConversationState, out: &mut AcpSink<'_>) {
    let Some(id) = out.event.item.as_deref() else { return };
    let said = item_text(item, None);
    if speech_kind(item).is_some() && !said.is_empty() && track.append_text(id, Field::Text, said).is_some() {
        speech.push_text(item, said, out);
    }
}

impl ConversationState {
    /// Begins a turn. The protocol represents the start of a turn only by the user's message.
    pub fn begin_turn(&mut self, prompt: Option<&str>, out: &mut AcpSink<'_>) {
        self.answered_bytes = 0;
        self.prompt = prompt.map(str::to_owned);
        if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
            push_user_chunk(text_content(prompt), None, out);
        }
    }

    /// Sends the turn's result if the agent has sent no message.
    pub fn push_result(&mut self, answer: &str, out: &mut AcpSink<'_>) {
        if self.answered_bytes == 0 && !answer.is_empty() {
            out.push_update(Update::AgentMessageChunk(Chunk {
                content: text_content(answer),
                message_id: None,
                meta: Meta::default(),
            }));
        }
    }

    /// Sends additional text of an item.
    pub fn push_text(&mut self, item: &Item, said: &str, out: &mut AcpSink<'_>) {
        let Some(kind) = speech_kind(item).filter(|_| !is_from_subagent(out.event) && !said.is_empty()) else { return };
        self.push_chunk(kind, said, out);
    }

    fn push_chunk(&mut self, kind: SpeechKind, said: &str, out: &mut AcpSink<'_>) {
        let chunk = Chunk { content: text_content(said), message_id: out.event.item.as_deref(), meta: Meta::default() };
        out.push_update(match kind {
            SpeechKind::Message => {
                self.answered_bytes += said.len();
                Update::AgentMessageChunk(chunk)
            }
            SpeechKind::Thought => Update::AgentThoughtChunk(chunk),
        });
    }

    /// Sends the rest of a finished item.
    pub fn finish_item(
        &mut self,
        item: &Item,
        tracked: &TrackedItem,
        agents: &SubagentLabels,
        cards: &OpenToolCalls,
        out: &mut AcpSink<'_>,
    ) {
        if let Some(kind) = speech_kind(item).filter(|_| item.status == Status::Superseded) {
            return self.retract_text(kind, tracked, out);
        }
        if is_from_subagent(out.event) {
            return push_subagent_message(item, tracked, agents, cards, out);
        }
        if let Some(kind) = speech_kind(item) {
            let rest = tracked.unsent_text(item_text(item, tracked.field));
            if !rest.is_empty() {
                self.push_chunk(kind, rest, out);
            }
        }
        match &item.details {
            Details::AgentMessage(message) => message.content.iter().for_each(|piece| push_attachment(piece, out)),
            Details::UserMessage(message) if !message.synthetic => self.push_user_message(message, out),
            Details::Plan(plan) if item.call.is_none() && plan.entries.is_empty() => {
                if let Some(proposed) = plan.text.as_deref().filter(|plan| !plan.is_empty()) {
                    push_plan_text(proposed, out);
                }
            }
            _ => {}
        }
    }

    /// Reports that a message was taken back, if any of it was sent.
    fn retract_text(&mut self, kind: SpeechKind, tracked: &TrackedItem, out: &mut AcpSink<'_>) {
        let Some(message_id) = out.event.item.as_deref().filter(|_| tracked.sent > 0) else { return };
        if is_from_subagent(out.event) {
            return;
        }
        if matches!(kind, SpeechKind::Message) {
            self.answered_bytes = self.answered_bytes.saturating_sub(tracked.sent);
        }
        let session_id = &out.event.session;
        out.push_extension(Method::MessageRetracted(MessageRetracted { session_id, message_id }));
    }

    /// Sends a user message without repeating the prompt of the turn, but with its attachments.
    fn push_user_message(&self, message: &UserMessage, out: &mut AcpSink<'_>) {
        let known = self.prompt.as_ref() == Some(&message.joined_text());
        for piece in message.content.iter().filter(|piece| !known || piece.kind != ContentType::Text) {
            if let Some(content) = Content::from_piece(piece) {
                push_user_chunk(content, out.event.item.as_deref(), out);
            }
        }
    }
}

fn push_user_chunk(content: Content<'_>, message_id: Option<&str>, out: &mut AcpSink<'_>) {
    out.push_update(Update::UserMessageChunk(Chunk { content, message_id, meta: Meta::default() }));
}

/// Sends an attachment of a message: an image, a file, or a fenced code block.
fn push_attachment(piece: &Piece, out: &mut AcpSink<'_>) {
    let code = piece.kind == ContentType::Code;
    let language = piece.language.as_deref().unwrap_or_default();
    let fenced = piece.text.as_deref().filter(|_| code).map(|said| tool_calls::fence_text(said, language));
    let Some(content) = fenced.map(text_content).or_else(|| Content::from_piece(piece)) else { return };
    let meta = Meta::with_switchboard(SwitchboardMeta { channel: Some("beside"), ..SwitchboardMeta::default() });
    out.push_update(Update::AgentMessageChunk(Chunk { content, message_id: out.event.item.as_deref(), meta }));
}

/// Sends the text of a proposed plan, marked as not part of the answer.
fn push_plan_text(proposed: &str, out: &mut AcpSink<'_>) {
    let meta = Meta::with_switchboard(SwitchboardMeta { channel: Some("plan"), ..SwitchboardMeta::default() });
    let message_id = out.event.item.as_deref();
    out.push_update(Update::AgentMessageChunk(Chunk { content: text_content(proposed), message_id, meta }));
}

/// Sends a complete message, reasoning text or prompt of a subagent.
fn push_subagent_message(
    item: &Item,
    tracked: &TrackedItem,
    agents: &SubagentLabels,
    cards: &OpenToolCalls,
    out: &mut AcpSink<'_>,
) {
    let event = out.event;
    let Some(id) = event.item.as_deref() else { return };
    let (role, said) = match &item.details {
        Details::AgentMessage(message) => (SubagentRole::Agent, message.text.clone()),
        Details::Reasoning(_) => (SubagentRole::Thought, item_text(item, tracked.field).to_owned()),
        Details::UserMessage(message) => (SubagentRole::User, message.joined_text()),
        _ => return,
    };
    if said.is_empty() {
        return;
    }
    let (call, _) = agents.subagent_of(event);
    let thread = event.thread.as_deref();
    if role == SubagentRole::Agent && cards.contains(call) {
        let meta = Meta::with_switchboard(SwitchboardMeta { thread, item: Some(id), ..SwitchboardMeta::default() });
        let fields =
            ToolFields { content: Some(vec![tool_calls::text_block(said.as_str())]), meta, ..ToolFields::default() };
        return out.push_update(Update::ToolChanged(ToolUpdate { tool_call_id: call, title: None, fields }));
    }
    out.push_extension(Method::Subagent(SubagentSaid {
        session_id: &event.session,
        tool_call_id: Some(call).filter(|call| cards.contains(call)),
        thread,
        message_id: id,
        role,
        text: &said,
    }));
}

/// Returns the update for a notice; none if it only concerns host and agent.
pub fn notice_update(notice: &Notice) -> Option<Update<'_>> {
    let severity = match (notice.topic, notice.level) {
        (Topic::Stdout | Topic::Stderr | Topic::Compaction, _) | (_, Level::Debug) => return None,
        (_, Level::Error) => Severity::Error,
        (_, Level::Warning) => Severity::Warning,
        (Topic::Retry | Topic::RateLimit | Topic::ModelChanged, Level::Info) => Severity::Info,
        (_, Level::Info) if notice.error.is_some() => Severity::Warning,
        (_, Level::Info) => return None,
    };
    let fault = notice.error.as_ref().map(|fault| fault.message.as_str());
    let said = notice.text.as_deref().filter(|text| !text.is_empty());
    let title = said.or(fault).or(notice.name.as_deref()).filter(|title| !title.is_empty())?;
    Some(Update::Notice { severity, title, description: fault.filter(|fault| *fault != title) })
}

/// Number of context compactions so far, and whether one is running.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CompactionCounter {
    count: u64,
    running: bool,
}

impl CompactionCounter {
    /// Returns the update for a compaction notice.
    pub fn compaction_update<'a>(&mut self, notice: &'a Notice) -> Update<'a> {
        let status = match notice.status.as_deref() {
            Some("started" | "running" | "in_progress" | "summary") => CompactionStatus::InProgress,
            Some("failed") => CompactionStatus::Failed,
            _ => CompactionStatus::Completed,
        };
        if !self.running {
            self.count += 1;
        }
        self.running = status == CompactionStatus::InProgress;
        let said = notice.text.as_deref().filter(|said| !said.is_empty());
        let failed = status == CompactionStatus::Failed;
        Update::Compaction {
            compaction_id: format!("compaction_{}", self.count),
            status,
            summary: said.filter(|_| !failed).map(|said| vec![text_content(said)]),
            error: said.filter(|_| failed),
        }
    }
}
