//! The OpenAPI document, generated from the table of operations and the types of their requests and responses.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    api::{GROUPS, Operation, ResponseContent, SuccessResponse},
    problem,
};

#[must_use]
pub fn document() -> Value {
    let mut generator = schema_generator();
    let mut paths = Map::new();
    for operation in GROUPS.iter().copied().flatten() {
        let described = describe_operation(operation, &mut generator);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path.as_object_mut()
            .into_iter()
            .for_each(|path| drop(path.insert(operation.method.name().to_owned(), described.clone())));
    }
    generator.subschema_for::<problem::ProblemDocument>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Switchboard",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "One protocol for every coding agent.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" }
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "responses": { "Problem": problem_response() },
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "`switchboard token` prints it." },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "switchboard" }
            }
        },
        "security": [{ "bearer": [] }, { "cookie": [] }]
    })
}

/// Returns a generator for OpenAPI 3.1, which uses JSON Schema with another path for definitions.
fn schema_generator() -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    settings.into_generator()
}

fn problem_response() -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    json!({ "description": "The error.", "content": { problem::MEDIA_TYPE: { "schema": schema } } })
}

fn describe_operation(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut described = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation_tag(operation.path)],
        "responses": operation_responses(operation, generator),
    });
    let mut add = |key: &str, value: Value| {
        described.as_object_mut().into_iter().for_each(|object| drop(object.insert(key.to_owned(), value.clone())));
    };
    if !operation.description.is_empty() {
        add("description", json!(operation.description));
    }
    let parameters = [path_parameters(operation.path), query_parameters(operation, generator)].concat();
    if !parameters.is_empty() {
        add("parameters", json!(parameters));
    }
    if let Some(body) = operation.body {
        let schema = body(generator);
        add("requestBody", json!({ "required": true, "content": { "application/json": { "schema": schema } } }));
    }
    if operation.is_public {
        add("security", json!([]));
    }
    described
}

/// Returns the group of an operation: the first segment after `/api`.
fn operation_tag(path: &str) -> &str {
    path.split('/').find(|part| !part.is_empty() && *part != "api").unwrap_or_default()
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let schema = json!({ "type": "string", "minLength": 1 });
    names.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": schema })).collect()
}

fn query_parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let Some(query) = operation.query else { return Vec::new() };
    let schema = query(generator).to_value();
    // The object of the parameters is not part of the document itself.
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    let object = name.and_then(|name| generator.definitions_mut().remove(&name)).unwrap_or(schema);
    let fields = object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    fields.into_iter().map(|(name, schema)| query_parameter(&name, schema)).collect()
}

/// Converts a field to a parameter, which may be absent but never `null`.
fn query_parameter(name: &str, mut schema: Value) -> Value {
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description")).unwrap_or_default();
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        let one = types.first().cloned().unwrap_or_default();
        schema.as_object_mut().into_iter().for_each(|schema| drop(schema.insert("type".to_owned(), one.clone())));
    }
    schema.as_object_mut().into_iter().for_each(|schema| drop(schema.remove("default").filter(Value::is_null)));
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

fn operation_responses(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for SuccessResponse { status, meaning, content } in operation.responses {
        let mut response = json!({ "description": meaning });
        let described = match content {
            ResponseContent::Nothing => None,
            ResponseContent::Json(schema) => Some(json!({ "application/json": { "schema": schema(generator) } })),
            ResponseContent::JsonOr(schema, media_type) => Some(json!({
                "application/json": { "schema": schema(generator) },
                *media_type: { "schema": { "type": "string" } },
            })),
            // It is unspecified whether a schema would describe one event or the whole text.
            ResponseContent::Events => Some(json!({ "text/event-stream": {} })),
            ResponseContent::Text(media_type) => Some(json!({ *media_type: { "schema": { "type": "string" } } })),
        };
        if let (Some(described), Some(response)) = (described, response.as_object_mut()) {
            response.insert("content".to_owned(), described);
            if *status == 201 {
                response.insert("links".to_owned(), created_links(operation.path));
            }
        }
        responses.insert(status.to_string(), response);
    }
    for status in operation.error_statuses() {
        responses.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
    }
    Value::Object(responses)
}

/// Returns the operations that apply to a created resource.
fn created_links(path: &str) -> Value {
    let below = format!("{path}/{{id}}");
    let fits = |operation: &&Operation| operation.path.starts_with(&below) && operation.path.matches('{').count() == 1;
    let link = |operation: &Operation| {
        let parameters = json!({ "id": "$response.body#/id" });
        (operation.name.to_owned(), json!({ "operationId": operation.name, "parameters": parameters }))
    };
    GROUPS.iter().copied().flatten().filter(fits).map(link).collect::<Map<_, _>>().into()
}
