//! The messages of a session in pages, in any dialect.

use std::time::Duration;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
    routing::on,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_dialects::{DIALECTS, Dialect, DialectSurface, default_dialect, find_dialect};

use super::operation::{Answer, Content, Operation, schema};
use crate::{
    Problem, Service,
    input::{Path, Query},
    pages::{Messaged, Wanted},
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[Operation {
    path: "/api/sessions/{id}/events",
    name: "listEvents",
    summary: "Read what happened in a session, page by page",
    description: "`offset` and `limit` count messages of the dialect, `after` counts events. A page may have fewer \
                  messages than asked for; `nextOffset` always is where the next one begins.",
    query: Some(schema::<EventsQuery>),
    answers: &[Answer { status: 200, meaning: "A page of messages.", content: Content::Json(schema::<EventsPage>) }],
    refusals: &[404],
    handler: |method| on(method, events),
    ..Operation::NEW
}];

/// Larger numbers are not exact in every language.
const LARGEST: u64 = 1 << 53;

/// Which messages to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct EventsQuery {
    /// From this message on, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64), extend("default" = 0))]
    offset: Option<u64>,
    /// So many at most.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 100))]
    limit: Option<u32>,
    /// The dialect of the messages.
    #[schemars(schema_with = "board_dialect")]
    dialect: Option<String>,
    /// Only of events behind this `seq`.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// So many seconds to wait for at least one message, while the session is open.
    #[schemars(range(min = 0, max = 60))]
    wait: Option<f64>,
}

/// A page of messages. Only for its schema: it is written by hand, around messages that are JSON already.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EventsPage {
    /// The messages, in the dialect that was asked for.
    events: Vec<serde_json::Map<String, Value>>,
    /// Where the next page begins.
    next_offset: u64,
    /// The last event that is said in full: what `after` may be next.
    last_seq: u64,
}

/// The name of a dialect, on a wire that is a board's.
pub fn board_dialect(_: &mut SchemaGenerator) -> Schema {
    dialect_name(DialectSurface::Board)
}

/// The name of a dialect, on a stream.
pub fn stream_dialect(_: &mut SchemaGenerator) -> Schema {
    dialect_name(DialectSurface::Stream)
}

/// The name of a dialect, and the usual one of a wire.
pub fn dialect_name(surface: DialectSurface) -> Schema {
    let names: Vec<_> = DIALECTS.iter().map(|dialect| json!(dialect.name)).collect();
    json_schema!({ "type": "string", "enum": names, "default": default_dialect(surface).name })
}

/// The dialect that is asked for, or the usual one of a wire.
///
/// # Errors
/// If there is none of that name.
pub fn chosen(name: Option<&str>, surface: DialectSurface) -> Result<&'static Dialect, Problem> {
    let Some(name) = name else { return Ok(default_dialect(surface)) };
    find_dialect(name).ok_or_else(|| {
        let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        Problem::bad_request("unknown_dialect", format!("dialect: there is no dialect `{name}`"))
            .with_hint(format!("there are {}", names.join(", ")))
    })
}

async fn events(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let dialect = chosen(query.dialect.as_deref(), DialectSurface::Board)?;
    let (wanted, wait) = (query.wanted()?, query.wait()?);
    Ok(written(&service.page(&id, dialect, wanted, wait).await?))
}

impl EventsQuery {
    fn wanted(&self) -> Result<Wanted, Problem> {
        let limit = self.limit.unwrap_or(100);
        if !(1..=10_000).contains(&limit) {
            return Err(Problem::bad_field("limit", "a number from 1 to 10000"));
        }
        let (offset, after) = (self.offset.unwrap_or(0), self.after);
        if offset > LARGEST || after.is_some_and(|after| after > LARGEST) {
            let field = if offset > LARGEST { "offset" } else { "after" };
            return Err(Problem::bad_field(field, "it is too large"));
        }
        Ok(Wanted { offset, after, limit: usize::try_from(limit).unwrap_or(usize::MAX) })
    }

    fn wait(&self) -> Result<Duration, Problem> {
        let seconds = self.wait.unwrap_or(0.0);
        let wait = Duration::try_from_secs_f64(seconds).ok().filter(|wait| *wait <= Duration::from_secs(60));
        wait.ok_or_else(|| Problem::bad_field("wait", "a number of seconds from 0 to 60"))
    }
}

/// The page as JSON. The messages are JSON already.
fn written(page: &Messaged) -> Response {
    let size: usize = page.messages.iter().map(|message| message.len() + 1).sum();
    let mut json = Vec::with_capacity(size + 64);
    json.extend_from_slice(b"{\"events\":[");
    for (place, message) in page.messages.iter().enumerate() {
        if place > 0 {
            json.push(b',');
        }
        json.extend_from_slice(message);
    }
    json.extend_from_slice(format!("],\"nextOffset\":{},\"lastSeq\":{}}}", page.next_offset, page.last_seq).as_bytes());
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
