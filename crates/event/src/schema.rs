//! The JSON Schema of an event, generated from the event types.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};

use crate::{
    Delta, Dir, Event, Id, Item, Kind, Notice, RequestOpened, RequestResolved, SessionEnded, SessionStarted,
    SessionUpdated, Timestamp, TurnCompleted, TurnStarted, Usage,
};

/// Returns the schema of one event.
#[must_use]
pub fn event_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = Event::json_schema(&mut generator);
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("$defs".into(), generator.take_definitions(true).into());
    schema.to_value()
}

/// Returns the schema of a request to start a session with one of the given agents.
#[must_use]
pub fn session_request_schema(agents: &[&str]) -> Value {
    let mut schema: Value = serde_json::from_str(include_str!("session_request.json")).unwrap_or_default();
    if let Some(names) = schema.pointer_mut("/properties/agentType/enum") {
        *names = json!(agents);
    }
    schema
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it stands for the data of two kinds in the schema")]
struct Whole {
    item: Item,
}

impl JsonSchema for Event {
    fn schema_name() -> Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(g: &mut SchemaGenerator) -> Schema {
        let data = |kind: &str, schema: Schema| json!({"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"data": schema}}});
        let kinds = [
            data("session.started", g.subschema_for::<SessionStarted>()),
            data("session.updated", g.subschema_for::<SessionUpdated>()),
            data("session.ended", g.subschema_for::<SessionEnded>()),
            data("turn.started", g.subschema_for::<TurnStarted>()),
            data("turn.completed", g.subschema_for::<TurnCompleted>()),
            data("item.started", g.subschema_for::<Whole>()),
            data("item.delta", g.subschema_for::<Delta>()),
            data("item.completed", g.subschema_for::<Whole>()),
            data("request.opened", g.subschema_for::<RequestOpened>()),
            data("request.resolved", g.subschema_for::<RequestResolved>()),
            data("usage", g.subschema_for::<Usage>()),
            data("notice", g.subschema_for::<Notice>()),
        ];
        json_schema!({
            "title": "Event",
            "description": "One event of a session.",
            "type": "object",
            "required": ["v", "seq", "id", "session", "at", "agent", "run", "kind", "data"],
            "properties": {
                "v": {"const": 1},
                "seq": {"type": "integer", "minimum": 1},
                "id": {"type": "string"},
                "session": g.subschema_for::<Id>(),
                "at": g.subschema_for::<Timestamp>(),
                "agent": g.subschema_for::<Id>(),
                "run": {"type": "integer", "minimum": 1},
                "turn": {"type": ["integer", "null"], "minimum": 1},
                "item": {"type": ["string", "null"]},
                "parent": {"type": ["string", "null"]},
                "thread": {"type": ["string", "null"]},
                "kind": g.subschema_for::<Kind>(),
                "data": {"type": "object"},
                "dir": g.subschema_for::<Dir>(),
                "enc": {"enum": ["text", "base64"]},
                "native": true,
                "cause": {"type": "integer", "minimum": 1}
            },
            "allOf": kinds
        })
    }
}
