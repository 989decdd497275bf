//! Token usage of a rollout's replies, each counted once. `token_usage_record` has the usage of each reply; older files
//! only have running totals, which repeat, restart, and continue those of another thread. Replies that were copied from
//! another thread keep their key. The reader and the scanner share this code.

use serde::{Deserialize, Serialize};
use switchboard_event::{Scope, Timestamp, Usage};
use xxhash_rust::xxh3::xxh3_64;

use super::lineage::ThreadLineage;
use crate::{JsonObject, JsonView, codex::usage};

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

/// Token counts of a reply, or of a thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodexTokenCounts {
    pub input: u64,
    pub cached: u64,
    pub written: u64,
    pub output: u64,
    pub reasoning: u64,
}

impl CodexTokenCounts {
    /// Parses the counts of an object. Returns `None` if input or output is not a number; other missing counts keep
    /// their previous values.
    pub fn parse(fields: &JsonObject<'_>, before: &Self) -> Option<Self> {
        let number = |name: &str| fields.get(name).and_then(JsonView::as_u64);
        Some(Self {
            input: number("input_tokens")?,
            cached: number("cached_input_tokens").unwrap_or(before.cached),
            written: number("cache_write_input_tokens").unwrap_or(before.written),
            output: number("output_tokens")?,
            reasoning: number("reasoning_output_tokens").unwrap_or(before.reasoning),
        })
    }

    /// Subtracts `base`, never below zero.
    pub fn saturating_sub(&self, base: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(base.input),
            cached: self.cached.saturating_sub(base.cached),
            written: self.written.saturating_sub(base.written),
            output: self.output.saturating_sub(base.output),
            reasoning: self.reasoning.saturating_sub(base.reasoning),
        }
    }

    pub fn saturating_add(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            written: self.written.saturating_add(other.written),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }

    /// A running total only grows: a lower one restarted.
    pub fn is_below(&self, other: &Self) -> bool {
        self.input < other.input || self.output < other.output
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    pub fn build_usage(&self, model: Option<&str>) -> Usage {
        usage::split_usage(usage::InclusiveTokenCounts {
            scope: Scope::Reply,
            model,
            input: self.input,
            output: self.output,
            cache_read: self.cached.min(self.input),
            cache_write: self.written,
            reasoning: self.reasoning,
        })
    }
}

#[cfg(test)]
mod tests {

    use super::CodexTokenCounts;
    use crate::JsonView;

    fn parse_counts(text: &str, before: CodexTokenCounts) -> Option<CodexTokenCounts> {
        CodexTokenCounts::parse(&JsonView::parse(text).unwrap().as_object(), &before)
    }

    #[test]
    fn what_is_not_said_is_as_before() {
        let before = CodexTokenCounts { input: 10, cached: 4, written: 1, output: 2, reasoning: 1 };
        let now = parse_counts(r#"{"input_tokens":20,"cached_input_tokens":null,"output_tokens":5}"#, before);
        assert_eq!(now, Some(CodexTokenCounts { input: 20, output: 5, ..before }));
        assert_eq!(parse_counts(r#"{"input_tokens":null,"output_tokens":5}"#, before), None);
    }

    #[test]
    fn figures_beyond_32_bits() {
        let much = parse_counts(
            r#"{"input_tokens":9007199254740993,"output_tokens":5000000000}"#,
            CodexTokenCounts::default(),
        )
        .unwrap();
        assert_eq!((much.input, much.output), (9_007_199_254_740_993, 5_000_000_000));
    }

    #[test]
    fn the_cache_is_part_of_the_input() {
        let usage =
            CodexTokenCounts { input: 100, cached: 40, written: 10, output: 20, reasoning: 5 }.build_usage(None);
        assert_eq!((usage.input, usage.cache_read, usage.cache_write_5m, usage.reasoning), (50, 40, 10, 5));
        assert_eq!((usage.native_input(), usage.native_output()), (100, 20));
    }
}
