//! `usage`: tokens and cost.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_logs::usage::{UsageGrouping, UsageQuestion};

use super::{FilterArguments, LogTool, ToolReply, arguments_schema, clamp_limit, parse_arguments};
use crate::{failure::Failure, host, mcp::RefreshedLibrary};

pub const TOOL: LogTool = LogTool {
    name: "usage",
    title: "Tokens and cost",
    description: "Tokens and cost of all coding agents on this machine, each model reply counted once, grouped by day, \
                  week, month, session, project, model, agent, tool, subagent or five-hour block. `inputTokens` exclude \
                  cached tokens, `outputTokens` include reasoning. Rows by time come oldest first, others most \
                  expensive first; `total` covers all rows.",
    schema: arguments_schema::<UsageArguments>,
    call: report_usage,
};

/// What to add up.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Wanted")]
struct UsageArguments {
    /// Group usage by.
    #[schemars(schema_with = "grouping_schema")]
    by: Option<String>,
    /// Only this session: its ID or the beginning of it.
    session: Option<String>,
    /// Only in directories whose path contains this text, such as the name of a repository.
    project: Option<String>,
    /// Only sessions of this agent.
    agent: Option<String>,
    /// Only models whose name contains this text.
    model: Option<String>,
    /// Only from this time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Only up to this time; a day is included as a whole.
    until: Option<String>,
    /// Time zone of days and times, such as `Europe/Berlin`, `UTC` or `+02:00`; by default the system's.
    timezone: Option<String>,
    /// Maximum number of rows; of rows by time, the last ones.
    #[schemars(range(min = 1, max = 200), extend("default" = 31))]
    limit: Option<u32>,
}

fn grouping_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": UsageGrouping::ALL.map(UsageGrouping::as_str), "default": UsageGrouping::Day.as_str() })
}

fn report_usage(archive: &RefreshedLibrary, value: Value) -> Result<ToolReply, Failure> {
    let wanted: UsageArguments = parse_arguments(value)?;
    let said = FilterArguments {
        agent: wanted.agent.as_deref(),
        project: wanted.project.as_deref(),
        model: wanted.model.as_deref(),
        since: wanted.since.as_deref(),
        until: wanted.until.as_deref(),
        timezone: wanted.timezone.as_deref(),
    };
    let by = wanted.by.as_deref().map_or(Ok(UsageGrouping::Day), str::parse);
    let by: UsageGrouping = by.map_err(|()| {
        Failure::bad_value("by", format!("one of {}", UsageGrouping::ALL.map(UsageGrouping::as_str).join(", ")))
    })?;
    let (mut filter, zone, limit) = (said.filter()?, said.zone()?, clamp_limit(wanted.limit, 31, 200));
    archive.ask(|library| {
        if let Some(session) = &wanted.session {
            filter.session = Some(library.find_session(session)?.id);
        }
        let (now, prices) = (host::now(), library.load_prices()?);
        let question = UsageQuestion { by, zone: &zone, now, prices: &prices, breakdown: false };
        let mut used = library.usage_report(&filter, &question)?;
        let all = used.rows.len();
        if by.is_time_based() {
            used.rows.drain(..all.saturating_sub(limit));
        }
        used.rows.truncate(limit);
        let left_out = all - used.rows.len();
        Ok(ToolReply::Json(json!({
            "by": by.as_str(),
            "rows": used.rows,
            "rowsLeftOut": left_out,
            "total": used.total,
            "unpriced": used.unpriced,
            "pricesOf": used.prices_of,
        })))
    })
}
