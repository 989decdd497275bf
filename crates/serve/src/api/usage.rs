//! What agents used, and what it cost.

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
    routing::on,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use switchboard_logs::{
    LogFilter,
    usage::{Usage, UsageGrouping, UsageOrder, UsageQuestion, usage_csv},
};

use super::{
    logs::{answer, json},
    operation::{Answer, Content, Operation, schema},
};
use crate::{
    Problem, Service,
    input::Query,
    logs::{Which, count},
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[Operation {
    path: "/api/usage",
    name: "getUsage",
    summary: "Tokens and cost of all agents, each reply counted once",
    description: "Put together by day, week, month, session, project, model, agent, tool, subagent, or five-hour block.",
    query: Some(schema::<UsageQuery>),
    answers: &[Answer { status: 200, meaning: "What was used.", content: Content::JsonOr(schema::<Usage>, CSV) }],
    refusals: &[404, 409],
    handler: |method| on(method, used),
    ..Operation::NEW
}];

/// What to put together, and how.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct UsageQuery {
    /// What replies are put together by.
    #[schemars(schema_with = "by_name")]
    by: Option<String>,
    /// What rows are sorted by; else along time, or the most expensive first.
    #[schemars(schema_with = "order_name")]
    order: Option<String>,
    /// Each row also says what each model used.
    breakdown: Option<bool>,
    /// `json` unless said, or `csv`: a table of the rows, with a breakdown one of each row's models.
    #[schemars(schema_with = "format_name")]
    format: Option<String>,
    #[serde(flatten)]
    which: Which,
    /// Of this session alone, by its id or the beginning of it.
    session: Option<String>,
    /// So many rows at most; the total is always that of all.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 1_000))]
    limit: Option<u32>,
}

fn by_name(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = UsageGrouping::ALL.iter().map(|by| by.as_str()).collect();
    json_schema!({ "type": "string", "enum": names, "default": UsageGrouping::Day.as_str() })
}

/// The media type of a table.
const CSV: &str = "text/csv; charset=utf-8";

fn format_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["json", "csv"], "default": "json" })
}

fn order_name(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = UsageOrder::ALL.iter().map(|order| order.as_str()).collect();
    json_schema!({ "type": "string", "enum": names })
}

async fn used(State(service): State<Service>, Query(query): Query<UsageQuery>) -> Result<Response, Problem> {
    let (zone, now) = (query.which.zone(&service)?, service.now());
    let bad = |field: &str, known: String| Problem::bad_field(field, &format!("one of {known}"));
    let by = query.by.as_deref().map_or(Ok(UsageGrouping::Day), str::parse);
    let by = by.map_err(|()| bad("by", UsageGrouping::ALL.map(UsageGrouping::as_str).join(", ")))?;
    let order = query.order.as_deref().map(str::parse::<UsageOrder>).transpose();
    let order = order.map_err(|_| bad("order", UsageOrder::ALL.map(UsageOrder::as_str).join(", ")))?;
    let limit = count(query.limit, 1_000, 10_000)?;
    let (wanted, session) = (query.which.filter(&service)?, query.session);
    let breakdown = query.breakdown == Some(true);
    let as_table = match query.format.as_deref() {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(bad("format", "json, csv".to_owned())),
    };
    let written = service
        .logs()
        .ask(move |library| {
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
            Ok(if as_table { usage_csv(&used.rows, by, breakdown).into_bytes() } else { json(&used) })
        })
        .await?;
    Ok(if as_table { table(written) } else { answer(written) })
}

/// A table, as a file.
fn table(csv: Vec<u8>) -> Response {
    let headers = [(header::CONTENT_TYPE, CSV), (header::CONTENT_DISPOSITION, "attachment; filename=\"usage.csv\"")];
    (headers, csv).into_response()
}
