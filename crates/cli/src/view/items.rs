//! Items: which of them are open, plans, and whose work is shown, that of the agent itself or that of a subagent, which is
//! indented under its label.

use std::collections::VecDeque;

use anstyle::Style;
use switchboard_event::{Delta, Details, Event, Field, Id, Item, Plan, PlanEntry, PlanStatus, Status, Subagent};

use super::{
    DetailLevel, TranscriptView,
    fold::{cut_cells, fit_cells},
    messages::MessageProgress,
    renderer::BlockKind,
    sanitize::sanitize_line,
    style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED},
    tool_calls::{describe_work, keep_last_line},
};

/// Maximum width of a remark in a stored transcript, in columns.
const REMARK_COLUMNS: usize = 120;

const MAX_PLAN_STEPS: usize = 40;

/// Maximum number of remembered subagents; the oldest are forgotten.
const MAX_SUBAGENTS: usize = 64;

/// An item in progress.
#[derive(Debug)]
pub struct OpenItem {
    /// What was shown of a message or thought.
    pub message: Option<MessageProgress>,
    /// The heading as it was shown.
    pub heading: Option<String>,
    /// A short description for the status line.
    pub doing: String,
    /// The last line of output, for the status line.
    pub printed: String,
    pub thread: Option<Id>,
    /// Orders items by when they started.
    pub number: u64,
}

impl TranscriptView {
    pub(super) fn item_started(&mut self, event: &Event, item: &Item) {
        let Some(id) = &event.item else { return };
        self.track_subagent(event, item);
        let open = OpenItem {
            message: MessageProgress::of(item),
            heading: None,
            doing: describe_work(item, self.cwd.as_deref()),
            printed: String::new(),
            thread: event.thread.clone(),
            number: event.seq,
        };
        self.open.insert(id.clone(), open);
        match &item.details {
            Details::AgentMessage(_) | Details::Reasoning(_) => self.speech_started(event, item),
            Details::Plan(_) => self.show_plan(event, item),
            _ => self.work_started(event, item),
        }
    }

    pub(super) fn item_grew(&mut self, event: &Event, delta: &Delta) {
        let Some(open) = event.item.as_ref().and_then(|id| self.open.get_mut(id)) else { return };
        match delta {
            Delta::Append { field: Field::Output, text, .. } => keep_last_line(&mut open.printed, text),
            Delta::Append { field, part, text } => self.speech_grew(event, *field, *part, text),
            Delta::Progress { text: Some(text), .. } => keep_last_line(&mut open.printed, text),
            Delta::Progress { .. } => {}
            Delta::Set { patch } => {
                open.doing = describe_work(patch, self.cwd.as_deref());
                self.track_subagent(event, patch);
                self.show_plan(event, patch);
            }
        }
    }

    pub(super) fn item_completed(&mut self, event: &Event, item: &Item) {
        let Some(open) = event.item.as_ref().and_then(|id| self.open.remove(id)) else { return };
        self.track_subagent(event, item);
        match &item.details {
            Details::AgentMessage(_) | Details::Reasoning(_) => self.speech_ended(event, item, open),
            // The item that replaced it is shown.
            _ if item.status == Status::Superseded => {}
            Details::UserMessage(message) => self.user_said(event, message),
            Details::Plan(_) => self.plan_completed(event, item),
            Details::FileChange(change) => self.files_changed(event, item, change),
            _ => self.work_completed(event, item, &open),
        }
    }

    /// Shows a note in one line.
    pub(super) fn remark(&mut self, event: &Event, text: &str) {
        self.begin(event, BlockKind::Note);
        if self.renderer.options.detail == DetailLevel::Brief {
            let line = text.lines().next().unwrap_or_default();
            let (line, more) = fit_cells([&*sanitize_line(line)], REMARK_COLUMNS);
            let line: String = cut_cells(line, more, REMARK_COLUMNS).iter().map(|cell| cell.c).collect();
            return self.renderer.rows(0, 1, &[(DIM, "· "), (DIM, &line)]);
        }
        self.renderer.rows(0, 3, &[(DIM, "· "), (DIM, text)]);
    }
}

/// Returns whether the plan applies. A plan made by a tool call applies if the call succeeded.
fn is_plan_accepted(item: &Item) -> bool {
    item.call.is_none() || item.status == Status::Completed
}

/// Returns a text that changes when the plan does.
fn plan_text(plan: &Plan) -> String {
    let steps = plan.entries.iter().map(|entry| format!("{} {}", step_mark(entry).0, entry.step));
    plan.text.iter().cloned().chain(steps).collect::<Vec<_>>().join("\n")
}

/// Returns the mark of a step, its style and the style of the step.
fn step_mark(entry: &PlanEntry) -> (&'static str, Style, Style) {
    match entry.status {
        PlanStatus::Pending => ("○ ", DIM, PLAIN),
        PlanStatus::InProgress => ("▸ ", BOLD, BOLD),
        PlanStatus::Completed => ("✓ ", GREEN, DIM),
        PlanStatus::Failed => ("✗ ", RED, DIM),
    }
}

impl TranscriptView {
    fn show_plan(&mut self, event: &Event, item: &Item) {
        let Details::Plan(plan) = &item.details else { return };
        let text = plan_text(plan);
        if !is_plan_accepted(item) || text.trim().is_empty() || text == self.plan {
            return;
        }
        self.plan = text;
        let is_seen = event.item.as_ref().is_some_and(|id| self.requests.was_shown(id));
        if is_seen && plan.entries.is_empty() {
            return;
        }
        self.begin(event, BlockKind::Plan);
        let why = plan.explanation.as_deref().map(|why| format!(" {why}")).unwrap_or_default();
        self.renderer.rows(0, 3, &[(BOLD, "plan"), (DIM, &why)]);
        let folded = self.fold(plan.text.as_deref().unwrap_or_default(), MAX_PLAN_STEPS, 0);
        folded.head.iter().for_each(|line| self.renderer.rows(2, 4, &[(PLAIN, line)]));
        self.show_more(2, folded.more);
        for entry in plan.entries.iter().take(MAX_PLAN_STEPS) {
            let (mark, style, step) = step_mark(entry);
            self.renderer.line(2, &[(style, mark), (step, &entry.step)]);
        }
        self.show_more(2, plan.entries.len().saturating_sub(MAX_PLAN_STEPS));
    }

    fn plan_completed(&mut self, event: &Event, item: &Item) {
        self.show_plan(event, item);
        let was_reported = event.item.as_ref().is_some_and(|id| self.requests.was_reported(id));
        let failed = matches!(item.status, Status::Failed | Status::Declined) && item.call.is_some();
        if failed && !(was_reported && item.status == Status::Declined) {
            self.begin(event, BlockKind::Work);
            self.renderer.line(0, &[(BOLD, "plan")]);
            self.show_failure(item);
        }
    }
}

/// The known subagents, and whose work was shown last.
#[derive(Debug, Default)]
pub struct SubagentTracker {
    known: VecDeque<KnownSubagent>,
    /// The subagent whose work was shown last.
    shown: Option<Id>,
}

#[derive(Debug)]
struct KnownSubagent {
    item: Id,
    thread: Option<Id>,
    label: String,
    depth: usize,
    /// Its last message.
    said: String,
}

impl SubagentTracker {
    /// Returns the nesting depth of an event.
    pub fn depth(&self, event: &Event) -> usize {
        match (&event.thread, self.of(event)) {
            (None, _) => 0,
            (Some(_), known) => known.map_or(1, |known| known.depth),
        }
    }

    fn of(&self, event: &Event) -> Option<&KnownSubagent> {
        let by_item = self.known.iter().rfind(|known| Some(&known.item) == event.parent.as_ref());
        by_item.or_else(|| self.known.iter().rfind(|known| known.thread.is_some() && known.thread == event.thread))
    }

    /// Adds a subagent, or updates its thread.
    pub fn apply(&mut self, event: &Event, item: &Id, subagent: &Subagent) {
        if let Some(known) = self.known.iter_mut().rfind(|known| known.item == *item) {
            known.thread = subagent.thread.clone().or(known.thread.take());
            return;
        }
        let depth = self.depth(event) + 1;
        if self.known.len() == MAX_SUBAGENTS {
            self.known.pop_front();
        }
        let (thread, label) = (subagent.thread.clone(), subagent_label(subagent).to_owned());
        self.known.push_back(KnownSubagent { item: item.clone(), thread, label, depth, said: String::new() });
    }

    /// Returns the subagent that an event belongs to, by its item or thread; `None` for the agent itself.
    fn whose(&self, event: &Event) -> Option<Id> {
        event.thread.as_ref().map(|thread| self.of(event).map_or(thread, |known| &known.item).clone())
    }

    /// Sets whose work was shown last.
    pub fn show(&mut self, whose: Option<Id>) {
        self.shown = whose;
    }

    /// Returns whether this subagent's work was shown last.
    pub fn is_shown(&self, item: &Id) -> bool {
        self.shown.as_ref() == Some(item)
    }

    /// Stores the last message of a subagent.
    pub fn said(&mut self, event: &Event, text: &str) {
        let item = self.of(event).map(|known| known.item.clone());
        if let Some(known) = self.known.iter_mut().rfind(|known| Some(&known.item) == item.as_ref()) {
            text.clone_into(&mut known.said);
        }
    }

    /// Returns whether the result of a subagent was already shown as its last message.
    pub fn has_said(&self, item: &Id, text: &str) -> bool {
        self.known.iter().rfind(|known| known.item == *item).is_some_and(|known| known.said.trim() == text.trim())
    }
}

pub fn subagent_label(subagent: &Subagent) -> &str {
    [&subagent.label, &subagent.name].into_iter().find(|text| !text.is_empty()).map_or("subagent", |text| text)
}

impl TranscriptView {
    /// Begins a block. If it belongs to another subagent than the last one, that subagent's label is shown first.
    pub(super) fn begin(&mut self, event: &Event, block: BlockKind) {
        // The work of a subagent has no blank lines.
        self.renderer.begin(if event.thread.is_some() && block != BlockKind::Problem {
            BlockKind::Work
        } else {
            block
        });
        let whose = self.subagents.whose(event);
        if whose.is_some() && self.subagents.shown != whose {
            let label = self.subagents.of(event).map_or_else(|| "subagent".to_owned(), |known| known.label.clone());
            let depth = std::mem::replace(&mut self.renderer.depth, 0);
            self.renderer.line(depth.saturating_sub(1) * 2, &[(CYAN, "→ "), (DIM, "agent "), (BOLD, &label)]);
            self.renderer.depth = depth;
        }
        self.subagents.show(whose);
    }

    fn track_subagent(&mut self, event: &Event, item: &Item) {
        if let (Details::Subagent(subagent), Some(id)) = (&item.details, &event.item) {
            self.subagents.apply(event, id, subagent);
        }
    }
}
