//! Adds prompts, items and notices to the timeline, and updates items that grow.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use switchboard_event::{Delta, Details, Event, Field, Id, Item, Level, Notice, Topic};

use super::{EntryKind, EntryRecord, EntryStage, GrowingText, GrowthFormat, Timeline};

/// The maximum total size of growing texts. The oldest are dropped first.
const MAX_GROWING_BYTES: usize = 16 << 20;

impl Timeline {
    /// Adds a prompt, unless a user message with the same text came right before.
    pub(crate) fn prompted(&mut self, event: &Event, text: &str) {
        let hash = hash(text);
        if self.prompt.is_some_and(|(_, same)| same == hash) {
            return;
        }
        let mut line =
            EntryRecord::new(EntryKind::User, EntryStage::Completed, Id::from(format!("prompt_{}", event.seq)), event);
        line.size = lines(text);
        let n = self.push(event, line);
        self.prompt = Some((n, hash));
    }

    pub(crate) fn item_started(&mut self, event: &Event, item: &Item) {
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
        if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
            line.seeded = event.seq;
        }
        self.seed(n, item, event.seq);
    }

    pub(crate) fn item_delta(&mut self, event: &Event, delta: &Delta) {
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

    pub(crate) fn item_completed(&mut self, event: &Event, item: &Item) {
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
        let mut line = EntryRecord::new(EntryKind::from(&item.details), item.status.into(), id.clone(), event);
        line.size = size(item);
        let n = self.push(event, line);
        self.house(id, n, event.seq);
        self.thread(n, event, item);
        n
    }

    /// Registers the thread of a subagent, which may become known late.
    fn thread(&mut self, n: u32, event: &Event, item: &Item) {
        if let Details::Subagent(agent) = &item.details
            && let Some(thread) = &agent.thread
            && self.homes.get(thread) != Some(&n)
        {
            self.house(thread, n, event.seq);
        }
    }

    /// Replaces an item.
    fn set(&mut self, n: u32, event: &Event, item: &Item) {
        let kind = EntryKind::from(&item.details);
        self.change_kind(n, kind, event.seq);
        if let Some(line) = self.touch(n, event.seq) {
            line.base = event.seq;
            line.stage = item.status.into();
            line.size = size(item);
        }
        self.thread(n, event, item);
        self.seed(n, item, event.seq);
    }

    /// Changes the kind of an entry. Its growing text is then obsolete.
    fn change_kind(&mut self, n: u32, kind: EntryKind, seq: u64) {
        let line = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at));
        if let Some(line) = line.filter(|line| line.kind != kind) {
            (line.kind, line.seeded) = (kind, seq);
            self.forget(n);
        }
    }

    fn finish(&mut self, n: u32, event: &Event, item: &Item) {
        self.forget(n);
        if let Some(line) = self.touch(n, event.seq) {
            line.done = Some(event.seq);
            line.kind = EntryKind::from(&item.details);
            line.stage = if item.status == switchboard_event::Status::Running {
                EntryStage::Completed
            } else {
                item.status.into()
            };
            line.size = size(item);
        }
        self.thread(n, event, item);
    }

    /// Returns the entry of the prompt that a user message repeats. A message that comes first is remembered.
    fn said(&mut self, item: &Item, event: &Event) -> Option<u32> {
        let Details::UserMessage(said) = &item.details else { return None };
        if said.synthetic || event.thread.is_some() {
            return None;
        }
        let hash = hash(&said.joined_text());
        match self.prompt {
            Some((n, same)) if same == hash && self.line(n)?.done.is_none() => Some(n),
            _ => {
                self.prompt = Some((self.len(), hash));
                None
            }
        }
    }

    /// Binds an existing entry to an item.
    fn bind(&mut self, n: u32, id: &Id, seq: u64) -> u32 {
        if let Some(line) = self.touch(n, seq) {
            line.id = id.clone();
        }
        self.homes.insert(id.clone(), n);
        n
    }

    /// Records that the text of an entry grew.
    fn grew(&mut self, n: u32, seq: u64) {
        self.note(n, seq);
        if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
            line.last = seq;
        }
        self.resize(n);
    }

    /// Updates the number of lines of an entry.
    fn resize(&mut self, n: u32) {
        let lines = self.growths.get(&n).map_or(0, |growth| growth.lines);
        if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
            line.size = line.size.max(lines.saturating_add(2).min(MAX_ENTRY_LINES));
        }
    }

    /// Starts the growing text with the initial text of an item. Without initial text, the growing text stays.
    fn seed(&mut self, n: u32, item: &Item, seq: u64) {
        if let Some((field, text)) = growing(item) {
            self.forget(n);
            self.grow(n, field, 0, text);
            if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
                line.seeded = seq;
            }
        }
    }

    fn grow(&mut self, n: u32, field: Field, part: u32, text: &str) {
        let kind = self.line(n).map_or(EntryKind::Unknown, |line| line.kind);
        let Some(way) = GrowthFormat::of(kind, field) else { return };
        let growth = self.growths.entry(n).or_insert_with(|| GrowingText::new(field, way));
        if growth.field != field {
            // Only the first of several growing fields is shown, so that nothing appears twice.
            return;
        }
        let before = growth.bytes();
        growth.push(part, text);
        self.grown = (self.grown + growth.bytes()).saturating_sub(before);
        while self.grown > MAX_GROWING_BYTES && self.growths.len() > 1 {
            let oldest = self.growths.keys().copied().min().filter(|oldest| *oldest != n);
            let Some(oldest) = oldest else { break };
            self.forget(oldest);
        }
    }

    /// Drops the growing text of an entry.
    fn forget(&mut self, n: u32) {
        if let Some(growth) = self.growths.remove(&n) {
            self.grown = self.grown.saturating_sub(growth.bytes());
        }
    }
}

/// Returns the initial text of the field that is likely to grow, if any.
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

/// Removes the growing text of an item, which is shown separately.
pub(crate) fn without_growing(mut item: Item) -> Item {
    match &mut item.details {
        Details::AgentMessage(message) => message.text.clear(),
        Details::Reasoning(reasoning) => (reasoning.text, reasoning.summary) = (None, None),
        Details::Command(command) => command.output.clear(),
        Details::Tool(tool) => tool.output.clear(),
        _ => {}
    }
    item
}

/// The maximum estimated number of lines.
const MAX_ENTRY_LINES: u32 = 400;

/// Returns the approximate number of lines of an item.
fn size(item: &Item) -> u32 {
    let body = match &item.details {
        Details::UserMessage(said) => said.content.iter().filter_map(|part| part.text.as_deref()).map(lines).sum(),
        Details::AgentMessage(message) => lines(&message.text),
        Details::Reasoning(_) => 0,
        Details::Command(command) => lines(&command.output),
        Details::FileChange(change) => change.changes.iter().map(|change| lines(&change.diff).saturating_add(1)).sum(),
        Details::Plan(plan) => u32::try_from(plan.entries.len()).unwrap_or(MAX_ENTRY_LINES),
        Details::Tool(tool) => lines(&tool.output),
        _ => 1,
    };
    body.saturating_add(1).min(MAX_ENTRY_LINES)
}

/// Returns the approximate number of lines of a text.
fn lines(text: &str) -> u32 {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    // Long lines are wrapped.
    u32::try_from(ends + text.len() / 120 + 1).unwrap_or(MAX_ENTRY_LINES).min(MAX_ENTRY_LINES)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim().hash(&mut hasher);
    hasher.finish()
}

/// The relevance of a notice to readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoticeInterest {
    Shown,
    /// Joined with others and folded.
    Quiet,
    /// Not shown.
    None,
}

fn interest(notice: &Notice) -> NoticeInterest {
    let says = notice.text.as_deref().is_some_and(|text| !text.trim().is_empty()) || notice.error.is_some();
    if matches!(notice.level, Level::Warning | Level::Error) && notice.topic != Topic::Stderr {
        return NoticeInterest::Shown;
    }
    match notice.topic {
        Topic::Compaction | Topic::ModelChanged | Topic::Retry | Topic::Interrupt | Topic::Auth | Topic::Retracted => {
            NoticeInterest::Shown
        }
        Topic::RateLimit | Topic::ToolSummary if says && notice.level != Level::Debug => NoticeInterest::Shown,
        Topic::Stderr | Topic::Stdout | Topic::Hook | Topic::Task | Topic::Unknown | Topic::Late | Topic::Warning => {
            NoticeInterest::Quiet
        }
        Topic::Status if says && notice.level != Level::Debug => NoticeInterest::Quiet,
        _ => NoticeInterest::None,
    }
}

/// Returns whether a notice is joined with others.
pub(crate) fn is_quiet(notice: &Notice) -> bool {
    interest(notice) == NoticeInterest::Quiet
}

impl Timeline {
    pub(crate) fn noticed(&mut self, event: &Event, notice: &Notice) {
        let interest = interest(notice);
        if interest == NoticeInterest::None || (interest == NoticeInterest::Quiet && self.joins(event)) {
            return;
        }
        let mut line =
            EntryRecord::new(EntryKind::Notice, stage(notice), Id::from(format!("notice_{}", event.seq)), event);
        line.quiet = interest == NoticeInterest::Quiet;
        self.push(event, line);
    }

    /// Joins a notice to the quiet notices right before it. Returns whether there were any.
    fn joins(&mut self, event: &Event) -> bool {
        let Some(n) = self.len().checked_sub(1) else { return false };
        let parent = self.home_of(event);
        if !self.line(n).is_some_and(|line| line.quiet && line.parent == parent && line.turn == event.turn) {
            return false;
        }
        if let Some(line) = self.touch(n, event.seq) {
            line.count = line.count.saturating_add(1);
        }
        true
    }
}

fn stage(notice: &Notice) -> EntryStage {
    if notice.level == Level::Error { EntryStage::Failed } else { EntryStage::Completed }
}
