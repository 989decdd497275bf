//! Every message of every recording is one by the protocol's own schema, and its own types lose nothing of it.

use agent_client_protocol::v1::schema::{CreateElicitationRequest, RequestPermissionRequest, SessionNotification};
use jsonschema::Validator;
use schemars::{JsonSchema, schema_for};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use switchboard_dialects::{MessageBuffer, acp::DIALECT};
use switchboard_testkit::{parallel, play::stream_events, recording::load_recordings};

use crate::verdict::verdict;

/// A method, its schema, and how its parameters look after a trip through the protocol's types.
struct Method {
    name: &'static str,
    schema: Validator,
    again: fn(&Value) -> serde_json::Result<Value>,
}

impl Method {
    fn of<T: JsonSchema + Serialize + DeserializeOwned>(name: &'static str) -> Self {
        let schema = jsonschema::validator_for(schema_for!(T).as_value()).unwrap();
        Self {
            name,
            schema,
            again: |params| serde_json::from_value::<T>(params.clone()).and_then(serde_json::to_value),
        }
    }

    /// What is wrong with these parameters.
    fn wrong(&self, params: &Value) -> Option<String> {
        if let Err(error) = self.schema.validate(params) {
            return Some(format!("{error} at {}", error.instance_path()));
        }
        match (self.again)(params) {
            Ok(again) if plain(&again) == plain(params) => None,
            Ok(again) => Some(format!("it is read as {again}")),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The same without what may as well not be said.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(fields) => {
            let unsaid = |name: &str, value: &Value| {
                matches!((name, value.as_str()), ("kind", Some("other")) | ("status", Some("pending")))
            };
            fields
                .iter()
                .filter(|(name, value)| !unsaid(name, value))
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect()
        }
        other => other.clone(),
    }
}

#[test]
fn every_message_of_every_recording_is_one_by_the_protocols_own_types() {
    let methods = [
        Method::of::<SessionNotification>("session/update"),
        Method::of::<RequestPermissionRequest>("session/request_permission"),
        Method::of::<CreateElicitationRequest>("elicitation/create"),
    ];
    let recordings = load_recordings().unwrap();
    let found = parallel::map(&recordings, |recording| {
        let (mut projection, mut out) = ((DIALECT.projection)(), MessageBuffer::default());
        stream_events(recording.source, &recording.bytes)
            .iter()
            .for_each(|event| projection.project_event(event, &mut out));
        let wrong = out.iter().filter_map(|message| {
            let message: Value = serde_json::from_slice(message).unwrap();
            let name = message["method"].as_str().unwrap();
            let ours = name.starts_with("_switchboard/").then_some(None);
            let wrong = ours.unwrap_or_else(|| match methods.iter().find(|method| method.name == name) {
                Some(method) => method.wrong(&message["params"]),
                None => Some("a method that nobody knows".to_owned()),
            });
            wrong.map(|why| format!("{recording}: {why}: {message}"))
        });
        wrong.collect::<Vec<_>>()
    });
    verdict("messages that are none", found.into_iter().flatten());
}
