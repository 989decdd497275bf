//! Malformed rows. The readable part is used, and the rest is reported.

use super::rows::{Held, Row};
use crate::{JsonView, logs::usage_figure_problem};

/// Returns the problem of a row: it is empty, its content is not an object, or its figures are not numbers.
pub fn wrong(record: JsonView<'_>) -> Option<String> {
    let fields = record.as_object();
    let held = Held::data(&fields);
    let row = Row::of(&fields, held.as_ref());
    if row.table.is_empty() {
        return None;
    }
    if row.columns.is_empty() {
        return Some(format!("a row of {} is no object", row.table));
    }
    let is_read = held.is_some() || row.columns.get("data").is_some_and(JsonView::is_object);
    if row.columns.contains_key("data") && !is_read {
        return Some(format!("data of a row of {} is no object", row.table));
    }
    spent(&row)
}

/// Returns the problem of invalid figures in a message or a step.
fn spent(row: &Row<'_>) -> Option<String> {
    if !matches!(&*row.table, "message" | "session_message" | "part") {
        return None;
    }
    let (tokens, cache) = (row.data.get("tokens"), row.data.get_object("tokens").get("cache"));
    let of_reply = usage_figure_problem("a reply", tokens, &["input", "output", "reasoning"]);
    let cost = || row.data.get("cost").filter(|cost| cost.as_f64().is_none());
    of_reply
        .or_else(|| usage_figure_problem("the cache of a reply", cache, &["read", "write"]))
        .or_else(|| cost().map(|_| "cost of a reply is not a number".to_owned()))
}
