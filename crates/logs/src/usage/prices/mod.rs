//! What tokens cost: a table that comes with the program (`prices.json` beside this file), and what is laid over it.
//! A model that is in neither has no price; none is guessed.

mod names;
mod price;
mod read;

use std::{borrow::Cow, collections::HashMap, io, path::Path, sync::OnceLock};

pub use price::Price;
pub use read::BadPrices;

const TABLE: &str = include_str!("prices.json");

/// Prices of models.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    date: String,
    models: HashMap<String, Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Price(Price),
    /// The same as another model.
    Same(String),
}

impl Prices {
    /// The prices that come with the program.
    #[must_use]
    pub fn embedded() -> &'static Self {
        static EMBEDDED: OnceLock<Prices> = OnceLock::new();
        // A test reads it, so that it is never empty.
        EMBEDDED.get_or_init(|| Self::default().over(TABLE).unwrap_or_default())
    }

    /// These prices with others over them, as a file has them: `{"models":{"NAME":{"input":3,"output":15,…}}}`, in
    /// dollars for a million tokens.
    ///
    /// # Errors
    /// If the file makes no sense; it says where.
    pub fn over(&self, file: &str) -> Result<Self, BadPrices> {
        let mut prices = self.clone();
        let news = read::file(file)?;
        prices.date = news.date.unwrap_or(prices.date);
        prices.models.extend(news.models);
        Ok(prices)
    }

    /// The prices that come with the program, with those of a file over them.
    ///
    /// # Errors
    /// If the file cannot be read or makes no sense.
    pub fn with(path: &Path) -> Result<Self, BadPrices> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| BadPrices::Unreadable { path: path.to_owned(), error })?;
        let bad = |bad| BadPrices::File { path: path.to_owned(), bad: Box::new(bad) };
        Self::embedded().over(&text).map_err(bad)
    }

    /// The same with `prices.json` in the data folder, if there is one.
    ///
    /// # Errors
    /// If there is one and it cannot be read or makes no sense.
    pub fn kept_in(data: &Path) -> Result<Cow<'static, Self>, BadPrices> {
        match Self::with(&data.join("prices.json")) {
            Err(BadPrices::Unreadable { error, .. }) if is_absent(&error) => Ok(Cow::Borrowed(Self::embedded())),
            found => found.map(Cow::Owned),
        }
    }

    /// From when the prices are.
    #[must_use]
    pub fn date(&self) -> &str {
        &self.date
    }

    /// The price of a model, whatever its provider, date or variant is called.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<&Price> {
        names::forms(model).into_iter().find_map(|name| self.exactly(&name))
    }

    fn exactly(&self, name: &str) -> Option<&Price> {
        match self.models.get(name)? {
            Entry::Price(price) => Some(price),
            Entry::Same(other) => match self.models.get(&names::plain(other))? {
                Entry::Price(price) => Some(price),
                Entry::Same(_) => None,
            },
        }
    }
}

/// Nothing is there, and nothing can be: what should be a folder on the way is a file.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{BadPrices, Entry, Prices};
    use crate::usage::sums::Sums;

    const KNOWN: &str = include_str!("testdata/known.json");

    /// Millionths of a millionth of a dollar for a token.
    fn rate(dollars: &Value) -> Option<u128> {
        dollars.as_f64().map(|dollars| (dollars * 1e6).round() as u128)
    }

    #[test]
    fn models_are_known_by_many_names() {
        let known: serde_json::Map<String, Value> = serde_json::from_str(KNOWN).unwrap();
        for (model, expected) in &known {
            let price = Prices::embedded().price(model);
            let of = |sums: Sums| price.map(|price| price.cost(&sums));
            let found = (of(Sums { input: 1, ..Sums::default() }), of(Sums { output: 1, ..Sums::default() }));
            assert_eq!(found, (rate(&expected[0]), rate(&expected[1])), "{model}");
        }
    }

    #[test]
    fn the_table_makes_sense() {
        let prices = Prices::embedded();
        assert!(prices.models.len() > 150, "{}", prices.models.len());
        assert!(jiff::civil::Date::strptime("%Y-%m-%d", prices.date()).is_ok());
        for (model, entry) in &prices.models {
            match entry {
                Entry::Same(_) => assert!(prices.exactly(model).is_some(), "{model} is the same as nothing"),
                Entry::Price(price) => {
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
        let prices = Prices::default().over(table).unwrap();
        let cost = |input: u64, cache_read: u64| {
            prices.price("m").unwrap().cost(&Sums { input, cache_read, output: 1_000, ..Sums::default() }) / 100_000
        };
        assert_eq!(cost(200, 0), 200 * 10 + 1_000 * 20, "what comes out does not count");
        assert_eq!(cost(100, 100), 100 * 10 + 100 + 1_000 * 20);
        assert_eq!(cost(100, 101), 100 * 100 + 101 * 10 + 1_000 * 200, "what was cached does");
        assert_eq!(cost(1, 1_000), 1_000 + 1_000 * 1_000 + 1_000 * 2_000, "nothing is said of the cache there");
    }

    #[test]
    fn ones_own_prices_win() {
        let own = r#"{"models":{"My-Model":{"input":1,"output":2},"gpt-5":{"input":7,"output":7},"other":"my-model"}}"#;
        let prices = Prices::embedded().over(own).unwrap();
        let input = |model: &str| prices.price(model).map(|price| price.base.input);
        assert_eq!(input("my-model"), Some(1_000_000));
        assert_eq!(input("other"), Some(1_000_000));
        assert_eq!(input("gpt-5"), Some(7_000_000));
        assert_eq!(input("gpt-5-mini"), Some(250_000), "the others stay");
        assert_eq!(prices.date(), Prices::embedded().date());
    }

    #[test]
    fn a_file_in_the_data_folder_counts() {
        let data = tempfile::tempdir().unwrap();
        let price = |model: &str| Prices::kept_in(data.path()).unwrap().price(model).is_some();
        assert!(price("gpt-5") && !price("mine"));
        std::fs::write(data.path().join("prices.json"), r#"{"models":{"mine":"gpt-5"}}"#).unwrap();
        assert!(price("gpt-5") && price("mine"));
        std::fs::write(data.path().join("prices.json"), "{}").unwrap();
        let error = Prices::kept_in(data.path()).unwrap_err().to_string();
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
            let error: BadPrices = Prices::default().over(file).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
