//! JSON fragments kept verbatim, and helpers for deserializing them.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;

/// Serializes a value to verbatim JSON; returns `null` if that fails.
#[must_use]
pub fn to_raw_json<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns a text as a verbatim JSON string.
#[must_use]
pub fn to_raw_string(text: &str) -> Box<RawValue> {
    to_raw_json(text)
}

/// Deserializes verbatim JSON that may be `null`: only an absent field is `None`.
pub(crate) fn deserialize_present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Deserializes an integer that may be written with a zero fraction, as JSON Schema allows.
pub(crate) fn deserialize_whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let written = number.as_f64().filter(|number| number.fract() == 0.0).map(|number| format!("{number:.0}"));
    let read = number.as_u64().and_then(|number| u32::try_from(number).ok());
    let read = read.or_else(|| written?.parse().ok());
    read.map(Some).ok_or_else(|| D::Error::custom(format_args!("{number} is not a whole number that fits")))
}
