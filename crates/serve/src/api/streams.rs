//! Sessions as they happen: server-sent events, WebSockets, and one task from its start to its end.

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
    events::{board_dialect_schema, choose_dialect, stream_dialect_schema},
    operation::{Operation, OperationMethod, ResponseContent, SuccessResponse, schema_of},
};
use crate::{
    Problem, Service,
    consumers::{JoinParams, JoinedConsumer, serve},
    extract::{JsonBody, PathParams, QueryParams},
    feed::{FeedStart, SessionReader},
    guard::Caller,
    harness::{self, HarnessOptions},
    requests::{RunRequest, optional_agent_name_schema},
    sse, ws,
};

pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/sessions/{id}/stream",
        name: "streamSession",
        summary: "Follow a session as server-sent events",
        description: "The history, then new messages; ends when the session has ended and all is sent. The ID \
                      of a message is the `seq` of its event, on the last message of the event: a client that reconnects \
                      with `Last-Event-ID` gets each later message exactly once.",
        query: Some(schema_of::<StreamParams>),
        responses: &[SuccessResponse { status: 200, meaning: "The stream.", content: ResponseContent::Events }],
        refusals: &[404],
        handler: |method| on(method, stream_session),
        ..Operation::NEW
    },
    Operation {
        path: "/ws/sessions/{id}",
        name: "connectSession",
        summary: "Follow and control a session over WebSocket",
        description: "The history, then new messages; closes when the session has ended and all is sent. A \
                      client may send `{\"type\":\"prompt\",\"prompt\":…}`, `{\"type\":\"interrupt\"}`, \
                      `{\"type\":\"cancel\"}`, `{\"type\":\"approval\",\"id\":…,\"decision\":…}` and \
                      `{\"type\":\"ping\"}`; each gets a `reply` or a `pong`.",
        query: Some(schema_of::<SocketParams>),
        responses: &[SuccessResponse {
            status: 101,
            meaning: "The connection was upgraded to a WebSocket.",
            content: ResponseContent::Nothing,
        }],
        refusals: &[404, 426],
        handler: |method| on(method, connect_session),
        ..Operation::NEW
    },
    Operation {
        path: "/ws/harness",
        name: "connectHarness",
        summary: "Run threads and turns over WebSocket, in the harness protocol",
        description: "JSON-RPC without `jsonrpc`, one message per frame: `initialize`, `thread/start`, `turn/start`, \
                      approvals as requests to the client, and so on, with any number of concurrent threads. Sessions \
                      survive the connection until they have been idle for too long.",
        query: Some(schema_of::<HarnessParams>),
        responses: &[SuccessResponse {
            status: 101,
            meaning: "The connection was upgraded to a WebSocket.",
            content: ResponseContent::Nothing,
        }],
        refusals: &[426],
        handler: |method| on(method, connect_harness),
        ..Operation::NEW
    },
    Operation {
        method: OperationMethod::Post,
        path: "/api/run",
        name: "run",
        summary: "Run one task and stream its messages as server-sent events",
        description: "This operation cannot ask for approval: requests of the agent are declined at once, which the \
                      stream reports. The last message is the end of the session, exactly once. Disconnecting ends the session.",
        body: Some(schema_of::<RunRequest>),
        responses: &[SuccessResponse { status: 200, meaning: "The stream.", content: ResponseContent::Events }],
        refusals: &[404, 409, 507],
        handler: |method| on(method, run_task),
        ..Operation::NEW
    },
];

/// How to follow a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct StreamParams {
    /// The dialect of the messages.
    #[schemars(schema_with = "stream_dialect_schema")]
    dialect: Option<String>,
    /// Only messages of events after this `seq`.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// The first message, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    offset: Option<u64>,
}

/// How to follow a session over WebSocket. Only its schema is used: it differs in the default dialect.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
struct SocketParams {
    /// The dialect of the messages.
    #[schemars(schema_with = "board_dialect_schema")]
    dialect: Option<String>,
    /// Only messages of events after this `seq`.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// The first message, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    offset: Option<u64>,
}

/// How to connect to the harness.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct HarnessParams {
    /// The agent of threads that name none.
    #[schemars(schema_with = "optional_agent_name_schema")]
    agent: Option<String>,
}

impl StreamParams {
    fn feed_start(&self, last_seen: Option<u64>) -> Result<FeedStart, Problem> {
        match (last_seen, self.after, self.offset) {
            // A browser reconnects to the original URL and adds the last ID it has seen.
            (Some(seq), _, _) => Ok(FeedStart::AfterEvent(seq)),
            (None, Some(_), Some(_)) => Err(Problem::bad_field("offset", "cannot be combined with `after`")),
            (None, Some(seq), None) => Ok(FeedStart::AfterEvent(seq)),
            (None, None, offset) => Ok(FeedStart::AfterMessages(offset.unwrap_or(0))),
        }
    }
}

async fn stream_session(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<StreamParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let dialect = choose_dialect(query.dialect.as_deref(), DialectSurface::Stream)?;
    let start = query.feed_start(last_event_id(&headers)?)?;
    let reader = service.open_reader(&id, dialect, start).await?;
    let open = service.metrics().count_stream("sse", dialect.name);
    Ok(sse::stream_messages(reader, service.drain().clone(), open))
}

/// Returns the event that a client saw last. An empty header means none.
pub fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(id) = headers.get("last-event-id").filter(|id| !id.is_empty()) else { return Ok(None) };
    let seq = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    seq.map(Some).ok_or_else(|| Problem::bad_field("Last-Event-ID", "must be an ID of this stream"))
}

async fn connect_session(
    State(service): State<Service>,
    PathParams(session): PathParams<String>,
    QueryParams(query): QueryParams<StreamParams>,
    caller: Option<Extension<Caller>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let dialect = choose_dialect(query.dialect.as_deref(), DialectSurface::Board)?;
    let start = query.feed_start(None)?;
    let reader: SessionReader = service.open_reader(&session, dialect, start).await?;
    let open = service.metrics().count_stream("websocket", dialect.name);
    let client = ws::SocketClient { service: service.clone(), session, caller: caller.map(|Extension(caller)| caller) };
    let drain = service.drain().clone();
    let upgrade = upgrade.map_err(|rejection| upgrade_required(&rejection))?;
    Ok(ws::limit_memory(upgrade).on_upgrade(move |socket| async move {
        ws::serve_session(socket, reader, client, drain).await;
        drop(open);
    }))
}

async fn connect_harness(
    State(service): State<Service>,
    QueryParams(query): QueryParams<HarnessParams>,
    caller: Option<Extension<Caller>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let unknown = |name: &str| Problem::bad_field("agent", &format!("unknown agent `{name}`"));
    let agent = query.agent.as_deref().map(|name| find_agent(name).ok_or_else(|| unknown(name))).transpose()?;
    let open = service.metrics().count_stream("websocket", default_dialect(DialectSurface::Harness).name);
    let caller = caller.map(|Extension(caller)| caller);
    let upgrade = upgrade.map_err(|rejection| upgrade_required(&rejection))?;
    Ok(ws::limit_memory(upgrade).on_upgrade(move |socket| async move {
        harness::serve(socket, service, HarnessOptions { agent, caller, ..HarnessOptions::default() }).await;
        drop(open);
    }))
}

fn upgrade_required(rejection: &WebSocketUpgradeRejection) -> Problem {
    Problem::new(StatusCode::UPGRADE_REQUIRED, "not_websocket", rejection.body_text().to_lowercase())
        .with_hint("connect with a WebSocket client")
}

async fn run_task(
    State(service): State<Service>,
    JsonBody(request): JsonBody<RunRequest>,
) -> Result<Response, Problem> {
    let dialect = default_dialect(DialectSurface::Gateway);
    let (session, cancel_on_drop) = service.run(request).await?;
    let reader = service.open_reader(session.id(), dialect, FeedStart::AfterEvent(session.start_seq())).await?;
    let open = service.metrics().count_stream("run", dialect.name);
    let mut response = sse::stream_messages(reader, service.drain().clone(), (open, cancel_on_drop));
    if let Ok(id) = session.id().parse() {
        response.headers_mut().insert("x-session-id", id);
    }
    Ok(response)
}

pub const CONSUMER_OPERATIONS: &[Operation] = &[Operation {
    path: "/ws/consumers/{id}",
    name: "consumeSession",
    summary: "Follow and control a session together with others, over WebSocket",
    description: "The state of the session, the connected consumers, the history, then new messages, also of later runs; \
                  each message of the session has a `seq`, and `after` continues after it. docs/consumers.md describes the \
                  messages in both directions, and `switchboard schema` has their schemas.",
    query: Some(schema_of::<JoinParams>),
    responses: &[SuccessResponse {
        status: 101,
        meaning: "The connection was upgraded to a WebSocket.",
        content: ResponseContent::Nothing,
    }],
    refusals: &[404, 409, 426],
    handler: |method| on(method, connect_consumer),
    ..Operation::NEW
}];

async fn connect_consumer(
    State(service): State<Service>,
    PathParams(session): PathParams<String>,
    QueryParams(invitation): QueryParams<JoinParams>,
    caller: Option<Extension<Caller>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    service.session_record(&session).await?;
    let upgrade = upgrade.map_err(|rejection| upgrade_required(&rejection))?;
    let guest = JoinedConsumer::join(&service, &session, &invitation, caller.map(|Extension(caller)| caller)).await?;
    let open = service.metrics().count_stream("consumers", default_dialect(DialectSurface::Consumers).name);
    let drain = service.drain().clone();
    Ok(ws::limit_memory(upgrade).on_upgrade(move |socket| async move {
        serve(socket, guest, drain).await;
        drop(open);
    }))
}
