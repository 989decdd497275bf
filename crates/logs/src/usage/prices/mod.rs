//! Prices of tokens: a built-in table (`prices.json` in this directory) with optional overrides. A model in neither has
//! no price; prices are never guessed.

mod read;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

pub use read::{ModelPrice, PriceFileError};

const EMBEDDED_PRICES_JSON: &str = include_str!("prices.json");

/// Prices of models.
#[derive(Clone, Debug, Default)]
pub struct TokenPrices {
    date: String,
    models: HashMap<String, PriceEntry>,
}

#[derive(Clone, Debug)]
enum PriceEntry {
    Price(ModelPrice),
    /// The same price as another model.
    Same(String),
}

impl TokenPrices {
    /// Returns the built-in prices.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static EMBEDDED: OnceLock<TokenPrices> = OnceLock::new();
        // A test parses it, so it is never empty.
        EMBEDDED.get_or_init(|| Self::default().with_overrides(EMBEDDED_PRICES_JSON).unwrap_or_default())
    }

    /// Returns these prices with the overrides of a file: `{"models":{"NAME":{"input":3,"output":15,…}}}`, in dollars
    /// per million tokens.
    ///
    /// # Errors
    /// If the file is invalid; the error says where.
    pub fn with_overrides(&self, file: &str) -> Result<Self, PriceFileError> {
        let mut prices = self.clone();
        let news = read::parse_price_file(file)?;
        prices.date = news.date.unwrap_or(prices.date);
        prices.models.extend(news.models);
        Ok(prices)
    }

    /// Returns the built-in prices with the overrides of a file.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid.
    pub fn load_with_overrides(path: &Path) -> Result<Self, PriceFileError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| PriceFileError::Unreadable { path: path.to_owned(), error })?;
        let bad = |bad| PriceFileError::File { path: path.to_owned(), bad: Box::new(bad) };
        Self::embedded().with_overrides(&text).map_err(bad)
    }

    /// Returns the built-in prices with the overrides of `prices.json` in the data directory, if it exists.
    ///
    /// # Errors
    /// If it exists and cannot be read or is invalid.
    pub fn load_for_data_directory(data: &Path) -> Result<Cow<'static, Self>, PriceFileError> {
        match Self::load_with_overrides(&data.join("prices.json")) {
            Err(PriceFileError::Unreadable { error, .. }) if is_missing_file(&error) => {
                Ok(Cow::Borrowed(Self::embedded()))
            }
            found => found.map(Cow::Owned),
        }
    }

    /// Returns the date of the prices.
    #[must_use]
    pub fn price_date(&self) -> &str {
        &self.date
    }

    /// Returns the price of a model, ignoring provider prefixes, dates and variants.
    #[must_use]
    pub fn find_price(&self, model: &str) -> Option<&ModelPrice> {
        candidate_names(model).into_iter().find_map(|name| self.find_exact(&name))
    }

    fn find_exact(&self, name: &str) -> Option<&ModelPrice> {
        match self.models.get(name)? {
            PriceEntry::Price(price) => Some(price),
            PriceEntry::Same(other) => match self.models.get(&normalize_name(other))? {
                PriceEntry::Price(price) => Some(price),
                PriceEntry::Same(_) => None,
            },
        }
    }
}

/// Returns whether the file or its directory does not exist.
fn is_missing_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Suffixes of variants with the same price.
const VARIANT_SUFFIXES: &[&str] =
    &["latest", "preview", "exp", "thinking", "minimal", "low", "medium", "high", "xhigh", "customtools"];

/// Suffixes that the table may have and agents omit.
const OPTIONAL_SUFFIXES: &[&str] = &["preview", "latest"];

/// Normalizes a name as in the table: lowercase, without dots.
fn normalize_name(name: &str) -> String {
    name.trim().to_lowercase().replace('.', "-")
}

/// Returns all names under which a model may be in the table, most specific first.
fn candidate_names(model: &str) -> Vec<String> {
    let mut forms = vec![normalize_name(model)];
    let name = strip_provider(model.trim());
    let mut name = name.split('@').next().unwrap_or(name);
    // A free variant has no price, whatever the model costs elsewhere.
    if !name.ends_with(":free") {
        name = name.split([':', '[']).next().unwrap_or(name);
    }
    let mut name = normalize_name(name);
    forms.push(name.clone());
    forms.extend(OPTIONAL_SUFFIXES.iter().map(|end| format!("{name}-{end}")));
    while let Some(shorter) = strip_variant(&name) {
        forms.push(shorter.clone());
        name = shorter;
    }
    forms
}

/// Strips the prefix of `provider/model`, and of `region.provider.model` if the first parts are words.
fn strip_provider(name: &str) -> &str {
    let mut name = name.rsplit('/').next().unwrap_or(name);
    while let Some((word, rest)) = name.split_once('.') {
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphabetic()) {
            break;
        }
        name = rest;
    }
    name
}

/// Strips one date, reseller version or variant from the end.
fn strip_variant(name: &str) -> Option<String> {
    let (front, end) = name.rsplit_once('-')?;
    let is_date = end.len() == 8 && end.starts_with("20") && end.bytes().all(|byte| byte.is_ascii_digit());
    let is_version =
        end.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    if is_date || is_version || VARIANT_SUFFIXES.contains(&end) {
        return Some(front.to_owned());
    }
    strip_dashed_date(name).map(str::to_owned)
}

/// Strips a date such as `-2026-11-16` from the end.
fn strip_dashed_date(name: &str) -> Option<&str> {
    let (front, date) = name.split_at_checked(name.len().checked_sub(11)?)?;
    let shape = |(at, byte): (usize, u8)| if [0, 5, 8].contains(&at) { byte == b'-' } else { byte.is_ascii_digit() };
    (!front.is_empty() && date.bytes().enumerate().all(shape)).then_some(front)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{PriceEntry, PriceFileError, TokenPrices, candidate_names};
    use crate::usage::sums::UsageSums;

    const KNOWN_PRICES_JSON: &str = include_str!("testdata/known.json");

    /// Converts dollars per million tokens to picodollars per token.
    fn picodollars_per_token(dollars: &Value) -> Option<u128> {
        dollars.as_f64().map(|dollars| (dollars * 1e6).round() as u128)
    }

    #[test]
    fn models_are_known_by_many_names() {
        let known: serde_json::Map<String, Value> = serde_json::from_str(KNOWN_PRICES_JSON).unwrap();
        for (model, expected) in &known {
            let price = TokenPrices::embedded().find_price(model);
            let of = |sums: UsageSums| price.map(|price| price.reply_cost(&sums));
            let found = (
                of(UsageSums { input: 1, ..UsageSums::default() }),
                of(UsageSums { output: 1, ..UsageSums::default() }),
            );
            assert_eq!(found, (picodollars_per_token(&expected[0]), picodollars_per_token(&expected[1])), "{model}");
        }
    }

    #[test]
    fn the_table_makes_sense() {
        let prices = TokenPrices::embedded();
        assert!(prices.models.len() > 150, "{}", prices.models.len());
        assert!(jiff::civil::Date::strptime("%Y-%m-%d", prices.price_date()).is_ok());
        for (model, entry) in &prices.models {
            match entry {
                PriceEntry::Same(_) => assert!(prices.find_exact(model).is_some(), "{model} is the same as nothing"),
                PriceEntry::Price(price) => {
                    let base = price.base;
                    assert!(base.cache_read <= base.input && base.input <= base.output, "{model}");
                    assert!(
                        base.cache_write <= base.cache_write_1h
                            && base.cache_write_1h <= 2 * base.input.max(base.cache_write),
                        "{model}"
                    );
                    assert!(price.above.iter().all(|(_, above)| above.input > base.input), "{model}");
                }
            }
        }
    }

    #[test]
    fn a_large_prompt_makes_all_of_a_reply_dearer() {
        let table = r#"{"models":{"m":{"input":1,"output":2,"cacheRead":0.1,"above":[
        {"tokens":200,"input":10,"output":20,"cacheRead":1},{"tokens":1000,"input":100,"output":200}]}}}"#;
        let prices = TokenPrices::default().with_overrides(table).unwrap();
        let cost = |input: u64, cache_read: u64| {
            prices.find_price("m").unwrap().reply_cost(&UsageSums {
                input,
                cache_read,
                output: 1_000,
                ..UsageSums::default()
            }) / 100_000
        };
        assert_eq!(cost(200, 0), 200 * 10 + 1_000 * 20, "what comes out does not count");
        assert_eq!(cost(100, 100), 100 * 10 + 100 + 1_000 * 20);
        assert_eq!(cost(100, 101), 100 * 100 + 101 * 10 + 1_000 * 200, "what was cached does");
        assert_eq!(cost(1, 1_000), 1_000 + 1_000 * 1_000 + 1_000 * 2_000, "nothing is said of the cache there");
    }

    #[test]
    fn ones_own_prices_win() {
        let own = r#"{"models":{"My-Model":{"input":1,"output":2},"gpt-5":{"input":7,"output":7},"other":"my-model"}}"#;
        let prices = TokenPrices::embedded().with_overrides(own).unwrap();
        let input = |model: &str| prices.find_price(model).map(|price| price.base.input);
        assert_eq!(input("my-model"), Some(1_000_000));
        assert_eq!(input("other"), Some(1_000_000));
        assert_eq!(input("gpt-5"), Some(7_000_000));
        assert_eq!(input("gpt-5-mini"), Some(250_000), "the others stay");
        assert_eq!(prices.price_date(), TokenPrices::embedded().price_date());
    }

    #[test]
    fn a_file_in_the_data_folder_counts() {
        let data = tempfile::tempdir().unwrap();
        let price =
            |model: &str| TokenPrices::load_for_data_directory(data.path()).unwrap().find_price(model).is_some();
        assert!(price("gpt-5") && !price("mine"));
        std::fs::write(data.path().join("prices.json"), r#"{"models":{"mine":"gpt-5"}}"#).unwrap();
        assert!(price("gpt-5") && price("mine"));
        std::fs::write(data.path().join("prices.json"), "{}").unwrap();
        let error = TokenPrices::load_for_data_directory(data.path()).unwrap_err().to_string();
        assert!(error.contains("prices.json: not a file of prices"), "{error}");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        for (file, what) in [
            ("{", "not a file of prices"),
            ("[]", "not a file of prices: it should be"),
            (r#"{"models":{"m":3}}"#, "the price of `m`: neither figures nor"),
            (r#"{"models":{"m":{"input":3}}}"#, "`output` is missing"),
            (r#"{"models":{"m":{"input":-3,"output":1}}}"#, "`input` is no amount of money"),
            (r#"{"models":{"m":{"input":3,"output":1,"cache_read":1}}}"#, "`cache_read` is none of input, output"),
            (r#"{"models":{"m":{"input":3,"output":1,"above":[{"input":3,"output":1}]}}}"#, "`above` needs `tokens`"),
        ] {
            let error: PriceFileError = TokenPrices::default().with_overrides(file).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    fn check_candidate(model: &str, expected: &str) {
        let forms = candidate_names(model);
        assert!(forms.iter().any(|form| form == expected), "{model}: {forms:?}");
    }

    #[test]
    fn names_lose_sellers_dates_and_variants() {
        check_candidate("Maker-Big-4.5", "maker-big-4-5");
        check_candidate("seller/maker/big-4", "big-4");
        check_candidate("big-4-20260101", "big-4");
        check_candidate("big-4-2026-01-01", "big-4");
        check_candidate("big-4@20260101", "big-4");
        check_candidate("big-4-latest", "big-4");
        check_candidate("big-4[1m]", "big-4");
        check_candidate("big-4-20260101[1m]", "big-4");
        check_candidate("us.maker.big-4-20260101-v1:0", "big-4");
        check_candidate("big-4.1-codes-high", "big-4-1-codes");
        check_candidate("big-4:thinking", "big-4");
        check_candidate("big-4", "big-4-preview");
    }

    #[test]
    fn another_model_is_not_the_same() {
        for model in ["big-4-mini", "big-4:free", "big-4-free", "big-40", "big-4-0613", "big-4-max"] {
            assert!(!candidate_names(model).iter().any(|form| form == "big-4"), "{model}");
        }
    }
}
