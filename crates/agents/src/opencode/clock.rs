//! The time of a bus event. Few events have a timestamp, but all have an id, and OpenCode's ids begin with the time:
//! the lower 36 bits of the milliseconds since 1970, followed by a 12-bit counter.

use switchboard_event::Timestamp;

/// Period after which the milliseconds in an id repeat: a little more than two years.
const ROUND: i64 = 1 << 36;

/// Maximum lead of an event over the clock that recorded its arrival.
const AHEAD: i64 = 24 * 60 * 60 * 1000;

/// Derives times from ids. The period that an id belongs to follows from earlier times.
#[derive(Default)]
pub struct EventClock {
    /// A time was seen that is not only an arrival time.
    set: bool,
}

impl EventClock {
    /// Returns the time of an event: its own timestamp, otherwise the time in its id. `hint` is a time in the event
    /// that may be older than the event, `now` the time of the previous event, or initially the arrival time.
    pub fn time(
        &mut self,
        said: Option<Timestamp>,
        id: Option<&str>,
        hint: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if said.is_some() {
            self.set = true;
            return said;
        }
        let was_set = self.set;
        let near = hint.or_else(|| was_set.then_some(now));
        self.set |= hint.is_some();
        match (id.and_then(low_bits), near) {
            (Some(low), Some(near)) => closest(low, millis(near)),
            (Some(low), None) => before(low, millis(now).saturating_add(AHEAD)),
            // An older time must not set the clock back, unless the clock only had the arrival time.
            (None, _) => hint.filter(|hint| !was_set || *hint > now),
        }
    }
}

fn millis(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(1000)
}

/// Returns the time in an id such as `evt_1e0b8a3f20015wub3Kx1ZavN3G`.
fn low_bits(id: &str) -> Option<i64> {
    let (_, rest) = id.split_once('_')?;
    let digits = rest.get(..12).filter(|_| rest.len() == 26)?;
    i64::from_str_radix(digits, 16).ok().map(|bits| bits >> 12)
}

fn closest(low: i64, near: i64) -> Option<Timestamp> {
    let round = near.div_euclid(ROUND);
    let times = (-1..=1).map(|step| (round + step) * ROUND + low);
    Timestamp::from_millis(times.min_by_key(|time| (time - near).abs())?)
}

fn before(low: i64, limit: i64) -> Option<Timestamp> {
    let time = limit.div_euclid(ROUND) * ROUND + low;
    let time = if time > limit { time - ROUND } else { time };
    Timestamp::from_millis(time).filter(|_| time > 0)
}

#[cfg(test)]
mod tests {

    use super::{EventClock, Timestamp};

    const ID: &str = "evt_1e0b8a3f20015wub3Kx1ZavN3G";

    fn at(text: &str) -> Option<Timestamp> {
        Timestamp::parse(text)
    }

    fn check(said: Option<Timestamp>, id: &str, hint: Option<Timestamp>, now: &str, expected: Option<&str>) {
        let time = EventClock::default().time(said, Some(id), hint, at(now).unwrap());
        assert_eq!(time, expected.and_then(at), "{id} {now}");
    }

    #[test]
    fn the_id_tells_the_time() {
        let created = at("2026-11-15T19:39:19.409Z");
        check(None, ID, created, "2030-01-01T00:00:00Z", Some("2026-11-15T19:39:19.410Z"));
        check(None, ID, None, "2026-11-16T00:00:00Z", Some("2026-11-15T19:39:19.410Z"));
        check(None, ID, None, "2026-11-15T19:39:19Z", Some("2026-11-15T19:39:19.410Z"));
    }

    #[test]
    fn what_the_event_says_goes_first() {
        check(at("2026-11-15T19:39:20Z"), ID, None, "2026-11-16T00:00:00Z", Some("2026-11-15T19:39:20Z"));
    }

    #[test]
    fn an_older_time_does_not_set_the_clock_back() {
        let (mut clock, older, newer) = (EventClock::default(), at("2026-11-15T19:00:00Z"), at("2026-11-15T21:00:00Z"));
        let arrival = at("2030-01-01T00:00:00Z").unwrap();
        assert_eq!(clock.time(None, Some("evt_1"), newer, arrival), newer);
        assert_eq!(clock.time(None, Some("evt_1"), older, newer.unwrap()), None);
        assert_eq!(clock.time(None, None, None, newer.unwrap()), None);
    }

    #[test]
    fn without_any_clock_there_is_no_time() {
        check(None, ID, None, "1970-01-01T00:00:00Z", None);
    }
}
