//! Reads a file of prices. It is written by people, so what makes no sense is said and not left out.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Entry, names,
    price::{Price, Rates},
};

/// Why a file of prices cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPrices {
    /// Not JSON, or not an object.
    #[error("not a file of prices: {0}")]
    Shape(String),
    /// Something is wrong with one model.
    #[error("the price of `{model}`: {what}")]
    Model {
        /// The model.
        model: String,
        /// What is wrong with it.
        what: String,
    },
}

/// What a file says.
pub struct File {
    pub date: Option<String>,
    pub models: HashMap<String, Entry>,
}

/// Fields that are a price, in dollars for a million tokens.
const FIELDS: [&str; 5] = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"];

pub fn file(text: &str) -> Result<File, BadPrices> {
    let shape = |what: &str| BadPrices::Shape(what.to_owned());
    let file: Value = serde_json::from_str(text).map_err(|error| BadPrices::Shape(error.to_string()))?;
    let models = file.get("models").and_then(Value::as_object);
    let models = models.ok_or_else(|| shape("it should be {\"models\":{\"NAME\":{\"input\":3,\"output\":15}}}"))?;
    let date = file.get("date").and_then(Value::as_str).map(str::to_owned);
    let entry = |(name, value): (&String, &Value)| match entry(value) {
        Ok(entry) => Ok((names::plain(name), entry)),
        Err(what) => Err(BadPrices::Model { model: name.clone(), what }),
    };
    Ok(File { date, models: models.iter().map(entry).collect::<Result<_, _>>()? })
}

fn entry(value: &Value) -> Result<Entry, String> {
    match value {
        Value::String(other) => Ok(Entry::Same(other.clone())),
        Value::Object(fields) => price(fields).map(Entry::Price),
        _ => Err("neither figures nor the name of another model".to_owned()),
    }
}

fn price(fields: &Map<String, Value>) -> Result<Price, String> {
    known(fields, "above")?;
    let base = rates(fields)?;
    let tiers = fields
        .get("above")
        .map_or(Ok(&[][..]), |above| above.as_array().map(Vec::as_slice).ok_or("`above` is no list"))?;
    let mut above = tiers.iter().map(tier).collect::<Result<Vec<_>, _>>()?;
    above.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
    Ok(Price { base, above })
}

fn tier(value: &Value) -> Result<(u64, Rates), String> {
    let fields = value.as_object().ok_or("what is `above` is no object")?;
    known(fields, "tokens")?;
    let tokens = fields.get("tokens").and_then(Value::as_u64).ok_or("`above` needs `tokens`")?;
    Ok((tokens, rates(fields)?))
}

fn known(fields: &Map<String, Value>, other: &str) -> Result<(), String> {
    let wrong = fields.keys().find(|field| *field != other && !FIELDS.contains(&field.as_str()));
    wrong.map_or(Ok(()), |field| Err(format!("`{field}` is none of {}, {other}", FIELDS.join(", "))))
}

/// Where nothing is said of the cache, it costs as much as what is not cached, and an hour of it as much as a short time.
fn rates(fields: &Map<String, Value>) -> Result<Rates, String> {
    let [input, output, read, write, write_1h] = FIELDS;
    let needed = |name: &str| rate(fields, name)?.ok_or(format!("`{name}` is missing"));
    let input = needed(input)?;
    let cache_write = rate(fields, write)?.unwrap_or(input);
    Ok(Rates {
        input,
        output: needed(output)?,
        cache_read: rate(fields, read)?.unwrap_or(input),
        cache_write,
        cache_write_1h: rate(fields, write_1h)?.unwrap_or(cache_write),
    })
}

/// Dollars for a million tokens are millionths of a dollar for one; a millionth of that is what we count in.
fn rate(fields: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let dollars = value.as_f64().filter(|dollars| (0.0..1e9).contains(dollars));
    let dollars = dollars.ok_or_else(|| format!("`{name}` is no amount of money"))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked above")]
    Ok(Some((dollars * 1e6).round() as u64))
}
