//! JSON fragments kept as the text they came as.

use serde::{Deserialize, Deserializer, Serialize};
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
