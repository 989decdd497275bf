//! What a rollout's replies used, each once. `token_usage_record` says it reply by reply; older files only have running
//! totals, which repeat, begin anew and go on from those of another thread. What is copied from another thread has the
//! key that it has there. One reading for events and for the quick way.

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use super::{count::Count, lineage::Lineage};
use crate::Object;

/// How many responses of a turn are remembered. One that is told again is told soon.
const RESPONSES: usize = 256;

/// The books of one file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    lineage: Lineage,
    turn: Option<String>,
    /// The running total; nothing as long as a copy has not told what it goes on from.
    total: Option<Count>,
    /// The model has said something in this turn.
    spoke: bool,
    /// Replies of the turn have records of their own: its totals only repeat them.
    recorded: bool,
    /// The responses of the turn, by the hashes of their names.
    responses: Vec<u64>,
    /// How often the total began anew in the turn.
    resets: u32,
    /// The last prompt, by its hash.
    prompt: Option<u64>,
}

/// What one reply used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What makes it the same everywhere.
    pub key: String,
    pub used: Count,
    /// It is another thread's.
    pub copied: bool,
}

/// What a record says about tokens makes no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("tokens that are no numbers in {0}")]
pub struct NoNumbers(&'static str);

impl Account {
    /// Of a file that is known by its name so far.
    pub fn of(lineage: Lineage) -> Self {
        Self { lineage, ..Self::default() }
    }

    /// `session_meta`. True for the file's own, which is the first; others were copied with a history.
    pub fn session(&mut self, meta: &Object<'_>, at: Option<Timestamp>) -> bool {
        let own = self.lineage.meta(meta, at);
        if self.total.is_none_or(|total| total.is_zero()) {
            self.total = (!self.lineage.is_copy()).then(Count::default);
        }
        own
    }

    /// A turn began, or says its name. True if it is another one.
    pub fn turn(&mut self, id: Option<&str>, at: Option<Timestamp>) -> bool {
        self.lineage.wrote(at);
        if id.is_some() && self.turn.as_deref() == id {
            return false;
        }
        self.turn = id.map(str::to_owned);
        (self.spoke, self.recorded, self.resets) = (false, false, 0);
        self.responses.clear();
        true
    }

    /// A person said something.
    pub fn prompted(&mut self, text: &str, at: Option<Timestamp>) {
        self.lineage.wrote(at);
        self.prompt = Some(xxh3_64(text.as_bytes()));
    }

    /// What is being read was copied from another thread.
    pub fn is_copied(&self, at: Option<Timestamp>) -> bool {
        self.lineage.copied(self.turn.as_deref(), at)
    }

    /// The model said something.
    pub fn spoke(&mut self) {
        self.spoke = true;
    }

    /// It matters whether the model says something: the next total may be the first.
    pub fn listens(&self) -> bool {
        self.total.is_none()
    }

    /// `token_usage_record`: one reply. One that is told again counts no more.
    pub fn record(&mut self, fields: &Object<'_>, at: Option<Timestamp>) -> Result<Option<Reply>, NoNumbers> {
        let used = Count::of(&fields.object("usage"), &Count::default()).ok_or(NoNumbers("token_usage_record"))?;
        if let Some(turn) = fields.filled("turn_id") {
            self.turn(Some(&turn), at);
        }
        self.recorded = true;
        let response = fields.str("response_id").map(|id| xxh3_64(id.as_bytes()));
        if response.is_some_and(|response| self.responses.contains(&response)) {
            return Ok(None);
        }
        // The total that will be told next, which is all that a copy of this reply may have (0.166). What the record
        // says of the thread is another total: a subagent's begins at zero.
        let told = || Count::of(&fields.object("thread_token_usage"), &Count::default()).unwrap_or(used);
        let after = self.total.map_or_else(told, |before| before.plus(&used));
        self.total = Some(after);
        if self.responses.len() >= RESPONSES {
            self.responses.remove(0);
        }
        self.responses.extend(response);
        Ok(self.reply(used, after, at))
    }

    /// `token_count`: the thread's total, and what is said to be the last reply. That is only believed where the total
    /// has no base: it is told again without news, and made up after a compaction.
    pub fn total(&mut self, info: &Object<'_>, at: Option<Timestamp>) -> Result<Option<Reply>, NoNumbers> {
        let Some(total) = info.get("total_token_usage") else { return Ok(None) };
        let before = self.total.unwrap_or_default();
        let total = Count::of(&total.object(), &before).ok_or(NoNumbers("token_count"))?;
        let last = Count::of(&info.object("last_token_usage"), &Count::default());
        let base = self.base(&total, last.as_ref());
        self.total = Some(total);
        if self.recorded {
            return Ok(None);
        }
        Ok(self.reply(total.minus(&base), total, at))
    }

    /// What a total goes on from.
    fn base(&mut self, total: &Count, last: Option<&Count>) -> Count {
        let alone = last == Some(total);
        let without_last = last.map(|last| total.minus(last));
        match self.total {
            Some(before) if before == *total => before,
            // The first reply of all, again: the context overflowed, or an old version forgot what it had counted.
            Some(before) if total.is_below(&before) || (alone && !before.is_zero()) => {
                self.resets += 1;
                without_last.unwrap_or_default()
            }
            Some(before) => before,
            // A copy repeats where the other thread was before it says anything itself; that may be after its first reply.
            None if alone && (self.spoke || !self.lineage.is_copy()) => Count::default(),
            None if self.spoke => without_last.unwrap_or(*total),
            None => *total,
        }
    }

    fn reply(&mut self, used: Count, after: Count, at: Option<Timestamp>) -> Option<Reply> {
        let copied = self.lineage.copied(self.turn.as_deref(), at);
        self.lineage.wrote(at);
        (!used.is_zero()).then(|| Reply { key: self.key(&after, copied), used, copied })
    }

    /// A turn's name is the same wherever the turn was copied to, and so is the total that a reply led to. Turns
    /// without such a name (before February 2026) belong to the thread that all copies come from, and differ by what
    /// was asked.
    fn key(&self, after: &Count, copied: bool) -> String {
        let Count { input, cached, output, reasoning, .. } = after;
        let total = format!("{input}.{cached}.{output}.{reasoning}");
        let again = if self.resets > 0 { format!("#{}", self.resets) } else { String::new() };
        match (self.turn.as_deref().filter(|turn| super::lineage::is_uuid(turn)), self.prompt) {
            (Some(turn), _) => format!("codex:{turn}:{total}{again}"),
            (None, Some(prompt)) => format!("codex:{}:{total}{again}:{prompt:x}", self.lineage.root()),
            (None, None) if copied => format!("codex:{}:{total}{again}", self.lineage.root()),
            (None, None) => format!("codex:{}:{total}{again}", self.lineage.session()),
        }
    }
}
