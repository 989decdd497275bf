//! Replies that Codex restarts after their stream broke off. The model most often writes the same text again, under the
//! same item id or under another: the abandoned item continues, so that no text is sent twice.

use switchboard_event::{Details, Field, Id, Item, Status};

use crate::{
    RunRecorder,
    abandoned::{AbandonedItems, TextRepetition, compare_repetition, shown_field, text_field, text_kind},
};

/// The fields of a text item.
const TEXT_FIELDS: [Field; 2] = [Field::Text, Field::Summary];

#[derive(Default)]
pub struct RestartedReplies {
    /// Abandoned items by thread; the main conversation has none.
    abandoned: Vec<(Option<Id>, AbandonedItems)>,
    continued: Vec<ContinuedItem>,
}

/// An abandoned item that a restarted reply continues.
struct ContinuedItem {
    /// The id that Codex uses in the restarted reply.
    native: Id,
    item: Id,
    /// How many bytes of each of [`TEXT_FIELDS`] were repeated or added.
    repeated: [usize; 2],
}

impl RestartedReplies {
    /// Returns the item that a native id stands for.
    pub fn resolve_id(&self, native: &Id) -> Id {
        let known = self.continued.iter().find(|continued| continued.native == *native);
        known.map_or(native, |continued| &continued.item).clone()
    }

    /// Abandons all open messages and reasoning of a thread.
    pub fn abandon_reply(&mut self, thread: Option<&str>, recorder: &RunRecorder) {
        recorder.open_items(thread).into_iter().for_each(|item| self.abandon_item(item, thread, recorder));
    }

    /// Abandons an open message or reasoning; other items are left alone.
    pub fn abandon_item(&mut self, item: Id, thread: Option<&str>, recorder: &RunRecorder) {
        let Some(kind) = recorder.open_item(&item).and_then(text_kind) else { return };
        self.continued.retain(|continued| continued.item != item && recorder.item_is_open(&continued.item));
        let abandoned = match self.abandoned.iter_mut().find(|(of, _)| of.as_deref() == thread) {
            Some((_, abandoned)) => abandoned,
            None => {
                self.abandoned.push((thread.map(Id::from), AbandonedItems::default()));
                let Some((_, abandoned)) = self.abandoned.last_mut() else { return };
                abandoned
            }
        };
        abandoned.push(item, kind, recorder);
    }

    /// Supersedes the abandoned items of a thread, once nothing can repeat them.
    pub fn supersede_abandoned(&mut self, thread: Option<&str>, recorder: &mut RunRecorder) {
        for (_, abandoned) in self.abandoned.iter_mut().filter(|(of, _)| of.as_deref() == thread) {
            abandoned.supersede_all(recorder);
        }
        self.abandoned.retain(|(of, _)| of.as_deref() != thread);
    }

    /// Starts an item. If it may repeat an abandoned one, that one continues instead.
    pub fn start_item(&mut self, native: &Id, item: Item, thread: Option<&str>, recorder: &mut RunRecorder) {
        self.continued.retain(|continued| continued.native != *native && recorder.item_is_open(&continued.item));
        let abandoned = self.abandoned.iter_mut().find(|(of, _)| of.as_deref() == thread);
        let taken = text_kind(&item)
            .zip(abandoned)
            .and_then(|(kind, (_, abandoned))| abandoned.take_repeatable(kind, recorder));
        let Some(taken) = taken else { return start_anew(native, item, recorder) };
        if let Some(open) = recorder.item_mut(&taken) {
            open.reply.clone_from(&item.reply);
        }
        self.continued.push(ContinuedItem { native: native.clone(), item: taken, repeated: [0; 2] });
        for field in TEXT_FIELDS {
            self.append_text(native, field, 0, text_field(&item, field), recorder);
        }
    }

    /// Appends text to an item, unless it repeats text that was emitted before.
    pub fn append_text(&mut self, native: &Id, field: Field, part: u32, text: &str, recorder: &mut RunRecorder) {
        let Some(index) = self.continued.iter().position(|continued| continued.native == *native) else {
            recorder.item_append(native, field, part, text);
            return;
        };
        let Some(ContinuedItem { item, repeated, .. }) = self.continued.get_mut(index) else { return };
        let [of_text, of_summary] = repeated;
        let repeated_bytes = if field == Field::Summary { of_summary } else { of_text };
        match compare_repetition(shown_field(item, field, recorder), *repeated_bytes, text) {
            TextRepetition::Known => *repeated_bytes += text.len(),
            TextRepetition::Longer(new) => {
                *repeated_bytes += text.len();
                recorder.item_append(item, field, part, new);
            }
            TextRepetition::Differs => {
                let ContinuedItem { item, repeated, .. } = self.continued.remove(index);
                let Some(mut replacement) = recorder.open_item(&item).cloned() else { return };
                TEXT_FIELDS
                    .into_iter()
                    .zip(repeated)
                    .for_each(|(field, bytes)| keep_start(&mut replacement, field, bytes));
                push_text(&mut replacement, field, text);
                recorder.item_closed(&item, Status::Superseded);
                start_anew(native, replacement, recorder);
            }
        }
    }

    /// Returns the id under which a complete item ends. An abandoned item that begins differently is superseded.
    pub fn finish_item(&mut self, native: &Id, item: &Item, thread: Option<&str>, recorder: &mut RunRecorder) -> Id {
        if let Some(index) = self.continued.iter().position(|continued| continued.native == *native) {
            let ContinuedItem { item: shown, .. } = self.continued.remove(index);
            let continues = |field| text_field(item, field).starts_with(shown_field(&shown, field, recorder));
            if TEXT_FIELDS.into_iter().all(continues) {
                return shown;
            }
            recorder.item_closed(&shown, Status::Superseded);
            return native.clone();
        }
        let abandoned = self.abandoned.iter_mut().find(|(of, _)| of.as_deref() == thread);
        match (&item.details, text_kind(item), abandoned) {
            // The start of the item was not reported.
            (Details::AgentMessage(message), Some(kind), Some((_, abandoned))) => {
                abandoned.take_prefix_of(kind, &message.text, recorder).unwrap_or_else(|| native.clone())
            }
            _ => native.clone(),
        }
    }
}

/// Starts an item under an id that an abandoned item may still have.
fn start_anew(id: &Id, item: Item, recorder: &mut RunRecorder) {
    if recorder.open_item(id).and_then(text_kind).is_some() {
        recorder.item_closed(id, Status::Superseded);
    }
    recorder.item_started(id, item);
}

fn text_field_mut(item: &mut Item, field: Field) -> Option<&mut String> {
    match (&mut item.details, field) {
        (Details::AgentMessage(message), Field::Text) => Some(&mut message.text),
        (Details::Reasoning(reasoning), Field::Text) => Some(reasoning.text.get_or_insert_default()),
        (Details::Reasoning(reasoning), Field::Summary) => Some(reasoning.summary.get_or_insert_default()),
        _ => None,
    }
}

/// Cuts a text off after this many bytes.
fn keep_start(item: &mut Item, field: Field, bytes: usize) {
    let kept = text_field(item, field);
    if bytes < kept.len()
        && kept.is_char_boundary(bytes)
        && let Some(text) = text_field_mut(item, field)
    {
        text.truncate(bytes);
    }
}

fn push_text(item: &mut Item, field: Field, text: &str) {
    if let Some(own) = text_field_mut(item, field) {
        own.push_str(text);
    }
}
