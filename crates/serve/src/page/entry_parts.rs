//! Parts of an entry: its raw events, its full text and its images. Shared by sessions and transcripts.

use std::collections::BTreeMap;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use switchboard_engine::{Follower, TailRead};
use switchboard_event as event;
use switchboard_event::{Delta, Details, Event, EventBody, Field, Item};
use switchboard_page::body::{picture, whole};
use switchboard_page::timeline::{EntryKind, EntryRecord, GrowthFormat};
use switchboard_store::StoreError;

use super::session_timeline::SessionTimeline;
use crate::{
    Problem, Service,
    api::json_response,
    extract::{PathParams, QueryParams},
};

/// The maximum number of events read, and of bytes returned, for one response.
const MAX_EVENTS_READ: usize = 20_000;
const MAX_RAW_BYTES: usize = 4 << 20;

const MAX_TEXT_BYTES: usize = 64 << 20;

/// Events as they are, and where to continue.
#[derive(Default)]
pub struct RawEvents {
    events: BTreeMap<u64, String>,
    next: Option<u64>,
}

impl RawEvents {
    pub fn json(self) -> Vec<u8> {
        let events: Vec<String> = self.events.into_values().collect();
        let next = self.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
        format!("{{\"events\":[{}],\"next\":{next}}}", events.join(",")).into_bytes()
    }

    /// Adds an event, and the one with the native record that caused it.
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

/// Returns the events of an entry.
pub fn read_raw_events(
    timeline: &SessionTimeline,
    n: u32,
    after: Option<u64>,
) -> Result<Option<RawEvents>, StoreError> {
    let Some(line) = timeline.line(n)? else { return Ok(None) };
    let (mut raw, mut read) = (RawEvents::default(), 0);
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
            if belongs_to_entry(&line, event) {
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

fn belongs_to_entry(line: &EntryRecord, event: &Event) -> bool {
    if event.seq == line.first || Some(event.seq) == line.done || event.seq == line.base {
        return true;
    }
    match line.kind {
        EntryKind::Turn | EntryKind::Session | EntryKind::Request => false,
        EntryKind::Notice => line.quiet && matches!(event.body, EventBody::Notice(_)),
        _ => event.item.as_ref() == Some(&line.id),
    }
}

/// Returns the full text of an entry.
pub fn read_full_text(timeline: &SessionTimeline, n: u32) -> Result<Option<String>, StoreError> {
    let Some(line) = timeline.line(n)? else { return Ok(None) };
    let follower = timeline.events.follow(line.first.saturating_sub(1))?;
    let Some(event) = follower.read_event(line.done.unwrap_or(line.base)) else { return Ok(None) };
    Ok(Some(match &event.body {
        EventBody::ItemCompleted(item) if is_truncated(item) => join_deltas(follower, &line, item)?,
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

/// Returns whether the item has less text than was reported.
fn is_truncated(item: &Item) -> bool {
    match &item.details {
        Details::AgentMessage(message) => message.truncated,
        Details::Reasoning(reasoning) => reasoning.truncated,
        Details::Command(command) => command.truncated,
        _ => false,
    }
}

/// Returns all text that was added to an item, or the item's own text if there is none.
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
type DecodedImage = (&'static str, Vec<u8>);

/// Returns an image of an event.
pub fn read_image(timeline: &SessionTimeline, seq: u64, k: usize) -> Result<Option<DecodedImage>, StoreError> {
    let Some(event) = timeline.events.follow(0)?.read_event(seq) else { return Ok(None) };
    let (EventBody::ItemStarted(item)
    | EventBody::ItemCompleted(item)
    | EventBody::ItemDelta(Delta::Set { patch: item })) = &event.body
    else {
        return Ok(None);
    };
    let image = picture(item, k).and_then(|content| {
        // Only types that browsers treat as images.
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

#[derive(Debug, Default, Deserialize)]
pub struct RawEventsParams {
    /// The `next` of a previous response.
    pub after: Option<u64>,
}

pub async fn session_raw_events(
    State(service): State<Service>,
    PathParams((id, n)): PathParams<(String, u32)>,
    QueryParams(query): QueryParams<RawEventsParams>,
) -> Result<Response, Problem> {
    let raw = service.with_timeline(&id, move |timeline| read_raw_events(timeline, n, query.after)).await?;
    Ok(json_response(raw.ok_or_else(entry_not_found)?.json()))
}

pub async fn session_entry_text(
    State(service): State<Service>,
    PathParams((id, n)): PathParams<(String, u32)>,
) -> Result<Response, Problem> {
    let text = service.with_timeline(&id, move |timeline| read_full_text(timeline, n)).await?;
    Ok(download_response(text.ok_or_else(entry_not_found)?, &format!("entry-{n}.txt"), "text/plain; charset=utf-8"))
}

pub async fn session_image(
    State(service): State<Service>,
    PathParams((id, seq, k)): PathParams<(String, u64, usize)>,
) -> Result<Response, Problem> {
    image_response(service.with_timeline(&id, move |timeline| read_image(timeline, seq, k)).await?)
}

pub fn entry_not_found() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "the session has no such entry")
}

pub fn image_response(image: Option<DecodedImage>) -> Result<Response, Problem> {
    let none = || Problem::new(StatusCode::NOT_FOUND, "not_found", "the event has no such image");
    let (media_type, bytes) = image.ok_or_else(none)?;
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "private, max-age=86400")];
    Ok((headers, bytes).into_response())
}

pub fn download_response(content: impl Into<axum::body::Body>, name: &str, media_type: &'static str) -> Response {
    let mut response = Response::new(content.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(named) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, named);
    }
    response
}
