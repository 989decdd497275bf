//! Timestamps in the wire format: RFC 3339, UTC, microseconds. This module never reads a clock.

use std::{borrow::Cow, fmt, ops::Range};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A point in time, printed as `2026-11-15T10:00:00.123456Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Parses RFC 3339 with any offset and precision; fractions of a microsecond are cut off.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().and_then(|t| Self::from_micros(t.as_microsecond()))
    }

    /// Converts microseconds since 1970; `None` if the year is out of range.
    #[must_use]
    pub fn from_micros(micros: i64) -> Option<Self> {
        let floor = jiff::Timestamp::from_microsecond(micros).ok()?;
        // RFC 3339 allows only four-digit years.
        (floor.as_second() >= -62_135_596_800).then_some(Self(floor))
    }

    /// Converts milliseconds since 1970, the unit of most agents.
    #[must_use]
    pub fn from_millis(millis: i64) -> Option<Self> {
        Self::from_micros(millis.checked_mul(1_000)?)
    }

    /// Converts fractional seconds since 1970, the unit of transcripts.
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        let micros = (seconds * 1e6).round();
        if !micros.is_finite() || micros.abs() > 9e15 * 1e3 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked above")]
        Self::from_micros(micros as i64)
    }

    /// Returns the microseconds since 1970.
    #[must_use]
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// Returns the milliseconds since `earlier`, never negative.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from((self.as_micros() - earlier.as_micros()) / 1_000).unwrap_or(0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.encode_into(&mut [0; TIMESTAMP_BYTES]))
    }
}

/// The length of `2026-11-15T10:00:00.123456Z`.
const TIMESTAMP_BYTES: usize = 27;

impl Timestamp {
    /// Appends the timestamp to a buffer.
    pub fn write_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.encode_into(&mut [0; TIMESTAMP_BYTES]).as_bytes());
    }

    /// Formats the wire form by hand: every message has a timestamp, and generic formatting took a tenth of CPU time.
    fn encode_into(self, out: &mut [u8; TIMESTAMP_BYTES]) -> &str {
        let time = jiff::tz::Offset::UTC.to_datetime(self.0);
        *out = *b"0000-00-00T00:00:00.000000Z";
        write_digits(out, 0..4, time.year().unsigned_abs().into());
        write_digits(out, 5..7, time.month().unsigned_abs().into());
        write_digits(out, 8..10, time.day().unsigned_abs().into());
        write_digits(out, 11..13, time.hour().unsigned_abs().into());
        write_digits(out, 14..16, time.minute().unsigned_abs().into());
        write_digits(out, 17..19, time.second().unsigned_abs().into());
        write_digits(out, 20..26, time.subsec_nanosecond().unsigned_abs() / 1_000);
        std::str::from_utf8(out).unwrap_or_default()
    }
}

fn write_digits(out: &mut [u8], place: Range<usize>, mut number: u32) {
    for digit in out.get_mut(place).unwrap_or_default().iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.encode_into(&mut [0; TIMESTAMP_BYTES]))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format_args!("not an RFC 3339 time: {text}")))
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn prints_what_it_parses_with_six_digits() {
        for (given, printed) in [
            ("2025-12-03T10:00:01.234Z", "2025-12-03T10:00:01.234000Z"),
            ("2025-12-03T12:00:01+02:00", "2025-12-03T10:00:01.000000Z"),
            ("2025-12-03T10:00:01.123456789Z", "2025-12-03T10:00:01.123456Z"),
        ] {
            assert_eq!(Timestamp::parse(given).unwrap().to_string(), printed);
        }
    }

    #[test]
    fn nonsense_is_no_time() {
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::from_seconds(f64::NAN), None);
        assert_eq!(Timestamp::from_seconds(1e300), None);
        assert_eq!(Timestamp::from_millis(i64::MAX), None);
    }
}
