//! A record: a table row, or an equivalent file of an old version.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use crate::{JsonObject, JsonView};

pub struct Row<'a> {
    pub table: Cow<'a, str>,
    pub id: Cow<'a, str>,
    /// All columns.
    pub columns: JsonObject<'a>,
    /// The content: the column `data`, or the whole row if there is none.
    pub data: JsonObject<'a>,
}

impl<'a> Row<'a> {
    /// Parses the row of a record. `held` is the content of the column `data` if that is text.
    pub fn of(fields: &JsonObject<'a>, held: Option<&'a Held>) -> Self {
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
    pub fn json(&self, column: &str) -> Held {
        let value = self.columns.get(column);
        let text = value.and_then(|value| value.as_str().map(Cow::into_owned));
        Held(text.or_else(|| value.map(|value| value.raw_text().to_owned())).unwrap_or_default())
    }

    /// Returns the creation time from the content, otherwise from the row.
    pub fn created(&self) -> Option<Timestamp> {
        let own = self.data.get_object("time").get("created").and_then(time);
        own.or_else(|| self.columns.get("time_created").and_then(time))
    }
}

/// JSON that was stored as text.
pub struct Held(String);

impl Held {
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

/// Smaller numbers are seconds: as milliseconds they would be before 1973.
const SECONDS: u64 = 100_000_000_000;

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
