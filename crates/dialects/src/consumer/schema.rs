//! JSON Schemas of both directions, generated from the wire types.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::wire::{ClientMessage, Sequenced};
use crate::schema::schema_generator;

/// Returns the schema of server messages.
pub fn server_message_schema() -> Value {
    let mut schema = schema_generator().into_root_schema_for::<Sequenced>().to_value();
    schema["title"] = json!("Consumer server message");
    schema
}

/// Returns the schema of client messages.
pub fn client_message_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<ClientMessage>().to_value();
    schema["title"] = json!("Consumer client message");
    schema
}
