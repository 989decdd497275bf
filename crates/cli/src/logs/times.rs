//! Times and time zones as they are typed; what they mean is decided in `switchboard_logs::when`, for servers too.

use jiff::tz::TimeZone;
use switchboard_event::Timestamp;
use switchboard_logs::when::{self, TimeParseError};

use crate::{failure::Failure, host};

/// The time zone that was named, else the system's.
pub fn zone(name: Option<&str>) -> Result<TimeZone, Failure> {
    match name {
        Some(name) => when::parse_time_zone(name).map_err(|bad| wrong("--timezone", &bad)),
        None => Ok(host::zone()),
    }
}

/// One time, as an option gave it: where it begins.
pub fn at(option: &'static str, text: &str, zone: &TimeZone) -> Result<Timestamp, Failure> {
    when::parse_time(text, zone, host::now()).map(|moment| moment.from).map_err(|bad| wrong(option, &bad))
}

/// From when (that is in it) to when (that is not).
pub fn between(
    since: Option<&str>,
    until: Option<&str>,
    zone: &TimeZone,
) -> Result<(Option<Timestamp>, Option<Timestamp>), Failure> {
    let now = host::now();
    let from = when::parse_time_bounds(since, None, zone, now).map_err(|bad| wrong("--since", &bad))?.0;
    let to = when::parse_time_bounds(since, until, zone, now).map_err(|bad| wrong("--until", &bad))?.1;
    Ok((from, to))
}

fn wrong(option: &'static str, bad: &TimeParseError) -> Failure {
    Failure::BadValue { option, cause: bad.to_string() }
}
