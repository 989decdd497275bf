//! Text whose stream broke off. The agent asks the model again, and most often the new reply begins with the same words:
//! its item continues, so that no text is sent twice. Otherwise it is superseded.

use switchboard_event::{AgentMessage, Details, Field, Id, Item, Reasoning, Status};

use crate::RunRecorder;

/// The kinds of text that are emitted while they stream. A tool call is emitted when its input is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TextBlockKind {
    Text,
    Thinking,
}

impl TextBlockKind {
    pub fn new_item(self, text: &str) -> Item {
        match self {
            Self::Text => Item::new(AgentMessage::text(text)),
            Self::Thinking => {
                let text = Some(text.to_owned()).filter(|t| !t.is_empty());
                Item::new(Reasoning { text, ..Reasoning::default() })
            }
        }
    }
}

/// Items of replies that broke off. They stay open until their text is repeated or replaced.
#[derive(Default)]
pub struct AbandonedItems(Vec<(Id, TextBlockKind)>);

impl AbandonedItems {
    /// Adds an item whose reply broke off.
    pub fn push(&mut self, item: Id, kind: TextBlockKind, recorder: &RunRecorder) {
        self.0.retain(|(known, _)| recorder.item_is_open(known));
        if !self.0.iter().any(|(known, _)| *known == item) {
            self.0.push((item, kind));
        }
    }

    /// Takes the item that a new block of this kind may repeat.
    pub fn take_repeatable(&mut self, kind: TextBlockKind, recorder: &RunRecorder) -> Option<Id> {
        let index = self.0.iter().position(|(item, shown)| *shown == kind && recorder.item_is_open(item))?;
        Some(self.0.remove(index).0)
    }

    /// Takes the item whose text this text begins with, and supersedes the others of its kind.
    pub fn take_prefix_of(&mut self, kind: TextBlockKind, text: &str, recorder: &mut RunRecorder) -> Option<Id> {
        while let Some(item) = self.take_repeatable(kind, recorder) {
            if text.starts_with(&shown_text(&item, recorder)) {
                return Some(item);
            }
            recorder.item_closed(&item, Status::Superseded);
        }
        None
    }

    /// Supersedes all items, once nothing can repeat them.
    pub fn supersede_all(&mut self, recorder: &mut RunRecorder) {
        for (item, _) in self.0.drain(..) {
            recorder.item_closed(&item, Status::Superseded);
        }
    }
}

/// Returns the text emitted so far for an open item.
pub fn shown_text(item: &str, recorder: &RunRecorder) -> String {
    shown_field(item, Field::Text, recorder).to_owned()
}

/// Returns what was emitted so far for a field of an open item.
pub fn shown_field<'a>(item: &str, field: Field, recorder: &'a RunRecorder) -> &'a str {
    recorder.open_item(item).map_or("", |item| text_field(item, field))
}

/// Returns a field of a message or of reasoning.
pub fn text_field(item: &Item, field: Field) -> &str {
    match (&item.details, field) {
        (Details::AgentMessage(message), Field::Text) => &message.text,
        (Details::Reasoning(reasoning), Field::Text) => reasoning.text.as_deref().unwrap_or_default(),
        (Details::Reasoning(reasoning), Field::Summary) => reasoning.summary.as_deref().unwrap_or_default(),
        _ => "",
    }
}

/// How new words relate to a text of which a part was repeated.
#[derive(Debug, PartialEq, Eq)]
pub enum TextRepetition<'a> {
    /// All of them were emitted before.
    Known,
    /// These words are new; everything before them was emitted.
    Longer(&'a str),
    /// Other words were emitted.
    Differs,
}

/// Compares new words with the text emitted after the first `repeated` bytes.
pub fn compare_repetition<'a>(shown: &str, repeated: usize, words: &'a str) -> TextRepetition<'a> {
    let Some(ahead) = shown.get(repeated..) else { return TextRepetition::Differs };
    match words.strip_prefix(ahead) {
        Some("") => TextRepetition::Known,
        Some(new) => TextRepetition::Longer(new),
        None if ahead.starts_with(words) => TextRepetition::Known,
        None => TextRepetition::Differs,
    }
}

#[cfg(test)]
mod tests {
    use super::{TextRepetition, compare_repetition};

    #[test]
    fn words_that_were_shown_are_told_from_new_ones() {
        for (repeated, words, expected) in [
            (0, "one", TextRepetition::Known),
            (0, "one two", TextRepetition::Known),
            (3, " two", TextRepetition::Known),
            (3, " two three", TextRepetition::Longer(" three")),
            (7, " three", TextRepetition::Longer(" three")),
            (0, "once", TextRepetition::Differs),
            (3, "two", TextRepetition::Differs),
            (99, "", TextRepetition::Differs),
        ] {
            assert_eq!(compare_repetition("one two", repeated, words), expected, "{repeated} {words}");
        }
    }
}
