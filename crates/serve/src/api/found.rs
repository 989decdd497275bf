//! Searching what was said and done, in the logs of all agents.

use axum::{extract::State, response::Response, routing::on};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_agents::PassageKind;
use switchboard_logs::{HitView, LogFilter, LogSearchQuery, SearchWords};

use super::{
    logs::{answer, json},
    operation::{Answer, Content, Operation, schema},
};
use crate::{
    Problem, Service,
    input::Query,
    logs::{self, Which},
};

/// The operations of this group.
pub const OPERATIONS: &[Operation] = &[Operation {
    path: "/api/search",
    name: "searchLogs",
    summary: "Search what was said and done in all sessions",
    description: "Words, `\"phrases\"` and `beginn*`; all must be in a passage, whatever their case. The best come first.",
    query: Some(schema::<SearchQuery>),
    answers: &[Answer { status: 200, meaning: "What was found.", content: Content::Json(schema::<SearchHits<'_>>) }],
    refusals: &[409],
    handler: |method| on(method, search),
    ..Operation::NEW
}];

/// What to search for, and where.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchQuery {
    /// The words.
    #[schemars(length(min = 1, max = 10_000))]
    q: String,
    /// `q` is a regular expression.
    regex: Option<bool>,
    /// Only in passages of these kinds, separated by commas: `user_message`, `assistant_message`, `tool_call`, ….
    kind: Option<String>,
    #[serde(flatten)]
    which: Which,
    /// Of this session alone, by its id or the beginning of it.
    session: Option<String>,
    /// So many at most.
    #[schemars(range(min = 1, max = 500), extend("default" = 20))]
    limit: Option<u32>,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
struct SearchHits<'a> {
    /// The best of them, best first.
    hits: Vec<HitView<'a>>,
    /// There are more.
    more: bool,
}

async fn search(State(service): State<Service>, Query(query): Query<SearchQuery>) -> Result<Response, Problem> {
    let wanted = query.wanted(&service)?;
    let json = service
        .logs()
        .ask(move |library| {
            let mut wanted = wanted;
            if let Some(given) = wanted.filter.session.take() {
                wanted.filter.session = Some(library.find_session(&given)?.id);
            }
            let found = library.search(&wanted)?;
            Ok(json(&SearchHits { hits: found.hits.iter().map(HitView::from).collect(), more: found.more }))
        })
        .await?;
    Ok(answer(json))
}

impl SearchQuery {
    fn wanted(&self, service: &Service) -> Result<LogSearchQuery, Problem> {
        if self.q.trim().is_empty() || self.q.chars().count() > 10_000 {
            return Err(Problem::bad_field("q", "1 to 10000 characters to search for"));
        }
        let session = self.session.clone().filter(|given| !given.is_empty());
        let words = if self.regex == Some(true) { SearchWords::Regex } else { SearchWords::Plain };
        Ok(LogSearchQuery {
            words: words(self.q.clone()),
            kinds: kinds(self.kind.as_deref())?,
            filter: LogFilter { session, ..self.which.filter(service)? },
            limit: logs::count(self.limit, 20, 500)?,
        })
    }
}

fn kinds(said: Option<&str>) -> Result<Vec<PassageKind>, Problem> {
    let names = said.into_iter().flat_map(|said| said.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let kind = |name: &str| PassageKind::ALL.into_iter().find(|kind| kind.wire_name() == name);
    let known = || PassageKind::ALL.map(PassageKind::wire_name).join(", ");
    let bad = |name: &str| Problem::bad_field("kind", &format!("there is no kind `{name}`; known are {}", known()));
    names.map(|name| kind(name).ok_or_else(|| bad(name))).collect()
}
