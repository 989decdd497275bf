//! The records of a file, as versions 1.0 to 2.1 write them.

use serde_json::{Map, Value, json};

use super::Case;
use crate::corpus::{
    calendar::stamp,
    files::{Corpus, Lines, dice, hex, uuid},
    plan::{Plan, Reply, Turn},
    truth::Tokens,
};

/// A file that is being written.
pub struct Book {
    /// What is written so far.
    pub lines: Lines,
    /// The session that the records say they are of.
    pub session: String,
    /// The subagent whose file it is.
    pub agent: Option<String>,
    /// Replies are told of under other requests than they had.
    pub other_requests: bool,
    /// A word to be said once.
    pub needle: Option<String>,
    case: Case,
    cwd: &'static str,
    branch: &'static str,
    parent: Value,
}

/// The name of a folder as the agent makes it out of a path.
pub fn slug(cwd: &str) -> String {
    cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

impl Book {
    /// An empty one.
    pub fn new(plan: &Plan, case: Case, session: &str) -> Self {
        Self {
            lines: Lines::default(),
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

    /// A turn: the prompt, the replies, and what the tools gave back.
    pub fn turn(&mut self, corpus: &Corpus, turn: &Turn) {
        let text = corpus.words.prose(&mut dice(turn.seed, 1), turn.words);
        let prompt =
            json!({"promptId": uuid(turn.seed, 9), "type": "user", "message": {"role": "user", "content": text}});
        self.chained(turn.at, &uuid(turn.seed, 8), prompt);
        for reply in &turn.replies {
            self.reply(corpus, reply);
            self.results(corpus, reply);
        }
    }

    /// A reply: one record a block.
    pub fn reply(&mut self, corpus: &Corpus, reply: &Reply) {
        let blocks = self.blocks(corpus, reply);
        let last = blocks.len() - 1;
        for (number, block) in (0_u32..).zip(blocks) {
            let is_last = number as usize == last;
            let record = self.assistant(reply, &block, number, is_last);
            self.chained(reply.at + i64::from(number) * 40, &uuid(reply.seed, 100 + u64::from(number)), record);
        }
        if self.case == Case::Eventful && reply.seed.is_multiple_of(3) {
            // The same record again, as after a connection that broke off.
            let block = json!({"type": "text", "text": "once more"});
            let record = self.assistant(reply, &block, 0, true);
            self.chained(reply.at + 7_000, &uuid(reply.seed, 99), record);
        }
    }

    fn blocks(&mut self, corpus: &Corpus, reply: &Reply) -> Vec<Value> {
        let mut blocks = Vec::new();
        if reply.thought > 0 {
            let text = corpus.words.prose(&mut dice(reply.seed, 2), reply.thought);
            blocks.push(json!({"type": "thinking", "thinking": text, "signature": hex(reply.seed, 3, 340)}));
        }
        let mut text = corpus.words.prose(&mut dice(reply.seed, 4), reply.said);
        if let Some(needle) = self.needle.take() {
            text.push_str(&format!(" {needle}"));
        }
        blocks.push(json!({"type": "text", "text": text}));
        for number in 0..reply.tools.len() as u64 {
            let (id, command) = (tool_id(reply, number), corpus.words.code(&mut dice(reply.seed, 20 + number), 9));
            let input = if is_read(reply, number) {
                json!({"file_path": file_of(reply, number)})
            } else {
                json!({"command": command, "description": "Look"})
            };
            let name = if is_read(reply, number) { "Read" } else { "Bash" };
            blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        }
        blocks
    }

    fn assistant(&self, reply: &Reply, block: &Value, number: u32, is_last: bool) -> Value {
        let whole = is_last || !matches!(self.case, Case::Partial | Case::OnlyPartial);
        let usage = self.usage(&reply.tokens, (!whole).then_some(1 + u64::from(number)));
        let stop = if is_last { json!("end_turn") } else { Value::Null };
        let message = json!({"id": format!("msg_{}", hex(reply.seed, 5, 24)), "type": "message", "role": "assistant", "model": reply.model,
            "content": [block], "stop_reason": stop, "stop_sequence": null, "usage": usage});
        let mut record = json!({"message": message, "type": "assistant"});
        if self.case != Case::NoRequest {
            let purpose = if self.other_requests { 66 } else { 6 };
            record["requestId"] = json!(format!("req_{}", hex(reply.seed, purpose, 24)));
        }
        record
    }

    /// The tokens of a reply, or what an early record says of them.
    fn usage(&self, tokens: &Tokens, early: Option<u64>) -> Value {
        let output = early.map_or(tokens.output, |early| early.min(tokens.output));
        let mut usage = json!({"input_tokens": tokens.input, "cache_creation_input_tokens": tokens.cache_write,
            "cache_read_input_tokens": tokens.cache_read, "output_tokens": output, "service_tier": "standard"});
        // Older versions do not say for how long; there is nothing to tell of an hour then.
        if tokens.cache_write_1h > 0 || !matches!(self.case, Case::Partial | Case::Inside) {
            usage["cache_creation"] = json!({"ephemeral_5m_input_tokens": tokens.cache_write - tokens.cache_write_1h,
                "ephemeral_1h_input_tokens": tokens.cache_write_1h});
        }
        if tokens.reasoning > 0 && early.is_none() {
            usage["output_tokens_details"] = json!({"thinking_tokens": tokens.reasoning});
        }
        usage
    }

    /// What the tools of a reply gave back: for the model, and once more for people.
    fn results(&mut self, corpus: &Corpus, reply: &Reply) {
        for (number, words) in (0..).zip(&reply.tools) {
            let text = corpus.words.code(&mut dice(reply.seed, 40 + number), *words);
            let result = if is_read(reply, number) {
                json!({"type": "text", "file": {"filePath": file_of(reply, number), "content": text, "numLines": 9, "startLine": 1, "totalLines": 9}})
            } else {
                // Figures of a subagent that are in its own file too; here they are no reply.
                json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false, "totalTokens": 987_654,
                    "usage": {"input_tokens": 111_111, "output_tokens": 222_222, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}})
            };
            let content = json!([{"tool_use_id": tool_id(reply, number), "type": "tool_result", "content": text, "is_error": false}]);
            let record =
                json!({"type": "user", "message": {"role": "user", "content": content}, "toolUseResult": result});
            self.chained(reply.at + 500, &uuid(reply.seed, 200 + number), record);
        }
    }

    /// A turn of a subagent, as the session's own file tells of it.
    pub fn progress(&mut self, corpus: &Corpus, turn: &Turn, agent: &str) {
        for reply in &turn.replies {
            let text = corpus.words.prose(&mut dice(reply.seed, 4), reply.said);
            let mut message = self.assistant(reply, &json!({"type": "text", "text": text}), 0, true);
            message["timestamp"] = json!(stamp(reply.at));
            message["uuid"] = json!(uuid(reply.seed, 101));
            let record = json!({"type": "progress", "data": {"message": message, "normalizedMessages": [], "type": "agent_progress",
                "prompt": "look around", "agentId": agent}, "toolUseID": format!("agent_{}", tool_id(reply, 0)), "parentToolUseID": tool_id(reply, 1)});
            self.chained(reply.at, &uuid(reply.seed, 300), record);
        }
    }

    /// Records that have no tokens, whatever they look like.
    pub fn events(&mut self, at: i64) {
        let session = self.session.clone();
        let no_usage = json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
        self.chained(at + 1, &uuid(1, 1), json!({"type": "system", "subtype": "api_error", "level": "error", "error": {"status": 529}, "retryInMs": 500.5, "retryAttempt": 1, "maxRetries": 10}));
        self.chained(at + 2, &uuid(1, 2), json!({"type": "assistant", "isApiErrorMessage": true, "message": {"id": uuid(1, 3), "model": "<synthetic>", "role": "assistant",
            "type": "message", "content": [{"type": "text", "text": "API Error: 529"}], "stop_reason": "stop_sequence", "usage": no_usage}}));
        self.chained(at + 3, &uuid(1, 4), json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": {"trigger": "auto", "preTokens": 155_000}}));
        self.chained(at + 4, &uuid(1, 5), json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content": "This session is being continued."}}));
        self.chained(at + 5, &uuid(1, 6), json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and then?", "commandMode": "prompt"}}));
        for record in [
            json!({"type": "summary", "summary": "Work on the login", "leafUuid": uuid(1, 7)}),
            json!({"type": "file-history-snapshot", "messageId": uuid(1, 8), "snapshot": {"messageId": uuid(1, 8), "trackedFileBackups": {}, "timestamp": stamp(at)}, "isSnapshotUpdate": false}),
            json!({"type": "queue-operation", "operation": "enqueue", "timestamp": stamp(at), "sessionId": session, "content": "and then?"}),
            json!({"type": "ai-title", "aiTitle": "Login", "sessionId": session}),
            json!({"type": "a-type-of-the-future", "usage": {"input_tokens": 77, "output_tokens": 7}, "sessionId": session}),
        ] {
            self.lines.push(&record);
        }
    }

    /// A record of the conversation, with what all of them have.
    fn chained(&mut self, at: i64, id: &str, own: Value) {
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
            ("timestamp", &stamp(at)),
            ("userType", "external"),
            ("entrypoint", "cli"),
            ("cwd", self.cwd),
            ("sessionId", &self.session),
            ("version", self.version()),
            ("gitBranch", self.branch),
        ];
        record.extend(all.into_iter().map(|(name, value)| (name.to_owned(), json!(value))));
        self.lines.push(&Value::Object(record));
    }

    fn version(&self) -> &'static str {
        match self.case {
            Case::Partial | Case::OnlyPartial => "2.1.29",
            Case::Inside | Case::Beside => "1.0.88",
            _ => "2.1.197",
        }
    }
}

fn tool_id(reply: &Reply, number: u64) -> String {
    format!("toolu_{}", hex(reply.seed, 30 + number, 24))
}

fn is_read(reply: &Reply, number: u64) -> bool {
    (reply.seed >> number).is_multiple_of(2)
}

fn file_of(reply: &Reply, number: u64) -> String {
    format!("/home/dev/src/{}.rs", hex(reply.seed, 50 + number, 6))
}
