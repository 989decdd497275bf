//! A plan as text, a step a line.

use switchboard_event::{Plan, PlanStatus};

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
