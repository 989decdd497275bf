//! The session logs that agents left on this machine: listing, reading and searching them, and the usage recorded in
//! them.

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
    routing::on,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_agents::PassageKind;
use switchboard_dialects::DialectSurface;
use switchboard_event::Timestamp;
use switchboard_logs::{
    HitView, LogFilter, LogSearchQuery, LogSession, SearchWords, SessionView,
    usage::{Usage, UsageGrouping, UsageOrder, UsageQuestion, usage_csv},
};

use super::{
    events::{choose_dialect, dialect_schema},
    operation::{Operation, ResponseContent, SuccessResponse, schema_of},
};
use crate::{
    Problem, Service,
    extract::{PathParams, QueryParams},
    logs::{self, LogSelection, parse_limit},
};

pub const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/logs",
        name: "listLogs",
        summary: "List the session logs of all agents on this machine, newest first",
        description: "Includes sessions that Switchboard did not run. The index is updated in the background; while it is \
                      built for the first time, the response may be 503 `indexing` with `Retry-After`.",
        query: Some(schema_of::<LogListParams>),
        responses: &[SuccessResponse {
            status: 200,
            meaning: "A page of sessions.",
            content: ResponseContent::Json(schema_of::<LogList<'_>>),
        }],
        handler: |method| on(method, list_logs),
        ..Operation::NEW
    },
    Operation {
        path: "/api/logs/{id}",
        name: "getLog",
        summary: "Get a session log",
        description: "By the agent's own ID, a prefix of it, Switchboard's ID, or `last`.",
        responses: &[SuccessResponse {
            status: 200,
            meaning: "The session.",
            content: ResponseContent::Json(schema_of::<SessionView<'_>>),
        }],
        refusals: &[404, 409],
        handler: |method| on(method, get_log),
        ..Operation::NEW
    },
    Operation {
        path: "/api/logs/{id}/events",
        name: "listLogEvents",
        summary: "List the messages of a session log",
        description: "In any dialect, with its subagents. If the agent has deleted the log, returns the text that the index kept.",
        query: Some(schema_of::<LogEventsParams>),
        responses: &[SuccessResponse {
            status: 200,
            meaning: "A page of messages.",
            content: ResponseContent::Json(schema_of::<LogEvents>),
        }],
        refusals: &[404, 409],
        handler: |method| on(method, list_log_events),
        ..Operation::NEW
    },
];

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct LogListParams {
    #[serde(flatten)]
    selection: LogSelection,
    /// Only sessions with this text in the title or the first prompt, ignoring case.
    text: Option<String>,
    /// The maximum number of sessions.
    #[schemars(range(min = 1, max = 500), extend("default" = 50))]
    limit: Option<u32>,
    /// The value of `next` of the previous page.
    before: Option<String>,
}

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
struct LogList<'a> {
    /// The sessions, newest first.
    sessions: Vec<SessionView<'a>>,
    /// The value of `before` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Which messages to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct LogEventsParams {
    /// The dialect of the messages.
    #[schemars(schema_with = "log_dialect_schema")]
    dialect: Option<String>,
    /// The first message, counted from 0.
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64), extend("default" = 0))]
    offset: Option<u64>,
    /// The maximum number of messages.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 100))]
    limit: Option<u32>,
}

/// A page of messages. Only its schema is used: the response is written around messages that are JSON already.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LogEvents {
    /// The messages, in the requested dialect.
    events: Vec<Map<String, Value>>,
    /// The offset of the next page; `null` on the last page.
    next_offset: Option<u64>,
    /// The agent has deleted the log; these messages are made of what the index kept.
    kept: bool,
}

fn log_dialect_schema(_: &mut SchemaGenerator) -> Schema {
    dialect_schema(DialectSurface::Log)
}

async fn list_logs(
    State(service): State<Service>,
    QueryParams(query): QueryParams<LogListParams>,
) -> Result<Response, Problem> {
    let limit = parse_limit(query.limit, 50, 500)?;
    let filter = query.selection.filter(&service)?;
    let before = query.before.as_deref().map(parse_cursor).transpose()?;
    let json = service
        .logs()
        .query(move |library| {
            let mut sessions = library.list_sessions(&filter)?;
            if let Some(text) = query.text.as_deref().map(str::to_lowercase) {
                sessions.retain(|session| has_text(session, &text));
            }
            sessions.sort_by_key(|session| std::cmp::Reverse(list_position(session)));
            if let Some(before) = before {
                sessions.retain(|session| list_position(session) < before);
            }
            let next = sessions.get(limit).and(sessions.get(limit - 1)).map(|last| write_cursor(&list_position(last)));
            sessions.truncate(limit);
            Ok(to_json(&LogList { sessions: sessions.iter().map(SessionView::from).collect(), next }))
        })
        .await?;
    Ok(json_response(json))
}

fn has_text(session: &LogSession, text: &str) -> bool {
    let texts = [&session.facts.title, &session.facts.prompt];
    texts.into_iter().flatten().any(|given| given.to_lowercase().contains(text))
}

/// The position of a session in the list: when it was last updated, then its agent and ID.
type ListPosition = (i64, String, String);

fn list_position(session: &LogSession) -> ListPosition {
    let updated = session.facts.updated.map_or(0, Timestamp::as_micros);
    (updated, session.agent.clone(), session.id.clone())
}

fn write_cursor((updated, agent, id): &ListPosition) -> String {
    format!("{updated}.{agent}.{id}")
}

fn parse_cursor(text: &str) -> Result<ListPosition, Problem> {
    let mut parts = text.splitn(3, '.');
    let mut part = || parts.next().map(str::to_owned);
    let place = part().and_then(|updated| updated.parse().ok()).zip(part().zip(part()));
    let (updated, (agent, id)) =
        place.ok_or_else(|| Problem::bad_field("before", "must be the `next` of a previous page"))?;
    Ok((updated, agent, id))
}

async fn get_log(State(service): State<Service>, PathParams(id): PathParams<String>) -> Result<Response, Problem> {
    let json =
        service.logs().query(move |library| Ok(to_json(&SessionView::from(&library.find_session(&id)?)))).await?;
    Ok(json_response(json))
}

async fn list_log_events(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<LogEventsParams>,
) -> Result<Response, Problem> {
    let dialect = choose_dialect(query.dialect.as_deref(), DialectSurface::Log)?;
    let limit = parse_limit(query.limit, 100, 10_000)?;
    let offset = query.offset.unwrap_or(0);
    let page = service
        .logs()
        .query(move |library| logs::read_transcript_page(library, &library.find_session(&id)?, dialect, offset, limit))
        .await?;
    let mut json = b"{\"events\":[".to_vec();
    json.extend(page.messages.join(&b','));
    let next = page.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
    json.extend_from_slice(format!("],\"nextOffset\":{next},\"kept\":{}}}", page.is_kept).as_bytes());
    Ok(json_response(json))
}

pub(super) fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

pub fn json_response(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}

pub const SEARCH_OPERATIONS: &[Operation] = &[Operation {
    path: "/api/search",
    name: "searchLogs",
    summary: "Search the text of all session logs",
    description: "Words, `\"phrases\"` and `prefix*`; a passage must contain all of them, ignoring case. Best hits first.",
    query: Some(schema_of::<SearchParams>),
    responses: &[SuccessResponse {
        status: 200,
        meaning: "The hits.",
        content: ResponseContent::Json(schema_of::<SearchHits<'_>>),
    }],
    refusals: &[409],
    handler: |method| on(method, search_logs),
    ..Operation::NEW
}];

/// What to search for, and where.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchParams {
    /// The words.
    #[schemars(length(min = 1, max = 10_000))]
    q: String,
    /// Whether `q` is a regular expression.
    regex: Option<bool>,
    /// Only passages of these kinds, separated by commas: `user_message`, `assistant_message`, `tool_call`, ….
    kind: Option<String>,
    #[serde(flatten)]
    selection: LogSelection,
    /// Only this session, by its ID or a prefix of it.
    session: Option<String>,
    /// The maximum number of hits.
    #[schemars(range(min = 1, max = 500), extend("default" = 20))]
    limit: Option<u32>,
}

/// The result of a search.
#[derive(Serialize, JsonSchema)]
struct SearchHits<'a> {
    /// The best hits, best first.
    hits: Vec<HitView<'a>>,
    /// Whether there are more.
    more: bool,
}

async fn search_logs(
    State(service): State<Service>,
    QueryParams(query): QueryParams<SearchParams>,
) -> Result<Response, Problem> {
    let wanted = query.wanted(&service)?;
    let json = service
        .logs()
        .query(move |library| {
            let mut wanted = wanted;
            if let Some(given) = wanted.filter.session.take() {
                wanted.filter.session = Some(library.find_session(&given)?.id);
            }
            let found = library.search(&wanted)?;
            Ok(to_json(&SearchHits { hits: found.hits.iter().map(HitView::from).collect(), more: found.more }))
        })
        .await?;
    Ok(json_response(json))
}

impl SearchParams {
    fn wanted(&self, service: &Service) -> Result<LogSearchQuery, Problem> {
        if self.q.trim().is_empty() || self.q.chars().count() > 10_000 {
            return Err(Problem::bad_field("q", "must have 1 to 10000 characters"));
        }
        let session = self.session.clone().filter(|given| !given.is_empty());
        let words = if self.regex == Some(true) { SearchWords::Regex } else { SearchWords::Plain };
        Ok(LogSearchQuery {
            words: words(self.q.clone()),
            kinds: parse_kinds(self.kind.as_deref())?,
            filter: LogFilter { session, ..self.selection.filter(service)? },
            limit: parse_limit(self.limit, 20, 500)?,
        })
    }
}

fn parse_kinds(names: Option<&str>) -> Result<Vec<PassageKind>, Problem> {
    let names = names.into_iter().flat_map(|names| names.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let kind = |name: &str| PassageKind::ALL.into_iter().find(|kind| kind.wire_name() == name);
    let known = || PassageKind::ALL.map(PassageKind::wire_name).join(", ");
    let bad = |name: &str| Problem::bad_field("kind", &format!("unknown kind `{name}`; known kinds: {}", known()));
    names.map(|name| kind(name).ok_or_else(|| bad(name))).collect()
}

pub const USAGE_OPERATIONS: &[Operation] = &[Operation {
    path: "/api/usage",
    name: "getUsage",
    summary: "Report the tokens and cost of all agents, counting each reply once",
    description: "Grouped by day, week, month, session, project, model, agent, tool, subagent, or five-hour block.",
    query: Some(schema_of::<UsageParams>),
    responses: &[SuccessResponse {
        status: 200,
        meaning: "The usage.",
        content: ResponseContent::JsonOr(schema_of::<Usage>, CSV_MEDIA_TYPE),
    }],
    refusals: &[404, 409],
    handler: |method| on(method, get_usage),
    ..Operation::NEW
}];

/// What to report, and how.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct UsageParams {
    /// Group usage by.
    #[schemars(schema_with = "grouping_schema")]
    by: Option<String>,
    /// The order of the rows; by default chronological, or the most expensive first.
    #[schemars(schema_with = "order_schema")]
    order: Option<String>,
    /// Whether each row is broken down by model.
    breakdown: Option<bool>,
    /// `json` (default), or `csv`: a table of the rows, with a breakdown one row per model.
    #[schemars(schema_with = "format_schema")]
    format: Option<String>,
    #[serde(flatten)]
    selection: LogSelection,
    /// Only this session, by its ID or a prefix of it.
    session: Option<String>,
    /// The maximum number of rows; the total always covers all.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 1_000))]
    limit: Option<u32>,
}

fn grouping_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = UsageGrouping::ALL.iter().map(|by| by.as_str()).collect();
    json_schema!({ "type": "string", "enum": names, "default": UsageGrouping::Day.as_str() })
}

const CSV_MEDIA_TYPE: &str = "text/csv; charset=utf-8";

fn format_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["json", "csv"], "default": "json" })
}

fn order_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = UsageOrder::ALL.iter().map(|order| order.as_str()).collect();
    json_schema!({ "type": "string", "enum": names })
}

async fn get_usage(
    State(service): State<Service>,
    QueryParams(query): QueryParams<UsageParams>,
) -> Result<Response, Problem> {
    let (zone, now) = (query.selection.time_zone(&service)?, service.now());
    let bad = |field: &str, known: String| Problem::bad_field(field, &format!("must be one of {known}"));
    let by = query.by.as_deref().map_or(Ok(UsageGrouping::Day), str::parse);
    let by = by.map_err(|()| bad("by", UsageGrouping::ALL.map(UsageGrouping::as_str).join(", ")))?;
    let order = query.order.as_deref().map(str::parse::<UsageOrder>).transpose();
    let order = order.map_err(|_| bad("order", UsageOrder::ALL.map(UsageOrder::as_str).join(", ")))?;
    let limit = parse_limit(query.limit, 1_000, 10_000)?;
    let (wanted, session) = (query.selection.filter(&service)?, query.session);
    let breakdown = query.breakdown == Some(true);
    let as_table = match query.format.as_deref() {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(bad("format", "json, csv".to_owned())),
    };
    let report = service
        .logs()
        .query(move |library| {
            let session =
                session.filter(|given| !given.is_empty()).map(|given| library.find_session(&given)).transpose()?;
            let filter = LogFilter { session: session.map(|session| session.id), ..wanted };
            let prices = library.load_prices()?;
            let question = UsageQuestion { by, zone: &zone, now, prices: &prices, breakdown };
            let mut used = library.usage_report(&filter, &question)?;
            if let Some(order) = order {
                order.sort_rows(&mut used.rows);
            }
            used.rows.truncate(limit);
            Ok(if as_table { usage_csv(&used.rows, by, breakdown).into_bytes() } else { to_json(&used) })
        })
        .await?;
    Ok(if as_table { csv_response(report) } else { json_response(report) })
}

fn csv_response(csv: Vec<u8>) -> Response {
    let headers =
        [(header::CONTENT_TYPE, CSV_MEDIA_TYPE), (header::CONTENT_DISPOSITION, "attachment; filename=\"usage.csv\"")];
    (headers, csv).into_response()
}
