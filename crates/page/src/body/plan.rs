//! Plans with ticks.

use switchboard_event::{Plan, PlanEntry, PlanStatus};

use super::{Body, pile::Pile};
use crate::html::{Html, Shown, element, line, markdown};

/// So many steps are shown.
const STEPS: usize = 300;

/// A plan.
pub(super) fn plan(plan: &Plan) -> Body {
    let mut pile = Pile::default();
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

fn steps(entries: &[PlanEntry]) -> Shown {
    let mut rows: Vec<Html> = entries.iter().take(STEPS).map(step).collect();
    let cut = entries.len() > STEPS;
    if cut {
        rows.push(element("li", "cut", &[line(&format!("… {} more …", entries.len() - STEPS))]));
    }
    Shown { lines: u32::try_from(rows.len()).unwrap_or(u32::MAX), html: element("ul", "plan", &rows), cut }
}

fn step(entry: &PlanEntry) -> Html {
    let class = match entry.status {
        PlanStatus::Pending => "step-pending",
        PlanStatus::InProgress => "step-running",
        PlanStatus::Completed => "step-completed",
        PlanStatus::Failed => "step-failed",
    };
    element("li", class, &[line(&entry.step)])
}
