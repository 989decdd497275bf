//! Native records: the input and output of an agent, byte for byte.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Which way a record went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dir {
    /// From the agent to us.
    #[default]
    In,
    /// From us to the agent.
    Out,
}

/// One native record, verbatim.
#[derive(Clone, Debug)]
pub struct NativeRecord {
    /// The direction of the record.
    pub dir: Dir,
    /// The content of the record.
    pub body: NativeBody,
}

/// The three forms of a record.
#[derive(Clone, Debug)]
pub enum NativeBody {
    /// Valid JSON, verbatim.
    Json(Box<RawValue>),
    /// Text that is not JSON.
    Text(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
}

impl NativeBody {
    /// Returns the wire form: a JSON value, and the `enc` that describes its encoding unless the value is the record.
    #[must_use]
    pub fn to_wire(&self) -> (std::borrow::Cow<'_, RawValue>, Option<&'static str>) {
        use std::borrow::Cow;
        match self {
            Self::Json(raw) => (Cow::Borrowed(raw), None),
            Self::Text(text) => (Cow::Owned(crate::to_raw_string(text)), Some("text")),
            Self::Bytes(bytes) => {
                (Cow::Owned(crate::to_raw_json(&Base64Payload { base64: STANDARD.encode(bytes) })), Some("base64"))
            }
        }
    }

    /// Decodes the wire form. A value that cannot be decoded is kept as JSON.
    #[must_use]
    pub fn from_wire(raw: &RawValue, enc: Option<&str>) -> Self {
        let decoded = match enc {
            Some("text") => serde_json::from_str(raw.get()).ok().map(Self::Text),
            Some("base64") => serde_json::from_str::<Base64Payload>(raw.get())
                .ok()
                .and_then(|b| STANDARD.decode(b.base64).ok())
                .map(Self::Bytes),
            _ => None,
        };
        decoded.unwrap_or_else(|| Self::Json(raw.to_owned()))
    }
}

#[derive(Serialize, Deserialize)]
struct Base64Payload {
    base64: String,
}
