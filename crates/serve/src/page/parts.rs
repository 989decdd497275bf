//! Parts of one entry: its events as they are, all its text, its images. The same for sessions and for transcripts.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use switchboard_engine::{Follower, TailRead};
use switchboard_event::{self as event, Delta, Details, Event, EventBody, Field, Item};
use switchboard_page::{
    body::{picture, whole},
    sheet::{EntryKind, EntryRecord, GrowthFormat},
};
use switchboard_store::StoreError;

use super::session_timeline::SessionTimeline;
use crate::{
    Problem, Service,
    api::answer,
    input::{Path, Query},
};

/// The maximum number of events read, and of bytes returned, for one answer.
const MAX_EVENTS_READ: usize = 20_000;
const MAX_RAW_BYTES: usize = 4 << 20;

/// The maximum size of a text.
const MAX_TEXT_BYTES: usize = 64 << 20;

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
    fn add(&mut self, follower: &Follower, event: &Event, json: &str) {
        self.events.insert(event.seq, json.to_owned());
        if let Some(cause) = event.cause.filter(|cause| !self.events.contains_key(cause))
            && let Some(event) = follower.read_event(cause)
            && let Ok(json) = serde_json::to_string(&event)
        {
            self.events.insert(cause, json);
        }
    }

    fn bytes(&self) -> usize {
        self.events.values().map(String::len).sum()
    }
}

/// The events of an entry, as they are.
///
/// # Errors
/// If they cannot be read.
pub fn raw(timeline: &SessionTimeline, n: u32, after: Option<u64>) -> Result<Option<Raw>, StoreError> {
    let Some(line) = timeline.line(n)? else { return Ok(None) };
    let (mut raw, mut read) = (Raw::default(), 0);
    let after = after.unwrap_or(0).max(line.first.saturating_sub(1));
    let mut follower = timeline.events.follow(after)?;
    let others = follower.clone();
    while follower.position() < line.last
        && let TailRead::Events(slice) = follower.read_sound()?
    {
        slice.for_each_with_json(|event, json| {
            if raw.next.is_some() || event.seq > line.last {
                return;
            }
            read += 1;
            if belongs(&line, event) {
                raw.add(&others, event, json);
            }
            let is_full = read >= MAX_EVENTS_READ || raw.bytes() > MAX_RAW_BYTES;
            raw.next = (is_full && event.seq < line.last).then_some(event.seq);
        })?;
        if raw.next.is_some() {
            break;
        }
    }
    Ok(Some(raw))
}

/// Returns whether an event is one of an entry.
fn belongs(line: &EntryRecord, event: &Event) -> bool {
    if event.seq == line.first || Some(event.seq) == line.done || event.seq == line.base {
        return true;
    }
    match line.kind {
        EntryKind::Turn | EntryKind::Session | EntryKind::Request => false,
        EntryKind::Notice => line.quiet && matches!(event.body, EventBody::Notice(_)),
        _ => event.item.as_ref() == Some(&line.id),
    }
}

/// All the text of an entry.
///
/// # Errors
/// If its events cannot be read.
pub fn text(timeline: &SessionTimeline, n: u32) -> Result<Option<String>, StoreError> {
    let Some(line) = timeline.line(n)? else { return Ok(None) };
    let follower = timeline.events.follow(line.first.saturating_sub(1))?;
    let Some(event) = follower.read_event(line.done.unwrap_or(line.base)) else { return Ok(None) };
    Ok(Some(match &event.body {
        EventBody::ItemCompleted(item) if is_cut(item) => join_deltas(follower, &line, item)?,
        EventBody::ItemCompleted(item) => whole(item),
        EventBody::ItemStarted(item) | EventBody::ItemDelta(Delta::Set { patch: item }) => {
            join_deltas(follower, &line, item)?
        }
        EventBody::Notice(notice) => notice.text.clone().unwrap_or_default(),
        EventBody::TurnStarted(turn) => turn.prompt.clone().unwrap_or_default(),
        EventBody::TurnCompleted(turn) => turn.result.clone().unwrap_or_default(),
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

/// Returns all text that was added to an item; what the item has, if none was.
fn join_deltas(follower: Follower, line: &EntryRecord, item: &Item) -> Result<String, StoreError> {
    let mut text = String::new();
    let mut follower = follower.with_kinds(&[event::Kind::ItemDelta]);
    while follower.position() < line.last
        && text.len() < MAX_TEXT_BYTES
        && let TailRead::Events(slice) = follower.read_sound()?
    {
        slice.for_each_of_items(
            |item| *item == *line.id,
            |event| match &event.body {
                EventBody::ItemDelta(Delta::Append { field, text: more, .. })
                    if event.seq <= line.last
                        && event.item.as_ref() == Some(&line.id)
                        && *field != Field::Summary
                        && GrowthFormat::of(line.kind, *field).is_some() =>
                {
                    text.push_str(more);
                }
                _ => {}
            },
        )?;
    }
    Ok(if text.is_empty() { whole(item) } else { text })
}

/// An image: its media type and its bytes.
pub type Image = (&'static str, Vec<u8>);

/// The k-th image of an event.
///
/// # Errors
/// If the event cannot be read.
pub fn image(timeline: &SessionTimeline, seq: u64, k: usize) -> Result<Option<Image>, StoreError> {
    let Some(event) = timeline.events.follow(0)?.read_event(seq) else { return Ok(None) };
    let (EventBody::ItemStarted(item)
    | EventBody::ItemCompleted(item)
    | EventBody::ItemDelta(Delta::Set { patch: item })) = &event.body
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
    let raw = service.with_timeline(&id, move |timeline| raw(timeline, n, query.after)).await?;
    Ok(answer(raw.ok_or_else(no_entry)?.json()))
}

/// All the text of an entry of a session.
pub async fn of_session_text(
    State(service): State<Service>,
    Path((id, n)): Path<(String, u32)>,
) -> Result<Response, Problem> {
    let text = service.with_timeline(&id, move |timeline| text(timeline, n)).await?;
    Ok(file(text.ok_or_else(no_entry)?, &format!("entry-{n}.txt"), "text/plain; charset=utf-8"))
}

/// An image of a session.
pub async fn of_session_image(
    State(service): State<Service>,
    Path((id, seq, k)): Path<(String, u64, usize)>,
) -> Result<Response, Problem> {
    shown(service.with_timeline(&id, move |timeline| image(timeline, seq, k)).await?)
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
