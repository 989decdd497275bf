//! Token usage of a rollout's replies, each counted once. `token_usage_record` has the usage of each reply; older files
//! only have running totals, which repeat, restart, and continue those of another thread. Replies that were copied from
//! another thread keep their key. The reader and the scanner share this code.

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use super::{count::CodexTokenCounts, lineage::ThreadLineage};
use crate::JsonObject;

/// Maximum number of remembered responses per turn. Repetitions follow soon.
const MAX_REMEMBERED_RESPONSES: usize = 256;

/// Tracks the usage of one file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RolloutUsageTracker {
    lineage: ThreadLineage,
    turn: Option<String>,
    /// The running total; `None` until a copy has reported the total that it continues.
    total: Option<CodexTokenCounts>,
    /// The model has produced output in this turn.
    spoke: bool,
    /// The turn has usage records: its totals only repeat them.
    recorded: bool,
    /// Hashed ids of the turn's responses.
    responses: Vec<u64>,
    /// How often the total restarted in the turn.
    resets: u32,
    /// Hash of the last prompt.
    prompt: Option<u64>,
}

/// Usage of one reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyUsage {
    /// Identifies the reply across all files.
    pub key: String,
    pub used: CodexTokenCounts,
    /// The reply belongs to another thread.
    pub copied: bool,
}

/// The token counts of a record are invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("tokens that are no numbers in {0}")]
pub struct InvalidTokenCounts(&'static str);

impl RolloutUsageTracker {
    pub fn new(lineage: ThreadLineage) -> Self {
        Self { lineage, ..Self::default() }
    }

    /// Reads `session_meta`. Returns true for the file's own, which is the first; others were copied with a history.
    pub fn read_session_meta(&mut self, meta: &JsonObject<'_>, at: Option<Timestamp>) -> bool {
        let own = self.lineage.read_session_meta(meta, at);
        if self.total.is_none_or(|total| total.is_zero()) {
            self.total = (!self.lineage.is_copy()).then(CodexTokenCounts::default);
        }
        own
    }

    /// Enters a turn that starts or gives its id. Returns true if it differs from the current one.
    pub fn enter_turn(&mut self, id: Option<&str>, at: Option<Timestamp>) -> bool {
        self.lineage.note_record(at);
        if id.is_some() && self.turn.as_deref() == id {
            return false;
        }
        self.turn = id.map(str::to_owned);
        (self.spoke, self.recorded, self.resets) = (false, false, 0);
        self.responses.clear();
        true
    }

    pub fn note_prompt(&mut self, text: &str, at: Option<Timestamp>) {
        self.lineage.note_record(at);
        self.prompt = Some(xxh3_64(text.as_bytes()));
    }

    /// Returns whether the current record was copied from another thread.
    pub fn is_copied(&self, at: Option<Timestamp>) -> bool {
        self.lineage.is_copied(self.turn.as_deref(), at)
    }

    pub fn note_model_output(&mut self) {
        self.spoke = true;
    }

    /// Returns whether model output matters, because the next total may be the first.
    pub fn awaits_first_total(&self) -> bool {
        self.total.is_none()
    }

    /// Counts a `token_usage_record`, which covers one reply. A repeated record is ignored.
    pub fn count_record(
        &mut self,
        fields: &JsonObject<'_>,
        at: Option<Timestamp>,
    ) -> Result<Option<ReplyUsage>, InvalidTokenCounts> {
        let used = CodexTokenCounts::parse(&fields.get_object("usage"), &CodexTokenCounts::default())
            .ok_or(InvalidTokenCounts("token_usage_record"))?;
        if let Some(turn) = fields.get_non_empty("turn_id") {
            self.enter_turn(Some(&turn), at);
        }
        self.recorded = true;
        let response = fields.get_str("response_id").map(|id| xxh3_64(id.as_bytes()));
        if response.is_some_and(|response| self.responses.contains(&response)) {
            return Ok(None);
        }
        // The next reported total, which may be all that a copy of this reply has (0.166). The record's thread usage is
        // a different total: a subagent's starts at zero.
        let told = || {
            CodexTokenCounts::parse(&fields.get_object("thread_token_usage"), &CodexTokenCounts::default())
                .unwrap_or(used)
        };
        let after = self.total.map_or_else(told, |before| before.saturating_add(&used));
        self.total = Some(after);
        if self.responses.len() >= MAX_REMEMBERED_RESPONSES {
            self.responses.remove(0);
        }
        self.responses.extend(response);
        Ok(self.build_reply(used, after, at))
    }

    /// Counts a `token_count`: the thread's total and the alleged last reply. The latter is used only where the total
    /// has no base, because Codex repeats it without new usage and invents it after a compaction.
    pub fn count_total(
        &mut self,
        info: &JsonObject<'_>,
        at: Option<Timestamp>,
    ) -> Result<Option<ReplyUsage>, InvalidTokenCounts> {
        let Some(total) = info.get("total_token_usage") else { return Ok(None) };
        let before = self.total.unwrap_or_default();
        let total = CodexTokenCounts::parse(&total.as_object(), &before).ok_or(InvalidTokenCounts("token_count"))?;
        let last = CodexTokenCounts::parse(&info.get_object("last_token_usage"), &CodexTokenCounts::default());
        let base = self.base_of_total(&total, last.as_ref());
        self.total = Some(total);
        if self.recorded {
            return Ok(None);
        }
        Ok(self.build_reply(total.saturating_sub(&base), total, at))
    }

    /// Returns the total that the given one continues.
    fn base_of_total(&mut self, total: &CodexTokenCounts, last: Option<&CodexTokenCounts>) -> CodexTokenCounts {
        let alone = last == Some(total);
        let without_last = last.map(|last| total.saturating_sub(last));
        match self.total {
            Some(before) if before == *total => before,
            // The very first reply again: the context overflowed, or an old version lost its count.
            Some(before) if total.is_below(&before) || (alone && !before.is_zero()) => {
                self.resets += 1;
                without_last.unwrap_or_default()
            }
            Some(before) => before,
            // A copy repeats the other thread's total before its own output; that may be after its first reply.
            None if alone && (self.spoke || !self.lineage.is_copy()) => CodexTokenCounts::default(),
            None if self.spoke => without_last.unwrap_or(*total),
            None => *total,
        }
    }

    fn build_reply(
        &mut self,
        used: CodexTokenCounts,
        after: CodexTokenCounts,
        at: Option<Timestamp>,
    ) -> Option<ReplyUsage> {
        let copied = self.lineage.is_copied(self.turn.as_deref(), at);
        self.lineage.note_record(at);
        (!used.is_zero()).then(|| ReplyUsage { key: self.reply_key(&after, copied), used, copied })
    }

    /// Returns the key of a reply. A turn's id is the same wherever the turn was copied to, and so is the total after a
    /// reply. Turns without such an id (before February 2026) belong to the thread that all copies come from, and
    /// differ by their prompt.
    fn reply_key(&self, after: &CodexTokenCounts, copied: bool) -> String {
        let CodexTokenCounts { input, cached, output, reasoning, .. } = after;
        let total = format!("{input}.{cached}.{output}.{reasoning}");
        let again = if self.resets > 0 { format!("#{}", self.resets) } else { String::new() };
        match (self.turn.as_deref().filter(|turn| super::lineage::is_uuid(turn)), self.prompt) {
            (Some(turn), _) => format!("codex:{turn}:{total}{again}"),
            (None, Some(prompt)) => format!("codex:{}:{total}{again}:{prompt:x}", self.lineage.root_session_id()),
            (None, None) if copied => format!("codex:{}:{total}{again}", self.lineage.root_session_id()),
            (None, None) => format!("codex:{}:{total}{again}", self.lineage.session_id()),
        }
    }
}
