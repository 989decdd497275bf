//! A plan as text, a step a line.

use switchboard_event::{Item, Plan, PlanStatus, Status};

/// The plan holds. One that a tool makes holds when the tool has made it, and not if it was refused.
pub fn holds(item: &Item) -> bool {
    match item.status {
        Status::Running => item.call.is_none(),
        Status::Completed => true,
        Status::Failed | Status::Declined | Status::Interrupted | Status::Superseded => item.call.is_none(),
    }
}

/// The plan's own text, and then its steps with how far each got.
pub fn text(plan: &Plan) -> String {
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
