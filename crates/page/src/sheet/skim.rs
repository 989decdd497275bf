//! Reading a long session in a hurry: most events add text to something that is finished by now, and such text is not
//! looked at. What was passed over and is still growing is read again.

use switchboard_event::{Body, Delta, Event, Id};

use super::{Sheet, facts::item_of};

/// An entry whose text was passed over.
#[derive(Clone, Debug)]
pub struct Unread {
    /// The entry.
    pub n: u32,
    /// Its item.
    pub id: Id,
    /// The first event that is needed.
    pub from: u64,
}

impl Sheet {
    /// Passes over an event as the log has it, if it only adds text to an item. False if it must be read.
    pub fn skim(&mut self, seq: u64, json: &str) -> bool {
        let Some(id) = appended_to(json) else { return false };
        let Some(n) = self.open.get(id).copied() else {
            self.skipped(seq);
            return true;
        };
        self.skipped(seq);
        self.note(n, seq);
        if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
            (line.last, line.unread) = (seq, true);
        }
        true
    }

    fn skipped(&mut self, seq: u64) {
        self.seq = seq;
        self.facts.skip(seq);
    }

    /// What was passed over and is needed now.
    #[must_use]
    pub fn unread(&self) -> Vec<Unread> {
        let open = self.open.iter().filter_map(|(id, n)| Some((id, *n, self.line(*n)?)));
        open.filter(|(_, _, line)| line.unread)
            .map(|(id, n, line)| Unread { n, id: id.clone(), from: line.seeded })
            .collect()
    }

    /// Reads what was passed over: the events of the item, from the first that is needed on, in their order.
    pub fn read_again(&mut self, n: u32, event: &Event) {
        match &event.body {
            Body::ItemStarted(item) | Body::ItemDelta(Delta::Set { patch: item }) => {
                if self.line(n).is_some_and(|line| line.seeded == event.seq) {
                    self.forget(n);
                }
                self.seed(n, item, event.seq);
            }
            Body::ItemDelta(Delta::Append { field, part, text }) => {
                self.grow(n, *field, *part, text);
                self.resize(n);
            }
            _ => {}
        }
    }

    /// All that was passed over was read.
    pub fn all_read(&mut self) {
        let open: Vec<u32> = self.open.values().copied().collect();
        for n in open {
            if let Some(line) = usize::try_from(n).ok().and_then(|at| self.lines.get_mut(at)) {
                line.unread = false;
            }
        }
    }
}

/// The item that an event is about, as the log has it; nothing if there is none, or if it is not sure.
#[must_use]
pub fn item_named(json: &str) -> Option<&str> {
    item_of(json.split_once(r#","kind":""#)?.0)
}

/// The item that an event adds text to, as the log has it; nothing if it does something else, or if it is not sure.
fn appended_to(json: &str) -> Option<&str> {
    let (envelope, data) = json.split_once(r#","kind":"item.delta","data":{"op":""#)?;
    if !(data.starts_with("append\"") || data.starts_with("progress\"")) {
        return None;
    }
    item_of(envelope)
}

#[cfg(test)]
mod tests {
    use super::appended_to;

    #[test]
    fn only_added_text_is_passed_over() {
        let head = r#"{"v":1,"seq":4,"item":"r1.x","parent":null,"thread":null,"#;
        let row = |rest: &str| format!("{head}{rest}");
        for (rest, id) in [
            (r#""kind":"item.delta","data":{"op":"append","field":"text","part":0,"text":"x"}}"#, Some("r1.x")),
            (r#""kind":"item.delta","data":{"op":"progress"}}"#, Some("r1.x")),
            (r#""kind":"item.delta","data":{"op":"set","patch":{}}}"#, None),
            (r#""kind":"notice","data":{"text":"\",\"kind\":\"item.delta\",\"data\":{\"op\":\"append\""}}"#, None),
        ] {
            assert_eq!(appended_to(&row(rest)), id, "{rest}");
        }
    }
}
