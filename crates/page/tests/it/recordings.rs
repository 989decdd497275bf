//! All recordings of real agents are rendered safely.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_event::{Event, EventBody as What};
use switchboard_page::EntryBody;
use switchboard_page::body::{began, ended, item, notice, request, turn};
use switchboard_testkit::recording::{load_recordings, stream_events};

use crate::checker::safe;

fn shown(event: &Event) -> Option<EntryBody> {
    Some(match &event.body {
        What::SessionStarted(started) => began(started),
        What::SessionEnded(over) => ended(over),
        What::TurnStarted(started) => turn(started, None, None),
        What::TurnCompleted(completed) => turn(&Default::default(), Some(completed), None),
        What::ItemStarted(started) => item(started, &|n| Some(format!("/media/{n}"))),
        What::ItemCompleted(completed) => item(completed, &|n| Some(format!("/media/{n}"))),
        What::RequestOpened(opened) => request(opened, None),
        What::RequestResolved(resolved) => request(&Default::default(), Some(resolved)),
        What::Notice(news) => notice(news)?,
        What::SessionUpdated(_) | What::ItemDelta(_) | What::Usage(_) => return None,
    })
}

#[test]
fn all_recordings_are_shown_safely() {
    let (mut wrong, mut kinds) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for recording in load_recordings().unwrap() {
        for event in stream_events(recording.source, &recording.bytes) {
            let Some(body) = shown(&event) else { continue };
            *kinds.entry(body.kind).or_default() += 1;
            let checked = safe(body.title.as_str()).and_then(|()| safe(body.html.as_str()));
            wrong.extend(checked.err().map(|why| format!("{recording} {}: {why}", event.seq)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let all = "answer change command mcp notice plan reasoning request search session subagent tool turn user";
    let missing: BTreeSet<&str> = all.split(' ').filter(|kind| !kinds.contains_key(kind)).collect();
    assert!(missing.is_empty(), "{missing:?} of {kinds:?}");
}
