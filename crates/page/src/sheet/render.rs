//! An entry as the page gets it, made of what is remembered of it and the events that this names.

use switchboard_event::{
    Body as What, Delta, Details, Event, Item, Notice, RequestOpened, RequestResolved, TurnCompleted, Usage,
    UserMessage,
};

use super::{Asked, Entry, Kind, Line, Sheet, Stage, items, notices};
use crate::{
    body::{self, Body},
    html::{element, join, line as text_line},
};

/// Where events are read again.
pub trait Source {
    /// One event, if it is there.
    fn event(&mut self, seq: u64) -> Option<Event>;

    /// Where the images of an event are found; its place and the number of the image follow.
    fn media(&self) -> &str;
}

/// Of notices that were put together, so many are read.
const MOST_JOINED: u64 = 40;

impl Sheet {
    /// An entry. Nothing if there is none of that number, or if its events are gone.
    pub fn entry(&self, n: u32, source: &mut dyn Source) -> Option<Entry> {
        let line = self.line(n)?;
        let mut entry = match line.kind {
            Kind::Turn => turn(line, source),
            Kind::Session => run(line, source),
            Kind::Request => request(line, source),
            Kind::Notice => notice(line, source),
            _ => self.item(n, line, source),
        }?;
        (entry.n, entry.depth, entry.parent) = (n, self.depth(n), line.parent);
        Some(entry)
    }

    fn item(&self, n: u32, line: &Line, source: &mut dyn Source) -> Option<Entry> {
        let seq = line.done.unwrap_or(line.base);
        let event = source.event(seq)?;
        let media = source.media().to_owned();
        let address = |k: usize| Some(format!("{media}/{seq}/{k}"));
        let item = item_of(&event)?;
        let millis = item.duration_ms.or_else(|| line.done.map(|_| event.at.millis_since(line.at)));
        let millis = millis.filter(|_| line.kind != Kind::User);
        let Some(growth) = self.growth(n).filter(|_| line.done.is_none()) else {
            let item = self.near(item);
            return Some(Entry { ms: millis, ..put_together(line, body::item(&item, &address)) });
        };
        let mut entry = put_together(line, body::item(&items::without_growing(item), &address));
        entry.html = join(&[std::slice::from_ref(&entry.html), &growth.blocks].concat());
        (entry.tail, entry.live) = (Some(growth.tail.clone()), Some(growth.way.name()));
        (entry.more, entry.ms, entry.size) = (growth.cut, None, line.size);
        Some(entry)
    }

    /// The same item with the files of the session's folder named as people name them there. Requests are not touched:
    /// what one agrees to is named in full.
    fn near(&self, mut item: Item) -> Item {
        if let (Details::FileChange(change), Some(folder)) = (&mut item.details, self.facts.info.cwd.as_deref()) {
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

/// The item of an event; a prompt is what the user said.
fn item_of(event: &Event) -> Option<Item> {
    match &event.body {
        What::ItemStarted(item) | What::ItemCompleted(item) => Some((**item).clone()),
        What::ItemDelta(Delta::Set { patch }) => Some((**patch).clone()),
        What::TurnStarted(turn) => Some(Item::new(UserMessage::text(turn.prompt.clone()?))),
        _ => None,
    }
}

fn put_together(line: &Line, body: Body) -> Entry {
    Entry {
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
        fold: body.fold || line.stage == Stage::Superseded,
        first: line.first,
        last: line.last,
        size: body.size.max(1),
        live: None,
        more: body.more,
        request: None,
    }
}

fn turn(line: &Line, source: &mut dyn Source) -> Option<Entry> {
    let What::TurnStarted(started) = source.event(line.first)?.body else { return None };
    let ended = line.done.and_then(|done| source.event(done)).and_then(ended);
    let used = line.sums.as_deref().map(|sums| Usage {
        input: sums.input,
        output: sums.output,
        cache_read: sums.cache_read,
        cache_write_5m: sums.cache_write,
        cost_usd: sums.cost,
        ..Usage::default()
    });
    let millis = ended.as_ref().and_then(|ended| ended.duration_ms);
    Some(Entry { ms: millis, ..put_together(line, body::turn(&started, ended.as_deref(), used.as_ref())) })
}

fn ended(event: Event) -> Option<Box<TurnCompleted>> {
    match event.body {
        What::TurnCompleted(turn) => Some(turn),
        _ => None,
    }
}

fn run(line: &Line, source: &mut dyn Source) -> Option<Entry> {
    let body = match source.event(line.first)?.body {
        What::SessionStarted(started) => body::began(&started),
        What::SessionEnded(ended) => body::ended(&ended),
        _ => return None,
    };
    Some(put_together(line, body))
}

fn request(line: &Line, source: &mut dyn Source) -> Option<Entry> {
    let What::RequestOpened(opened) = source.event(line.first)?.body else { return None };
    let resolved = line.done.and_then(|done| source.event(done)).and_then(resolved);
    let body = body::request(&opened, resolved.as_deref());
    let asked = asked(*opened, line.done.is_none());
    Some(Entry { request: Some(asked), ..put_together(line, body) })
}

fn resolved(event: Event) -> Option<Box<RequestResolved>> {
    match event.body {
        What::RequestResolved(resolved) => Some(resolved),
        _ => None,
    }
}

fn asked(opened: RequestOpened, open: bool) -> Asked {
    let RequestOpened { request, about, options, questions, requires_person, expires_at, decided, .. } = opened;
    Asked { id: request, about, open: open && !decided, options, questions, requires_person, expires_at }
}

fn notice(line: &Line, source: &mut dyn Source) -> Option<Entry> {
    let What::Notice(first) = source.event(line.first)?.body else { return None };
    if line.count < 2 {
        let entry = put_together(line, shown(&first));
        return Some(Entry { fold: entry.fold || line.quiet, ..entry });
    }
    let last = line.last.min(line.first + MOST_JOINED);
    let rest = (line.first + 1..=last).filter_map(|seq| match source.event(seq)?.body {
        What::Notice(notice) if notices::is_quiet(&notice) => Some(shown(&notice)),
        _ => None,
    });
    let all: Vec<Body> = std::iter::once(shown(&first)).chain(rest).collect();
    let size = all.iter().map(|body| body.size).fold(1, u32::saturating_add);
    let parts = all.into_iter().flat_map(|body| [element("p", "note", &[body.title]), body.html]);
    let html = join(&parts.collect::<Vec<_>>());
    let (title, more) = (text_line(&format!("{} notices", line.count)), line.last > last);
    Some(put_together(line, Body { kind: "notice", title, html, size, fold: true, more, label: None }))
}

/// What is shown of a notice, also of one that few care for.
fn shown(notice: &Notice) -> Body {
    body::notice(notice).unwrap_or_else(|| {
        let words = notice.text.as_deref().or(notice.name.as_deref()).unwrap_or("Notice");
        Body { kind: "notice", title: text_line(words), label: notice.status.clone(), size: 1, ..Body::default() }
    })
}
