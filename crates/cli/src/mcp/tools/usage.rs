//! `usage`: what agents used, and what it cost.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_logs::usage::{UsageGrouping, UsageQuestion};

use super::{Looking, Reply, Said, bad, count, given, schema};
use crate::{failure::Failure, host, mcp::archive::Archive};

/// The tool.
pub const TOOL: Looking = Looking {
    name: "usage",
    title: "Tokens and cost",
    description: "Tokens and cost of all coding agents on this machine, each model reply counted once, put together by day, \
                  week, month, session, project, model, agent, tool, subagent or five-hour block. `inputTokens` are without \
                  those of the cache, `outputTokens` with reasoning. Rows along time come oldest first, others the most \
                  expensive first; `total` is always that of all rows.",
    schema: schema::<Wanted>,
    call: used,
};

/// What to put together.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Wanted {
    /// What replies are put together by.
    #[schemars(schema_with = "by_names")]
    by: Option<String>,
    /// Only in this session, by its id or the beginning of it.
    session: Option<String>,
    /// Only in folders whose path has this text in it, such as the name of a repository.
    project: Option<String>,
    /// Only of this agent.
    agent: Option<String>,
    /// Only with models whose name has this text in it.
    model: Option<String>,
    /// Only from this time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Only up to this time; a day is in it as a whole.
    until: Option<String>,
    /// The time zone of days and times, such as `Europe/Berlin`, `UTC` or `+02:00`; the system's if not given.
    timezone: Option<String>,
    /// So many rows at most; along time, the last ones.
    #[schemars(range(min = 1, max = 200), extend("default" = 31))]
    limit: Option<u32>,
}

fn by_names(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": UsageGrouping::ALL.map(UsageGrouping::as_str), "default": UsageGrouping::Day.as_str() })
}

fn used(archive: &Archive, value: Value) -> Result<Reply, Failure> {
    let wanted: Wanted = given(value)?;
    let said = Said {
        agent: wanted.agent.as_deref(),
        project: wanted.project.as_deref(),
        model: wanted.model.as_deref(),
        since: wanted.since.as_deref(),
        until: wanted.until.as_deref(),
        timezone: wanted.timezone.as_deref(),
    };
    let by = wanted.by.as_deref().map_or(Ok(UsageGrouping::Day), str::parse);
    let by: UsageGrouping =
        by.map_err(|()| bad("by", format!("one of {}", UsageGrouping::ALL.map(UsageGrouping::as_str).join(", "))))?;
    let (mut filter, zone, limit) = (said.filter()?, said.zone()?, count(wanted.limit, 31, 200));
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
        Ok(Reply::Json(json!({
            "by": by.as_str(),
            "rows": used.rows,
            "rowsLeftOut": left_out,
            "total": used.total,
            "unpriced": used.unpriced,
            "pricesOf": used.prices_of,
        })))
    })
}
