//! OpenCode's logs: databases of many sessions, and the tree of small files that older versions had. The same session
//! can be in two tables, and in a database and the tree.

mod rows;

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use self::rows::{Row, Session, TABLES};
use super::Agent;
use crate::corpus::{
    files::{Corpus, hex, sizes},
    plan::{Plan, Planner},
};

/// Its part of a corpus.
pub const AGENT: Agent = Agent { name: "opencode", percent: 6, cases: Case::ALL.len(), write };

const PLANNER: Planner = Planner { models: &["big-pickle", "qwen3-coder"], writes_cache: true, for_an_hour: false };

const FOLDER: &str = ".local/share/opencode";

/// What is special about a session. Each is a way to count wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Messages and their parts, of which one repeats the tokens.
    Plain,
    /// A session that works for another.
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

impl Case {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::Plain, Self::Child, Self::Migrated, Self::Later, Self::Tree, Self::TreeToo, Self::Channel];
}

fn write(corpus: &mut Corpus, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    let sizes = sizes(seed ^ 4, sessions, bytes);
    let cases = sizes.into_iter().enumerate().map(|(number, size)| {
        let case = Case::ALL.get(number % Case::ALL.len()).copied().unwrap_or(Case::Plain);
        (case, seed.wrapping_mul(43).wrapping_add(number as u64), size)
    });
    sessions_of(corpus, cases)
}

/// Writes sessions, each of a case, and the databases that they are in.
pub fn sessions_of(corpus: &mut Corpus, cases: impl IntoIterator<Item = (Case, u64, u64)>) -> anyhow::Result<()> {
    let folder = corpus.home.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let paths = [folder.join("opencode.db"), folder.join("opencode-dev.db")];
    let mut databases = [Connection::open(&paths[0])?, Connection::open(&paths[1])?];
    for database in &databases {
        database.execute_batch(TABLES)?;
    }
    for (case, seed, bytes) in cases {
        // The tree is a file a message and more: there only the sizes of small ones are real.
        let bytes = if matches!(case, Case::Tree | Case::TreeToo) { bytes.min(8_000) } else { bytes };
        let database = &mut databases[usize::from(case == Case::Channel)];
        session(corpus, database, case, seed, bytes)?;
    }
    drop(databases);
    for path in paths {
        corpus.wrote(fs::metadata(path)?.len());
    }
    Ok(())
}

fn session(corpus: &mut Corpus, database: &mut Connection, case: Case, seed: u64, bytes: u64) -> anyhow::Result<()> {
    let plan = PLANNER.session(seed, bytes);
    let mut session = Session::new(&plan, None);
    if case == Case::Plain {
        session.needle = Some(corpus.needle(AGENT.name, &session.id));
    }
    corpus.tell(AGENT.name, &session.id, plan.cwd, plan.replies());
    put(corpus, database, case, &session, &plan)?;
    if case == Case::Child {
        let child = Plan { cwd: plan.cwd, ..PLANNER.session(seed ^ 9, 9_000) }.after(plan.began());
        corpus.tell(AGENT.name, &session.id, plan.cwd, child.replies());
        put(corpus, database, case, &Session::new(&child, Some(&session.id)), &child)?;
    }
    Ok(())
}

fn put(
    corpus: &mut Corpus,
    database: &mut Connection,
    case: Case,
    session: &Session,
    plan: &Plan,
) -> anyhow::Result<()> {
    let rows = if case == Case::Later { session.later(corpus, plan) } else { session.rows(corpus, plan) };
    if case != Case::Tree {
        let insert = database.transaction()?;
        session.insert(&insert, plan)?;
        rows.iter().try_for_each(|row| row.insert(&insert))?;
        if case == Case::Migrated {
            session.later(corpus, plan).iter().try_for_each(|row| row.insert(&insert))?;
        }
        insert.commit()?;
    }
    if matches!(case, Case::Tree | Case::TreeToo) {
        let project = hex(plan.seed, 3, 40);
        corpus.file(
            &format!("{FOLDER}/storage/session/{project}/{}.json", session.id),
            session.info(plan).to_string().as_bytes(),
        )?;
        rows.iter().try_for_each(|row| file(corpus, session, row))?;
    }
    Ok(())
}

/// A row as a small file: its ids are in it.
fn file(corpus: &mut Corpus, session: &Session, row: &Row) -> anyhow::Result<()> {
    let Row { table, id, message, data, .. } = row;
    let folder = if *table == "part" { message } else { &session.id };
    let mut data = data.clone();
    if let Value::Object(data) = &mut data {
        data.insert("id".to_owned(), id.as_str().into());
        data.insert("sessionID".to_owned(), session.id.as_str().into());
        if *table == "part" {
            data.insert("messageID".to_owned(), message.as_str().into());
        }
    }
    corpus.file(&format!("{FOLDER}/storage/{table}/{folder}/{id}.json"), data.to_string().as_bytes())
}
