//! The usage of messages. A message has its own figures, and each of its steps repeats its share. Old versions combine
//! several steps in one message, which has the tokens of the last step and the cost of all. Each step therefore counts
//! as a reply, and the figures of the message are the minimum of their sum.

use switchboard_event::{Id, Timestamp, Usage};

use super::Log;
use crate::{JsonObject, RunRecorder, opencode::steps};

/// The figures of a message whose steps may not all be known yet.
#[derive(Default)]
pub struct MessageUsage {
    /// The message's own figures.
    total: Usage,
    /// The figures of its steps.
    steps: Vec<Usage>,
    /// Creation time of the message, which copies share.
    at: Option<Timestamp>,
}

impl Log {
    /// Takes the figures of a message. Returns the context size after it.
    pub(super) fn count_message(&mut self, id: &Id, fields: &JsonObject<'_>, at: Option<Timestamp>) -> u64 {
        let total = steps::usage(fields, id, 1, self.message.model.clone());
        let used = total.all_input().saturating_add(total.output);
        self.usage = MessageUsage { total, steps: Vec::new(), at };
        used
    }

    /// Takes the figures of a step.
    pub(super) fn count_step(&mut self, fields: &JsonObject<'_>) {
        let usage = steps::usage(fields, &self.message.id, self.step_number(), self.message.model.clone());
        self.usage.steps.push(usage);
    }

    /// Returns the reply that the next part belongs to.
    pub(super) fn reply(&self) -> Id {
        steps::key(&self.message.id, self.step_number())
    }

    fn step_number(&self) -> u32 {
        u32::try_from(self.usage.steps.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Records the usage of a message that is complete.
    pub(super) fn tell_usage(&mut self, recorder: &mut RunRecorder) {
        let usage = std::mem::take(&mut self.usage);
        let at = usage.at;
        for reply in usage.into_replies() {
            recorder.set_record_time(at);
            recorder.record_usage(reply);
        }
    }
}

impl MessageUsage {
    fn into_replies(self) -> impl Iterator<Item = Usage> {
        let mut replies = self.steps;
        let mut known = Usage::default();
        replies.iter().for_each(|step| known.add(step));
        let more = self.total.saturating_sub(&known);
        let cost = more.cost_usd.unwrap_or_default();
        match replies.as_mut_slice() {
            [] => replies.push(self.total),
            // The cost is divided among steps that have no cost of their own.
            steps if known.cost_usd.unwrap_or_default() <= 0.0 && cost > 0.0 => share_cost(cost, steps),
            [.., last] => last.add(&more),
        }
        replies.into_iter().filter(|usage| usage.all_input() > 0 || usage.output > 0)
    }
}

/// Divides the cost of a message by the tokens of its steps. The last step gets the remainder, so that the sum is
/// exact.
fn share_cost(cost: f64, steps: &mut [Usage]) {
    let tokens = |usage: &Usage| usage.all_input().saturating_add(usage.output);
    let all: u64 = steps.iter().map(tokens).fold(0, u64::saturating_add);
    let mut left = cost;
    let last = steps.len().saturating_sub(1);
    for (number, usage) in steps.iter_mut().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits than money has")]
        let share = cost * (tokens(usage) as f64 / all.max(1) as f64);
        usage.cost_usd = Some(if number == last { left } else { share });
        left -= share;
    }
}
