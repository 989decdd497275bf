//! Counts each reply once, by a key that identifies it wherever it is stored. A reply with a stop reason has its final
//! figures; until then they are those of its beginning, and wait for a record with higher ones or for the end of the
//! reply.

use std::borrow::Cow;

use switchboard_event::{Id, Usage};

use crate::{JsonObject, JsonView, RunRecorder, bounded::BoundedMap, claude::turn};

/// The maximum number of replies remembered as counted. A repeated reply is repeated soon.
const MAX_COUNTED_REPLIES: usize = 1 << 15;

/// The maximum number of conversations with an unfinished reply.
const MAX_WAITING_REPLIES: usize = 64;

/// The prefix of ids from the model's own API, which are unique.
const UNIQUE_ID_PREFIX: &str = "msg_";

#[derive(Default)]
pub struct ReplyCounter {
    /// Usage that may still grow, with the subagent's thread.
    waiting: Vec<(Option<Id>, Usage)>,
    counted: BoundedMap<Usage, MAX_COUNTED_REPLIES>,
}

impl ReplyCounter {
    /// Takes the usage of a record and returns the part to count now.
    pub fn observe_usage(&mut self, thread: Option<&Id>, usage: Usage, is_final: bool) -> Option<Usage> {
        let Some(key) = usage.key.clone() else { return Some(usage) };
        if let Some(counted) = self.counted.get_mut(&key) {
            return additional_usage(counted, usage);
        }
        let before = self.waiting.iter().position(|(of, waits)| of.as_ref() == thread && waits.key == usage.key);
        let before = before.map(|at| self.waiting.remove(at).1);
        let most = before.filter(|before| total_tokens(before) > total_tokens(&usage)).unwrap_or(usage);
        if is_final || self.waiting.len() == MAX_WAITING_REPLIES {
            return Some(self.mark_counted(most));
        }
        self.waiting.push((thread.cloned(), most));
        None
    }

    /// Finishes the waiting replies of a conversation that continued with another reply or prompt.
    pub fn finish_replies(&mut self, thread: Option<&Id>, next: Option<&str>, recorder: &mut RunRecorder) {
        let is_over = |(of, waits): &(Option<Id>, Usage)| {
            of.as_ref() == thread && (next.is_none() || waits.key.as_deref() != next)
        };
        if !self.waiting.iter().any(is_over) {
            return;
        }
        let (over, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_over);
        self.waiting = waiting;
        recorder.write_before_record(|recorder| self.write_counted(over, recorder));
    }

    /// Finishes all waiting replies at the end of the log.
    pub fn finish_all(&mut self, recorder: &mut RunRecorder) {
        let over = std::mem::take(&mut self.waiting);
        self.write_counted(over, recorder);
    }

    fn write_counted(&mut self, over: Vec<(Option<Id>, Usage)>, recorder: &mut RunRecorder) {
        for (thread, usage) in over {
            recorder.set_scope(None, thread);
            let usage = self.mark_counted(usage);
            recorder.record_usage(usage);
        }
        recorder.set_scope(None, None);
    }

    fn mark_counted(&mut self, usage: Usage) -> Usage {
        let Some(key) = usage.key.clone() else { return usage };
        self.counted.insert(key, usage.clone());
        usage
    }
}

/// Returns the usage beyond what was counted. No version of Claude Code is known to write such a record; if one does,
/// the sum is still right.
fn additional_usage(counted: &mut Usage, usage: Usage) -> Option<Usage> {
    if total_tokens(&usage) <= total_tokens(counted) {
        return None;
    }
    let more = usage.saturating_sub(counted);
    *counted = usage;
    Some(Usage { key: None, ..more })
}

/// Returns the name of a reply. The API's own ids suffice, and must: a subagent's file can repeat a reply of the main
/// conversation under another request. Ids from a gateway may repeat, so they are combined with the request. A reply
/// without an id is named by its request, or else by its record.
pub fn reply_name<'a>(
    message: Option<&'a str>,
    request: Option<&'a str>,
    record: Option<&'a str>,
) -> Option<Cow<'a, str>> {
    match (message.filter(|id| !id.is_empty()), request.filter(|id| !id.is_empty())) {
        (Some(id), Some(request)) if !id.starts_with(UNIQUE_ID_PREFIX) => Some(Cow::Owned(format!("{id}:{request}"))),
        (Some(id), _) => Some(Cow::Borrowed(id)),
        (None, Some(request)) => Some(Cow::Borrowed(request)),
        (None, None) => record.map(Cow::Borrowed),
    }
}

pub fn reply_key(name: &str) -> String {
    format!("claude:{name}")
}

/// Returns the name of a reply without any id: its session, time and usage. This way a copy is the same reply, and
/// another reply is not.
pub fn reply_fingerprint(session: Option<&str>, at: Option<&str>, usage: &Usage) -> String {
    let Usage { input, output, cache_read, cache_write_5m, cache_write_1h, .. } = usage;
    let (session, at) = (session.unwrap_or_default(), at.unwrap_or_default());
    format!("{session}:{at}:{input}.{output}.{cache_read}.{cache_write_5m}.{cache_write_1h}")
}

/// Returns the usage of a message; `None` if it has none, or if no model was called.
pub fn message_usage(message: &JsonObject<'_>) -> Option<Usage> {
    let figures = message.get("usage").map(JsonView::as_object)?;
    if message.str_equals("model", "<synthetic>") {
        return None;
    }
    Some(turn::parse_usage(&figures)).filter(|usage| !usage.is_zero())
}

/// Returns all tokens. Of several figures for one reply, those with the highest total are right.
pub fn total_tokens(usage: &Usage) -> u64 {
    usage.all_input().saturating_add(usage.output)
}

/// Returns the usage of each model in the session so far, subagents and side calls included: `modelUsage` of a
/// `cost-state`.
pub fn model_totals(models: &JsonObject<'_>) -> Vec<(String, Usage)> {
    let total = |(model, figures): (&str, JsonView<'_>)| {
        (turn::base_model(model).to_owned(), turn::model_usage(model, &figures.as_object()))
    };
    models.iter().map(total).collect()
}

/// Sums a `cost-state` of 2.1.326. A fork continues from the figures of its origin.
pub fn running_total(fields: &JsonObject<'_>) -> Usage {
    let mut total = Usage { cumulative: true, reasoning_in_output: true, ..Usage::default() };
    model_totals(&fields.get_object("modelUsage")).iter().for_each(|(_, usage)| total.add(usage));
    Usage { cost_usd: fields.get_f64("totalCostUSD"), ..total }
}

#[cfg(test)]
mod tests {

    use switchboard_event::{Id, Usage};

    use super::ReplyCounter;

    fn usage_with_output(key: &str, output: u64) -> Usage {
        Usage { key: Some(Id::from(key)), input: 10, output, ..Usage::default() }
    }

    #[test]
    fn the_last_block_has_the_figures() {
        let mut replies = ReplyCounter::default();
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 1), false), None);
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 40), true).map(|usage| usage.output), Some(40));
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 40), true), None, "and each block repeats them");
    }

    #[test]
    fn what_grows_later_is_added() {
        let mut replies = ReplyCounter::default();
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 3), true).map(|usage| usage.output), Some(3));
        let more = replies.observe_usage(None, usage_with_output("a", 40), true).unwrap();
        assert_eq!((more.key, more.input, more.output), (None, 0, 37));
    }
}
