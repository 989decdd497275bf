//! Native records: what an agent said or was told, byte for byte.

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
pub struct Native {
    /// Which way it went.
    pub dir: Dir,
    /// What it was.
    pub body: NativeBody,
}

/// The three forms that a record can have.
#[derive(Clone, Debug)]
pub enum NativeBody {
    /// Valid JSON, as it was written.
    Json(Box<RawValue>),
    /// Text that is not JSON.
    Text(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
}

impl NativeBody {
    /// The wire form: a JSON value, and the `enc` that says how to read it if it is not simply the record.
    #[must_use]
    pub fn to_wire(&self) -> (std::borrow::Cow<'_, RawValue>, Option<&'static str>) {
        use std::borrow::Cow;
        match self {
            Self::Json(raw) => (Cow::Borrowed(raw), None),
            Self::Text(text) => (Cow::Owned(crate::raw_string(text)), Some("text")),
            Self::Bytes(bytes) => (Cow::Owned(crate::raw(&Base64 { base64: STANDARD.encode(bytes) })), Some("base64")),
        }
    }

    /// Back from the wire form. What cannot be decoded is kept as the JSON it is.
    #[must_use]
    pub fn from_wire(raw: &RawValue, enc: Option<&str>) -> Self {
        let decoded = match enc {
            Some("text") => serde_json::from_str(raw.get()).ok().map(Self::Text),
            Some("base64") => serde_json::from_str::<Base64>(raw.get())
                .ok()
                .and_then(|b| STANDARD.decode(b.base64).ok())
                .map(Self::Bytes),
            _ => None,
        };
        decoded.unwrap_or_else(|| Self::Json(raw.to_owned()))
    }
}

#[derive(Serialize, Deserialize)]
struct Base64 {
    base64: String,
}
