//! What the agent says and thinks. Text is shown once: as it comes, or when it is whole. Of what was shown as it came,
//! the finished item adds only what had not come.

use std::borrow::Cow;

use switchboard_event::{AgentMessage, ContentType, Details, Event, Field, Item, Reasoning, Status};

use super::{
    clean::Flow,
    figures::count,
    fold::fold,
    items::Open,
    options::{Detail, Screen},
    output::Sink,
    paper::Block,
    style::{DIM, PLAIN},
    viewer::View,
};

/// A message that is to be shown when it is whole is shown as it comes from here on, so that memory stays bounded.
const HELD: usize = 1 << 20;

/// Lines of a subagent's text that are shown.
const SUBAGENT_LINES: (usize, usize) = (8, 4);

/// Lines of a thought that are shown where it is read later.
const THOUGHT_LINES: usize = 4;

/// What begins a thought.
const THOUGHT: &str = "∴ ";

/// How far the text of an item was shown.
#[derive(Debug, Default)]
pub struct Voice {
    is_thought: bool,
    /// The field whose text is shown: the first that grew.
    field: Option<Field>,
    part: u32,
    /// How many bytes came.
    came: usize,
    /// The last piece that came.
    last: String,
    flow: Flow,
    /// What came and is not shown yet.
    held: String,
    /// Something was shown.
    is_shown: bool,
}

impl Voice {
    /// The voice of an item, if it is one that speaks.
    pub fn of(item: &Item) -> Option<Self> {
        let is_thought = match &item.details {
            Details::AgentMessage(_) => false,
            Details::Reasoning(_) => true,
            _ => return None,
        };
        Some(Self { is_thought, ..Self::default() })
    }

    /// It is a thought.
    pub fn is_thought(&self) -> bool {
        self.is_thought
    }

    /// Takes a piece, made harmless. Nothing, if it is of a field that is not shown.
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

    /// Of the finished text, what had not come. Nothing, if it does not go on where the pieces stopped.
    fn rest<'a>(&self, whole: &'a str) -> &'a str {
        match whole.split_at_checked(self.came) {
            Some((came, rest)) if came.ends_with(&self.last) => rest,
            _ => "",
        }
    }
}

/// The whole text of an item that speaks, by the field that grew if one did.
fn whole(item: &Item, grew: Option<Field>) -> &str {
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

impl View {
    pub(super) fn speech_started(&mut self, event: &Event, item: &Item) {
        let text = whole(item, None);
        if !text.is_empty() {
            self.speech_grew(event, Field::Text, 0, text);
        }
    }

    pub(super) fn speech_grew(&mut self, event: &Event, field: Field, part: u32, text: &str) {
        let streams = self.streams(event);
        let Some(voice) = self.voice(event) else { return };
        let Some(piece) = voice.take(field, part, text) else { return };
        voice.held.push_str(&piece);
        if streams || voice.is_shown || voice.held.len() > HELD {
            self.release(event);
        }
    }

    /// It is shown as it comes. A subagent's text is not: two of them may speak at once.
    fn streams(&self, event: &Event) -> bool {
        self.paper.options.stream && event.thread.is_none()
    }

    fn voice(&mut self, event: &Event) -> Option<&mut Voice> {
        self.open.get_mut(event.item.as_ref()?)?.voice.as_mut()
    }

    /// Shows what came and is not shown yet.
    fn release(&mut self, event: &Event) {
        let Some(voice) = self.voice(event) else { return };
        let (held, is_thought) = (std::mem::take(&mut voice.held), voice.is_thought);
        voice.is_shown = true;
        self.utter(event, is_thought, &held);
    }

    /// Writes a piece of a message or of a thought of the agent itself.
    fn utter(&mut self, event: &Event, is_thought: bool, text: &str) {
        let Some(id) = &event.item else { return };
        if text.is_empty() || event.thread.is_some() {
            return;
        }
        if is_thought {
            if self.paper.options.reasoning {
                self.subagents.show(None);
                let text = self.in_short(text);
                self.paper.think(id, &text, THOUGHT);
            }
        } else if !self.paper.options.last_message {
            if self.paper.options.screen == Screen::Both {
                self.subagents.show(None);
            }
            self.paper.say(id, text);
        }
    }

    /// A thought, of which the beginning is enough for who reads it later.
    fn in_short<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let folded = fold(text, THOUGHT_LINES, 0);
        if self.paper.options.detail != Detail::Brief || folded.more == 0 {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("{}\n… {} …\n", folded.head.join("\n"), count(folded.more, "more line")))
    }

    pub(super) fn speech_ended(&mut self, event: &Event, item: &Item, open: Open) {
        let (Some(id), Some(mut voice)) = (&event.item, open.voice) else { return };
        if item.status == Status::Superseded && !voice.is_shown {
            return;
        }
        let text = whole(item, voice.field);
        if event.thread.is_some() {
            return self.subagent_said(event, voice.is_thought, text);
        }
        if voice.is_shown {
            let mut rest = std::mem::take(&mut voice.held);
            voice.flow.push(voice.rest(text), &mut rest);
            self.utter(event, voice.is_thought, &rest);
        } else {
            self.utter(event, voice.is_thought, &Flow::whole(text));
        }
        self.paper.finish(id, if voice.is_thought { Sink::Activity } else { Sink::Answer });
        if item.status == Status::Superseded {
            self.remark(event, "taken back");
        }
        self.show_content(event, item);
    }

    /// Pictures and the like have no text; that they are there is said.
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
        if text.trim().is_empty() || is_thought && !self.paper.options.reasoning {
            return;
        }
        if !is_thought {
            self.subagents.said(event, text);
        }
        self.begin(event, Block::Work);
        let (style, mark) = if is_thought { (DIM, THOUGHT) } else { (PLAIN, "") };
        let folded = self.fold(text.trim(), SUBAGENT_LINES.0, SUBAGENT_LINES.1);
        for (number, line) in folded.head.iter().enumerate() {
            self.paper.rows(0, 6, &[(style, if number == 0 { mark } else { "" }), (style, line)]);
        }
        self.show_more(0, folded.more);
        folded.tail.iter().for_each(|line| self.paper.rows(0, 6, &[(style, line)]));
    }
}
