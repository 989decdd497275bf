//! Claude Code's logs: one file a session, a record a block of a reply, subagents in files beside it, and sessions that
//! were copied into other files.

mod records;

use anyhow::Context as _;
use serde_json::json;

use self::records::{Book, slug};
use super::{
    super::files::{Corpus, first_turns, hex, sizes, uuid},
    Agent,
};
use crate::corpus::{
    plan::{Plan, Planner, Reply},
    truth::Growth,
};

/// Its part of a corpus.
pub const AGENT: Agent = Agent { name: "claude", percent: 46, cases: Case::ALL.len(), write };

const PLANNER: Planner = Planner {
    models: &["claude-opus-4-8", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"],
    writes_cache: true,
    for_an_hour: true,
};

/// What is special about a session. Each is a way to count wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Every record of a reply has all its tokens.
    Repeated,
    /// The first records of a reply have only a few of its tokens.
    Partial,
    /// No record ever had all tokens of the reply; the largest figure is the best there is.
    OnlyPartial,
    /// Replies without a `requestId`, as some gateways leave them.
    NoRequest,
    /// Subagents in a folder of the session.
    Subagents,
    /// Subagents in files beside the session, as older versions had them.
    Beside,
    /// Subagents in the file of the session itself.
    Inside,
    /// Subagents that are told of by `progress` records; half of them have a file too.
    Progress,
    /// A subagent's file that begins with replies of the session, under other requests.
    Replayed,
    /// A fork: the session is in another file too, with another id, and goes on there.
    Forked,
    /// A copy in another folder, later.
    Worktree,
    /// Errors, retries, compaction, records that have no tokens and records that nobody knows.
    Eventful,
}

impl Case {
    /// All of them.
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

fn write(corpus: &mut Corpus, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    // Some sessions have more than one file, and copies are as large as what they copy.
    let sessions = (sessions * 3 / 4).max(AGENT.cases);
    for (number, size) in sizes(seed, sessions, bytes * 4 / 5).into_iter().enumerate() {
        let case = Case::ALL.get(number % Case::ALL.len()).copied().unwrap_or(Case::Repeated);
        session(corpus, case, seed.wrapping_mul(31).wrapping_add(number as u64), size)?;
    }
    Ok(())
}

/// Writes one session of a case.
pub fn session(corpus: &mut Corpus, case: Case, seed: u64, bytes: u64) -> anyhow::Result<()> {
    let mut plan = PLANNER.session(seed, bytes);
    if case == Case::OnlyPartial {
        for reply in plan.turns.iter_mut().flat_map(|turn| turn.replies.iter_mut()) {
            reply.tokens.output = 3 + reply.seed % 7;
            reply.tokens.reasoning = 0;
        }
    }
    let mut book = Book::new(&plan, case, &uuid(plan.seed, 1));
    if case == Case::Repeated {
        book.needle = Some(corpus.needle(AGENT.name, &book.session));
    }
    corpus.tell(AGENT.name, &book.session, plan.cwd, plan.replies());
    for (number, turn) in plan.turns.iter().enumerate() {
        book.turn(corpus, turn);
        if number == 0 {
            around(corpus, &mut book, &plan, case)?;
        }
    }
    corpus.file(&path(plan.cwd, &book.session), &book.lines.0)?;
    if corpus.truth.growth.is_none() {
        corpus.truth.growth = Some(growth(corpus, book, &plan)?);
    }
    Ok(())
}

/// A reply that comes next in a session: one line.
fn growth(corpus: &Corpus, mut book: Book, plan: &Plan) -> anyhow::Result<Growth> {
    let mut reply = plan.replies().next().context("a session without replies")?.clone();
    reply = Reply { seed: !reply.seed, at: plan.ended() + 60_000, thought: 0, tools: Vec::new(), ..reply };
    book.lines.0.clear();
    book.reply(corpus, &reply);
    let line = String::from_utf8(book.lines.0)?;
    Ok(Growth { path: path(plan.cwd, &book.session), session: book.session, line, tokens: reply.tokens })
}

fn path(cwd: &str, name: &str) -> String {
    format!(".claude/projects/{}/{name}.jsonl", slug(cwd))
}

/// What lies around a session: its subagents and its copies.
fn around(corpus: &mut Corpus, book: &mut Book, plan: &Plan, case: Case) -> anyhow::Result<()> {
    match case {
        Case::Subagents | Case::Beside | Case::Inside | Case::Progress | Case::Replayed => {
            (0..2).try_for_each(|number| subagent(corpus, book, plan, case, number))
        }
        Case::Forked => fork(corpus, plan, case),
        Case::Worktree => worktree(corpus, plan, case),
        Case::Eventful => {
            book.events(plan.began());
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A subagent of the session's first turn.
fn subagent(corpus: &mut Corpus, main: &mut Book, of: &Plan, case: Case, number: u64) -> anyhow::Result<()> {
    let id = format!("a{}", hex(of.seed, 70 + number, 16));
    let plan = Plan { cwd: of.cwd, branch: of.branch, ..PLANNER.session(of.seed ^ (number + 1), 9_000) };
    let plan = plan.after(of.began());
    let mut book = Book::new(&plan, Case::Repeated, &main.session);
    book.agent = Some(id.clone());
    corpus.tell(AGENT.name, &main.session, of.cwd, plan.replies());
    if case == Case::Replayed {
        book.other_requests = true;
        of.turns.iter().take(1).for_each(|turn| book.turn(corpus, &later(turn.clone(), 5_000)));
        book.other_requests = false;
    }
    plan.turns.iter().for_each(|turn| book.turn(corpus, turn));
    if case == Case::Progress {
        plan.turns.iter().for_each(|turn| main.progress(corpus, turn, &id));
    }
    match case {
        Case::Inside => main.lines.0.extend_from_slice(&book.lines.0),
        Case::Beside => corpus.file(&path(of.cwd, &format!("agent-{id}")), &book.lines.0)?,
        Case::Progress if number == 0 => {}
        _ => {
            let folder = format!("{}/subagents/agent-{id}", main.session);
            corpus.file(&path(of.cwd, &folder), &book.lines.0)?;
            let meta = json!({"agentType": "general-purpose", "description": "look around", "spawnDepth": 1});
            corpus.file(&path(of.cwd, &folder).replace(".jsonl", ".meta.json"), meta.to_string().as_bytes())?;
        }
    }
    Ok(())
}

/// A file that begins as a copy of the session, and goes on by itself.
fn fork(corpus: &mut Corpus, of: &Plan, case: Case) -> anyhow::Result<()> {
    let copied = first_turns(of, of.turns.len() / 2 + 1);
    let mut book = Book::new(of, case, &uuid(of.seed, 2));
    copied.turns.iter().for_each(|turn| book.turn(corpus, turn));
    let own = Plan { cwd: of.cwd, branch: of.branch, ..PLANNER.session(of.seed ^ 0xf0, 9_000) }.after(of.ended());
    own.turns.iter().for_each(|turn| book.turn(corpus, turn));
    corpus.tell(AGENT.name, &book.session, of.cwd, own.replies());
    corpus.file(&path(of.cwd, &book.session), &book.lines.0)
}

/// The whole session again, an hour later and in another folder.
fn worktree(corpus: &mut Corpus, of: &Plan, case: Case) -> anyhow::Result<()> {
    let moved = Plan { cwd: "/home/dev/copies/elsewhere", ..of.clone() };
    let mut book = Book::new(&moved, case, &uuid(of.seed, 3));
    of.turns.iter().for_each(|turn| book.turn(corpus, &later(turn.clone(), 3_600_000)));
    corpus.file(&path(moved.cwd, &book.session), &book.lines.0)
}

fn later(mut turn: crate::corpus::plan::Turn, by: i64) -> crate::corpus::plan::Turn {
    turn.at += by;
    turn.replies.iter_mut().for_each(|reply| reply.at += by);
    turn
}
