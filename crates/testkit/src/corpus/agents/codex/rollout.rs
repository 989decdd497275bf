//! The records of a rollout, as versions 0.40 to 0.166 write them.

use serde_json::{Value, json};

use crate::corpus::{
    calendar::stamp,
    files::{Corpus, Lines, dice, hex, uuid},
    plan::{Plan, Reply, Turn},
    truth::Tokens,
};

/// The context that its models have.
const WINDOW: u64 = 258_400;

/// How a thread's history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Events for people, and totals.
    Legacy,
    /// Numbered records and items, and totals.
    Pages,
    /// The same, and a record of what each reply used.
    Records,
}

/// A rollout that is being written.
pub struct Rollout {
    /// What is written so far.
    pub lines: Lines,
    /// The thread.
    pub thread: String,
    /// How it is kept.
    pub mode: Mode,
    /// The number of the next record.
    pub ordinal: u64,
    /// How many turns there were.
    pub turns: usize,
    /// Counts lack what they can lack.
    pub sparse: bool,
    /// A word to be said once.
    pub needle: Option<String>,
    totals: Tokens,
    /// What the total has more than its parts: an overflow leaves it so.
    filled: u64,
    /// All is written at this moment, whenever it happened.
    moment: Option<i64>,
}

impl Rollout {
    /// An empty one.
    pub fn new(thread: &str, mode: Mode) -> Self {
        Self {
            lines: Lines::default(),
            thread: thread.to_owned(),
            mode,
            ordinal: 0,
            turns: 0,
            sparse: false,
            needle: None,
            totals: Tokens::default(),
            filled: 0,
            moment: None,
        }
    }

    /// Numbers and totals go on where another thread's are.
    pub fn go_on_from(&mut self, parent: &Self) {
        (self.ordinal, self.totals, self.filled) = (parent.ordinal, parent.totals, parent.filled);
    }

    /// Says what the thread is.
    pub fn meta(&mut self, plan: &Plan, mut more: Value) {
        let mode = if self.mode == Mode::Legacy { "legacy" } else { "paginated" };
        let meta = json!({"id": self.thread, "timestamp": stamp(plan.began()), "cwd": plan.cwd, "originator": "codex_cli_rs",
            "cli_version": "0.166.0", "model_provider": "openai", "base_instructions": {"text": "You are a coding agent."},
            "history_mode": mode, "git": {"branch": plan.branch}});
        if let (Some(more), Value::Object(meta)) = (more.as_object_mut(), meta) {
            more.extend(meta);
        }
        self.line(plan.began(), "session_meta", &more);
    }

    /// Another thread's records once more, all at one moment.
    pub fn replay(&mut self, corpus: &Corpus, plan: &Plan, thread: &str, moment: i64) {
        self.moment = Some(moment);
        let own = std::mem::replace(&mut self.thread, thread.to_owned());
        self.meta(plan, json!({"session_id": thread, "source": "cli"}));
        plan.turns.iter().for_each(|turn| self.turn(corpus, plan, turn));
        self.thread = own;
        self.moment = None;
    }

    /// A turn.
    pub fn turn(&mut self, corpus: &Corpus, plan: &Plan, turn: &Turn) {
        let id = uuid(turn.seed, 7);
        self.turns += 1;
        self.event(turn.at, &json!({"type": "task_started", "turn_id": id, "model_context_window": WINDOW}));
        // The totals are told again whenever a turn begins.
        if self.totals.replies > 0 {
            self.count(turn.at + 1, None);
        } else {
            self.event(turn.at + 1, &json!({"type": "token_count", "info": null, "rate_limits": null}));
        }
        let model = turn.replies.first().map_or("", |reply| reply.model);
        self.line(
            turn.at + 2,
            "turn_context",
            &json!({"turn_id": id, "cwd": plan.cwd, "approval_policy": "on-request",
            "sandbox_policy": {"type": "workspace-write"}, "model": model, "effort": "medium", "summary": "auto"}),
        );
        self.prompt(corpus, turn, &id);
        for reply in &turn.replies {
            self.reply(corpus, reply, &id);
        }
        let end = turn.replies.last().map_or(turn.at, |reply| reply.at) + 3;
        self.event(end, &json!({"type": "task_complete", "turn_id": id, "duration_ms": end - turn.at}));
    }

    fn prompt(&mut self, corpus: &Corpus, turn: &Turn, id: &str) {
        let text = corpus.words.prose(&mut dice(turn.seed, 1), turn.words);
        let message = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
        self.line(turn.at + 3, "response_item", &message);
        let item =
            json!({"type": "UserMessage", "id": uuid(turn.seed, 8), "content": [{"type": "text", "text": text}]});
        self.told(turn.at + 3, json!({"type": "user_message", "message": text, "images": []}), &item, id);
    }

    fn reply(&mut self, corpus: &Corpus, reply: &Reply, turn: &str) {
        let at = reply.at;
        if reply.thought > 0 {
            let text = corpus.words.prose(&mut dice(reply.seed, 2), reply.thought);
            let reasoning = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "content": null,
                "encrypted_content": hex(reply.seed, 3, 600)});
            self.line(at - 40, "response_item", &reasoning);
            let item =
                json!({"type": "Reasoning", "id": uuid(reply.seed, 9), "summary_text": [text], "raw_content": []});
            self.told(at - 40, json!({"type": "agent_reasoning", "text": text}), &item, turn);
        }
        self.answer(corpus, reply, turn);
        self.calls(corpus, reply, turn);
        self.spend(reply, turn);
        self.outputs(corpus, reply);
    }

    fn answer(&mut self, corpus: &Corpus, reply: &Reply, turn: &str) {
        let mut text = corpus.words.prose(&mut dice(reply.seed, 4), reply.said);
        if let Some(needle) = self.needle.take() {
            text.push_str(&format!(" {needle}"));
        }
        let message =
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
        self.line(reply.at - 20, "response_item", &message);
        let item =
            json!({"type": "AgentMessage", "id": uuid(reply.seed, 10), "content": [{"type": "Text", "text": text}]});
        self.told(reply.at - 20, json!({"type": "agent_message", "message": text}), &item, turn);
    }

    fn calls(&mut self, corpus: &Corpus, reply: &Reply, _turn: &str) {
        for number in 0..reply.tools.len() as u64 {
            let command = corpus.words.code(&mut dice(reply.seed, 20 + number), 9);
            let arguments = json!({"cmd": command}).to_string();
            let call = json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call_id(reply, number)});
            self.line(reply.at - 10, "response_item", &call);
        }
    }

    fn outputs(&mut self, corpus: &Corpus, reply: &Reply) {
        for (number, words) in (0..).zip(&reply.tools) {
            let text = corpus.words.code(&mut dice(reply.seed, 40 + number), *words);
            let output =
                format!("Chunk ID: 0948f0\nWall time: 0.1000 seconds\nProcess exited with code 0\nOutput:\n{text}");
            let result = json!({"type": "function_call_output", "call_id": call_id(reply, number), "output": output});
            self.line(reply.at + 400, "response_item", &result);
        }
    }

    /// What a reply used, in every way in which it is told.
    fn spend(&mut self, reply: &Reply, turn: &str) {
        self.totals += reply.tokens;
        if self.mode == Mode::Records {
            self.line(
                reply.at,
                "token_usage_record",
                &json!({"thread_id": self.thread, "turn_id": turn, "session_id": self.thread,
                "response_id": format!("resp_{}", hex(reply.seed, 5, 40)), "usage": usage(&reply.tokens, 0),
                "thread_token_usage": usage(&self.totals, self.filled)}),
            );
        }
        self.count(reply.at, Some(&reply.tokens));
        if reply.seed.is_multiple_of(3) {
            // Once more, because a limit was told anew.
            self.count(reply.at + 900, Some(&reply.tokens));
        }
    }

    fn count(&mut self, at: i64, last: Option<&Tokens>) {
        let mut info = json!({"total_token_usage": usage(&self.totals, self.filled), "model_context_window": WINDOW});
        // What is told at the beginning of a turn is an estimate of the context, and no reply.
        info["last_token_usage"] = last.map_or_else(|| usage(&Tokens::default(), 6_985), |last| usage(last, 0));
        if let (true, Some(info)) = (self.sparse, info.as_object_mut()) {
            info.remove("last_token_usage");
            info.insert("model_context_window".to_owned(), Value::Null);
        }
        let limits = json!({"primary": {"used_percent": 12.5, "window_minutes": 300, "resets_at": at / 1000 + 9_000}, "secondary": null});
        self.event(at, &json!({"type": "token_count", "info": info, "rate_limits": limits}));
    }

    /// The context has overflown: the totals become nothing, and their sum the size of the context.
    pub fn overflow(&mut self, at: i64) {
        (self.totals, self.filled) = (Tokens { replies: self.totals.replies, ..Tokens::default() }, WINDOW);
        self.count(at - 1, None);
    }

    /// What people are told of an item.
    fn told(&mut self, at: i64, legacy: Value, item: &Value, turn: &str) {
        let event = if self.mode == Mode::Legacy {
            legacy
        } else {
            json!({"type": "item_completed", "thread_id": self.thread, "turn_id": turn, "item": item})
        };
        self.event(at, &event);
    }

    fn event(&mut self, at: i64, payload: &Value) {
        self.line(at, "event_msg", payload);
    }

    fn line(&mut self, at: i64, kind: &str, payload: &Value) {
        let at = stamp(self.moment.unwrap_or(at));
        let line = if self.mode == Mode::Legacy {
            json!({"timestamp": at, "type": kind, "payload": payload})
        } else {
            json!({"timestamp": at, "ordinal": self.ordinal, "type": kind, "payload": payload})
        };
        self.ordinal += 1;
        self.lines.push(&line);
    }
}

/// Figures as it tells them: the cache is part of what goes in, reasoning of what comes out.
fn usage(tokens: &Tokens, more: u64) -> Value {
    let input = tokens.input + tokens.cache_read + tokens.cache_write;
    json!({"input_tokens": input, "cached_input_tokens": tokens.cache_read, "cache_write_input_tokens": tokens.cache_write,
        "output_tokens": tokens.output, "reasoning_output_tokens": tokens.reasoning, "total_tokens": input + tokens.output + more})
}

fn call_id(reply: &Reply, number: u64) -> String {
    format!("call_{}", hex(reply.seed, 30 + number, 24))
}
