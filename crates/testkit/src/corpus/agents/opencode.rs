//! OpenCode's logs: databases with many sessions, and the directory tree of older versions. A session can be in two
//! tables, and both in a database and in the tree.

use std::fs;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::CorpusAgent;
use crate::corpus::CorpusTokens;
use crate::corpus::files::{CorpusWriter, hex_digits, session_sizes, text_rng};
use crate::corpus::plan::{ReplyPlan, SessionPlan, SessionPlanner, TurnPlan};

pub const AGENT: CorpusAgent = CorpusAgent { name: "opencode", percent: 6, cases: CountingCase::ALL.len(), write };

const PLANNER: SessionPlanner =
    SessionPlanner { models: &["big-pickle", "qwen3-coder"], writes_cache: true, for_an_hour: false };

const DATA_DIRECTORY: &str = ".local/share/opencode";

/// Each case is a way to count incorrectly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountingCase {
    /// Messages and their parts, one of which repeats the tokens.
    Plain,
    /// A session that works for another one.
    Child,
    /// In the tables of two versions.
    Migrated,
    /// In the table of the later version.
    Later,
    /// In the tree only.
    Tree,
    /// In the tree and in the database.
    TreeToo,
    /// In the database of another release channel.
    Channel,
}

impl CountingCase {
    pub const ALL: &'static [Self] =
        &[Self::Plain, Self::Child, Self::Migrated, Self::Later, Self::Tree, Self::TreeToo, Self::Channel];
}

fn write(corpus: &mut CorpusWriter, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    let sizes = session_sizes(seed ^ 4, sessions, bytes);
    let cases = sizes.into_iter().enumerate().map(|(number, size)| {
        let case = CountingCase::ALL.get(number % CountingCase::ALL.len()).copied().unwrap_or(CountingCase::Plain);
        (case, seed.wrapping_mul(43).wrapping_add(number as u64), size)
    });
    write_sessions(corpus, cases)
}

/// Writes sessions, each of a case, and their databases.
pub fn write_sessions(
    corpus: &mut CorpusWriter,
    cases: impl IntoIterator<Item = (CountingCase, u64, u64)>,
) -> anyhow::Result<()> {
    let folder = corpus.home.join(DATA_DIRECTORY);
    fs::create_dir_all(&folder)?;
    let paths = [folder.join("opencode.db"), folder.join("opencode-dev.db")];
    let mut databases = [Connection::open(&paths[0])?, Connection::open(&paths[1])?];
    for database in &databases {
        database.execute_batch(SCHEMA_SQL)?;
    }
    for (case, seed, bytes) in cases {
        // The tree has a file per message, so its sessions are kept small.
        let bytes = if matches!(case, CountingCase::Tree | CountingCase::TreeToo) { bytes.min(8_000) } else { bytes };
        let database = &mut databases[usize::from(case == CountingCase::Channel)];
        write_session(corpus, database, case, seed, bytes)?;
    }
    drop(databases);
    for path in paths {
        corpus.count_file(fs::metadata(path)?.len());
    }
    Ok(())
}

fn write_session(
    corpus: &mut CorpusWriter,
    database: &mut Connection,
    case: CountingCase,
    seed: u64,
    bytes: u64,
) -> anyhow::Result<()> {
    let plan = PLANNER.plan_session(seed, bytes);
    let mut session = OpenCodeCorpusSession::new(&plan, None);
    if case == CountingCase::Plain {
        session.needle = Some(corpus.plant_rare_word(AGENT.name, &session.id));
    }
    corpus.record_replies(AGENT.name, &session.id, plan.cwd, plan.replies());
    store_session(corpus, database, case, &session, &plan)?;
    if case == CountingCase::Child {
        let child = SessionPlan { cwd: plan.cwd, ..PLANNER.plan_session(seed ^ 9, 9_000) }.shift_after(plan.began_at());
        corpus.record_replies(AGENT.name, &session.id, plan.cwd, child.replies());
        store_session(corpus, database, case, &OpenCodeCorpusSession::new(&child, Some(&session.id)), &child)?;
    }
    Ok(())
}

fn store_session(
    corpus: &mut CorpusWriter,
    database: &mut Connection,
    case: CountingCase,
    session: &OpenCodeCorpusSession,
    plan: &SessionPlan,
) -> anyhow::Result<()> {
    let rows = if case == CountingCase::Later {
        session.later_version_rows(corpus, plan)
    } else {
        session.message_rows(corpus, plan)
    };
    if case != CountingCase::Tree {
        let insert = database.transaction()?;
        session.insert_session(&insert, plan)?;
        rows.iter().try_for_each(|row| row.insert(&insert))?;
        if case == CountingCase::Migrated {
            session.later_version_rows(corpus, plan).iter().try_for_each(|row| row.insert(&insert))?;
        }
        insert.commit()?;
    }
    if matches!(case, CountingCase::Tree | CountingCase::TreeToo) {
        let project = hex_digits(plan.seed, 3, 40);
        corpus.write_file(
            &format!("{DATA_DIRECTORY}/storage/session/{project}/{}.json", session.id),
            session.session_info(plan).to_string().as_bytes(),
        )?;
        rows.iter().try_for_each(|row| write_row_file(corpus, session, row))?;
    }
    Ok(())
}

/// Writes a row as a file that contains its ids.
fn write_row_file(
    corpus: &mut CorpusWriter,
    session: &OpenCodeCorpusSession,
    row: &OpenCodeCorpusRow,
) -> anyhow::Result<()> {
    let OpenCodeCorpusRow { table, id, message, data, .. } = row;
    let folder = if *table == "part" { message } else { &session.id };
    let mut data = data.clone();
    if let Value::Object(data) = &mut data {
        data.insert("id".to_owned(), id.as_str().into());
        data.insert("sessionID".to_owned(), session.id.as_str().into());
        if *table == "part" {
            data.insert("messageID".to_owned(), message.as_str().into());
        }
    }
    corpus.write_file(&format!("{DATA_DIRECTORY}/storage/{table}/{folder}/{id}.json"), data.to_string().as_bytes())
}

/// The relevant tables with the columns that all versions have.
const SCHEMA_SQL: &str = "
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

struct OpenCodeCorpusSession {
    pub id: String,
    /// A word to be written once.
    pub needle: Option<String>,
    parent: Option<String>,
}

struct OpenCodeCorpusRow {
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
    fn insert_session(&self, into: &Connection, plan: &SessionPlan) -> rusqlite::Result<()> {
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

    fn message_rows(&self, corpus: &CorpusWriter, plan: &SessionPlan) -> Vec<OpenCodeCorpusRow> {
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
    fn later_version_rows(&self, corpus: &CorpusWriter, plan: &SessionPlan) -> Vec<OpenCodeCorpusRow> {
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
