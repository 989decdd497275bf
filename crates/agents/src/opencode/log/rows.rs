//! A record, which is a table row or an equivalent file of an old version, and the usage of messages.

use std::borrow::Cow;

use switchboard_event::{Id, Timestamp, Usage};

use super::OpenCodeLogReader;
use crate::{JsonObject, JsonView, RunRecorder, opencode::parts};

/// Smaller numbers are seconds: as milliseconds they would be before 1973.
const SECONDS: u64 = 100_000_000_000;

pub struct LogRow<'a> {
    pub table: Cow<'a, str>,
    pub id: Cow<'a, str>,
    /// All columns.
    pub columns: JsonObject<'a>,
    /// The content: the column `data`, or the whole row if there is none.
    pub data: JsonObject<'a>,
}

impl<'a> LogRow<'a> {
    /// Parses the row of a record. `held` is the content of the column `data` if that is text.
    pub fn of(fields: &JsonObject<'a>, held: Option<&'a RowData>) -> Self {
        let columns = fields.get_object("row");
        let data = match (columns.get("data").filter(|data| data.is_object()), held) {
            (Some(data), _) => data.as_object(),
            (None, Some(held)) => held.object(),
            (None, None) => fields.get_object("row"),
        };
        let id = columns.get_str("id").unwrap_or_default();
        Self { table: fields.get_str("table").unwrap_or_default(), id, columns, data }
    }

    /// Returns the message that a part belongs to.
    pub fn message(&self) -> Option<Cow<'a, str>> {
        self.columns.get_str("message_id").or_else(|| self.columns.get_str("messageID"))
    }

    /// Returns a column that contains JSON, either as text or directly.
    pub fn json(&self, column: &str) -> RowData {
        let value = self.columns.get(column);
        let text = value.and_then(|value| value.as_str().map(Cow::into_owned));
        RowData(text.or_else(|| value.map(|value| value.raw_text().to_owned())).unwrap_or_default())
    }

    /// Returns the creation time from the content, otherwise from the row.
    pub fn created(&self) -> Option<Timestamp> {
        let own = self.data.get_object("time").get("created").and_then(time);
        own.or_else(|| self.columns.get("time_created").and_then(time))
    }
}

/// JSON that was stored as text.
pub struct RowData(String);

impl RowData {
    /// Parses the object in the text column `data`. Removes the surrounding bytes that would prevent parsing: a leading
    /// byte order mark, and trailing zeros of a file that was not written completely.
    pub fn data(fields: &JsonObject<'_>) -> Option<Self> {
        let text = fields.get_object("row").get_string("data")?;
        let bare = text.trim_start_matches('\u{feff}').trim_end_matches(['\0', ' ', '\n']).to_owned();
        JsonView::parse(&bare).is_some_and(JsonView::is_object).then_some(Self(bare))
    }

    /// Returns the fields, or an empty object if the value is not an object.
    pub fn object(&self) -> JsonObject<'_> {
        JsonView::parse(&self.0).map(JsonView::as_object).unwrap_or_default()
    }
}

/// Parses a point in time: milliseconds, seconds, or text.
pub fn time(value: JsonView<'_>) -> Option<Timestamp> {
    if let Some(text) = value.as_str() {
        return Timestamp::parse(&text).or_else(|| count(text.trim().parse().ok()?));
    }
    match value.as_u64() {
        Some(number) => count(number),
        None => value.as_f64().filter(|number| *number < 1e11).and_then(Timestamp::from_seconds),
    }
}

fn count(number: u64) -> Option<Timestamp> {
    let millis = if number < SECONDS { number.checked_mul(1000)? } else { number };
    Timestamp::from_millis(millis.try_into().ok()?)
}

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

impl OpenCodeLogReader {
    /// Takes the figures of a message. Returns the context size after it.
    pub(super) fn count_message(&mut self, id: &Id, fields: &JsonObject<'_>, at: Option<Timestamp>) -> u64 {
        let total = parts::usage(fields, id, 1, self.message.model.clone());
        let used = total.all_input().saturating_add(total.output);
        self.usage = MessageUsage { total, steps: Vec::new(), at };
        used
    }

    /// Takes the figures of a step.
    pub(super) fn count_step(&mut self, fields: &JsonObject<'_>) {
        let usage = parts::usage(fields, &self.message.id, self.step_number(), self.message.model.clone());
        self.usage.steps.push(usage);
    }

    /// Returns the reply that the next part belongs to.
    pub(super) fn reply(&self) -> Id {
        parts::key(&self.message.id, self.step_number())
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

#[cfg(test)]
mod tests {

    use super::time;
    use crate::JsonView;

    #[test]
    fn times_are_counted_in_many_ways() {
        let at = |text: &str| time(JsonView::parse(text).unwrap()).map(|at| at.to_string());
        let expected = Some("2026-11-15T19:42:57.000000Z".to_owned());
        let ways = ["1794771777000", "1794771777", "1794771777.0", "\"2026-11-15T19:42:57Z\"", "\"1794771777000\""];
        for way in ways {
            assert_eq!(at(way), expected, "{way}");
        }
        assert_eq!(at("null"), None);
        assert_eq!(at("\"soon\""), None);
    }
}
