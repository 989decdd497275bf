//! JSON Schemas of both sides, generated from the wire types.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{
    client_message::Call,
    wire::{
        ApprovalResponse, ConfigListResult, ConfigReadResult, Done, Extension, InitializeResult, InitializedParams,
        ModelListResult, Notification, Request, RequestResponse, RpcError, ThreadListResult, ThreadResumeResult,
        ThreadStartResult, TurnStartResult,
    },
};
use crate::schema::schema_generator;

const JSON_SCHEMA_DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Generates the schema of a result.
type SubschemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The result schema of each client method.
const RESULT_SCHEMAS: &[(&str, SubschemaFn)] = &[
    ("initialize", SchemaGenerator::subschema_for::<InitializeResult>),
    ("thread/start", SchemaGenerator::subschema_for::<ThreadStartResult<'_>>),
    ("thread/resume", SchemaGenerator::subschema_for::<ThreadResumeResult<'_>>),
    ("thread/list", SchemaGenerator::subschema_for::<ThreadListResult<'_>>),
    ("thread/archive", SchemaGenerator::subschema_for::<Done>),
    ("thread/unarchive", SchemaGenerator::subschema_for::<Done>),
    ("turn/start", SchemaGenerator::subschema_for::<TurnStartResult<'_>>),
    ("turn/interrupt", SchemaGenerator::subschema_for::<Done>),
    ("model/list", SchemaGenerator::subschema_for::<ModelListResult<'_>>),
    ("config/list", SchemaGenerator::subschema_for::<ConfigListResult<'_>>),
    ("config/set", SchemaGenerator::subschema_for::<ConfigListResult<'_>>),
    ("config/read", SchemaGenerator::subschema_for::<ConfigReadResult<'_>>),
];

/// Returns the schema of a server message: a notification, request or response.
pub fn server_message_schema() -> Value {
    let mut generator = schema_generator();
    let notification = generator.subschema_for::<Notification<'_>>();
    let request = generator.subschema_for::<Request<'_>>();
    let extension = generator.subschema_for::<Extension<'_>>();
    let results: Map<_, _> =
        RESULT_SCHEMAS.iter().map(|(method, make)| ((*method).to_owned(), make(&mut generator).to_value())).collect();
    let mut any: Vec<_> = results.values().cloned().collect();
    any.dedup();
    let error = generator.subschema_for::<RpcError>();
    json!({
        "$schema": JSON_SCHEMA_DRAFT,
        "title": "Harness message",
        "description": "One message of the agent's side: a notification, a request with an id, or a response to a \
                        request of the client. `x-results` says which result each method has.",
        "type": "object",
        "not": {"required": ["jsonrpc"]},
        "if": {"required": ["method"]},
        "then": {"if": {"required": ["id"]}, "then": request, "else": {
            "if": {"properties": {"method": {"pattern": "^(thread|turn|item|switchboard)/"}}},
            "then": notification,
            "else": extension,
        }},
        "else": response_schema(&["Response", "ErrorResponse"], &json!(["string", "number", "null"]), &json!({ "anyOf": any }), error.as_value()),
        "x-results": results,
        "$defs": generator.take_definitions(true),
    })
}

/// Returns the schema of a client message: a request, notification or response.
pub fn client_message_schema() -> Value {
    let mut generator = schema_generator();
    let call = generator.subschema_for::<Call>();
    let initialized = generator.subschema_for::<InitializedParams>();
    let results = [
        generator.subschema_for::<ApprovalResponse>().to_value(),
        generator.subschema_for::<RequestResponse>().to_value(),
    ];
    let error = json!({"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}});
    let id = json!(["string", "number"]);
    json!({
        "$schema": JSON_SCHEMA_DRAFT,
        "title": "Harness client message",
        "description": "One message of a client: a request with an id, the notification `initialized`, or a response \
                        to a request of the agent.",
        "type": "object",
        "if": {"required": ["method"]},
        "then": {
            "if": {"required": ["id"]},
            "then": {"allOf": [{"properties": {"id": {"type": id}}}, call]},
            "else": {"properties": {"method": {"const": "initialized"}, "params": initialized}},
        },
        "else": response_schema(&["ClientResponse", "ClientErrorResponse"], &json!(["string"]), &json!({ "anyOf": results }), &error),
        "$defs": generator.take_definitions(true),
    })
}

/// Returns the schema of a response; the titles name its two variants in generated types.
fn response_schema(titles: &[&str; 2], id: &Value, result: &Value, error: &Value) -> Value {
    let [good, bad] = titles;
    json!({
        "required": ["id"],
        "properties": {"id": {"type": id}, "result": result, "error": error},
        "oneOf": [{"title": good, "required": ["result"]}, {"title": bad, "required": ["error"]}],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RESULT_SCHEMAS, client_message_schema};
    use crate::harness::CLIENT_METHODS;

    #[test]
    fn every_method_has_a_result() {
        let described: Vec<_> = RESULT_SCHEMAS.iter().map(|(method, _)| *method).collect();
        assert_eq!(described, CLIENT_METHODS);
    }

    #[test]
    fn the_schema_of_clients_is_what_is_read() {
        let validator = jsonschema::validator_for(&client_message_schema()).unwrap();
        for (message, valid) in [
            (json!({"id": 1, "method": "thread/start", "params": {}}), true),
            (json!({"id": "a", "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "u"}}), true),
            (json!({"method": "initialized", "params": {}}), true),
            (json!({"id": "r", "result": {"decision": "accept"}}), true),
            (json!({"id": "r", "result": {"outcome": "answered", "answers": {"q": ["a"]}}}), true),
            (json!({"id": "r", "error": {"code": 1, "message": "no"}}), true),
            (json!({"id": null, "method": "thread/start", "params": {}}), false),
            (json!({"id": 1, "method": "no/such", "params": {}}), false),
            (json!({"id": 1, "method": "turn/start", "params": {"threadId": "t"}}), false),
            (json!({"id": "r", "result": {}}), false),
            (json!({"id": "r", "result": {"decision": "accept"}, "error": {"message": "x"}}), false),
            (json!({"id": 1}), false),
        ] {
            assert_eq!(validator.is_valid(&message), valid, "{message}");
        }
    }
}
