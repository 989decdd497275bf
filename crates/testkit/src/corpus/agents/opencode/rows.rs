//! The rows of OpenCode's databases, in the format of versions 1.18 and 2.0.

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::corpus::{
    files::{CorpusWriter, hex_digits, text_rng},
    plan::{ReplyPlan, SessionPlan, TurnPlan},
    truth::CorpusTokens,
};

/// The relevant tables with the columns that all versions have.
pub const SCHEMA_SQL: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, time_created integer NOT NULL,
        time_updated integer NOT NULL, sandboxes text NOT NULL);
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, slug text NOT NULL,
        directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL, cost real DEFAULT 0 NOT NULL,
        tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
        tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL,
        tokens_cache_write integer DEFAULT 0 NOT NULL, revert text, permission text, agent text, model text,
        time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE INDEX message_session ON message (session_id);
    CREATE INDEX part_session ON part (session_id);
    CREATE INDEX part_message ON part (message_id, id);
    CREATE INDEX session_message_session ON session_message (session_id);
";

pub struct OpenCodeCorpusSession {
    pub id: String,
    /// A word to be written once.
    pub needle: Option<String>,
    parent: Option<String>,
}

pub struct OpenCodeCorpusRow {
    pub table: &'static str,
    pub id: String,
    /// The message of a part, or the row's kind in `session_message`.
    pub message: String,
    pub data: Value,
    session: String,
    at: i64,
    seq: usize,
}

impl OpenCodeCorpusSession {
    pub fn new(plan: &SessionPlan, parent: Option<&str>) -> Self {
        Self { id: format!("ses_{}", hex_digits(plan.seed, 1, 26)), needle: None, parent: parent.map(str::to_owned) }
    }

    /// Returns the session file of the tree.
    pub fn session_info(&self, plan: &SessionPlan) -> Value {
        json!({"id": self.id, "version": "1.1.53", "projectID": hex_digits(plan.seed, 3, 40), "directory": plan.cwd, "title": "Work",
            "parentID": self.parent, "time": {"created": plan.began_at(), "updated": plan.ended_at()}})
    }

    /// Inserts the session's row. Its sums are for the agent only and are not replies.
    pub fn insert_session(&self, into: &Connection, plan: &SessionPlan) -> rusqlite::Result<()> {
        let mut all = CorpusTokens::default();
        plan.replies().for_each(|reply| all += reply.tokens);
        let project = hex_digits(plan.seed, 3, 40);
        into.execute(
            "INSERT OR IGNORE INTO project VALUES (?1, ?2, 'git', NULL, ?3, ?3, '[]')",
            params![project, plan.cwd, plan.began_at()],
        )?;
        into.execute(
            "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, tokens_input, tokens_output,
                 tokens_reasoning, tokens_cache_read, tokens_cache_write, agent, time_created, time_updated)
             VALUES (?1, ?2, ?3, 'brave-moon', ?4, 'Work', '1.18.33', ?5, ?6, ?7, ?8, ?9, 'build', ?10, ?11)",
            params![
                self.id,
                project,
                self.parent,
                plan.cwd,
                all.input,
                all.output - all.reasoning,
                all.reasoning,
                all.cache_read,
                all.cache_write,
                plan.began_at(),
                plan.ended_at()
            ],
        )?;
        Ok(())
    }

    pub fn message_rows(&self, corpus: &CorpusWriter, plan: &SessionPlan) -> Vec<OpenCodeCorpusRow> {
        let mut rows = Vec::new();
        for turn in &plan.turns {
            let asked = self.push_prompt(corpus, turn, &mut rows);
            for reply in &turn.replies {
                self.push_reply(corpus, plan, reply, &asked, &mut rows);
            }
        }
        if let (Some(needle), Some(turn)) = (&self.needle, plan.turns.first()) {
            let id = message_id(turn.at, turn.seed);
            rows.push(self.part_row(
                &id,
                turn.at + 1,
                &hex_digits(turn.seed, 71, 8),
                json!({"type": "text", "text": format!("and {needle}")}),
            ));
        }
        rows
    }

    fn push_prompt(&self, corpus: &CorpusWriter, turn: &TurnPlan, rows: &mut Vec<OpenCodeCorpusRow>) -> String {
        let id = message_id(turn.at, turn.seed);
        let data = json!({"role": "user", "time": {"created": turn.at}, "agent": "build"});
        rows.push(self.table_row("message", id.clone(), String::new(), turn.at, data));
        let text = corpus.words.random_prose(&mut text_rng(turn.seed, 1), turn.words);
        rows.push(self.part_row(&id, turn.at, &hex_digits(turn.seed, 70, 8), json!({"type": "text", "text": text})));
        id
    }

    fn push_reply(
        &self,
        corpus: &CorpusWriter,
        plan: &SessionPlan,
        reply: &ReplyPlan,
        asked: &str,
        rows: &mut Vec<OpenCodeCorpusRow>,
    ) {
        let (id, at) = (message_id(reply.at, reply.seed), reply.at);
        let tokens = tokens_json(&reply.tokens);
        let data = json!({"role": "assistant", "parentID": asked, "mode": "build", "agent": "build", "path": {"cwd": plan.cwd, "root": plan.cwd},
            "cost": 0.0, "tokens": tokens, "modelID": reply.model, "providerID": "lab", "time": {"created": at, "completed": at + 900}, "finish": "stop"});
        rows.push(self.table_row("message", id.clone(), String::new(), at, data));
        let mut part =
            |number: u64, data: Value| rows.push(self.part_row(&id, at, &hex_digits(reply.seed, 80 + number, 8), data));
        part(0, json!({"type": "step-start", "snapshot": hex_digits(reply.seed, 9, 40)}));
        if reply.thought > 0 {
            let text = corpus.words.random_prose(&mut text_rng(reply.seed, 2), reply.thought);
            part(1, json!({"type": "reasoning", "text": text, "time": {"start": at, "end": at + 1}}));
        }
        let text = corpus.words.random_prose(&mut text_rng(reply.seed, 4), reply.said);
        part(2, json!({"type": "text", "text": text, "time": {"start": at, "end": at + 2}}));
        for (number, words) in (0..).zip(&reply.tools) {
            part(10 + number, tool_part(corpus, reply, number, *words));
        }
        part(3, json!({"type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0.0}));
    }

    /// Returns the rows in the table of the later version.
    pub fn later_version_rows(&self, corpus: &CorpusWriter, plan: &SessionPlan) -> Vec<OpenCodeCorpusRow> {
        let mut rows = Vec::new();
        for turn in &plan.turns {
            let text = corpus.words.random_prose(&mut text_rng(turn.seed, 1), turn.words);
            let data = json!({"time": {"created": turn.at}, "text": text});
            rows.push(self.table_row(
                "session_message",
                message_id(turn.at, turn.seed),
                "user".to_owned(),
                turn.at,
                data,
            ));
            for reply in &turn.replies {
                let text = corpus.words.random_prose(&mut text_rng(reply.seed, 4), reply.said);
                let data = json!({"time": {"created": reply.at, "completed": reply.at + 900}, "agent": "build",
                    "model": {"id": reply.model, "providerID": "lab"}, "content": [{"type": "text", "id": "text-0", "text": text}],
                    "finish": "stop", "cost": 0.0, "tokens": tokens_json(&reply.tokens)});
                rows.push(self.table_row(
                    "session_message",
                    message_id(reply.at, reply.seed),
                    "assistant".to_owned(),
                    reply.at,
                    data,
                ));
            }
        }
        rows.iter_mut().zip(1..).for_each(|(row, seq)| row.seq = seq);
        rows
    }

    fn part_row(&self, message: &str, at: i64, id: &str, data: Value) -> OpenCodeCorpusRow {
        self.table_row("part", format!("prt_{at:012x}{id}"), message.to_owned(), at, data)
    }

    fn table_row(&self, table: &'static str, id: String, message: String, at: i64, data: Value) -> OpenCodeCorpusRow {
        OpenCodeCorpusRow { table, id, message, data, session: self.id.clone(), at, seq: 0 }
    }
}

impl OpenCodeCorpusRow {
    pub fn insert(&self, into: &Connection) -> rusqlite::Result<()> {
        let Self { table, id, message, data, session, at, seq } = self;
        let data = data.to_string();
        match *table {
            "message" => {
                into.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", params![id, session, at, data])
            }
            "part" => into
                .execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)", params![id, message, session, at, data]),
            _ => into.execute(
                "INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)",
                params![id, session, message, seq, at, data],
            ),
        }
        .map(drop)
    }
}

/// Ids sort by time.
fn message_id(at: i64, seed: u64) -> String {
    format!("msg_{at:012x}{}", hex_digits(seed, 2, 14))
}

/// Returns tokens in OpenCode's form: cache and reasoning are separate.
fn tokens_json(tokens: &CorpusTokens) -> Value {
    json!({"total": tokens.total_tokens(), "input": tokens.input, "output": tokens.output - tokens.reasoning, "reasoning": tokens.reasoning,
        "cache": {"read": tokens.cache_read, "write": tokens.cache_write}})
}

fn tool_part(corpus: &CorpusWriter, reply: &ReplyPlan, number: u64, words: usize) -> Value {
    let (command, output) = (
        corpus.words.random_code(&mut text_rng(reply.seed, 20 + number), 9),
        corpus.words.random_code(&mut text_rng(reply.seed, 40 + number), words),
    );
    json!({"type": "tool", "tool": "bash", "callID": format!("call_{}", hex_digits(reply.seed, 30 + number, 12)),
        "state": {"status": "completed", "input": {"command": command, "description": "look"}, "output": output,
            "metadata": {"output": output, "exit": 0}, "title": "look", "time": {"start": reply.at, "end": reply.at + 50}}})
}
