//! What a reply used, and what makes it the same reply wherever it is written. One reply is several records, one for
//! each block, and is copied into other files when a session is resumed, forked or moved.

use std::borrow::Cow;

use switchboard_event::Usage;

use super::super::turn;
use crate::{Json, Object};

/// The ids of the model's own API are unique by themselves.
const UNIQUE: &str = "msg_";

/// The name of a reply. The API's own ids suffice, and must: a subagent's file can repeat a reply of the main
/// conversation under another request. Ids that a gateway gives may repeat, and count together with the request. What
/// has no id is named by its request, or else by its record.
pub fn name<'a>(message: Option<&'a str>, request: Option<&'a str>, record: Option<&'a str>) -> Option<Cow<'a, str>> {
    match (message.filter(|id| !id.is_empty()), request.filter(|id| !id.is_empty())) {
        (Some(id), Some(request)) if !id.starts_with(UNIQUE) => Some(Cow::Owned(format!("{id}:{request}"))),
        (Some(id), _) => Some(Cow::Borrowed(id)),
        (None, Some(request)) => Some(Cow::Borrowed(request)),
        (None, None) => record.map(Cow::Borrowed),
    }
}

/// What makes a reply with this name the same everywhere.
pub fn key(name: &str) -> String {
    format!("claude:{name}")
}

/// The name of a reply that has no id at all: what it used in which session, and when. So a copy is the same reply, and
/// another one is not.
pub fn nameless(session: Option<&str>, at: Option<&str>, usage: &Usage) -> String {
    let Usage { input, output, cache_read, cache_write_5m, cache_write_1h, .. } = usage;
    let (session, at) = (session.unwrap_or_default(), at.unwrap_or_default());
    format!("{session}:{at}:{input}.{output}.{cache_read}.{cache_write_5m}.{cache_write_1h}")
}

/// The figures of a message; none where there are none, or where no model was asked.
pub fn usage(message: &Object<'_>) -> Option<Usage> {
    let figures = message.get("usage").map(Json::object)?;
    if message.is("model", "<synthetic>") {
        return None;
    }
    Some(turn::usage(&figures)).filter(|usage| !usage.is_zero())
}

/// All tokens: of several figures for one reply, those with the most are right.
pub fn total(usage: &Usage) -> u64 {
    usage.all_input().saturating_add(usage.output)
}

/// What each model used in a session so far, subagents and side calls included: `modelUsage` of a `cost-state`.
pub fn totals(models: &Object<'_>) -> Vec<(String, Usage)> {
    let total = |(model, figures): (&str, Json<'_>)| {
        (turn::plain(model).to_owned(), turn::model_usage(model, &figures.object()))
    };
    models.iter().map(total).collect()
}

/// A `cost-state` of 2.1.326 as one figure. A fork goes on from the figures of what it was forked from.
pub fn running_total(fields: &Object<'_>) -> Usage {
    let mut total = Usage { cumulative: true, reasoning_in_output: true, ..Usage::default() };
    totals(&fields.object("modelUsage")).iter().for_each(|(_, usage)| total.add(usage));
    Usage { cost_usd: fields.f64("totalCostUSD"), ..total }
}
