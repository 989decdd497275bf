//! Plans: a step a line with how far it got. A plan that did not change is not shown again.

use anstyle::Style;
use switchboard_event::{Details, Event, Item, Plan, PlanEntry, PlanStatus, Status};

use super::{
    paper::Block,
    style::{BOLD, DIM, GREEN, PLAIN, RED},
    viewer::View,
};

/// Maximum number of steps shown.
const STEPS: usize = 40;

/// The plan holds. One that a tool makes holds when the tool has made it, and not if it was refused.
fn holds(item: &Item) -> bool {
    item.call.is_none() || item.status == Status::Completed
}

/// The plan in a form that changes when it changes.
fn text(plan: &Plan) -> String {
    let steps = plan.entries.iter().map(|entry| format!("{} {}", mark(entry).0, entry.step));
    plan.text.iter().cloned().chain(steps).collect::<Vec<_>>().join("\n")
}

/// The mark of a step, its style and that of the step.
fn mark(entry: &PlanEntry) -> (&'static str, Style, Style) {
    match entry.status {
        PlanStatus::Pending => ("○ ", DIM, PLAIN),
        PlanStatus::InProgress => ("▸ ", BOLD, BOLD),
        PlanStatus::Completed => ("✓ ", GREEN, DIM),
        PlanStatus::Failed => ("✗ ", RED, DIM),
    }
}

impl View {
    pub(super) fn show_plan(&mut self, event: &Event, item: &Item) {
        let Details::Plan(plan) = &item.details else { return };
        let text = text(plan);
        if !holds(item) || text.trim().is_empty() || text == self.plan {
            return;
        }
        self.plan = text;
        let is_seen = event.item.as_ref().is_some_and(|id| self.requests.was_shown(id));
        if is_seen && plan.entries.is_empty() {
            return;
        }
        self.begin(event, Block::Plan);
        let why = plan.explanation.as_deref().map(|why| format!(" {why}")).unwrap_or_default();
        self.paper.rows(0, 3, &[(BOLD, "plan"), (DIM, &why)]);
        let folded = self.fold(plan.text.as_deref().unwrap_or_default(), STEPS, 0);
        folded.head.iter().for_each(|line| self.paper.rows(2, 4, &[(PLAIN, line)]));
        self.show_more(2, folded.more);
        for entry in plan.entries.iter().take(STEPS) {
            let (mark, style, step) = mark(entry);
            self.paper.line(2, &[(style, mark), (step, &entry.step)]);
        }
        self.show_more(2, plan.entries.len().saturating_sub(STEPS));
    }

    pub(super) fn plan_completed(&mut self, event: &Event, item: &Item) {
        self.show_plan(event, item);
        let is_told = event.item.as_ref().is_some_and(|id| self.requests.is_told(id));
        let failed = matches!(item.status, Status::Failed | Status::Declined) && item.call.is_some();
        if failed && !(is_told && item.status == Status::Declined) {
            self.begin(event, Block::Work);
            self.paper.line(0, &[(BOLD, "plan")]);
            self.show_failure(item);
        }
    }
}
