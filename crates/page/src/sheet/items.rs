//! Items: they begin, grow, and are finished.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use switchboard_event::{Delta, Details, Event, Field, Id, Item};

use super::{Growth, Kind, Line, Sheet, Stage, Way};

/// Texts that are growing take at most so many bytes, all together. The oldest are forgotten first.
const MOST_GROWN: usize = 16 << 20;

impl Sheet {
    /// Somebody asked something. Who says it again right after, or right before, says the same.
    pub(super) fn prompted(&mut self, event: &Event, text: &str) {
        let hash = hash(text);
        if self.prompt.is_some_and(|(_, same)| same == hash) {
            return;
        }
        let mut line = Line::new(Kind::User, Stage::Completed, Id::from(format!("prompt_{}", event.seq)), event);
        line.size = lines(text);
        let n = self.push(event, line);
        self.prompt = Some((n, hash));
    }

    pub(super) fn item_started(&mut self, event: &Event, item: &Item) {
        let Some(id) = &event.item else { return };
        if let Some(n) = self.open.get(id).copied() {
            self.set(n, event, item);
            return;
        }
        let n = match self.said(item, event) {
            Some(n) => self.bind(n, id, event.seq),
            None => self.begin(event, id, item),
        };
        self.open.insert(id.clone(), n);
        self.seed(n, item, event.seq);
    }

    pub(super) fn item_delta(&mut self, event: &Event, delta: &Delta) {
        let Some(n) = event.item.as_ref().and_then(|id| self.open.get(id)).copied() else { return };
        match delta {
            Delta::Append { field, part, text } => {
                self.grow(n, *field, *part, text);
                self.grew(n, event.seq);
            }
            Delta::Set { patch } => self.set(n, event, patch),
            Delta::Progress { .. } => {}
        }
    }

    pub(super) fn item_completed(&mut self, event: &Event, item: &Item) {
        let Some(id) = &event.item else { return };
        let n = match self.open.remove(id) {
            Some(n) => n,
            None => match self.said(item, event) {
                Some(n) => self.bind(n, id, event.seq),
                None => self.begin(event, id, item),
            },
        };
        self.finish(n, event, item);
    }

    fn begin(&mut self, event: &Event, id: &Id, item: &Item) -> u32 {
        let mut line = Line::new(Kind::from(&item.details), item.status.into(), id.clone(), event);
        line.size = size(item);
        let n = self.push(event, line);
        self.house(id, n, event.seq);
        self.thread(n, event, item);
        n
    }

    /// The thread of a subagent may be told late.
    fn thread(&mut self, n: u32, event: &Event, item: &Item) {
        if let Details::Subagent(agent) = &item.details
            && let Some(thread) = &agent.thread
            && self.homes.get(thread) != Some(&n)
        {
            self.house(thread, n, event.seq);
        }
    }

    /// An item is now this.
    fn set(&mut self, n: u32, event: &Event, item: &Item) {
        let kind = Kind::from(&item.details);
        self.change(n, kind, event.seq);
        if let Some(line) = self.touch(n, event.seq) {
            line.base = event.seq;
            line.stage = item.status.into();
            line.size = size(item);
        }
        self.thread(n, event, item);
        self.seed(n, item, event.seq);
    }

    /// An entry may be of another kind than it was: what has grown is then not what is shown of it.
    fn change(&mut self, n: u32, kind: Kind, seq: u64) {
        let line = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at));
        if let Some(line) = line.filter(|line| line.kind != kind) {
            (line.kind, line.seeded, line.unread) = (kind, seq, false);
            self.forget(n);
        }
    }

    fn finish(&mut self, n: u32, event: &Event, item: &Item) {
        self.forget(n);
        if let Some(line) = self.touch(n, event.seq) {
            line.done = Some(event.seq);
            line.kind = Kind::from(&item.details);
            line.stage =
                if item.status == switchboard_event::Status::Running { Stage::Completed } else { item.status.into() };
            line.size = size(item);
            line.unread = false;
        }
        self.thread(n, event, item);
    }

    /// What the user said was asked already, as a prompt: it is the same entry. Where it comes first, it is remembered.
    fn said(&mut self, item: &Item, event: &Event) -> Option<u32> {
        let Details::UserMessage(said) = &item.details else { return None };
        if said.synthetic || event.thread.is_some() {
            return None;
        }
        let hash = hash(&said.joined());
        match self.prompt {
            Some((n, same)) if same == hash && self.line(n)?.done.is_none() => Some(n),
            _ => {
                self.prompt = Some((self.len(), hash));
                None
            }
        }
    }

    /// An entry turns out to be this item.
    fn bind(&mut self, n: u32, id: &Id, seq: u64) -> u32 {
        if let Some(line) = self.touch(n, seq) {
            line.id = id.clone();
        }
        self.homes.insert(id.clone(), n);
        n
    }

    /// Text came for an entry.
    pub(super) fn grew(&mut self, n: u32, seq: u64) {
        self.note(n, seq);
        if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
            line.last = seq;
        }
        self.resize(n);
    }

    /// An entry has as many lines as its text.
    pub(super) fn resize(&mut self, n: u32) {
        let lines = self.growths.get(&n).map_or(0, |growth| growth.lines);
        if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
            line.size = line.size.max(lines.saturating_add(2).min(MOST_LINES));
        }
    }

    /// What an item has when it begins is the beginning of what grows. If it has nothing, what has grown stays.
    pub(super) fn seed(&mut self, n: u32, item: &Item, seq: u64) {
        if let Some((field, text)) = growing(item) {
            self.forget(n);
            self.grow(n, field, 0, text);
            if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
                (line.seeded, line.unread) = (seq, false);
            }
        }
    }

    pub(super) fn grow(&mut self, n: u32, field: Field, part: u32, text: &str) {
        let kind = self.line(n).map_or(Kind::Unknown, |line| line.kind);
        let Some(way) = Way::of(kind, field) else { return };
        let growth = self.growths.entry(n).or_insert_with(|| Growth::new(field, way));
        if growth.field != field {
            // Of several fields that grow, the first is shown: nothing is said twice.
            return;
        }
        let before = growth.bytes();
        growth.push(part, text);
        self.grown = (self.grown + growth.bytes()).saturating_sub(before);
        while self.grown > MOST_GROWN && self.growths.len() > 1 {
            let oldest = self.growths.keys().copied().min().filter(|oldest| *oldest != n);
            let Some(oldest) = oldest else { break };
            self.forget(oldest);
        }
    }

    /// A text no longer grows.
    pub(super) fn forget(&mut self, n: u32) {
        if let Some(growth) = self.growths.remove(&n) {
            self.grown = self.grown.saturating_sub(growth.bytes());
        }
    }
}

/// The text of an item that is likely to grow, if there is some already.
fn growing(item: &Item) -> Option<(Field, &str)> {
    let (field, text) = match &item.details {
        Details::AgentMessage(message) => (Field::Text, Some(&message.text)),
        Details::Reasoning(reasoning) => match (&reasoning.text, &reasoning.summary) {
            (Some(text), _) if !text.is_empty() => (Field::Text, Some(text)),
            (_, summary) => (Field::Summary, summary.as_ref()),
        },
        Details::Command(command) => (Field::Output, Some(&command.output)),
        Details::Tool(tool) => (Field::Output, Some(&tool.output)),
        _ => return None,
    };
    text.filter(|text| !text.is_empty()).map(|text| (field, text.as_str()))
}

/// The same item without the text that grows: that is shown behind it.
pub(super) fn without_growing(mut item: Item) -> Item {
    match &mut item.details {
        Details::AgentMessage(message) => message.text.clear(),
        Details::Reasoning(reasoning) => (reasoning.text, reasoning.summary) = (None, None),
        Details::Command(command) => command.output.clear(),
        Details::Tool(tool) => tool.output.clear(),
        _ => {}
    }
    item
}

/// No entry is taken to be longer.
const MOST_LINES: u32 = 400;

/// About how many lines an item has.
fn size(item: &Item) -> u32 {
    let body = match &item.details {
        Details::UserMessage(said) => said.content.iter().filter_map(|part| part.text.as_deref()).map(lines).sum(),
        Details::AgentMessage(message) => lines(&message.text),
        Details::Reasoning(_) => 0,
        Details::Command(command) => lines(&command.output),
        Details::FileChange(change) => change.changes.iter().map(|change| lines(&change.diff).saturating_add(1)).sum(),
        Details::Plan(plan) => u32::try_from(plan.entries.len()).unwrap_or(MOST_LINES),
        Details::Tool(tool) => lines(&tool.output),
        _ => 1,
    };
    body.saturating_add(1).min(MOST_LINES)
}

/// About how many lines a text has.
fn lines(text: &str) -> u32 {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    // Long lines are shown as several.
    u32::try_from(ends + text.len() / 120 + 1).unwrap_or(MOST_LINES).min(MOST_LINES)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim().hash(&mut hasher);
    hasher.finish()
}
