//! The description of the server. That its answers are as described is seen to by the rig, in every test.

use std::collections::HashSet;

use serde_json::Value;
use switchboard_serve::openapi;

use crate::rig::Rig;

/// All schemas of the document, wherever they are.
fn schemas<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("schema"));
            fields.values().for_each(|value| schemas(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| schemas(value, found)),
        _ => {}
    }
}

/// All references of the document.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_one() {
    let document = openapi::document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    let mut found = Vec::new();
    schemas(&document, &mut found);
    found.extend(document["components"]["schemas"].as_object().unwrap().values());
    assert!(found.len() > 30);
    for schema in found {
        assert!(jsonschema::meta::is_valid(schema), "{schema}");
    }
}

#[test]
fn every_operation_is_described() {
    let document = openapi::document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut names = HashSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{method} {path}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2') || status == "101"), "{method} {path}");
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{method} {path}");
            for parameter in &parameters {
                assert!(!parameter["schema"].to_string().contains("\"null\""), "{method} {path}: {parameter}");
            }
        }
    }
}

#[test]
fn bounds_and_names_are_said() {
    let document = openapi::document();
    let request = &document["components"]["schemas"]["SessionRequest"];
    let prompt = &request["properties"]["prompt"];
    assert_eq!((prompt["minLength"].as_u64(), prompt["maxLength"].as_u64()), (Some(1), Some(100_000)));
    let config = request["properties"]["config"].to_string();
    assert!(config.contains(r#""maximum":1000"#) && config.contains(r#""default":"ask""#), "{config}");
    let agents = request["properties"]["agentType"].to_string();
    assert!(switchboard_agents::AGENTS.iter().all(|agent| agents.contains(&format!("\"{}\"", agent.name))));
    let events = document["paths"]["/api/sessions/{id}/events"]["get"]["parameters"].to_string();
    assert!(switchboard_dialects::DIALECTS.iter().all(|dialect| events.contains(&format!("\"{}\"", dialect.name))));
}

#[tokio::test]
async fn the_description_is_served() {
    let rig = Rig::new();
    let answer = rig.get("/openapi.json").await;
    assert_eq!((answer.status, &answer.body), (200, &openapi::document()));
}

#[test]
fn the_page_for_people_has_every_operation() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md")).unwrap();
    for path in openapi::document()["paths"].as_object().unwrap().keys() {
        // In examples, variables stand for ids.
        let example = path.replace("{id}", "$ID").replace("{rid}", "$REQUEST");
        assert!(page.contains(path) || page.contains(&example), "{path}");
    }
}
