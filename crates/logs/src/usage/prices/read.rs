//! Parses price files. They are written by people, so errors are reported and not skipped.

use std::{collections::HashMap, io, path::PathBuf};

use serde_json::{Map, Value};

use super::PriceEntry;
use crate::usage::prices;
use crate::usage::sums::{PicoDollars, UsageSums};

/// Errors in price files.
#[derive(Debug, thiserror::Error)]
pub enum PriceFileError {
    /// Not a JSON object of the expected shape.
    #[error("not a file of prices: {0}")]
    Shape(String),
    /// The price of a model is invalid.
    #[error("the price of `{model}`: {what}")]
    Model {
        model: String,
        /// The error message.
        what: String,
    },
    #[error("{}: {bad}", path.display())]
    File {
        path: PathBuf,
        /// The error in it.
        bad: Box<PriceFileError>,
    },
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
}

/// A parsed price file.
pub struct PriceFile {
    pub date: Option<String>,
    pub models: HashMap<String, PriceEntry>,
}

/// The fields with rates, in dollars per million tokens.
const RATE_FIELDS: [&str; 5] = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"];

pub fn parse_price_file(text: &str) -> Result<PriceFile, PriceFileError> {
    let shape = |what: &str| PriceFileError::Shape(what.to_owned());
    let file: Value = serde_json::from_str(text).map_err(|error| PriceFileError::Shape(error.to_string()))?;
    let models = file.get("models").and_then(Value::as_object);
    let models = models.ok_or_else(|| shape("it should be {\"models\":{\"NAME\":{\"input\":3,\"output\":15}}}"))?;
    let date = file.get("date").and_then(Value::as_str).map(str::to_owned);
    let entry = |(name, value): (&String, &Value)| match parse_entry(value) {
        Ok(entry) => Ok((prices::normalize_name(name), entry)),
        Err(what) => Err(PriceFileError::Model { model: name.clone(), what }),
    };
    Ok(PriceFile { date, models: models.iter().map(entry).collect::<Result<_, _>>()? })
}

fn parse_entry(value: &Value) -> Result<PriceEntry, String> {
    match value {
        Value::String(other) => Ok(PriceEntry::Same(other.clone())),
        Value::Object(fields) => parse_price(fields).map(PriceEntry::Price),
        _ => Err("neither figures nor the name of another model".to_owned()),
    }
}

fn parse_price(fields: &Map<String, Value>) -> Result<ModelPrice, String> {
    check_fields(fields, "above")?;
    let base = parse_rates(fields)?;
    let tiers = fields
        .get("above")
        .map_or(Ok(&[][..]), |above| above.as_array().map(Vec::as_slice).ok_or("`above` is no list"))?;
    let mut above = tiers.iter().map(parse_tier).collect::<Result<Vec<_>, _>>()?;
    above.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
    Ok(ModelPrice { base, above })
}

fn parse_tier(value: &Value) -> Result<(u64, TokenRates), String> {
    let fields = value.as_object().ok_or("what is `above` is no object")?;
    check_fields(fields, "tokens")?;
    let tokens = fields.get("tokens").and_then(Value::as_u64).ok_or("`above` needs `tokens`")?;
    Ok((tokens, parse_rates(fields)?))
}

fn check_fields(fields: &Map<String, Value>, other: &str) -> Result<(), String> {
    let wrong = fields.keys().find(|field| *field != other && !RATE_FIELDS.contains(&field.as_str()));
    wrong.map_or(Ok(()), |field| Err(format!("`{field}` is none of {}, {other}", RATE_FIELDS.join(", "))))
}

/// Without rates for the cache, it costs as much as uncached input, and an hour of it as much as the short lifetime.
fn parse_rates(fields: &Map<String, Value>) -> Result<TokenRates, String> {
    let [input, output, read, write, write_1h] = RATE_FIELDS;
    let needed = |name: &str| parse_rate(fields, name)?.ok_or(format!("`{name}` is missing"));
    let input = needed(input)?;
    let cache_write = parse_rate(fields, write)?.unwrap_or(input);
    Ok(TokenRates {
        input,
        output: needed(output)?,
        cache_read: parse_rate(fields, read)?.unwrap_or(input),
        cache_write,
        cache_write_1h: parse_rate(fields, write_1h)?.unwrap_or(cache_write),
    })
}

/// Dollars per million tokens are microdollars per token; amounts are counted in picodollars.
fn parse_rate(fields: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let dollars = value.as_f64().filter(|dollars| (0.0..1e9).contains(dollars));
    let dollars = dollars.ok_or_else(|| format!("`{name}` is no amount of money"))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked above")]
    Ok(Some((dollars * 1e6).round() as u64))
}

/// Prices per token by kind, in picodollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenRates {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelPrice {
    pub(super) base: TokenRates,
    /// Rates for a whole reply if its prompt exceeds this many tokens, highest first.
    pub(super) above: Vec<(u64, TokenRates)>,
}

impl ModelPrice {
    /// Returns the cost of one reply. Rates depend on its size, so several replies cannot be priced together.
    pub(in crate::usage) fn reply_cost(&self, reply: &UsageSums) -> PicoDollars {
        let before = reply.total_tokens().saturating_sub(reply.output);
        let tier = self.above.iter().find(|(tokens, _)| before > *tokens);
        let rates = tier.map_or(&self.base, |(_, rates)| rates);
        let of = |tokens: u64, rate: u64| PicoDollars::from(tokens) * PicoDollars::from(rate);
        [
            of(reply.input, rates.input),
            of(reply.output, rates.output),
            of(reply.cache_read, rates.cache_read),
            of(reply.cache_write, rates.cache_write),
            of(reply.cache_write_1h, rates.cache_write_1h),
        ]
        .into_iter()
        .fold(0, PicoDollars::saturating_add)
    }
}
