//! Short names of sessions: the beginnings of their ids, as long as they must be to mean one.

use switchboard_logs::{Filter, Library};

use crate::{failure::Failure, view::clean};

/// What is shorter is hard to tell from other things.
const SHORTEST: usize = 8;

/// The ids of all sessions, in order.
pub struct Names(Vec<String>);

impl Names {
    /// Of all sessions of a library.
    pub fn of(library: &Library) -> Result<Self, Failure> {
        Ok(Self::among(library.sessions(&Filter::default())?.into_iter().map(|session| session.id)))
    }

    /// Of these sessions.
    pub fn among(ids: impl Iterator<Item = String>) -> Self {
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        Self(ids)
    }

    /// The beginning of an id that means this session and no other.
    pub fn short(&self, id: &str) -> String {
        let at = self.0.partition_point(|other| other.as_str() < id);
        let before = at.checked_sub(1).and_then(|at| self.0.get(at));
        // The same id may be there for several agents; then nothing shorter helps either.
        let after = self.0.get(at..).unwrap_or_default().iter().find(|other| *other != id);
        let shared = [before, after].into_iter().flatten().map(|other| shared(id, other)).max().unwrap_or_default();
        let length = (shared + 1).max(SHORTEST);
        let short = id.char_indices().nth(length).and_then(|(end, _)| id.get(..end)).unwrap_or(id);
        clean::line(short)
    }
}

/// How many characters both begin with.
fn shared(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_short_name_means_one_session() {
        let ids = ["0198c0de-1111", "0198c0de-1222", "abc", "ses_12345678", "ses_12345699", "zzzzzzzzzzzzzz"];
        let names = Names::among(ids.map(str::to_owned).into_iter());
        let short = ids.map(|id| names.short(id));
        assert_eq!(short, ["0198c0de-11", "0198c0de-12", "abc", "ses_1234567", "ses_1234569", "zzzzzzzz"]);
        for (id, short) in ids.iter().zip(&short) {
            assert_eq!(ids.iter().filter(|other| other.starts_with(short.as_str())).collect::<Vec<_>>(), [id]);
        }
    }
}
