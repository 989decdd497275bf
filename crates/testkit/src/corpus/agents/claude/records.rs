//! The records of a log file, in the format of versions 1.0 to 2.1.

use serde_json::{Map, Value, json};

use super::CountingCase;
use crate::corpus::{
    calendar::format_timestamp,
    files::{CorpusWriter, JsonLines, hex_digits, seeded_uuid, text_rng},
    plan::{ReplyPlan, SessionPlan, TurnPlan},
    truth::CorpusTokens,
};

/// A log file that is being written.
pub struct ClaudeLogWriter {
    pub lines: JsonLines,
    /// The session id in the records.
    pub session: String,
    /// The subagent that the file belongs to.
    pub agent: Option<String>,
    /// Replies get other request ids than before.
    pub other_requests: bool,
    /// A word to be written once.
    pub needle: Option<String>,
    case: CountingCase,
    cwd: &'static str,
    branch: &'static str,
    parent: Value,
}

/// Returns the agent's directory name for a path.
pub fn project_slug(cwd: &str) -> String {
    cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

impl ClaudeLogWriter {
    pub fn new(plan: &SessionPlan, case: CountingCase, session: &str) -> Self {
        Self {
            lines: JsonLines::default(),
            session: session.to_owned(),
            agent: None,
            other_requests: false,
            needle: None,
            case,
            cwd: plan.cwd,
            branch: plan.branch,
            parent: Value::Null,
        }
    }

    /// Writes a prompt, its replies, and the tool results.
    pub fn write_turn(&mut self, corpus: &CorpusWriter, turn: &TurnPlan) {
        let text = corpus.words.random_prose(&mut text_rng(turn.seed, 1), turn.words);
        let prompt = json!({"promptId": seeded_uuid(turn.seed, 9), "type": "user", "message": {"role": "user", "content": text}});
        self.push_record(turn.at, &seeded_uuid(turn.seed, 8), prompt);
        for reply in &turn.replies {
            self.write_reply(corpus, reply);
            self.write_tool_results(corpus, reply);
        }
    }

    /// Writes a reply as one record per block.
    pub fn write_reply(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan) {
        let blocks = self.content_blocks(corpus, reply);
        let last = blocks.len() - 1;
        for (number, block) in (0_u32..).zip(blocks) {
            let is_last = number as usize == last;
            let record = self.assistant_record(reply, &block, number, is_last);
            self.push_record(
                reply.at + i64::from(number) * 40,
                &seeded_uuid(reply.seed, 100 + u64::from(number)),
                record,
            );
        }
        if self.case == CountingCase::Eventful && reply.seed.is_multiple_of(3) {
            // The same record again, as after a broken connection.
            let block = json!({"type": "text", "text": "once more"});
            let record = self.assistant_record(reply, &block, 0, true);
            self.push_record(reply.at + 7_000, &seeded_uuid(reply.seed, 99), record);
        }
    }

    fn content_blocks(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan) -> Vec<Value> {
        let mut blocks = Vec::new();
        if reply.thought > 0 {
            let text = corpus.words.random_prose(&mut text_rng(reply.seed, 2), reply.thought);
            blocks.push(json!({"type": "thinking", "thinking": text, "signature": hex_digits(reply.seed, 3, 340)}));
        }
        let mut text = corpus.words.random_prose(&mut text_rng(reply.seed, 4), reply.said);
        if let Some(needle) = self.needle.take() {
            text.push_str(&format!(" {needle}"));
        }
        blocks.push(json!({"type": "text", "text": text}));
        for number in 0..reply.tools.len() as u64 {
            let (id, command) =
                (tool_id(reply, number), corpus.words.random_code(&mut text_rng(reply.seed, 20 + number), 9));
            let input = if is_read_call(reply, number) {
                json!({"file_path": read_path(reply, number)})
            } else {
                json!({"command": command, "description": "Look"})
            };
            let name = if is_read_call(reply, number) { "Read" } else { "Bash" };
            blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        }
        blocks
    }

    fn assistant_record(&self, reply: &ReplyPlan, block: &Value, number: u32, is_last: bool) -> Value {
        let whole = is_last || !matches!(self.case, CountingCase::Partial | CountingCase::OnlyPartial);
        let usage = self.usage_json(&reply.tokens, (!whole).then_some(1 + u64::from(number)));
        let stop = if is_last { json!("end_turn") } else { Value::Null };
        let message = json!({"id": format!("msg_{}", hex_digits(reply.seed, 5, 24)), "type": "message", "role": "assistant", "model": reply.model,
            "content": [block], "stop_reason": stop, "stop_sequence": null, "usage": usage});
        let mut record = json!({"message": message, "type": "assistant"});
        if self.case != CountingCase::NoRequest {
            let purpose = if self.other_requests { 66 } else { 6 };
            record["requestId"] = json!(format!("req_{}", hex_digits(reply.seed, purpose, 24)));
        }
        record
    }

    /// Returns the tokens of a reply, or the part that an early record reports.
    fn usage_json(&self, tokens: &CorpusTokens, early: Option<u64>) -> Value {
        let output = early.map_or(tokens.output, |early| early.min(tokens.output));
        let mut usage = json!({"input_tokens": tokens.input, "cache_creation_input_tokens": tokens.cache_write,
            "cache_read_input_tokens": tokens.cache_read, "output_tokens": output, "service_tier": "standard"});
        // Older versions do not report the cache duration.
        if tokens.cache_write_1h > 0 || !matches!(self.case, CountingCase::Partial | CountingCase::Inside) {
            usage["cache_creation"] = json!({"ephemeral_5m_input_tokens": tokens.cache_write - tokens.cache_write_1h,
                "ephemeral_1h_input_tokens": tokens.cache_write_1h});
        }
        if tokens.reasoning > 0 && early.is_none() {
            usage["output_tokens_details"] = json!({"thinking_tokens": tokens.reasoning});
        }
        usage
    }

    /// Writes the tool results of a reply, for the model and for display.
    fn write_tool_results(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan) {
        for (number, words) in (0..).zip(&reply.tools) {
            let text = corpus.words.random_code(&mut text_rng(reply.seed, 40 + number), *words);
            let result = if is_read_call(reply, number) {
                json!({"type": "text", "file": {"filePath": read_path(reply, number), "content": text, "numLines": 9, "startLine": 1, "totalLines": 9}})
            } else {
                // Figures of a subagent that are also in its own file; here they are not a reply.
                json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false, "totalTokens": 987_654,
                    "usage": {"input_tokens": 111_111, "output_tokens": 222_222, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}})
            };
            let content = json!([{"tool_use_id": tool_id(reply, number), "type": "tool_result", "content": text, "is_error": false}]);
            let record =
                json!({"type": "user", "message": {"role": "user", "content": content}, "toolUseResult": result});
            self.push_record(reply.at + 500, &seeded_uuid(reply.seed, 200 + number), record);
        }
    }

    /// Writes a subagent's turn as the session's own file reports it.
    pub fn write_progress(&mut self, corpus: &CorpusWriter, turn: &TurnPlan, agent: &str) {
        for reply in &turn.replies {
            let text = corpus.words.random_prose(&mut text_rng(reply.seed, 4), reply.said);
            let mut message = self.assistant_record(reply, &json!({"type": "text", "text": text}), 0, true);
            message["timestamp"] = json!(format_timestamp(reply.at));
            message["uuid"] = json!(seeded_uuid(reply.seed, 101));
            let record = json!({"type": "progress", "data": {"message": message, "normalizedMessages": [], "type": "agent_progress",
                "prompt": "look around", "agentId": agent}, "toolUseID": format!("agent_{}", tool_id(reply, 0)), "parentToolUseID": tool_id(reply, 1)});
            self.push_record(reply.at, &seeded_uuid(reply.seed, 300), record);
        }
    }

    /// Writes records that do not count, although some have figures.
    pub fn write_other_records(&mut self, at: i64) {
        let session = self.session.clone();
        let no_usage = json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
        self.push_record(at + 1, &seeded_uuid(1, 1), json!({"type": "system", "subtype": "api_error", "level": "error", "error": {"status": 529}, "retryInMs": 500.5, "retryAttempt": 1, "maxRetries": 10}));
        self.push_record(at + 2, &seeded_uuid(1, 2), json!({"type": "assistant", "isApiErrorMessage": true, "message": {"id": seeded_uuid(1, 3), "model": "<synthetic>", "role": "assistant",
            "type": "message", "content": [{"type": "text", "text": "API Error: 529"}], "stop_reason": "stop_sequence", "usage": no_usage}}));
        self.push_record(at + 3, &seeded_uuid(1, 4), json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": {"trigger": "auto", "preTokens": 155_000}}));
        self.push_record(at + 4, &seeded_uuid(1, 5), json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content": "This session is being continued."}}));
        self.push_record(at + 5, &seeded_uuid(1, 6), json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and then?", "commandMode": "prompt"}}));
        for record in [
            json!({"type": "summary", "summary": "Work on the login", "leafUuid": seeded_uuid(1, 7)}),
            json!({"type": "file-history-snapshot", "messageId": seeded_uuid(1, 8), "snapshot": {"messageId": seeded_uuid(1, 8), "trackedFileBackups": {}, "timestamp": format_timestamp(at)}, "isSnapshotUpdate": false}),
            json!({"type": "queue-operation", "operation": "enqueue", "timestamp": format_timestamp(at), "sessionId": session, "content": "and then?"}),
            json!({"type": "ai-title", "aiTitle": "Login", "sessionId": session}),
            json!({"type": "a-type-of-the-future", "usage": {"input_tokens": 77, "output_tokens": 7}, "sessionId": session}),
        ] {
            self.lines.push(&record);
        }
    }

    /// Appends a record of the conversation with the common fields.
    fn push_record(&mut self, at: i64, id: &str, own: Value) {
        let mut record = Map::new();
        record.insert("parentUuid".into(), std::mem::replace(&mut self.parent, json!(id)));
        record.insert("isSidechain".into(), json!(self.agent.is_some()));
        if let Some(agent) = &self.agent {
            record.insert("agentId".into(), json!(agent));
        }
        if let Value::Object(own) = own {
            record.extend(own);
        }
        let all = [
            ("uuid", id),
            ("timestamp", &format_timestamp(at)),
            ("userType", "external"),
            ("entrypoint", "cli"),
            ("cwd", self.cwd),
            ("sessionId", &self.session),
            ("version", self.agent_version()),
            ("gitBranch", self.branch),
        ];
        record.extend(all.into_iter().map(|(name, value)| (name.to_owned(), json!(value))));
        self.lines.push(&Value::Object(record));
    }

    fn agent_version(&self) -> &'static str {
        match self.case {
            CountingCase::Partial | CountingCase::OnlyPartial => "2.1.29",
            CountingCase::Inside | CountingCase::Beside => "1.0.88",
            _ => "2.1.197",
        }
    }
}

fn tool_id(reply: &ReplyPlan, number: u64) -> String {
    format!("toolu_{}", hex_digits(reply.seed, 30 + number, 24))
}

fn is_read_call(reply: &ReplyPlan, number: u64) -> bool {
    (reply.seed >> number).is_multiple_of(2)
}

fn read_path(reply: &ReplyPlan, number: u64) -> String {
    format!("/home/dev/src/{}.rs", hex_digits(reply.seed, 50 + number, 6))
}
