//! An entry as the page gets it, made of what is remembered of it and the events that this names.

use switchboard_event::{
    Body as What, Event, Item, RequestOpened, RequestResolved, SessionStarted, TurnCompleted, TurnStarted, UserMessage,
};

use super::{
    Asked, Entry, Kind, Line, Sheet, Stage, items,
    paint::{self, Body},
    words,
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
        let media = format!("{}/{seq}", source.media());
        let item = item_of(&event)?;
        let millis = item.duration_ms.or_else(|| line.done.map(|_| event.at.millis_since(line.at)));
        let millis = millis.filter(|_| !matches!(line.kind, Kind::User));
        let Some(growth) = self.growth(n).filter(|_| line.done.is_none()) else {
            return Some(Entry { ms: millis, ..put_together(line, paint::item(&item, &media)) });
        };
        let body = paint::item(&items::without_growing(item), &media);
        let mut entry = put_together(line, body);
        let finished = [std::slice::from_ref(&entry.html), &growth.blocks].concat();
        entry.html = paint::join(&finished);
        (entry.tail, entry.live) = (Some(growth.tail.clone()), Some(growth.way.name()));
        (entry.more, entry.ms, entry.size) = (growth.cut, None, line.size);
        Some(entry)
    }
}

/// The item of an event; a prompt is what the user said.
fn item_of(event: &Event) -> Option<Item> {
    match &event.body {
        What::ItemStarted(item) | What::ItemCompleted(item) => Some((**item).clone()),
        What::ItemDelta(switchboard_event::Delta::Set { patch }) => Some((**patch).clone()),
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
    let (title, _) = began(&source.event(line.first)?)?;
    let ended = line.done.and_then(|done| source.event(done)).and_then(ended);
    let ended = ended.as_deref();
    let said = ended.and_then(|ended| ended.error.as_ref()).map(|error| error.message.as_str());
    let result = ended.and_then(|ended| ended.result.as_deref());
    let notes: Vec<_> = said.map(paint::note).into_iter().chain(result.map(paint::markdown)).collect();
    let millis = ended.and_then(|ended| ended.duration_ms);
    let body = Body {
        title: paint::line(&title),
        label: words::turn(ended, line.sums.as_deref(), millis),
        html: paint::join(&notes),
        size: line.size,
        ..Body::default()
    };
    Some(Entry { ms: millis, ..put_together(line, body) })
}

fn began(event: &Event) -> Option<(String, &TurnStarted)> {
    let What::TurnStarted(turn) = &event.body else { return None };
    let number = event.turn.unwrap_or_default();
    let origin = match turn.origin {
        switchboard_event::Origin::Prompt => "",
        switchboard_event::Origin::Background => " · work in the background came to an end",
        switchboard_event::Origin::Command => " · command",
    };
    Some((format!("Turn {number}{origin}"), turn))
}

fn ended(event: Event) -> Option<Box<TurnCompleted>> {
    match event.body {
        What::TurnCompleted(turn) => Some(turn),
        _ => None,
    }
}

fn run(line: &Line, source: &mut dyn Source) -> Option<Entry> {
    let event = source.event(line.first)?;
    let body = match &event.body {
        What::SessionStarted(started) => Body { title: paint::line(&who(&event, started)), size: 1, ..Body::default() },
        What::SessionEnded(ended) => {
            let why = ended.error.as_ref().map(|error| paint::note(&error.message));
            let label = Some(words::run(ended));
            let size = if why.is_some() { 2 } else { 1 };
            let title = paint::line(&format!("Run {}", event.run));
            Body { title, label, html: why.unwrap_or_default(), size, ..Body::default() }
        }
        _ => return None,
    };
    Some(put_together(line, body))
}

/// Who began to work, and with what.
fn who(event: &Event, started: &SessionStarted) -> String {
    let info = &started.info;
    let name = info.product.as_deref().unwrap_or(&event.agent);
    let how = started.resumed.as_ref().map(|resumed| if resumed.fork { "continues a copy" } else { "continues" });
    let parts = [Some(name), info.version.as_deref(), info.model.as_deref().or(started.config.model.as_deref()), how];
    format!("Run {}: {}", event.run, parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn request(line: &Line, source: &mut dyn Source) -> Option<Entry> {
    let What::RequestOpened(opened) = source.event(line.first)?.body else { return None };
    let resolved = line.done.and_then(|done| source.event(done)).and_then(resolved);
    let body = paint::request(&opened, resolved.as_deref());
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
    let RequestOpened { request, about, options, questions, expires_at, decided, .. } = opened;
    Asked { id: request, about, open: open && !decided, options, questions, expires_at }
}

fn notice(line: &Line, source: &mut dyn Source) -> Option<Entry> {
    let What::Notice(first) = source.event(line.first)?.body else { return None };
    let body = paint::notice(&first);
    if line.count < 2 {
        return Some(Entry { fold: line.quiet, ..put_together(line, body) });
    }
    let last = line.last.min(line.first + MOST_JOINED);
    let rest = (line.first + 1..=last).filter_map(|seq| match source.event(seq)?.body {
        What::Notice(notice) if super::notices::is_quiet(&notice) => Some(paint::notice(&notice)),
        _ => None,
    });
    let all = std::iter::once(body).chain(rest).flat_map(|body| [paint::note_of(body.title), body.html]);
    let html = paint::join(&all.collect::<Vec<_>>());
    let title = paint::line(&format!("{} notices", line.count));
    let more = line.last > last;
    Some(Entry { fold: true, ..put_together(line, Body { title, html, size: 1, fold: true, more, ..Body::default() }) })
}
