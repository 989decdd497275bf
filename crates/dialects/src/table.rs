//! The table of dialects, the only place that names them all. A new dialect is one directory and one line here.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::{Projection, acp, board, consumer, events, gateway, harness, message, trace, unified};

/// An outgoing protocol.
pub struct Dialect {
    /// The name, as users type it.
    pub name: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// Creates a projection that starts at the first event of a session.
    pub projection: fn() -> Box<dyn Projection>,
    /// Restores a projection saved with the same [`version`](Dialect::version). Returns none if the format differs;
    /// then start at the first event.
    pub restore: fn(&[u8]) -> Option<Box<dyn Projection>>,
    /// Must be raised whenever the messages or the saved state change; a test enforces this.
    pub revision: u32,
    /// The messages are the stored events, byte for byte.
    pub verbatim: bool,
    /// Returns the JSON Schema of one message, given the names of all agents.
    pub schema: fn(&[&str]) -> Value,
}

impl Dialect {
    /// Returns the version of saved states and message numbers: the same version writes the same messages.
    #[must_use]
    pub fn version(&self) -> String {
        format!("{}-{}", env!("CARGO_PKG_VERSION"), self.revision)
    }
}

/// All dialects in display order.
pub const DIALECTS: &[Dialect] = &[
    unified::DIALECT,
    board::DIALECT,
    gateway::DIALECT,
    harness::DIALECT,
    message::DIALECT,
    consumer::DIALECT,
    trace::DIALECT,
    acp::DIALECT,
    events::DIALECT,
];

/// Describes the client messages of a bidirectional protocol.
pub struct ClientSchema {
    /// The name of the schema.
    pub name: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// Returns the JSON Schema of one message.
    pub schema: fn() -> Value,
}

/// The schemas of all client messages.
pub const CLIENT_SCHEMAS: &[ClientSchema] = &[
    ClientSchema {
        name: "harness:client",
        title: "what a client of the harness protocol sends: initialize, thread/start, turn/start, …",
        schema: harness::client_schema,
    },
    ClientSchema {
        name: "consumer:client",
        title: "what consumers say: user_message, permission_response, interrupt, …",
        schema: consumer::client_message_schema,
    },
];

/// Finds a dialect by its name.
#[must_use]
pub fn find_dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

/// An interface with a default dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialectSurface {
    /// Pages of messages and the corresponding WebSocket, as used by a board.
    Board,
    /// A stream of server-sent events.
    Stream,
    /// A single run, from its task to its end.
    Gateway,
    /// Threads and turns in both directions.
    Harness,
    /// Several clients that follow and control one session.
    Consumers,
    /// Transcripts of the sessions that agents left on disk.
    Log,
}

/// Returns the default dialect of an interface.
#[must_use]
pub fn default_dialect(surface: DialectSurface) -> &'static Dialect {
    match surface {
        DialectSurface::Board => &board::DIALECT,
        DialectSurface::Stream => &unified::DIALECT,
        DialectSurface::Gateway => &gateway::DIALECT,
        DialectSurface::Harness => &harness::DIALECT,
        DialectSurface::Consumers => &consumer::DIALECT,
        DialectSurface::Log => &trace::DIALECT,
    }
}

/// Returns a schema generator for types that omit unknown values.
pub fn schema_generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().with_transform(NeverNull).into_generator()
}

/// Removes `null` from the schemas of optional fields.
#[derive(Clone)]
struct NeverNull;

impl Transform for NeverNull {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                schema.insert("type".to_owned(), one);
            }
        }
        if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

    use super::schema_generator;

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        /// Always there.
        number: u8,
    }

    #[derive(Serialize, JsonSchema)]
    struct Outer {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inner: Option<Inner>,
    }

    #[test]
    fn what_is_optional_is_never_null() {
        let schema = schema_generator().into_root_schema_for::<Outer>();
        let validator = jsonschema::validator_for(schema.as_value()).unwrap();
        for (message, valid) in [
            (json!({}), true),
            (json!({"text": "a", "inner": {"number": 1}}), true),
            (json!({"text": null}), false),
            (json!({"inner": null}), false),
            (json!({"inner": {}}), false),
        ] {
            assert_eq!(validator.is_valid(&message), valid, "{message}");
        }
    }
}
