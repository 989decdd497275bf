//! OpenCode's logs: databases with many sessions, and the directory tree of older versions. A session can be in two
//! tables, and both in a database and in the tree.

mod rows;

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use self::rows::{OpenCodeCorpusRow, OpenCodeCorpusSession, SCHEMA_SQL};
use super::CorpusAgent;
use crate::corpus::{
    files::{CorpusWriter, hex_digits, session_sizes},
    plan::{SessionPlan, SessionPlanner},
};

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
