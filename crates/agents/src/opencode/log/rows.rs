//! A record: a row of a table, or the file of an old version that is one.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use crate::{Json, Object};

/// A row.
pub struct Row<'a> {
    /// The table.
    pub table: Cow<'a, str>,
    /// Its id.
    pub id: Cow<'a, str>,
    /// All columns.
    pub columns: Object<'a>,
    /// What it says: the column `data`, or all of it where there is none.
    pub data: Object<'a>,
}

impl<'a> Row<'a> {
    /// The row of a record, and what its column `data` holds if that is a text.
    pub fn of(fields: &Object<'a>, held: Option<&'a Held>) -> Self {
        let columns = fields.object("row");
        let data = match (columns.get("data").filter(|data| data.is_object()), held) {
            (Some(data), _) => data.object(),
            (None, Some(held)) => held.object(),
            (None, None) => fields.object("row"),
        };
        let id = columns.str("id").unwrap_or_default();
        Self { table: fields.str("table").unwrap_or_default(), id, columns, data }
    }

    /// The message that a part belongs to.
    pub fn message(&self) -> Option<Cow<'a, str>> {
        self.columns.str("message_id").or_else(|| self.columns.str("messageID"))
    }

    /// A column that holds JSON as text, or as itself.
    pub fn json(&self, column: &str) -> Held {
        let value = self.columns.get(column);
        let text = value.and_then(|value| value.str().map(Cow::into_owned));
        Held(text.or_else(|| value.map(|value| value.text().to_owned())).unwrap_or_default())
    }

    /// When it was made, as it says itself, or its row does.
    pub fn created(&self) -> Option<Timestamp> {
        let own = self.data.object("time").get("created").and_then(time);
        own.or_else(|| self.columns.get("time_created").and_then(time))
    }
}

/// JSON that was text.
pub struct Held(String);

impl Held {
    /// The object in the column `data` of a record, if what is around it kept it from being read: a mark of the order of
    /// bytes before it, zeros of a file that was not written to its end behind it.
    pub fn data(fields: &Object<'_>) -> Option<Self> {
        let text = fields.object("row").string("data")?;
        let bare = text.trim_start_matches('\u{feff}').trim_end_matches(['\0', ' ', '\n']).to_owned();
        Json::parse(&bare).is_some_and(Json::is_object).then_some(Self(bare))
    }

    /// Its fields; none if it is something else.
    pub fn object(&self) -> Object<'_> {
        Json::parse(&self.0).map(Json::object).unwrap_or_default()
    }
}

/// Before this many, a number counts seconds: in milliseconds it would be in 1973.
const SECONDS: u64 = 100_000_000_000;

/// A point in time: milliseconds, seconds, or text.
pub fn time(value: Json<'_>) -> Option<Timestamp> {
    if let Some(text) = value.str() {
        return Timestamp::parse(&text).or_else(|| count(text.trim().parse().ok()?));
    }
    match value.u64() {
        Some(number) => count(number),
        None => value.f64().filter(|number| *number < 1e11).and_then(Timestamp::from_seconds),
    }
}

fn count(number: u64) -> Option<Timestamp> {
    let millis = if number < SECONDS { number.checked_mul(1000)? } else { number };
    Timestamp::from_millis(millis.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::time;
    use crate::Json;

    #[test]
    fn times_are_counted_in_many_ways() {
        let at = |text: &str| time(Json::parse(text).unwrap()).map(|at| at.to_string());
        let expected = Some("2026-11-15T19:42:57.000000Z".to_owned());
        let ways = ["1794771777000", "1794771777", "1794771777.0", "\"2026-11-15T19:42:57Z\"", "\"1794771777000\""];
        for way in ways {
            assert_eq!(at(way), expected, "{way}");
        }
        assert_eq!(at("null"), None);
        assert_eq!(at("\"soon\""), None);
    }
}
