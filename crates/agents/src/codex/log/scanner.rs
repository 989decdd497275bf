//! Scans a rollout for facts, usage and text, without events.

use std::{collections::VecDeque, sync::LazyLock};

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use super::{
    context_usage,
    lineage::{self, ThreadLineage},
    messages::{self, MessageDeduplicator, MessageSpeaker},
    passages,
    record::{self, RolloutRecord},
    usage::{InvalidTokenCounts, ReplyUsage, RolloutUsageTracker},
};
use crate::{
    JsonObject, LogFile, LogScanner, ReplyTokens, ScanDepth, ScanOutput, SessionFacts, ToolCallRef,
    bounded::push_bounded, walk::JsonWalker,
};

/// Marks of user messages.
static USER_MESSAGE_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"UserMessage\""));

static USER_ROLE_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"user\""));

/// Maximum number of remembered calls, whose results need the tool's name.
const MAX_REMEMBERED_CALLS: usize = 64;

/// Scanner state of one file.
#[derive(Default, Serialize, Deserialize)]
pub struct RolloutScanner {
    account: RolloutUsageTracker,
    pub(super) said: MessageDeduplicator,
    model: Option<String>,
    cwd: Option<String>,
    subagent: Option<String>,
    /// Position at which a subagent's own history begins.
    start: Option<u64>,
    prompted: bool,
    /// Tools called since the last counted reply, by id and name.
    tools: Vec<(String, String)>,
    /// The last counted reply of the turn.
    last: Option<(String, bool)>,
    calls: VecDeque<(String, String)>,
}

/// Beginning of a record. In the middle of a line, it was appended to an incomplete record.
static RECORD_START_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("{\"timestamp\":"));

impl RolloutScanner {
    fn counts_by_head(&self, record: &[u8]) -> bool {
        let Some(head) = record::parse_head(record) else { return true };
        let find = |word: &Finder<'_>| word.find(head.near).is_some();
        match (head.kind, head.what) {
            (b"session_meta" | b"turn_context" | b"token_usage_record", _) => true,
            (b"event_msg" | b"response_item", None) => true,
            (b"event_msg", Some(b"item_completed")) => self.account.awaits_first_total() || find(&USER_MESSAGE_FINDER),
            (b"event_msg", Some(what)) => COUNTED_EVENTS.contains(&what) || self.account.awaits_first_total(),
            (b"response_item", Some(what)) | (what, None) => match what {
                b"message" => find(&USER_ROLE_FINDER) || self.account.awaits_first_total(),
                b"function_call"
                | b"custom_tool_call"
                | b"local_shell_call"
                | b"tool_search_call"
                | b"web_search_call"
                | b"image_generation_call" => true,
                _ => self.account.awaits_first_total(),
            },
            _ => false,
        }
    }
}

impl LogScanner for RolloutScanner {
    fn may_affect_usage(&self, record: &[u8]) -> bool {
        self.counts_by_head(record) || record.get(1..).is_some_and(|rest| RECORD_START_FINDER.find(rest).is_some())
    }

    fn scan_record(&mut self, scan_record: &str, depth: ScanDepth, found: &mut ScanOutput) {
        let mut walk = JsonWalker::new(scan_record);
        let line = RolloutRecord::parse(&mut walk);
        if !walk.is_complete() {
            return found.mark_not_json();
        }
        let Some(line) = line else {
            found.trouble = Some("a record of no kind".to_owned());
            return;
        };
        found.facts.include_time(line.at);
        match line.kind.as_ref() {
            "session_meta" => self.read_session_meta(&line, found),
            "turn_context" => self.apply_context(&line, &line.fields, found),
            "token_usage_record" => {
                let reply = self.account.count_record(&line.fields, line.at);
                self.add_spent(reply, &line, found);
            }
            "event_msg" => self.read_event(&line, found),
            "response_item" => self.read_item(&line, found),
            _ => {}
        }
        let repeated = self.read_prompt(&line, found);
        if depth == ScanDepth::All {
            found.unknown = (!line.is_known()).then(|| line.record_name());
            passages::add_record(&line, repeated, self, found);
        }
    }

    fn save_state(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Events that affect usage or its attribution.
const COUNTED_EVENTS: &[&[u8]] = &[
    b"token_count",
    b"task_started",
    b"turn_started",
    b"task_complete",
    b"turn_complete",
    b"turn_aborted",
    b"thread_settings_applied",
    b"thread_name_updated",
    b"user_message",
];

impl RolloutScanner {
    /// Starts at the beginning, or continues from saved state.
    pub fn new(file: &LogFile, saved: Option<&[u8]>) -> Self {
        let fresh = || {
            let account = RolloutUsageTracker::new(ThreadLineage::with_session(file.session.clone()));
            Self { account, ..Self::default() }
        };
        saved.and_then(|saved| serde_json::from_slice(saved).ok()).unwrap_or_else(fresh)
    }

    fn read_session_meta(&mut self, line: &RolloutRecord<'_>, found: &mut ScanOutput) {
        let meta = &line.fields;
        if !self.account.read_session_meta(meta, line.at) {
            return;
        }
        self.subagent = subagent_name(meta);
        self.start = meta.get_u64("subagent_history_start_ordinal");
        self.cwd = meta.get_non_empty("cwd").or(self.cwd.take());
        let root = || meta.get_non_empty("session_id").filter(|root| !meta.str_equals("id", root));
        found.facts.merge_newer(SessionFacts {
            session: meta.get_non_empty("id"),
            parent: self.subagent.as_ref().and_then(|_| lineage::parent_thread(meta).or_else(root)),
            subagent: self.subagent.clone(),
            base: lineage::history_base(meta),
            cwd: meta.get_non_empty("cwd"),
            branch: meta.get_object("git").get_non_empty("branch"),
            version: meta.get_non_empty("cli_version"),
            ..SessionFacts::default()
        });
    }

    /// Applies the model and the working directory of the following records.
    fn apply_context(&mut self, line: &RolloutRecord<'_>, fields: &JsonObject<'_>, found: &mut ScanOutput) {
        if let Some(turn) = fields.get_non_empty("turn_id") {
            self.enter_turn(Some(&turn), line, found);
        }
        self.model = fields.get_non_empty("model").or(self.model.take());
        self.cwd = fields.get_non_empty("cwd").or(self.cwd.take());
        found.facts.merge_newer(SessionFacts {
            model: fields.get_non_empty("model"),
            cwd: fields.get_non_empty("cwd"),
            ..SessionFacts::default()
        });
    }

    fn enter_turn(&mut self, turn: Option<&str>, line: &RolloutRecord<'_>, found: &mut ScanOutput) {
        if self.account.enter_turn(turn, line.at) {
            self.flush_tools(line, found);
            self.last = None;
        }
    }

    fn read_event(&mut self, line: &RolloutRecord<'_>, found: &mut ScanOutput) {
        let fields = &line.fields;
        match line.payload_type().as_ref() {
            "token_count" => {
                let info = fields.get_object("info");
                let reply = self.account.count_total(&info, line.at);
                self.add_spent(reply, line, found);
                let (used, size) = context_usage(&info).unwrap_or_default();
                let facts = &mut found.facts;
                (facts.context_used, facts.context_size) = (used.or(facts.context_used), size.or(facts.context_size));
            }
            "task_started" | "turn_started" => self.enter_turn(fields.get_non_empty("turn_id").as_deref(), line, found),
            "task_complete" | "turn_complete" | "turn_aborted" => self.flush_tools(line, found),
            "thread_settings_applied" => self.apply_context(line, &fields.get_object("thread_settings"), found),
            "thread_name_updated" => {
                found.facts.merge_newer(SessionFacts {
                    title: fields.get_non_empty("thread_name"),
                    ..SessionFacts::default()
                });
            }
            "agent_message" | "agent_reasoning" | "agent_reasoning_raw_content" => self.account.note_model_output(),
            _ => {}
        }
    }

    fn read_item(&mut self, line: &RolloutRecord<'_>, found: &mut ScanOutput) {
        let what = line.payload_type();
        if let Some(cwd) = messages::environment_cwd(line).filter(|_| self.cwd.is_none()) {
            self.cwd = Some(cwd.clone());
            found.facts.merge_newer(SessionFacts { cwd: Some(cwd), ..SessionFacts::default() });
        }
        if !record::is_model_output(&what, &line.fields) {
            return;
        }
        self.account.note_model_output();
        if let Some((id, name)) = passages::parse_call_name(&what, &line.fields) {
            push_bounded(&mut self.calls, (id.clone(), name.clone()), MAX_REMEMBERED_CALLS);
            self.tools.push((id, name));
        }
    }

    /// Returns the tool name of a call.
    pub(super) fn tool_name(&self, id: &str) -> Option<&str> {
        self.calls.iter().rev().find(|(call, _)| call == id).map(|(_, name)| name.as_str())
    }

    fn add_spent(
        &mut self,
        reply: Result<Option<ReplyUsage>, InvalidTokenCounts>,
        line: &RolloutRecord<'_>,
        found: &mut ScanOutput,
    ) {
        match reply {
            Ok(Some(ReplyUsage { key, used, copied })) => {
                let used = used.build_usage(None);
                self.last = Some((key.clone(), copied));
                let spent = self.build_spent(key, copied, line);
                found.spent.push(ReplyTokens {
                    input: used.input,
                    output: used.output,
                    cache_read: used.cache_read,
                    cache_write: used.cache_write_5m,
                    reasoning: used.reasoning,
                    ..spent
                });
            }
            Ok(None) => {}
            Err(wrong) => found.trouble = Some(wrong.to_string()),
        }
    }

    /// Attributes tools that were called after the last token count of the turn to its last reply.
    fn flush_tools(&mut self, line: &RolloutRecord<'_>, found: &mut ScanOutput) {
        if let Some((key, copied)) = self.last.clone().filter(|_| !self.tools.is_empty()) {
            let spent = self.build_spent(key, copied, line);
            found.spent.push(spent);
        }
        self.tools.clear();
    }

    fn build_spent(&mut self, key: String, copied: bool, line: &RolloutRecord<'_>) -> ReplyTokens {
        let tools = std::mem::take(&mut self.tools);
        ReplyTokens {
            key,
            copied,
            at: line.at,
            model: self.model.clone(),
            cwd: self.cwd.clone(),
            subagent: self.subagent.clone(),
            tools: tools.into_iter().map(|(id, name)| ToolCallRef { id, name }).collect(),
            ..ReplyTokens::default()
        }
    }

    /// Reads a message of a person. Returns true if it repeats the other form. No person writes to a subagent: the
    /// first message of its own history is its task.
    fn read_prompt(&mut self, line: &RolloutRecord<'_>, found: &mut ScanOutput) -> bool {
        let Some((way, text)) = messages::find_prompt(line) else { return false };
        if self.said.is_repeat(MessageSpeaker::User, way, &text, line.at) {
            return true;
        }
        self.account.note_prompt(&text, line.at);
        let before = self.start.zip(line.ordinal).is_some_and(|(start, at)| at < start);
        if self.subagent.is_some() && (before || self.account.is_copied(line.at)) {
            return false;
        }
        let first = !std::mem::replace(&mut self.prompted, true);
        let prompts = u32::from(self.subagent.is_none());
        found.facts.merge_newer(SessionFacts {
            prompt: first.then(|| text.into_owned()),
            prompts,
            ..SessionFacts::default()
        });
        false
    }
}

/// Returns the name of a subagent's thread: its nickname, its role, or its purpose.
fn subagent_name(meta: &JsonObject<'_>) -> Option<String> {
    let source = meta.get_object("source");
    let spawn = source.get_object("subagent").get_object("thread_spawn");
    let named = |name: &str| meta.get_non_empty(name).or_else(|| spawn.get_non_empty(name));
    let is = source.contains_key("subagent")
        || meta.str_equals("thread_source", "subagent")
        || meta.contains_key("parent_thread_id");
    let name = named("agent_nickname").or_else(|| named("agent_role")).or_else(|| source.get_non_empty("subagent"));
    is.then(|| name.or_else(|| meta.get_non_empty("id")).unwrap_or_default())
}
