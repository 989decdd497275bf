//! The messages of a session in pages, in any dialect.

use std::time::Duration;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
    routing::on,
};
use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_dialects::{DIALECTS, Dialect, DialectSurface, default_dialect, find_dialect};
use switchboard_engine::TailRead;
use tokio::time::{Instant, timeout_at};

use super::operation::{Operation, ResponseContent, SuccessResponse, schema_of};
use crate::{
    Problem, Service,
    extract::{PathParams, QueryParams},
    feed::{FeedStart, MessageSlice},
};

/// Larger integers are not exact in every JSON implementation.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// The maximum size of a page, which always has at least one message.
const MAX_PAGE_BYTES: usize = 4 << 20;

pub const OPERATIONS: &[Operation] = &[Operation {
    path: "/api/sessions/{id}/events",
    name: "listEvents",
    summary: "List the messages of a session",
    description: "`offset` and `limit` count messages of the dialect, `after` counts events. A page may have fewer \
                  messages than asked for; `nextOffset` always is where the next one begins.",
    query: Some(schema_of::<EventsParams>),
    responses: &[SuccessResponse {
        status: 200,
        meaning: "A page of messages.",
        content: ResponseContent::Json(schema_of::<EventsPage>),
    }],
    refusals: &[404],
    handler: |method| on(method, list_events),
    ..Operation::NEW
}];

/// Which messages to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct EventsParams {
    /// The first message, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64), extend("default" = 0))]
    offset: Option<u64>,
    /// The maximum number of messages.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 100))]
    limit: Option<u32>,
    /// The dialect of the messages.
    #[schemars(schema_with = "board_dialect_schema")]
    dialect: Option<String>,
    /// Only messages of events after this `seq`.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// How many seconds to wait for at least one message, while the session is open.
    #[schemars(range(min = 0, max = 60))]
    wait: Option<f64>,
}

/// A page of messages. Only its schema is used: the response is written around messages that are JSON already.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EventsPage {
    /// The messages, in the requested dialect.
    events: Vec<serde_json::Map<String, Value>>,
    /// The offset of the next page.
    next_offset: u64,
    /// The last event whose messages are complete, the next value for `after`.
    last_seq: u64,
}

pub fn board_dialect_schema(_: &mut SchemaGenerator) -> Schema {
    dialect_schema(DialectSurface::Board)
}

pub fn stream_dialect_schema(_: &mut SchemaGenerator) -> Schema {
    dialect_schema(DialectSurface::Stream)
}

pub fn dialect_schema(surface: DialectSurface) -> Schema {
    let names: Vec<_> = DIALECTS.iter().map(|dialect| json!(dialect.name)).collect();
    json_schema!({ "type": "string", "enum": names, "default": default_dialect(surface).name })
}

/// Returns the named dialect, or the default of a surface.
pub fn choose_dialect(name: Option<&str>, surface: DialectSurface) -> Result<&'static Dialect, Problem> {
    let Some(name) = name else { return Ok(default_dialect(surface)) };
    find_dialect(name).ok_or_else(|| {
        let names: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        Problem::bad_request("unknown_dialect", format!("dialect: unknown dialect `{name}`"))
            .with_hint(format!("known dialects: {}", names.join(", ")))
    })
}

async fn list_events(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<EventsParams>,
) -> Result<Response, Problem> {
    let dialect = choose_dialect(query.dialect.as_deref(), DialectSurface::Board)?;
    let (messages, wait) = (query.message_query()?, query.wait()?);
    Ok(page_response(&service.read_page(&id, dialect, messages, wait).await?))
}

impl EventsParams {
    fn message_query(&self) -> Result<MessageQuery, Problem> {
        let limit = self.limit.unwrap_or(100);
        if !(1..=10_000).contains(&limit) {
            return Err(Problem::bad_field("limit", "must be a number from 1 to 10000"));
        }
        let (offset, after) = (self.offset.unwrap_or(0), self.after);
        if offset > MAX_EXACT_INTEGER || after.is_some_and(|after| after > MAX_EXACT_INTEGER) {
            let field = if offset > MAX_EXACT_INTEGER { "offset" } else { "after" };
            return Err(Problem::bad_field(field, "must be at most 2^53"));
        }
        Ok(MessageQuery { offset, after, limit: usize::try_from(limit).unwrap_or(usize::MAX) })
    }

    fn wait(&self) -> Result<Duration, Problem> {
        let seconds = self.wait.unwrap_or(0.0);
        let wait = Duration::try_from_secs_f64(seconds).ok().filter(|wait| *wait <= Duration::from_secs(60));
        wait.ok_or_else(|| Problem::bad_field("wait", "must be a number of seconds from 0 to 60"))
    }
}

fn page_response(page: &MessagePage) -> Response {
    let size: usize = page.messages.iter().map(|message| message.len() + 1).sum();
    let mut json = Vec::with_capacity(size + 64);
    json.extend_from_slice(b"{\"events\":[");
    for (index, message) in page.messages.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        json.extend_from_slice(message);
    }
    json.extend_from_slice(format!("],\"nextOffset\":{},\"lastSeq\":{}}}", page.next_offset, page.last_seq).as_bytes());
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}

#[derive(Clone, Copy, Debug)]
struct MessageQuery {
    /// The first message, counted from 0.
    pub offset: u64,
    /// Only messages of events after this one.
    pub after: Option<u64>,
    /// The maximum number of messages.
    pub limit: usize,
}

#[derive(Debug, Default)]
struct MessagePage {
    pub messages: Vec<Bytes>,
    pub next_offset: u64,
    /// The last event whose messages are complete on this page or before.
    pub last_seq: u64,
    bytes: usize,
    /// The event whose messages are not complete yet.
    incomplete: Option<u64>,
}

impl MessagePage {
    /// Adds messages. Returns whether more fit.
    fn add(&mut self, part: &MessageSlice, wanted: &MessageQuery) -> bool {
        let numbered = (part.first_offset()..).zip(part.messages());
        for (offset, message) in numbered.filter(|(offset, _)| *offset >= wanted.offset) {
            let is_full = self.bytes + message.json.len() > MAX_PAGE_BYTES && self.bytes > 0;
            // A reader that counts events cannot continue within one.
            let is_within_event = wanted.after.is_some() && self.incomplete == Some(message.seq);
            if (is_full || self.messages.len() >= wanted.limit) && !is_within_event {
                return false;
            }
            self.bytes += message.json.len();
            self.messages.push(message.json.clone());
            self.next_offset = offset + 1;
            self.incomplete = (!message.is_last).then_some(message.seq);
            self.last_seq = if message.is_last { message.seq } else { message.seq - 1 };
        }
        // Events without messages in this dialect are done, too.
        self.last_seq = part.last_seq();
        self.messages.len() < wanted.limit
    }
}

impl Service {
    /// Returns a page of messages. While the session is open and there are none, waits for some.
    async fn read_page(
        &self,
        session: &str,
        dialect: &'static Dialect,
        wanted: MessageQuery,
        wait: Duration,
    ) -> Result<MessagePage, Problem> {
        let deadline = Instant::now() + wait;
        let start = wanted.after.map_or(FeedStart::AfterMessages(wanted.offset), FeedStart::AfterEvent);
        let mut reader = self.open_reader(session, dialect, start).await?;
        let mut page = MessagePage { last_seq: wanted.after.unwrap_or(0), ..MessagePage::default() };
        loop {
            let more = match reader.step().await? {
                TailRead::Events(part) => page.add(&part, &wanted),
                TailRead::Ended => false,
                TailRead::CaughtUp if !page.messages.is_empty() => false,
                TailRead::CaughtUp => tokio::select! {
                    next = timeout_at(deadline, reader.next()) => match next {
                        Ok(Ok(Some(part))) => page.add(&part, &wanted),
                        Ok(Ok(None)) | Err(_) => false,
                        Ok(Err(error)) => return Err(error.into()),
                    },
                    () = self.drain().wait_until_begun() => false,
                },
            };
            if !more {
                if page.messages.is_empty() {
                    page.next_offset = reader.count().max(wanted.offset);
                    page.last_seq = page.last_seq.max(reader.seen());
                }
                return Ok(page);
            }
        }
    }
}
