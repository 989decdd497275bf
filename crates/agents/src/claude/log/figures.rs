//! The usage of a reply, and the key that identifies the reply wherever it is stored. One reply is several records, one
//! for each block, and is copied into other files when a session is resumed, forked or moved.

use std::borrow::Cow;

use switchboard_event::Usage;

use crate::{JsonObject, JsonView, claude::turn};

/// The prefix of ids from the model's own API, which are unique.
const UNIQUE_ID_PREFIX: &str = "msg_";

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
