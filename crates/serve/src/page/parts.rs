//! Parts of one entry: its events as they are, all its text, its images. The same for sessions and for transcripts.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use switchboard_event::{Body, Delta, Details, Event, Field, Item};
use switchboard_page::{
    body::{picture, whole},
    sheet::{Kind, Line, Way},
};
use switchboard_store::{Page, StoreError};

use super::{
    desk::Desk,
    source::{Events, row},
};
use crate::{
    Problem, Service,
    api::answer,
    input::{Path, Query},
};

/// So much is read at once.
const PAGE: Page = Page { after: 0, limit: 2048, max_bytes: 2 << 20 };

/// So much is looked at, and given, in one answer.
const MOST_LOOKED_AT: usize = 20_000;
const MOST_BYTES: usize = 4 << 20;

/// A text has at most so many bytes.
const MOST_TEXT: usize = 64 << 20;

/// Events that are given as they are, and where to go on.
#[derive(Default)]
pub struct Raw {
    events: BTreeMap<u64, String>,
    next: Option<u64>,
}

impl Raw {
    /// As it is answered.
    pub fn json(self) -> Vec<u8> {
        let events: Vec<String> = self.events.into_values().collect();
        let next = self.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
        format!("{{\"events\":[{}],\"next\":{next}}}", events.join(",")).into_bytes()
    }

    /// Adds an event, and the one that has the record which caused it.
    fn add(&mut self, events: &dyn Events, seq: u64, json: String) -> Result<(), StoreError> {
        let cause = json.rsplit_once(r#","cause":"#).and_then(|(_, rest)| rest.strip_suffix('}')?.parse().ok());
        self.events.insert(seq, json);
        if let Some(cause) = cause.filter(|cause| !self.events.contains_key(cause))
            && let Some(row) = row(events, cause)?
        {
            self.events.insert(cause, row.json);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.events.values().map(String::len).sum()
    }
}

/// The events of an entry, as they are.
///
/// # Errors
/// If they cannot be read.
pub fn raw(desk: &Desk, n: u32, after: Option<u64>) -> Result<Option<Raw>, StoreError> {
    let Some(line) = desk.line(n)? else { return Ok(None) };
    let (events, mut raw, needle) = (&*desk.events, Raw::default(), naming(&line));
    let mut after = after.unwrap_or(0).max(line.first.saturating_sub(1));
    let mut looked = 0;
    while after < line.last {
        let rows = events.rows(Page { after, ..PAGE })?;
        if rows.is_empty() {
            break;
        }
        looked += rows.len();
        for row in rows.into_iter().take_while(|row| row.seq <= line.last) {
            after = row.seq;
            if belongs(&line, &needle, row.seq, &row.json) {
                raw.add(events, row.seq, row.json)?;
            }
            if raw.bytes() > MOST_BYTES {
                break;
            }
        }
        if after < line.last && (looked >= MOST_LOOKED_AT || raw.bytes() > MOST_BYTES) {
            raw.next = Some(after);
            break;
        }
    }
    Ok(Some(raw))
}

/// What every event has in it that is about the item of an entry.
fn naming(line: &Line) -> String {
    format!(r#","item":{},"#, switchboard_event::raw_string(&line.id))
}

/// An event is one of an entry.
fn belongs(line: &Line, needle: &str, seq: u64, json: &str) -> bool {
    if seq == line.first || Some(seq) == line.done || seq == line.base {
        return true;
    }
    match line.kind {
        Kind::Turn | Kind::Session | Kind::Request => false,
        Kind::Notice => line.quiet && json.contains(r#","kind":"notice","#),
        _ => json.contains(needle),
    }
}

/// All the text of an entry.
///
/// # Errors
/// If its events cannot be read.
pub fn text(desk: &Desk, n: u32) -> Result<Option<String>, StoreError> {
    let Some(line) = desk.line(n)? else { return Ok(None) };
    let events = &*desk.events;
    let Some(event) = one(events, line.done.unwrap_or(line.base))? else { return Ok(None) };
    Ok(Some(match &event.body {
        Body::ItemCompleted(item) if is_cut(item) => all_deltas(events, &line, item)?,
        Body::ItemCompleted(item) => whole(item),
        Body::ItemStarted(item) | Body::ItemDelta(Delta::Set { patch: item }) => all_deltas(events, &line, item)?,
        Body::Notice(notice) => notice.text.clone().unwrap_or_default(),
        Body::TurnStarted(turn) => turn.prompt.clone().unwrap_or_default(),
        Body::TurnCompleted(turn) => turn.result.clone().unwrap_or_default(),
        body => serde_json::to_string_pretty(body).unwrap_or_default(),
    }))
}

/// The item has less than was said.
fn is_cut(item: &Item) -> bool {
    match &item.details {
        Details::AgentMessage(message) => message.truncated,
        Details::Reasoning(reasoning) => reasoning.truncated,
        Details::Command(command) => command.truncated,
        _ => false,
    }
}

/// What was added to an item, all of it; what the item has, if nothing was.
fn all_deltas(events: &dyn Events, line: &Line, item: &Item) -> Result<String, StoreError> {
    let (mut text, mut after) = (String::new(), line.first.saturating_sub(1));
    let named = naming(line);
    while after < line.last && text.len() < MOST_TEXT {
        let rows = events.rows(Page { after, ..PAGE })?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        for row in rows.iter().filter(|row| row.seq <= line.last && row.json.contains(&named)) {
            if let Ok(Event { body: Body::ItemDelta(Delta::Append { field, text: more, .. }), .. }) =
                Event::from_json(&row.json)
                && Way::of(line.kind, field).is_some()
                && field != Field::Summary
            {
                text.push_str(&more);
            }
        }
    }
    Ok(if text.is_empty() { whole(item) } else { text })
}

fn one(events: &dyn Events, seq: u64) -> Result<Option<Event>, StoreError> {
    Ok(row(events, seq)?.and_then(|row| Event::from_json(&row.json).ok()))
}

/// An image: its media type and its bytes.
pub type Image = (&'static str, Vec<u8>);

/// The k-th image of an event.
///
/// # Errors
/// If the event cannot be read.
pub fn image(desk: &Desk, seq: u64, k: usize) -> Result<Option<Image>, StoreError> {
    let Some(event) = one(&*desk.events, seq)? else { return Ok(None) };
    let (Body::ItemStarted(item) | Body::ItemCompleted(item) | Body::ItemDelta(Delta::Set { patch: item })) =
        &event.body
    else {
        return Ok(None);
    };
    let image = picture(item, k).and_then(|content| {
        // Only what a browser takes for an image and for nothing else.
        let media_type = match content.media_type.as_deref()? {
            "image/png" => "image/png",
            "image/jpeg" => "image/jpeg",
            "image/gif" => "image/gif",
            "image/webp" => "image/webp",
            _ => return None,
        };
        Some((media_type, STANDARD.decode(content.data.as_deref()?).ok()?))
    });
    Ok(image)
}

/// Where to go on.
#[derive(Debug, Default, Deserialize)]
pub struct RawQuery {
    /// What `next` was.
    pub after: Option<u64>,
}

/// The events of an entry of a session.
pub async fn of_session_raw(
    State(service): State<Service>,
    Path((id, n)): Path<(String, u32)>,
    Query(query): Query<RawQuery>,
) -> Result<Response, Problem> {
    let raw = service.at_desk(&id, move |desk| raw(desk, n, query.after)).await?;
    Ok(answer(raw.ok_or_else(no_entry)?.json()))
}

/// All the text of an entry of a session.
pub async fn of_session_text(
    State(service): State<Service>,
    Path((id, n)): Path<(String, u32)>,
) -> Result<Response, Problem> {
    let text = service.at_desk(&id, move |desk| text(desk, n)).await?;
    Ok(file(text.ok_or_else(no_entry)?, &format!("entry-{n}.txt"), "text/plain; charset=utf-8"))
}

/// An image of a session.
pub async fn of_session_image(
    State(service): State<Service>,
    Path((id, seq, k)): Path<(String, u64, usize)>,
) -> Result<Response, Problem> {
    shown(service.at_desk(&id, move |desk| image(desk, seq, k)).await?)
}

/// There is no such entry.
pub fn no_entry() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "the session has no such entry")
}

/// An image as it is answered.
///
/// # Errors
/// If there is none.
pub fn shown(image: Option<Image>) -> Result<Response, Problem> {
    let none = || Problem::new(StatusCode::NOT_FOUND, "not_found", "the event has no such image");
    let (media_type, bytes) = image.ok_or_else(none)?;
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "private, max-age=86400")];
    Ok((headers, bytes).into_response())
}

/// Something to keep.
pub fn file(content: impl Into<axum::body::Body>, name: &str, media_type: &'static str) -> Response {
    let mut response = Response::new(content.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(named) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, named);
    }
    response
}
