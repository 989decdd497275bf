//! Claude Code's logs: one file per session, one record per block of a reply, subagents in separate files, and sessions
//! copied to other files.

mod records;

use anyhow::Context as _;
use serde_json::json;

use self::records::{ClaudeLogWriter, project_slug};
use super::{
    super::files::{CorpusWriter, first_turns, hex_digits, seeded_uuid, session_sizes},
    CorpusAgent,
};
use crate::corpus::{
    plan::{ReplyPlan, SessionPlan, SessionPlanner},
    truth::NextLogLine,
};

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

fn shift_turn(mut turn: crate::corpus::plan::TurnPlan, by: i64) -> crate::corpus::plan::TurnPlan {
    turn.at += by;
    turn.replies.iter_mut().for_each(|reply| reply.at += by);
    turn
}
