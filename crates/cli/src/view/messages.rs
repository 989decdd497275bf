//! Messages and thoughts of the agent. Text is shown once: as it arrives, or when it is complete. A completed item adds only what
//! had not arrived before.

use std::borrow::Cow;

use switchboard_event::{AgentMessage, ContentType, Details, Event, EventBody, Field, Item, Origin, Reasoning, Status};

use super::{
    DetailLevel, ScreenLayout, TranscriptView,
    figures::pluralize,
    fold::fold_lines,
    items::OpenItem,
    renderer::{BlockKind, OutputSink},
    sanitize::TextSanitizer,
    style::{DIM, PLAIN},
};

/// Longer messages are shown as they arrive, so that memory is bounded.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Lines shown at the beginning and at the end of a subagent's message.
const SUBAGENT_LINES: (usize, usize) = (8, 4);

/// Lines shown of a thought in a stored transcript.
const THOUGHT_LINES: usize = 4;

const THOUGHT_MARK: &str = "∴ ";

/// How much of a message or thought has arrived and was shown.
#[derive(Debug, Default)]
pub struct MessageProgress {
    is_thought: bool,
    /// The first field that grew; only its text is shown.
    field: Option<Field>,
    part: u32,
    /// The number of bytes that arrived.
    came: usize,
    /// The last piece that arrived.
    last: String,
    flow: TextSanitizer,
    /// What arrived and is not shown yet.
    held: String,
    is_shown: bool,
}

impl MessageProgress {
    /// Returns the initial state for a message or thought; `None` for other items.
    pub fn of(item: &Item) -> Option<Self> {
        let is_thought = match &item.details {
            Details::AgentMessage(_) => false,
            Details::Reasoning(_) => true,
            _ => return None,
        };
        Some(Self { is_thought, ..Self::default() })
    }

    pub fn is_thought(&self) -> bool {
        self.is_thought
    }

    /// Adds a piece and returns it sanitized; `None` if its field is not shown.
    fn take(&mut self, field: Field, part: u32, text: &str) -> Option<String> {
        if *self.field.get_or_insert(field) != field {
            return None;
        }
        let mut piece = String::new();
        if self.part != part && self.came > 0 {
            piece.push_str("\n\n");
        }
        (self.part, self.came) = (part, self.came + text.len());
        text.clone_into(&mut self.last);
        self.flow.push(text, &mut piece);
        Some(piece)
    }

    /// Returns the part of the complete text that has not arrived; empty if the text does not continue the pieces.
    fn rest<'a>(&self, whole: &'a str) -> &'a str {
        match whole.split_at_checked(self.came) {
            Some((came, rest)) if came.ends_with(&self.last) => rest,
            _ => "",
        }
    }
}

/// Returns the complete text of a message or thought, of the field that grew if any did.
fn complete_text(item: &Item, grew: Option<Field>) -> &str {
    match &item.details {
        Details::AgentMessage(AgentMessage { text, .. }) => text,
        Details::Reasoning(Reasoning { text, summary, .. }) => {
            let (text, summary) = (text.as_deref(), summary.as_deref());
            let shown = match grew {
                Some(Field::Summary) => summary,
                Some(_) => text,
                None => text.filter(|text| !text.is_empty()).or(summary),
            };
            shown.unwrap_or_default()
        }
        _ => "",
    }
}

impl TranscriptView {
    pub(super) fn speech_started(&mut self, event: &Event, item: &Item) {
        let text = complete_text(item, None);
        if !text.is_empty() {
            self.speech_grew(event, Field::Text, 0, text);
        }
    }

    pub(super) fn speech_grew(&mut self, event: &Event, field: Field, part: u32, text: &str) {
        let streams = self.streams(event);
        let Some(voice) = self.voice(event) else { return };
        let Some(piece) = voice.take(field, part, text) else { return };
        voice.held.push_str(&piece);
        if streams || voice.is_shown || voice.held.len() > MAX_HELD_BYTES {
            self.release(event);
        }
    }

    /// Returns whether text is shown as it arrives. That of subagents is not, as several may write at once.
    fn streams(&self, event: &Event) -> bool {
        self.renderer.options.stream && event.thread.is_none()
    }

    fn voice(&mut self, event: &Event) -> Option<&mut MessageProgress> {
        self.open.get_mut(event.item.as_ref()?)?.message.as_mut()
    }

    /// Shows what arrived and is not shown yet.
    fn release(&mut self, event: &Event) {
        let Some(voice) = self.voice(event) else { return };
        let (held, is_thought) = (std::mem::take(&mut voice.held), voice.is_thought);
        voice.is_shown = true;
        self.write_piece(event, is_thought, &held);
    }

    /// Writes a piece of a message or thought of the agent itself.
    fn write_piece(&mut self, event: &Event, is_thought: bool, text: &str) {
        let Some(id) = &event.item else { return };
        if text.is_empty() || event.thread.is_some() {
            return;
        }
        if is_thought {
            if self.renderer.options.reasoning {
                self.subagents.show(None);
                let text = self.in_short(text);
                self.renderer.write_thought(id, &text, THOUGHT_MARK);
            }
        } else if !self.renderer.options.last_message {
            if self.renderer.options.screen == ScreenLayout::Both {
                self.subagents.show(None);
            }
            self.renderer.write_message(id, text);
        }
    }

    /// Shortens a thought in a stored transcript.
    fn in_short<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let folded = fold_lines(text, THOUGHT_LINES, 0);
        if self.renderer.options.detail != DetailLevel::Brief || folded.more == 0 {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("{}\n… {} …\n", folded.head.join("\n"), pluralize(folded.more, "more line")))
    }

    pub(super) fn speech_ended(&mut self, event: &Event, item: &Item, open: OpenItem) {
        let (Some(id), Some(mut voice)) = (&event.item, open.message) else { return };
        if item.status == Status::Superseded && !voice.is_shown {
            return;
        }
        let text = complete_text(item, voice.field);
        if event.thread.is_some() {
            return self.subagent_said(event, voice.is_thought, text);
        }
        if voice.is_shown {
            let mut rest = std::mem::take(&mut voice.held);
            voice.flow.push(voice.rest(text), &mut rest);
            self.write_piece(event, voice.is_thought, &rest);
        } else {
            self.write_piece(event, voice.is_thought, &TextSanitizer::whole(text));
        }
        self.renderer.finish(id, if voice.is_thought { OutputSink::Activity } else { OutputSink::Answer });
        if item.status == Status::Superseded {
            self.remark(event, "taken back");
        }
        self.show_content(event, item);
    }

    /// Notes images and other content without text.
    fn show_content(&mut self, event: &Event, item: &Item) {
        let Details::AgentMessage(message) = &item.details else { return };
        for content in message.content.iter().filter(|content| content.kind != ContentType::Text) {
            let kind = if content.kind == ContentType::Image { "image" } else { "attachment" };
            let about = [content.media_type.as_deref(), content.url.as_deref()].into_iter().flatten();
            let about = std::iter::once(kind).chain(about).collect::<Vec<_>>().join(" ");
            self.remark(event, &about);
        }
    }

    fn subagent_said(&mut self, event: &Event, is_thought: bool, text: &str) {
        if text.trim().is_empty() || is_thought && !self.renderer.options.reasoning {
            return;
        }
        if !is_thought {
            self.subagents.said(event, text);
        }
        self.begin(event, BlockKind::Work);
        let (style, mark) = if is_thought { (DIM, THOUGHT_MARK) } else { (PLAIN, "") };
        let folded = self.fold(text.trim(), SUBAGENT_LINES.0, SUBAGENT_LINES.1);
        for (number, line) in folded.head.iter().enumerate() {
            self.renderer.rows(0, 6, &[(style, if number == 0 { mark } else { "" }), (style, line)]);
        }
        self.show_more(0, folded.more);
        folded.tail.iter().for_each(|line| self.renderer.rows(0, 6, &[(style, line)]));
    }
}

/// The agent's final answer: the last message of the last turn that was not started in the background, without
/// subagents and thoughts.
#[derive(Clone, Debug, Default)]
pub struct LastMessage {
    message: Option<String>,
    /// The result of the turn, which some agents report separately from the messages.
    result: Option<String>,
}

impl LastMessage {
    pub fn apply(&mut self, event: &Event) {
        if event.thread.is_some() {
            return;
        }
        match &event.body {
            // Background work that ends also starts a turn, which may add nothing to the answer.
            EventBody::TurnStarted(turn) if turn.origin != Origin::Background => *self = Self::default(),
            EventBody::ItemCompleted(item) if item.status != Status::Superseded => {
                if let Details::AgentMessage(message) = &item.details
                    && !message.text.trim().is_empty()
                {
                    self.message = Some(message.text.clone());
                }
            }
            EventBody::TurnCompleted(turn) => self.result.clone_from(&turn.result),
            _ => {}
        }
    }

    pub fn text(&self) -> Option<&str> {
        self.result.as_deref().or(self.message.as_deref())
    }

    /// Returns whether the turn's result equals the last message.
    pub fn is_repeated(&self) -> bool {
        self.result == self.message
    }
}
