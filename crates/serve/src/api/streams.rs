//! Sessions as they happen: server-sent events, WebSocket, and one run from a task to its end.

use axum::{
    Extension,
    extract::{
        State,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::on,
};
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_agents::find_agent;
use switchboard_dialects::{DialectSurface, default_dialect};

use super::{
    events::{board_dialect, chosen, stream_dialect},
    operation::{Answer, Content, Method, Operation, schema},
};
use crate::{
    Problem, Service,
    feed::{Begin, Reader},
    guard::Caller,
    harness::{self, Purpose},
    input::{Json, Path, Query},
    order::{RunRequest, agent_name},
    sse, ws,
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/sessions/{id}/stream",
        name: "streamSession",
        summary: "Follow a session as server-sent events",
        description: "What has happened, then what happens; ends when the session has ended and all is sent. The id \
                      of a message is the `seq` of its event, on the last message of the event: a client that comes \
                      back with `Last-Event-ID` gets each later message exactly once.",
        query: Some(schema::<StreamQuery>),
        answers: &[Answer { status: 200, meaning: "The stream.", content: Content::Events }],
        refusals: &[404],
        handler: |method| on(method, stream),
        ..Operation::NEW
    },
    Operation {
        path: "/ws/sessions/{id}",
        name: "connectSession",
        summary: "Follow and steer a session over WebSocket",
        description: "What has happened, then what happens; closes when the session has ended and all is sent. A \
                      client may send `{\"type\":\"prompt\",\"prompt\":…}`, `{\"type\":\"interrupt\"}`, \
                      `{\"type\":\"cancel\"}`, `{\"type\":\"approval\",\"id\":…,\"decision\":…}` and \
                      `{\"type\":\"ping\"}`; each gets a `reply` or a `pong`.",
        query: Some(schema::<SocketQuery>),
        answers: &[Answer { status: 101, meaning: "The connection is a WebSocket now.", content: Content::Nothing }],
        refusals: &[404, 426],
        handler: |method| on(method, connect),
        ..Operation::NEW
    },
    Operation {
        path: "/ws/harness",
        name: "connectHarness",
        summary: "Run threads and turns over WebSocket, in the harness protocol",
        description: "JSON-RPC without `jsonrpc`, a message a frame: `initialize`, `thread/start`, `turn/start`, \
                      approvals as requests to the client, and so on, with any number of threads at once. The client \
                      going decides nothing: its sessions go on, until they are unused for too long.",
        query: Some(schema::<HarnessQuery>),
        answers: &[Answer { status: 101, meaning: "The connection is a WebSocket now.", content: Content::Nothing }],
        refusals: &[426],
        handler: |method| on(method, connect_harness),
        ..Operation::NEW
    },
    Operation {
        method: Method::Post,
        path: "/api/run",
        name: "run",
        summary: "Run one task, and stream what happens as server-sent events",
        description: "Nobody can be asked on this wire: what must be asked is declined at once, and the stream says \
                      so. The last event is the end of the session, exactly once. Who hangs up ends the session.",
        body: Some(schema::<RunRequest>),
        answers: &[Answer { status: 200, meaning: "The stream.", content: Content::Events }],
        refusals: &[404, 409, 507],
        handler: |method| on(method, run),
        ..Operation::NEW
    },
];

/// How to follow a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct StreamQuery {
    /// The dialect of the messages.
    #[schemars(schema_with = "stream_dialect")]
    dialect: Option<String>,
    /// Only of events behind this `seq`.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// From this message on, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    offset: Option<u64>,
}

/// How to follow a session over WebSocket. Only for its schema: it differs in the dialect that is usual.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
struct SocketQuery {
    /// The dialect of the messages.
    #[schemars(schema_with = "board_dialect")]
    dialect: Option<String>,
    /// Only of events behind this `seq`.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// From this message on, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    offset: Option<u64>,
}

/// How to connect to the harness.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct HarnessQuery {
    /// The agent of threads that name none.
    #[schemars(schema_with = "agent_name")]
    agent: Option<String>,
}

impl StreamQuery {
    fn begin(&self, last_seen: Option<u64>) -> Result<Begin, Problem> {
        match (last_seen, self.after, self.offset) {
            // A browser that comes back asks at the same address as the first time, and says what it has seen.
            (Some(seq), _, _) => Ok(Begin::Event(seq)),
            (None, Some(_), Some(_)) => Err(Problem::bad_field("offset", "cannot be combined with `after`")),
            (None, Some(seq), None) => Ok(Begin::Event(seq)),
            (None, None, offset) => Ok(Begin::Message(offset.unwrap_or(0))),
        }
    }
}

async fn stream(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let dialect = chosen(query.dialect.as_deref(), DialectSurface::Stream)?;
    let begin = query.begin(last_event_id(&headers)?)?;
    let reader = service.read(&id, dialect, begin).await?;
    let open = service.metrics().stream("sse", dialect.name);
    Ok(sse::stream(reader, service.drain().clone(), open))
}

/// What a client says that it saw last. One that is empty saw nothing.
///
/// # Errors
/// If it is no number.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(id) = headers.get("last-event-id").filter(|id| !id.is_empty()) else { return Ok(None) };
    let seq = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    seq.map(Some).ok_or_else(|| Problem::bad_field("Last-Event-ID", "a number that this stream has given"))
}

async fn connect(
    State(service): State<Service>,
    Path(session): Path<String>,
    Query(query): Query<StreamQuery>,
    caller: Option<Extension<Caller>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let dialect = chosen(query.dialect.as_deref(), DialectSurface::Board)?;
    let begin = query.begin(None)?;
    let reader: Reader = service.read(&session, dialect, begin).await?;
    let open = service.metrics().stream("websocket", dialect.name);
    let client = ws::Client { service: service.clone(), session, caller: caller.map(|Extension(caller)| caller) };
    let drain = service.drain().clone();
    let upgrade = upgrade.map_err(|rejection| not_a_websocket(&rejection))?;
    Ok(ws::sized(upgrade).on_upgrade(move |socket| async move {
        ws::serve(socket, reader, client, drain).await;
        drop(open);
    }))
}

async fn connect_harness(
    State(service): State<Service>,
    Query(query): Query<HarnessQuery>,
    caller: Option<Extension<Caller>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let unknown = |name: &str| Problem::bad_field("agent", &format!("there is no agent `{name}`"));
    let agent = query.agent.as_deref().map(|name| find_agent(name).ok_or_else(|| unknown(name))).transpose()?;
    let open = service.metrics().stream("websocket", default_dialect(DialectSurface::Harness).name);
    let caller = caller.map(|Extension(caller)| caller);
    let upgrade = upgrade.map_err(|rejection| not_a_websocket(&rejection))?;
    Ok(ws::sized(upgrade).on_upgrade(move |socket| async move {
        harness::serve(socket, service, Purpose { agent, caller, ..Purpose::default() }).await;
        drop(open);
    }))
}

/// Whoever asks is no WebSocket client.
pub(super) fn not_a_websocket(rejection: &WebSocketUpgradeRejection) -> Problem {
    Problem::new(StatusCode::UPGRADE_REQUIRED, "not_websocket", rejection.body_text().to_lowercase())
        .with_hint("connect to this address with a WebSocket client")
}

async fn run(State(service): State<Service>, Json(request): Json<RunRequest>) -> Result<Response, Problem> {
    let dialect = default_dialect(DialectSurface::Gateway);
    let (session, ends_with_reader) = service.run(request).await?;
    let reader = service.read(session.id(), dialect, Begin::Event(session.start_seq())).await?;
    let open = service.metrics().stream("run", dialect.name);
    let mut response = sse::stream(reader, service.drain().clone(), (open, ends_with_reader));
    if let Ok(id) = session.id().parse() {
        response.headers_mut().insert("x-session-id", id);
    }
    Ok(response)
}
