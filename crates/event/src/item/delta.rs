//! How items grow and change.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::Item;

/// How an item grew or changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Delta {
    /// Text was added to a field.
    Append {
        /// Which field.
        field: Field,
        /// Which part of it, where it has several.
        part: u32,
        /// The new text.
        text: String,
    },
    /// The item is now this.
    Set {
        /// All of it, as far as it got.
        patch: Box<Item>,
    },
    /// It is still going on.
    Progress {
        /// The time since the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
        /// The progress, from 0 to 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        ratio: Option<f64>,
        /// The current activity.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

impl<'de> Deserialize<'de> for Delta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = DeltaWire::deserialize(deserializer)?;
        match wire.op.as_str() {
            "append" => Ok(Self::Append {
                field: wire.field.ok_or_else(|| D::Error::missing_field("field"))?,
                part: wire.part,
                text: wire.text.unwrap_or_default(),
            }),
            "set" => Ok(Self::Set { patch: wire.patch.ok_or_else(|| D::Error::missing_field("patch"))? }),
            "progress" => Ok(Self::Progress { elapsed_ms: wire.elapsed_ms, ratio: wire.ratio, text: wire.text }),
            other => Err(D::Error::custom(format_args!("unknown delta `{other}`"))),
        }
    }
}

#[derive(Deserialize)]
struct DeltaWire {
    op: String,
    field: Option<Field>,
    #[serde(default)]
    part: u32,
    text: Option<String>,
    patch: Option<Box<Item>>,
    elapsed_ms: Option<u64>,
    ratio: Option<f64>,
}

/// A field of an item that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// What is said, thought or planned.
    Text,
    /// The summary of what is thought.
    Summary,
    /// What a command or a tool prints.
    Output,
    /// What a tool is given, as it is being written.
    Input,
    /// The diff of a change, as it is being written.
    Diff,
}
