//! Rows that are not what they should be. What can be read of them is read, and the rest is told.

use super::rows::{Held, Row};
use crate::{Json, logs::wrong_figures};

/// What is wrong with a row: it holds nothing, or what it holds is no object, or its figures are none.
pub fn wrong(record: Json<'_>) -> Option<String> {
    let fields = record.object();
    let held = Held::data(&fields);
    let row = Row::of(&fields, held.as_ref());
    if row.table.is_empty() {
        return None;
    }
    if row.columns.is_empty() {
        return Some(format!("a row of {} is no object", row.table));
    }
    let is_read = held.is_some() || row.columns.get("data").is_some_and(Json::is_object);
    if row.columns.has("data") && !is_read {
        return Some(format!("data of a row of {} is no object", row.table));
    }
    spent(&row)
}

/// Figures of a message or of a step that are none.
fn spent(row: &Row<'_>) -> Option<String> {
    if !matches!(&*row.table, "message" | "session_message" | "part") {
        return None;
    }
    let (tokens, cache) = (row.data.get("tokens"), row.data.object("tokens").get("cache"));
    let of_reply = wrong_figures("a reply", tokens, &["input", "output", "reasoning"]);
    let cost = || row.data.get("cost").filter(|cost| cost.f64().is_none());
    of_reply
        .or_else(|| wrong_figures("the cache of a reply", cache, &["read", "write"]))
        .or_else(|| cost().map(|_| "cost of a reply is not a number".to_owned()))
}
