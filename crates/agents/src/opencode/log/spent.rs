//! What a message used. It says so itself, and its steps say so again; versions that put several steps into one message
//! leave the figures of the last on it. Whatever comes first is told, and of the rest only what is more.

use switchboard_event::{Id, Usage};

use super::Log;
use crate::{Object, Scribe, opencode::steps};

/// What was told of a message.
#[derive(Default)]
pub struct Counted {
    /// All that was told.
    told: Usage,
    /// The sum of its steps.
    steps: Usage,
    /// How often something was told.
    times: u32,
}

impl Log {
    /// The figures of a whole message.
    pub(super) fn count_message(&mut self, id: &Id, fields: &Object<'_>, model: Option<String>, scribe: &mut Scribe) {
        let usage = steps::usage(fields, id, 1, model);
        let counted = self.counted.entry(id.clone()).or_default();
        counted.tell(id, &usage, scribe);
        self.context(usage.all_input().saturating_add(usage.output), scribe);
    }

    /// The figures of one of its steps.
    pub(super) fn count_step(&mut self, id: &Id, fields: &Object<'_>, model: Option<String>, scribe: &mut Scribe) {
        let usage = steps::usage(fields, id, 1, model);
        let counted = self.counted.entry(id.clone()).or_default();
        counted.steps.add(&usage);
        let all = Usage { model: usage.model, ..counted.steps.clone() };
        counted.tell(id, &all, scribe);
    }
}

impl Counted {
    /// Tells what was not told yet.
    fn tell(&mut self, id: &Id, all: &Usage, scribe: &mut Scribe) {
        let more = all.minus(&self.told);
        if more.all_input() == 0 && more.output == 0 {
            return;
        }
        self.times += 1;
        let key = if self.times > 1 { Id::from(format!("{id}#{}", self.times)) } else { id.clone() };
        self.told.add(&more);
        scribe.usage(Usage { key: Some(key), ..more });
    }
}
