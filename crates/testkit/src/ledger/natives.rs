//! Native in = native out: every record is verbatim on one event, in order, and its other events refer to that one.

use std::collections::VecDeque;

use switchboard_event::Event;

use super::{InvariantViolation, must};
use crate::said::ExpectedRecord;

/// Records without an event yet, and the event that carries the last record.
#[derive(Default)]
pub struct NativeRecordInvariants {
    waiting: VecDeque<ExpectedRecord>,
    carrier: Option<u64>,
    /// An event without a cause was seen, which only the end of the stream produces.
    at_end: bool,
}

impl NativeRecordInvariants {
    pub fn expect_record(&mut self, said: ExpectedRecord) {
        self.waiting.push_back(said);
    }

    pub fn check_event(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        let seq = event.seq;
        match (&event.native, event.cause) {
            (Some(_), Some(cause)) => {
                must!(false, "an event has a record or a cause", "event {seq} has a record and cause {cause}");
            }
            (Some(native), None) => {
                let got = ExpectedRecord::from(native);
                let want = self.waiting.pop_front();
                must!(
                    want.as_ref() == Some(&got),
                    "native in = native out",
                    "event {seq} has {}, the next record is {}",
                    describe_record(Some(&got)),
                    describe_record(want.as_ref())
                );
                self.carrier = Some(seq);
            }
            (None, Some(cause)) => {
                must!(
                    Some(cause) == self.carrier,
                    "cause is the event with the record",
                    "event {seq} names {cause}, the record is on {:?}",
                    self.carrier
                );
            }
            (None, None) => self.at_end = true,
        }
        let caused = event.native.is_some() || event.cause.is_some();
        must!(
            !(caused && self.at_end),
            "only the end of the stream has no record",
            "event {seq} has one after an event without"
        );
        Ok(())
    }

    pub fn finish(&self) -> Result<(), InvariantViolation> {
        let lost = self.waiting.len();
        must!(
            lost == 0,
            "native in = native out",
            "{lost} records are on no event, first {}",
            describe_record(self.waiting.front())
        );
        Ok(())
    }
}

fn describe_record(said: Option<&ExpectedRecord>) -> String {
    let Some(said) = said else { return "none".to_owned() };
    let text: String = String::from_utf8_lossy(&said.bytes).chars().take(160).collect();
    format!("{:?} {:?} {text}", said.dir, said.form)
}
