//! Claude Code's logs: one file per session, one record per block of a reply, subagents in separate files, and sessions
//! copied to other files.

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::CorpusAgent;
use crate::corpus::files::{CorpusWriter, JsonLines, first_turns, hex_digits, seeded_uuid, session_sizes, text_rng};
use crate::corpus::plan::{ReplyPlan, SessionPlan, SessionPlanner, TurnPlan, format_timestamp};
use crate::corpus::{CorpusTokens, NextLogLine};

pub const AGENT: CorpusAgent = CorpusAgent { name: "claude", percent: 46, cases: CountingCase::ALL.len(), write };

const PLANNER: SessionPlanner = SessionPlanner {
    models: &["claude-opus-4-8", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"],
    writes_cache: true,
    for_an_hour: true,
};

/// Each case is a way to count incorrectly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountingCase {
    /// Every record of a reply has all its tokens.
    Repeated,
    /// The first records of a reply have only some of its tokens.
    Partial,
    /// No record has all tokens of the reply; the largest figure is the best available.
    OnlyPartial,
    /// Replies without a `requestId`, as some gateways leave them.
    NoRequest,
    /// Subagents in a directory of the session.
    Subagents,
    /// Subagents in files next to the session, as in older versions.
    Beside,
    /// Subagents in the session's own file.
    Inside,
    /// Subagents reported by `progress` records; half of them have a file too.
    Progress,
    /// A subagent's file that begins with replies of the session, under other requests.
    Replayed,
    /// A fork: the session is also in another file with another id, and continues there.
    Forked,
    /// A later copy in another directory.
    Worktree,
    /// Errors, retries, compaction, records without tokens and unknown records.
    Eventful,
}

impl CountingCase {
    pub const ALL: &'static [Self] = &[
        Self::Repeated,
        Self::Partial,
        Self::OnlyPartial,
        Self::NoRequest,
        Self::Subagents,
        Self::Beside,
        Self::Inside,
        Self::Progress,
        Self::Replayed,
        Self::Forked,
        Self::Worktree,
        Self::Eventful,
    ];
}

fn write(corpus: &mut CorpusWriter, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    // Some sessions have more than one file, and copies are as large as their original.
    let sessions = (sessions * 3 / 4).max(AGENT.cases);
    for (number, size) in session_sizes(seed, sessions, bytes * 4 / 5).into_iter().enumerate() {
        let case = CountingCase::ALL.get(number % CountingCase::ALL.len()).copied().unwrap_or(CountingCase::Repeated);
        write_session(corpus, case, seed.wrapping_mul(31).wrapping_add(number as u64), size)?;
    }
    Ok(())
}

/// Writes one session of a case.
pub fn write_session(corpus: &mut CorpusWriter, case: CountingCase, seed: u64, bytes: u64) -> anyhow::Result<()> {
    let mut plan = PLANNER.plan_session(seed, bytes);
    if case == CountingCase::OnlyPartial {
        for reply in plan.turns.iter_mut().flat_map(|turn| turn.replies.iter_mut()) {
            reply.tokens.output = 3 + reply.seed % 7;
            reply.tokens.reasoning = 0;
        }
    }
    let mut book = ClaudeLogWriter::new(&plan, case, &seeded_uuid(plan.seed, 1));
    if case == CountingCase::Repeated {
        book.needle = Some(corpus.plant_rare_word(AGENT.name, &book.session));
    }
    corpus.record_replies(AGENT.name, &book.session, plan.cwd, plan.replies());
    for (number, turn) in plan.turns.iter().enumerate() {
        book.write_turn(corpus, turn);
        if number == 0 {
            write_related_files(corpus, &mut book, &plan, case)?;
        }
    }
    corpus.write_file(&log_path(plan.cwd, &book.session), &book.lines.0)?;
    if corpus.truth.growth.is_none() {
        corpus.truth.growth = Some(next_reply_line(corpus, book, &plan)?);
    }
    Ok(())
}

/// Returns the next reply of a session as one line.
fn next_reply_line(
    corpus: &CorpusWriter,
    mut book: ClaudeLogWriter,
    plan: &SessionPlan,
) -> anyhow::Result<NextLogLine> {
    let mut reply = plan.replies().next().context("a session without replies")?.clone();
    reply = ReplyPlan { seed: !reply.seed, at: plan.ended_at() + 60_000, thought: 0, tools: Vec::new(), ..reply };
    book.lines.0.clear();
    book.write_reply(corpus, &reply);
    let line = String::from_utf8(book.lines.0)?;
    Ok(NextLogLine { path: log_path(plan.cwd, &book.session), session: book.session, line, tokens: reply.tokens })
}

fn log_path(cwd: &str, name: &str) -> String {
    format!(".claude/projects/{}/{name}.jsonl", project_slug(cwd))
}

/// Writes subagents and copies of a session.
fn write_related_files(
    corpus: &mut CorpusWriter,
    book: &mut ClaudeLogWriter,
    plan: &SessionPlan,
    case: CountingCase,
) -> anyhow::Result<()> {
    match case {
        CountingCase::Subagents
        | CountingCase::Beside
        | CountingCase::Inside
        | CountingCase::Progress
        | CountingCase::Replayed => (0..2).try_for_each(|number| write_subagent(corpus, book, plan, case, number)),
        CountingCase::Forked => write_fork(corpus, plan, case),
        CountingCase::Worktree => write_worktree_copy(corpus, plan, case),
        CountingCase::Eventful => {
            book.write_other_records(plan.began_at());
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Writes a subagent of the session's first turn.
fn write_subagent(
    corpus: &mut CorpusWriter,
    main: &mut ClaudeLogWriter,
    of: &SessionPlan,
    case: CountingCase,
    number: u64,
) -> anyhow::Result<()> {
    let id = format!("a{}", hex_digits(of.seed, 70 + number, 16));
    let plan = SessionPlan { cwd: of.cwd, branch: of.branch, ..PLANNER.plan_session(of.seed ^ (number + 1), 9_000) };
    let plan = plan.shift_after(of.began_at());
    let mut book = ClaudeLogWriter::new(&plan, CountingCase::Repeated, &main.session);
    book.agent = Some(id.clone());
    corpus.record_replies(AGENT.name, &main.session, of.cwd, plan.replies());
    if case == CountingCase::Replayed {
        book.other_requests = true;
        of.turns.iter().take(1).for_each(|turn| book.write_turn(corpus, &shift_turn(turn.clone(), 5_000)));
        book.other_requests = false;
    }
    plan.turns.iter().for_each(|turn| book.write_turn(corpus, turn));
    if case == CountingCase::Progress {
        plan.turns.iter().for_each(|turn| main.write_progress(corpus, turn, &id));
    }
    match case {
        CountingCase::Inside => main.lines.0.extend_from_slice(&book.lines.0),
        CountingCase::Beside => corpus.write_file(&log_path(of.cwd, &format!("agent-{id}")), &book.lines.0)?,
        CountingCase::Progress if number == 0 => {}
        _ => {
            let folder = format!("{}/subagents/agent-{id}", main.session);
            corpus.write_file(&log_path(of.cwd, &folder), &book.lines.0)?;
            let meta = json!({"agentType": "general-purpose", "description": "look around", "spawnDepth": 1});
            corpus
                .write_file(&log_path(of.cwd, &folder).replace(".jsonl", ".meta.json"), meta.to_string().as_bytes())?;
        }
    }
    Ok(())
}

/// Writes a file that begins as a copy of the session and continues on its own.
fn write_fork(corpus: &mut CorpusWriter, of: &SessionPlan, case: CountingCase) -> anyhow::Result<()> {
    let copied = first_turns(of, of.turns.len() / 2 + 1);
    let mut book = ClaudeLogWriter::new(of, case, &seeded_uuid(of.seed, 2));
    corpus.truth.forks.insert(book.session.clone(), seeded_uuid(of.seed, 1));
    copied.turns.iter().for_each(|turn| book.write_turn(corpus, turn));
    let own = SessionPlan { cwd: of.cwd, branch: of.branch, ..PLANNER.plan_session(of.seed ^ 0xf0, 9_000) }
        .shift_after(of.ended_at());
    own.turns.iter().for_each(|turn| book.write_turn(corpus, turn));
    corpus.record_replies(AGENT.name, &book.session, of.cwd, own.replies());
    corpus.write_file(&log_path(of.cwd, &book.session), &book.lines.0)
}

/// Writes the whole session again, an hour later and in another directory.
fn write_worktree_copy(corpus: &mut CorpusWriter, of: &SessionPlan, case: CountingCase) -> anyhow::Result<()> {
    let moved = SessionPlan { cwd: "/home/dev/copies/elsewhere", ..of.clone() };
    let mut book = ClaudeLogWriter::new(&moved, case, &seeded_uuid(of.seed, 3));
    of.turns.iter().for_each(|turn| book.write_turn(corpus, &shift_turn(turn.clone(), 3_600_000)));
    corpus.write_file(&log_path(moved.cwd, &book.session), &book.lines.0)
}

fn shift_turn(mut turn: TurnPlan, by: i64) -> TurnPlan {
    turn.at += by;
    turn.replies.iter_mut().for_each(|reply| reply.at += by);
    turn
}

/// A log file that is being written.
struct ClaudeLogWriter {
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
    fn write_turn(&mut self, corpus: &CorpusWriter, turn: &TurnPlan) {
        let text = corpus.words.random_prose(&mut text_rng(turn.seed, 1), turn.words);
        let prompt = json!({"promptId": seeded_uuid(turn.seed, 9), "type": "user", "message": {"role": "user", "content": text}});
        self.push_record(turn.at, &seeded_uuid(turn.seed, 8), prompt);
        for reply in &turn.replies {
            self.write_reply(corpus, reply);
            self.write_tool_results(corpus, reply);
        }
    }

    /// Writes a reply as one record per block.
    fn write_reply(&mut self, corpus: &CorpusWriter, reply: &ReplyPlan) {
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
    fn write_progress(&mut self, corpus: &CorpusWriter, turn: &TurnPlan, agent: &str) {
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
    fn write_other_records(&mut self, at: i64) {
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
