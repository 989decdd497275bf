//! A session at work: its log ends in the middle of something, and that is no failure.

use switchboard_event::{Decider, Event, EventBody, Timestamp};

/// What grew in this time is running, as `watch` has it.
const WITHIN_MS: u64 = 600_000;

/// It is in the middle of a turn, and its log grew a moment ago.
pub fn is_at_work(events: &[Event], written: Option<Timestamp>, now: Timestamp) -> bool {
    let is_fresh = written.is_some_and(|at| now.millis_since(at) <= WITHIN_MS);
    // In the middle of a turn it is not the agent that ends a session.
    let ended_by = events.iter().rev().find_map(|event| match &event.body {
        EventBody::SessionEnded(ended) if event.thread.is_none() => Some(ended.by),
        _ => None,
    });
    is_fresh && ended_by == Some(Decider::Switchboard)
}

/// No record says that it is over: it was closed because the log has no more.
pub fn is_open(event: &Event) -> bool {
    let closes =
        matches!(event.body, EventBody::ItemCompleted(_) | EventBody::RequestResolved(_) | EventBody::TurnCompleted(_));
    closes && event.native.is_none() && event.cause.is_none()
}

#[cfg(test)]
mod tests {
    use switchboard_event::{EventBody, Timestamp};
    use switchboard_testkit::{play, recording::load_recordings};

    use super::{is_at_work, is_open};

    #[test]
    fn a_log_that_is_cut_off_is_at_work_while_it_is_fresh() {
        let now = Timestamp::from_millis(1_790_000_000_000).unwrap();
        let ago = |millis: i64| Timestamp::from_millis(1_790_000_000_000 - millis);
        let mut open = 0;
        for recording in load_recordings().unwrap().into_iter().filter(|recording| recording.log.is_some()) {
            let events = play::stream_events(recording.source, &recording.bytes);
            assert!(!is_at_work(&events, ago(600_001), now) && !is_at_work(&events, None, now), "{recording}");
            if !is_at_work(&events, ago(1_000), now) {
                continue;
            }
            let begun = events.iter().filter(|event| matches!(event.body, EventBody::TurnStarted(_))).count();
            let ended =
                events.iter().filter(|event| matches!(event.body, EventBody::TurnCompleted(_)) && !is_open(event));
            assert!(begun == 0 || ended.count() < begun, "{recording}: no turn is open");
            open += begun;
        }
        assert!(open > 0);
    }
}
