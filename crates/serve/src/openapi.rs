//! The OpenAPI document, made of the table of operations and the types that they take and give.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    api::{Answer, Content, GROUPS, Operation},
    problem,
};

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut generator = generator();
    let mut paths = Map::new();
    for operation in GROUPS.iter().copied().flatten() {
        let described = describe(operation, &mut generator);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path.as_object_mut()
            .into_iter()
            .for_each(|path| drop(path.insert(operation.method.name().to_owned(), described.clone())));
    }
    generator.subschema_for::<problem::Document>();
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
            "responses": { "Problem": refusal() },
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "`switchboard token` prints it." },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "switchboard" }
            }
        },
        "security": [{ "bearer": [] }, { "cookie": [] }]
    })
}

/// OpenAPI 3.1 takes JSON Schema as it is; only the shared parts lie elsewhere.
fn generator() -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    settings.into_generator()
}

fn refusal() -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    json!({ "description": "What went wrong.", "content": { problem::MEDIA_TYPE: { "schema": schema } } })
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut described = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [tag(operation.path)],
        "responses": responses(operation, generator),
    });
    let mut add = |key: &str, value: Value| {
        described.as_object_mut().into_iter().for_each(|object| drop(object.insert(key.to_owned(), value.clone())));
    };
    if !operation.description.is_empty() {
        add("description", json!(operation.description));
    }
    let parameters = [in_path(operation.path), in_query(operation, generator)].concat();
    if !parameters.is_empty() {
        add("parameters", json!(parameters));
    }
    if let Some(body) = operation.body {
        let schema = body(generator);
        add("requestBody", json!({ "required": true, "content": { "application/json": { "schema": schema } } }));
    }
    if operation.open {
        add("security", json!([]));
    }
    described
}

/// The group of an operation: the word behind `/api`.
fn tag(path: &str) -> &str {
    path.split('/').find(|part| !part.is_empty() && *part != "api").unwrap_or_default()
}

fn in_path(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let schema = json!({ "type": "string", "minLength": 1 });
    names.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": schema })).collect()
}

fn in_query(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let Some(query) = operation.query else { return Vec::new() };
    let schema = query(generator).to_value();
    // An object of parameters is no part of the document itself.
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    let object = name.and_then(|name| generator.definitions_mut().remove(&name)).unwrap_or(schema);
    let fields = object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    fields.into_iter().map(|(name, schema)| parameter(&name, schema)).collect()
}

/// A parameter is there or not: it is never `null`.
fn parameter(name: &str, mut schema: Value) -> Value {
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description")).unwrap_or_default();
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        let one = types.first().cloned().unwrap_or_default();
        schema.as_object_mut().into_iter().for_each(|schema| drop(schema.insert("type".to_owned(), one.clone())));
    }
    schema.as_object_mut().into_iter().for_each(|schema| drop(schema.remove("default").filter(Value::is_null)));
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for Answer { status, meaning, content } in operation.answers {
        let mut response = json!({ "description": meaning });
        let described = match content {
            Content::Nothing => None,
            Content::Json(schema) => Some(json!({ "application/json": { "schema": schema(generator) } })),
            Content::JsonOr(schema, media_type) => Some(json!({
                "application/json": { "schema": schema(generator) },
                *media_type: { "schema": { "type": "string" } },
            })),
            // A schema would be that of one event, or of the whole text: this version of OpenAPI leaves that open.
            Content::Events => Some(json!({ "text/event-stream": {} })),
            Content::Text(media_type) => Some(json!({ *media_type: { "schema": { "type": "string" } } })),
        };
        if let (Some(described), Some(response)) = (described, response.as_object_mut()) {
            response.insert("content".to_owned(), described);
            if *status == 201 {
                response.insert("links".to_owned(), links(operation.path));
            }
        }
        responses.insert(status.to_string(), response);
    }
    for status in operation.refused_with() {
        responses.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
    }
    Value::Object(responses)
}

/// What can be done with what was created: all operations on it.
fn links(path: &str) -> Value {
    let below = format!("{path}/{{id}}");
    let fits = |operation: &&Operation| operation.path.starts_with(&below) && operation.path.matches('{').count() == 1;
    let link = |operation: &Operation| {
        let parameters = json!({ "id": "$response.body#/id" });
        (operation.name.to_owned(), json!({ "operationId": operation.name, "parameters": parameters }))
    };
    GROUPS.iter().copied().flatten().filter(fits).map(link).collect::<Map<_, _>>().into()
}
