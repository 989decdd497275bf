//! JSON fragments kept as the text they came as.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;

/// Any value as verbatim JSON; `null` if it cannot be written as JSON.
#[must_use]
pub fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// A text as a verbatim JSON string.
#[must_use]
pub fn raw_string(text: &str) -> Box<RawValue> {
    raw(text)
}

/// Reads verbatim JSON that may be `null`: only a field that is not there is none.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads a number that JSON may also write with a fraction of zero, as JSON Schema allows for integers.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let written = number.as_f64().filter(|number| number.fract() == 0.0).map(|number| format!("{number:.0}"));
    let read = number.as_u64().and_then(|number| u32::try_from(number).ok());
    let read = read.or_else(|| written?.parse().ok());
    read.map(Some).ok_or_else(|| D::Error::custom(format_args!("{number} is not a whole number that fits")))
}
