//! Renders entries for the page from their records and events.

use switchboard_event::{
    Delta, Details, Event, EventBody as What, Item, Notice, RequestOpened, RequestResolved, TurnCompleted, UserMessage,
};

use super::{EntryKind, EntryRecord, EntryRequest, EntryStage, Timeline, TimelineEntry, items};
use crate::body::{self, EntryBody};
use crate::html::{element, join, line as text_line};

/// Access to the events of a session.
pub trait EventLookup {
    /// Returns an event, if it exists.
    fn event(&mut self, seq: u64) -> Option<Event>;

    /// Returns the path prefix of images; the `seq` of the event and the number of the image follow.
    fn media(&self) -> &str;
}

/// The maximum number of joined notices to read.
const MAX_JOINED_NOTICES: u64 = 40;

impl Timeline {
    /// Renders an entry; `None` if it does not exist or its events are gone.
    pub fn entry(&self, n: u32, source: &mut dyn EventLookup) -> Option<TimelineEntry> {
        let line = self.line(n)?;
        let mut entry = match line.kind {
            EntryKind::Turn => turn(line, source),
            EntryKind::Session => run(line, source),
            EntryKind::Request => request(line, source),
            EntryKind::Notice => notice(line, source),
            _ => self.item(n, line, source),
        }?;
        (entry.n, entry.depth, entry.parent) = (n, self.depth(n), line.parent);
        Some(entry)
    }

    fn item(&self, n: u32, line: &EntryRecord, source: &mut dyn EventLookup) -> Option<TimelineEntry> {
        let seq = line.done.unwrap_or(line.base);
        let event = source.event(seq)?;
        let media = source.media().to_owned();
        let address = |k: usize| Some(format!("{media}/{seq}/{k}"));
        let item = item_of(&event)?;
        let millis = item.duration_ms.or_else(|| line.done.map(|_| event.at.millis_since(line.at)));
        let millis = millis.filter(|_| line.kind != EntryKind::User);
        let Some(growth) = self.growth(n).filter(|_| line.done.is_none()) else {
            let item = self.near(item);
            return Some(TimelineEntry { ms: millis, ..put_together(line, body::item(&item, &address)) });
        };
        let mut entry = put_together(line, body::item(&items::without_growing(item), &address));
        entry.html = join(&[std::slice::from_ref(&entry.html), &growth.blocks].concat());
        (entry.tail, entry.live) = (Some(growth.tail.clone()), Some(growth.way.name()));
        (entry.more, entry.ms, entry.size) = (growth.cut, None, line.size);
        Some(entry)
    }

    /// Shortens the paths of files in the session's directory. Requests keep full paths, since the user approves them.
    fn near(&self, mut item: Item) -> Item {
        if let (Details::FileChange(change), Some(folder)) = (&mut item.details, self.summary.state.info.cwd.as_deref())
        {
            let paths = change.changes.iter_mut().flat_map(|change| [Some(&mut change.path), change.to.as_mut()]);
            for path in paths.flatten() {
                let inside = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
                if let Some(inside) = inside.filter(|inside| !inside.is_empty()).map(str::to_owned) {
                    *path = inside;
                }
            }
        }
        item
    }
}

/// Returns the item of an event; a prompt is a user message.
fn item_of(event: &Event) -> Option<Item> {
    match &event.body {
        What::ItemStarted(item) | What::ItemCompleted(item) => Some((**item).clone()),
        What::ItemDelta(Delta::Set { patch }) => Some((**patch).clone()),
        What::TurnStarted(turn) => Some(Item::new(UserMessage::text(turn.prompt.clone()?))),
        _ => None,
    }
}

fn put_together(line: &EntryRecord, body: EntryBody) -> TimelineEntry {
    TimelineEntry {
        n: 0,
        id: line.id.clone(),
        kind: line.kind.name(),
        status: line.stage.name(),
        depth: 0,
        parent: None,
        turn: line.turn,
        at: line.at,
        ms: None,
        title: body.title,
        label: body.label,
        html: body.html,
        tail: None,
        fold: body.fold || line.stage == EntryStage::Superseded,
        first: line.first,
        last: line.last,
        size: body.size.max(1),
        live: None,
        more: body.more,
        request: None,
    }
}

fn turn(line: &EntryRecord, source: &mut dyn EventLookup) -> Option<TimelineEntry> {
    let What::TurnStarted(started) = source.event(line.first)?.body else { return None };
    let ended = line.done.and_then(|done| source.event(done)).and_then(ended);
    let millis = ended.as_ref().and_then(|ended| ended.duration_ms);
    Some(TimelineEntry {
        ms: millis,
        ..put_together(line, body::turn(&started, ended.as_deref(), line.usage.as_deref()))
    })
}

fn ended(event: Event) -> Option<Box<TurnCompleted>> {
    match event.body {
        What::TurnCompleted(turn) => Some(turn),
        _ => None,
    }
}

fn run(line: &EntryRecord, source: &mut dyn EventLookup) -> Option<TimelineEntry> {
    let body = match source.event(line.first)?.body {
        What::SessionStarted(started) => body::began(&started),
        What::SessionEnded(ended) => body::ended(&ended),
        _ => return None,
    };
    Some(put_together(line, body))
}

fn request(line: &EntryRecord, source: &mut dyn EventLookup) -> Option<TimelineEntry> {
    let What::RequestOpened(opened) = source.event(line.first)?.body else { return None };
    let resolved = line.done.and_then(|done| source.event(done)).and_then(resolved);
    let body = body::request(&opened, resolved.as_deref());
    let request = entry_request(*opened, line.done.is_none());
    Some(TimelineEntry { request: Some(request), ..put_together(line, body) })
}

fn resolved(event: Event) -> Option<Box<RequestResolved>> {
    match event.body {
        What::RequestResolved(resolved) => Some(resolved),
        _ => None,
    }
}

fn entry_request(opened: RequestOpened, open: bool) -> EntryRequest {
    let RequestOpened { request, about, options, questions, requires_person, expires_at, decided, .. } = opened;
    EntryRequest { id: request, about, open: open && !decided, options, questions, requires_person, expires_at }
}

fn notice(line: &EntryRecord, source: &mut dyn EventLookup) -> Option<TimelineEntry> {
    let What::Notice(first) = source.event(line.first)?.body else { return None };
    if line.count < 2 {
        let entry = put_together(line, shown(&first));
        return Some(TimelineEntry { fold: entry.fold || line.quiet, ..entry });
    }
    let last = line.last.min(line.first + MAX_JOINED_NOTICES);
    let rest = (line.first + 1..=last).filter_map(|seq| match source.event(seq)?.body {
        What::Notice(notice) if items::is_quiet(&notice) => Some(shown(&notice)),
        _ => None,
    });
    let all: Vec<EntryBody> = std::iter::once(shown(&first)).chain(rest).collect();
    let size = all.iter().map(|body| body.size).fold(1, u32::saturating_add);
    let parts = all.into_iter().flat_map(|body| [element("p", "note", &[body.title]), body.html]);
    let html = join(&parts.collect::<Vec<_>>());
    let (title, more) = (text_line(&format!("{} notices", line.count)), line.last > last);
    Some(put_together(line, EntryBody { kind: "notice", title, html, size, fold: true, more, label: None }))
}

/// Renders a notice, even one that is usually hidden.
fn shown(notice: &Notice) -> EntryBody {
    body::notice(notice).unwrap_or_else(|| {
        let words = notice.text.as_deref().or(notice.name.as_deref()).unwrap_or("Notice");
        EntryBody {
            kind: "notice",
            title: text_line(words),
            label: notice.status.clone(),
            size: 1,
            ..EntryBody::default()
        }
    })
}
