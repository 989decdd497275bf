//! Exports of a session as a file: Markdown, HTML, or its events. Secrets are removed as far as they are recognized.

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use switchboard_agents::find_agent;
use switchboard_event::Event;
use switchboard_logs::export::{Redactor, TranscriptDocument, format_minute, html, markdown};
use switchboard_store::{EventRow, PageQuery, SessionLog, SessionRecord, StoreError};

use super::entry_parts::download_response;
use crate::{
    Problem, Service,
    extract::{PathParams, QueryParams},
};

/// How much is read at a time.
const EXPORT_PAGE: PageQuery = PageQuery { after: 0, limit: 2048, max_bytes: 2 << 20, kinds: &[] };

#[derive(Debug, Default, Deserialize)]
pub struct ExportParams {
    format: Option<String>,
}

pub async fn export_session(
    State(service): State<Service>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ExportParams>,
) -> Result<Response, Problem> {
    let stored = service.session_record(&id).await?;
    let name = |extension: &str| format!("session-{}.{extension}", file_stem(&stored));
    match query.format.as_deref().unwrap_or("markdown") {
        "jsonl" => Ok(download_response(
            stream_events(&service, stored.clone()),
            &name("jsonl"),
            "application/x-ndjson; charset=utf-8",
        )),
        "markdown" => {
            let name = name("md");
            let page = render_document(&service, stored, markdown::render_markdown).await?;
            Ok(download_response(page, &name, "text/markdown; charset=utf-8"))
        }
        "html" => {
            let name = name("html");
            let page = render_document(&service, stored, html::render_html).await?;
            Ok(download_response(page, &name, "text/html; charset=utf-8"))
        }
        _ => Err(Problem::bad_field("format", "must be one of markdown, html, jsonl")),
    }
}

/// Returns the session ID, reduced to characters that are safe in a file name.
fn file_stem(stored: &SessionRecord) -> String {
    stored.id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(36).collect()
}

async fn render_document(
    service: &Service,
    stored: SessionRecord,
    write: fn(&TranscriptDocument, &jiff::tz::TimeZone) -> String,
) -> Result<String, Problem> {
    let zone = service.config().time_zone.clone();
    let document = service.query_log(move |log| read_document(log, &stored, &zone).map(|document| (document, zone)));
    let (mut document, zone) = document.await?;
    let redactor = Redactor::new()?;
    let written = tokio::task::spawn_blocking(move || {
        document.redact(&redactor);
        write(&document, &zone)
    });
    written.await.map_err(|_| Problem::conflict("unreadable", "the session could not be written"))
}

fn read_document(
    log: &dyn SessionLog,
    stored: &SessionRecord,
    zone: &jiff::tz::TimeZone,
) -> Result<TranscriptDocument, StoreError> {
    let (mut after, mut failed, mut damaged) = (0, None, Vec::new());
    let pages = std::iter::from_fn(|| match log.read_sound_rows(&stored.id, PageQuery { after, ..EXPORT_PAGE }) {
        Ok((rows, skipped)) => {
            damaged.extend(skipped.iter().map(u64::to_string));
            after = rows.last()?.seq;
            Some(rows)
        }
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    let document = TranscriptDocument::from_events(pages.flatten().filter_map(|row| Event::from_json(&row.json).ok()));
    if let Some(error) = failed {
        return Err(error);
    }
    let agent = find_agent(&stored.agent).map_or(stored.agent.to_string(), |agent| agent.title.to_owned());
    let mut about = vec![
        ("session", stored.id.to_string()),
        ("agent", agent),
        ("project", stored.cwd.clone()),
        ("started", format_minute(stored.created, zone)),
        ("updated", format_minute(stored.updated, zone)),
        ("turns", stored.turns.to_string()),
    ];
    if !damaged.is_empty() {
        about.push(("damaged", format!("left out, checksums do not match: {}", damaged.join(", "))));
    }
    let named = stored.title.as_deref().unwrap_or(&stored.prompt).trim().lines().next().unwrap_or_default();
    Ok(TranscriptDocument { title: named.chars().take(120).collect(), about, ..document })
}

/// Streams the events without secrets, page by page.
fn stream_events(service: &Service, stored: SessionRecord) -> Body {
    let redactor = std::sync::Arc::new(Redactor::new().ok());
    let pages = stream::unfold((service.clone(), stored, 0), move |(service, stored, after)| {
        let redactor = redactor.clone();
        async move {
            let id = stored.id.clone();
            let rows = service.query_log(move |log| log.read_sound_rows(&id, PageQuery { after, ..EXPORT_PAGE })).await;
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
            let written = tokio::task::spawn_blocking(move || event_lines(&rows, &damaged, (*redactor).as_ref())).await;
            Some((Ok(written.unwrap_or_default()), (service, stored, last)))
        }
    });
    Body::from_stream(pages)
}

/// Writes one event per line, after a line for each damaged event that is left out.
fn event_lines(rows: &[EventRow], damaged: &[u64], redactor: Option<&Redactor>) -> Bytes {
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
