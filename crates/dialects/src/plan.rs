//! Plans as text, one step per line.

use switchboard_event::{Item, Plan, PlanStatus, Status};

/// Returns whether the plan is in effect. A plan made by a tool is in effect once the tool has completed.
pub fn is_in_effect(item: &Item) -> bool {
    match item.status {
        Status::Running => item.call.is_none(),
        Status::Completed => true,
        Status::Failed | Status::Declined | Status::Interrupted | Status::Superseded => item.call.is_none(),
    }
}

/// Returns the plan's text followed by its steps and their status.
pub fn plan_text(plan: &Plan) -> String {
    let steps = plan.entries.iter().map(|entry| {
        let mark = match entry.status {
            PlanStatus::Pending => "[ ]",
            PlanStatus::InProgress => "[~]",
            PlanStatus::Completed => "[x]",
            PlanStatus::Failed => "[!]",
        };
        format!("{mark} {}", entry.step)
    });
    plan.text.iter().cloned().chain(steps).collect::<Vec<_>>().join("\n")
}
