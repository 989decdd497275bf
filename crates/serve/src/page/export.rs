//! A session as a file, for other people and programs: text to read, a page of its own, or its events. Secrets are taken
//! out, as far as they can be told.

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use switchboard_agents::find_agent;
use switchboard_event::Event;
use switchboard_logs::export::{Redactor, TranscriptDocument, format_minute, html, markdown};
use switchboard_store::{EventRow, PageQuery, SessionLog, SessionRecord, StoreError};

use super::parts::file;
use crate::{
    Problem, Service,
    input::{Path, Query},
};

/// So much is read at once.
const PAGE: PageQuery = PageQuery { after: 0, limit: 2048, max_bytes: 2 << 20, kinds: &[] };

/// In which form.
#[derive(Debug, Default, Deserialize)]
pub struct ExportQuery {
    format: Option<String>,
}

/// A session as a file.
pub async fn export(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let stored = service.stored(&id).await?;
    let name = |extension: &str| format!("session-{}.{extension}", name_of(&stored));
    match query.format.as_deref().unwrap_or("markdown") {
        "jsonl" => Ok(file(events(&service, stored.clone()), &name("jsonl"), "application/x-ndjson; charset=utf-8")),
        "markdown" => {
            let name = name("md");
            let page = page(&service, stored, markdown::render_markdown).await?;
            Ok(file(page, &name, "text/markdown; charset=utf-8"))
        }
        "html" => {
            let name = name("html");
            let page = page(&service, stored, html::render_html).await?;
            Ok(file(page, &name, "text/html; charset=utf-8"))
        }
        _ => Err(Problem::bad_field("format", "one of markdown, html, jsonl")),
    }
}

/// The beginning of its id, as far as it can stand in the name of a file.
fn name_of(stored: &SessionRecord) -> String {
    stored.id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(36).collect()
}

/// The session as a story, written down.
async fn page(
    service: &Service,
    stored: SessionRecord,
    write: fn(&TranscriptDocument, &jiff::tz::TimeZone) -> String,
) -> Result<String, Problem> {
    let zone = service.setup().zone.clone();
    let story = service.ask(move |log| story(log, &stored, &zone).map(|story| (story, zone)));
    let (mut story, zone) = story.await?;
    let redactor = Redactor::new()?;
    let written = tokio::task::spawn_blocking(move || {
        story.redact(&redactor);
        write(&story, &zone)
    });
    written.await.map_err(|_| Problem::conflict("unreadable", "the session could not be written"))
}

fn story(
    log: &dyn SessionLog,
    stored: &SessionRecord,
    zone: &jiff::tz::TimeZone,
) -> Result<TranscriptDocument, StoreError> {
    let (mut after, mut failed, mut damaged) = (0, None, Vec::new());
    let pages = std::iter::from_fn(|| match log.read_sound_rows(&stored.id, PageQuery { after, ..PAGE }) {
        Ok((rows, passed_over)) => {
            damaged.extend(passed_over.iter().map(u64::to_string));
            after = rows.last()?.seq;
            Some(rows)
        }
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    let story = TranscriptDocument::from_events(pages.flatten().filter_map(|row| Event::from_json(&row.json).ok()));
    if let Some(error) = failed {
        return Err(error);
    }
    let who = find_agent(&stored.agent).map_or(stored.agent.to_string(), |agent| agent.title.to_owned());
    let mut about = vec![
        ("session", stored.id.to_string()),
        ("agent", who),
        ("project", stored.cwd.clone()),
        ("began", format_minute(stored.created, zone)),
        ("updated", format_minute(stored.updated, zone)),
        ("turns", stored.turns.to_string()),
    ];
    if !damaged.is_empty() {
        about.push(("damaged", format!("left out, their checksums do not match: {}", damaged.join(", "))));
    }
    let named = stored.title.as_deref().unwrap_or(&stored.prompt).trim().lines().next().unwrap_or_default();
    Ok(TranscriptDocument { title: named.chars().take(120).collect(), about, ..story })
}

/// The events, page by page, as they are but for secrets.
fn events(service: &Service, stored: SessionRecord) -> Body {
    let redactor = std::sync::Arc::new(Redactor::new().ok());
    let pages = stream::unfold((service.clone(), stored, 0), move |(service, stored, after)| {
        let redactor = redactor.clone();
        async move {
            let id = stored.id.clone();
            let rows = service.ask(move |log| log.read_sound_rows(&id, PageQuery { after, ..PAGE })).await;
            let (rows, damaged) = match rows {
                Ok(rows) => rows,
                Err(problem) => {
                    return Some((
                        Err(std::io::Error::other(problem.detail.into_string())),
                        (service, stored, u64::MAX),
                    ));
                }
            };
            let last = rows.last().map(|row| row.seq).or_else(|| damaged.last().copied())?;
            let written = tokio::task::spawn_blocking(move || lines(&rows, &damaged, (*redactor).as_ref())).await;
            Some((Ok(written.unwrap_or_default()), (service, stored, last)))
        }
    });
    Body::from_stream(pages)
}

/// The events, a line each, behind a line for each that is damaged and left out.
fn lines(rows: &[EventRow], damaged: &[u64], redactor: Option<&Redactor>) -> Bytes {
    let mut out: String = damaged.iter().map(|seq| format!("{{\"damagedEvent\":{seq}}}\n")).collect();
    for row in rows {
        match redactor {
            Some(redactor) => out.push_str(&redactor.redact_json(&row.json)),
            None => out.push_str(&row.json),
        }
        out.push('\n');
    }
    out.into()
}
