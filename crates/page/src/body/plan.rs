//! Plans with the status of their steps.

use switchboard_event::{Plan, PlanEntry, PlanStatus};

use super::{EntryBody, pile::BodyBuilder};
use crate::html::{HtmlFragment, SafeHtml, element, line, markdown};

/// The maximum number of steps to show.
const MAX_STEPS: usize = 300;

pub(super) fn plan(plan: &Plan) -> EntryBody {
    let mut pile = BodyBuilder::default();
    pile.note(plan.explanation.as_deref());
    if !plan.entries.is_empty() {
        pile.add(steps(&plan.entries));
    }
    if let Some(text) = plan.text.as_deref().filter(|text| !text.trim().is_empty()) {
        pile.add(markdown(text));
    }
    let mut body = pile.body("plan", line("Plan"));
    let done = plan.entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    body.label = (!plan.entries.is_empty()).then(|| format!("{done} of {} done", plan.entries.len()));
    body
}

fn steps(entries: &[PlanEntry]) -> HtmlFragment {
    let mut rows: Vec<SafeHtml> = entries.iter().take(MAX_STEPS).map(step).collect();
    let cut = entries.len() > MAX_STEPS;
    if cut {
        rows.push(element("li", "cut", &[line(&format!("… {} more …", entries.len() - MAX_STEPS))]));
    }
    HtmlFragment { lines: u32::try_from(rows.len()).unwrap_or(u32::MAX), html: element("ul", "plan", &rows), cut }
}

fn step(entry: &PlanEntry) -> SafeHtml {
    let class = match entry.status {
        PlanStatus::Pending => "step-pending",
        PlanStatus::InProgress => "step-running",
        PlanStatus::Completed => "step-completed",
        PlanStatus::Failed => "step-failed",
    };
    element("li", class, &[line(&entry.step)])
}
