//! Native in = native out: every record stands verbatim on one event, in its order, and the other events that it
//! caused point there.

use std::collections::VecDeque;

use switchboard_event::Event;

use super::{Broken, must};
use crate::said::Said;

/// The records whose events have not come yet, and the event that carries the last one that did.
#[derive(Default)]
pub struct Natives {
    waiting: VecDeque<Said>,
    carrier: Option<u64>,
    /// An event without a cause was seen: only the end of the stream gives such.
    at_end: bool,
}

impl Natives {
    pub fn said(&mut self, said: Said) {
        self.waiting.push_back(said);
    }

    pub fn see(&mut self, event: &Event) -> Result<(), Broken> {
        let seq = event.seq;
        match (&event.native, event.cause) {
            (Some(_), Some(cause)) => {
                must!(false, "an event has a record or a cause", "event {seq} has a record and cause {cause}");
            }
            (Some(native), None) => {
                let got = Said::from(native);
                let want = self.waiting.pop_front();
                must!(
                    want.as_ref() == Some(&got),
                    "native in = native out",
                    "event {seq} has {}, the next record is {}",
                    show(Some(&got)),
                    show(want.as_ref())
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

    pub fn finish(&self) -> Result<(), Broken> {
        let lost = self.waiting.len();
        must!(
            lost == 0,
            "native in = native out",
            "{lost} records are on no event, first {}",
            show(self.waiting.front())
        );
        Ok(())
    }
}

fn show(said: Option<&Said>) -> String {
    let Some(said) = said else { return "none".to_owned() };
    let text: String = String::from_utf8_lossy(&said.bytes).chars().take(160).collect();
    format!("{:?} {:?} {text}", said.dir, said.form)
}
