//! The schemas of both directions, made from the types that are written and read.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::wire::{ClientMessage, Sequenced};
use crate::schema::generator;

/// The schema of what consumers are told.
pub fn told() -> Value {
    let mut schema = generator().into_root_schema_for::<Sequenced>().to_value();
    schema["title"] = json!("Consumer server message");
    schema
}

/// The schema of what consumers say.
pub fn said() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<ClientMessage>().to_value();
    schema["title"] = json!("Consumer client message");
    schema
}
