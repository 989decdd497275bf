//! The records of a rollout, in the format of versions 0.40 to 0.166.

use serde_json::{Value, json};

use crate::corpus::CorpusTokens;
use crate::corpus::files::{CorpusWriter, JsonLines, hex_digits, seeded_uuid, text_rng};
use crate::corpus::plan::{ReplyPlan, SessionPlan, TurnPlan, format_timestamp};

const CONTEXT_WINDOW_TOKENS: u64 = 258_400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutHistoryMode {
    /// Display events and totals.
    Legacy,
    /// Numbered records with items, and totals.
    Pages,
    /// Same, and a usage record for each reply.
    Records,
}

/// A rollout that is being written.
pub struct RolloutWriter {
    pub lines: JsonLines,
    pub thread: String,
    pub mode: RolloutHistoryMode,
    /// The number of the next record.
    pub ordinal: u64,
    pub turns: usize,
    /// Counts omit their optional fields.
    pub sparse: bool,
    /// A word to be written once.
    pub needle: Option<String>,
    totals: CorpusTokens,
    /// The excess of the total over its parts, left by an overflow.
    filled: u64,
    /// If set, the timestamp of all records.
    moment: Option<i64>,
}

impl RolloutWriter {
    pub fn new(thread: &str, mode: RolloutHistoryMode) -> Self {
        Self {
            lines: JsonLines::default(),
            thread: thread.to_owned(),
            mode,
            ordinal: 0,
            turns: 0,
            sparse: false,
            needle: None,
            totals: CorpusTokens::default(),
            filled: 0,
            moment: None,
        }
    }

    /// Continues the numbers and totals of another thread.
    pub fn continue_from(&mut self, parent: &Self) {
        (self.ordinal, self.totals, self.filled) = (parent.ordinal, parent.totals, parent.filled);
    }

    pub fn write_meta(&mut self, plan: &SessionPlan, mut more: Value) {
        let mode = if self.mode == RolloutHistoryMode::Legacy { "legacy" } else { "paginated" };
        let meta = json!({"id": self.thread, "timestamp": format_timestamp(plan.began_at()), "cwd": plan.cwd, "originator": "codex_cli_rs",
            "cli_version": "0.166.0", "model_provider": "openai", "base_instructions": {"text": "You are a coding agent."},
            "history_mode": mode, "git": {"branch": plan.branch}});
        if let (Some(more), Value::Object(meta)) = (more.as_object_mut(), meta) {
            more.extend(meta);
        }
        self.push_line(plan.began_at(), "session_meta", &more);
    }

    /// Repeats another thread's records, all at one moment.
    pub fn replay_thread(&mut self, corpus: &CorpusWriter, plan: &SessionPlan, thread: &str, moment: i64) {
        self.moment = Some(moment);
        let own = std::mem::replace(&mut self.thread, thread.to_owned());
        self.write_meta(plan, json!({"session_id": thread, "source": "cli"}));
        plan.turns.iter().for_each(|turn| self.write_turn(corpus, plan, turn));
        self.thread = own;
        self.moment = None;
    }

    pub fn write_turn(&mut self, corpus: &CorpusWriter, plan: &SessionPlan, turn: &TurnPlan) {
        let id = seeded_uuid(turn.seed, 7);
        self.turns += 1;
        self.write_event(
            turn.at,
            &json!({"type": "task_started", "turn_id": id, "model_context_window": CONTEXT_WINDOW_TOKENS}),
        );
        // The totals are repeated at the beginning of every turn.
        if self.totals.replies > 0 {
            self.write_token_count(turn.at + 1, None);
        } else {
            self.write_event(turn.at + 1, &json!({"type": "token_count", "info": null, "rate_limits": null}));
        }
        let model = turn.replies.first().map_or("", |reply| reply.model);
        self.push_line(
            turn.at + 2,
            "turn_context",
            &json!({"turn_id": id, "cwd": plan.cwd, "approval_policy": "on-request",
            "sandbox_policy": {"type": "workspace-write"}, "model": model, "effort": "medium", "summary": "auto"}),
        );
        self.write_prompt(corpus, turn, &id);
        for reply in &turn.replies {
            self.write_reply(corpus, reply, &id);
        }
        let end = turn.replies.last().map_or(turn.at, |reply| reply.at) + 3;
        self.write_event(end, &json!({"type": "task_complete", "turn_id": id, "duration_ms": end - turn.at}));
    }

    fn write_prompt(&mut self, corpus: &CorpusWriter, turn: &TurnPlan, id: &str) {
        let text = corpus.words.random_prose(&mut text_rng(turn.seed, 1), turn.words);
        let message = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
        self.push_line(turn.at + 3, "response_item", &message);
        let item = json!({"type": "UserMessage", "id": seeded_uuid(turn.seed, 8), "content": [{"type": "text", "text": text}]});
        self.write_item_event(turn.at + 3, json!({"type": "user_message", "message": text, "images": []}), &item, id);
    }

    fn write_reply(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan, turn: &str) {
        let at = reply.at;
        if reply.thought > 0 {
            let text = corpus.words.random_prose(&mut text_rng(reply.seed, 2), reply.thought);
            let reasoning = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "content": null,
                "encrypted_content": hex_digits(reply.seed, 3, 600)});
            self.push_line(at - 40, "response_item", &reasoning);
            let item = json!({"type": "Reasoning", "id": seeded_uuid(reply.seed, 9), "summary_text": [text], "raw_content": []});
            self.write_item_event(at - 40, json!({"type": "agent_reasoning", "text": text}), &item, turn);
        }
        self.write_answer(corpus, reply, turn);
        self.write_calls(corpus, reply, turn);
        self.write_usage(reply, turn);
        self.write_outputs(corpus, reply);
    }

    fn write_answer(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan, turn: &str) {
        let mut text = corpus.words.random_prose(&mut text_rng(reply.seed, 4), reply.said);
        if let Some(needle) = self.needle.take() {
            text.push_str(&format!(" {needle}"));
        }
        let message =
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
        self.push_line(reply.at - 20, "response_item", &message);
        let item = json!({"type": "AgentMessage", "id": seeded_uuid(reply.seed, 10), "content": [{"type": "Text", "text": text}]});
        self.write_item_event(reply.at - 20, json!({"type": "agent_message", "message": text}), &item, turn);
    }

    fn write_calls(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan, _turn: &str) {
        for number in 0..reply.tools.len() as u64 {
            let command = corpus.words.random_code(&mut text_rng(reply.seed, 20 + number), 9);
            let arguments = json!({"cmd": command}).to_string();
            let call = json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call_id(reply, number)});
            self.push_line(reply.at - 10, "response_item", &call);
        }
    }

    fn write_outputs(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan) {
        for (number, words) in (0..).zip(&reply.tools) {
            let text = corpus.words.random_code(&mut text_rng(reply.seed, 40 + number), *words);
            let output =
                format!("Chunk ID: 0948f0\nWall time: 0.1000 seconds\nProcess exited with code 0\nOutput:\n{text}");
            let result = json!({"type": "function_call_output", "call_id": call_id(reply, number), "output": output});
            self.push_line(reply.at + 400, "response_item", &result);
        }
    }

    /// Writes a reply's usage in every form that the mode has.
    fn write_usage(&mut self, reply: &ReplyPlan, turn: &str) {
        self.totals += reply.tokens;
        if self.mode == RolloutHistoryMode::Records {
            self.push_line(
                reply.at,
                "token_usage_record",
                &json!({"thread_id": self.thread, "turn_id": turn, "session_id": self.thread,
                "response_id": format!("resp_{}", hex_digits(reply.seed, 5, 40)), "usage": usage_json(&reply.tokens, 0),
                "thread_token_usage": usage_json(&self.totals, self.filled)}),
            );
        }
        self.write_token_count(reply.at, Some(&reply.tokens));
        if reply.seed.is_multiple_of(3) {
            // Repeated because of a rate limit update.
            self.write_token_count(reply.at + 900, Some(&reply.tokens));
        }
    }

    fn write_token_count(&mut self, at: i64, last: Option<&CorpusTokens>) {
        let mut info = json!({"total_token_usage": usage_json(&self.totals, self.filled), "model_context_window": CONTEXT_WINDOW_TOKENS});
        // At the beginning of a turn this is an estimate of the context, not a reply.
        info["last_token_usage"] =
            last.map_or_else(|| usage_json(&CorpusTokens::default(), 6_985), |last| usage_json(last, 0));
        if let (true, Some(info)) = (self.sparse, info.as_object_mut()) {
            info.remove("last_token_usage");
            info.insert("model_context_window".to_owned(), Value::Null);
        }
        let limits = json!({"primary": {"used_percent": 12.5, "window_minutes": 300, "resets_at": at / 1000 + 9_000}, "secondary": null});
        self.write_event(at, &json!({"type": "token_count", "info": info, "rate_limits": limits}));
    }

    /// After an overflow, the totals are zero and their sum is the size of the context.
    pub fn overflow_context(&mut self, at: i64) {
        (self.totals, self.filled) =
            (CorpusTokens { replies: self.totals.replies, ..CorpusTokens::default() }, CONTEXT_WINDOW_TOKENS);
        self.write_token_count(at - 1, None);
    }

    /// Writes the display event of an item.
    fn write_item_event(&mut self, at: i64, legacy: Value, item: &Value, turn: &str) {
        let event = if self.mode == RolloutHistoryMode::Legacy {
            legacy
        } else {
            json!({"type": "item_completed", "thread_id": self.thread, "turn_id": turn, "item": item})
        };
        self.write_event(at, &event);
    }

    fn write_event(&mut self, at: i64, payload: &Value) {
        self.push_line(at, "event_msg", payload);
    }

    fn push_line(&mut self, at: i64, kind: &str, payload: &Value) {
        let at = format_timestamp(self.moment.unwrap_or(at));
        let line = if self.mode == RolloutHistoryMode::Legacy {
            json!({"timestamp": at, "type": kind, "payload": payload})
        } else {
            json!({"timestamp": at, "ordinal": self.ordinal, "type": kind, "payload": payload})
        };
        self.ordinal += 1;
        self.lines.push(&line);
    }
}

/// Returns usage in Codex's form: input includes the cache, output includes reasoning.
fn usage_json(tokens: &CorpusTokens, more: u64) -> Value {
    let input = tokens.input + tokens.cache_read + tokens.cache_write;
    json!({"input_tokens": input, "cached_input_tokens": tokens.cache_read, "cache_write_input_tokens": tokens.cache_write,
        "output_tokens": tokens.output, "reasoning_output_tokens": tokens.reasoning, "total_tokens": input + tokens.output + more})
}

fn call_id(reply: &ReplyPlan, number: u64) -> String {
    format!("call_{}", hex_digits(reply.seed, 30 + number, 24))
}
