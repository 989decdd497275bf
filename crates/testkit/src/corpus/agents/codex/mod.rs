//! Codex's logs: one rollout a thread, with running totals in place of figures a reply; forks that repeat the history of
//! another thread or point at it; files that were put away, compressed, or both.

mod rollout;

use serde_json::{Value, json};

use self::rollout::{Mode, Rollout};
use super::Agent;
use crate::corpus::{
    calendar::{clock, date, stamp},
    files::{Corpus, Lines, dice, first_turns, sizes, uuid},
    plan::{Plan, Planner},
    truth::Tokens,
};

/// Its part of a corpus.
pub const AGENT: Agent = Agent { name: "codex", percent: 40, cases: Case::ALL.len(), write };

const PLANNER: Planner =
    Planner { models: &["gpt-5.5", "gpt-5.5-codex", "gpt-5-mini"], writes_cache: true, for_an_hour: false };

/// What is special about a session. Each is a way to count wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Totals only, which are told again and again.
    Totals,
    /// A record for each reply, beside the totals.
    Records,
    /// Totals that start anew when the context has overflown.
    Reset,
    /// Replies that used exactly the same: they are two.
    Equal,
    /// Totals without the last reply's figures, and counts without totals.
    Sparse,
    /// A fork that repeats the counts of its parent, at the time of the fork.
    Replayed,
    /// A fork of a fork, which repeats both.
    ReplayedTwice,
    /// A fork that points at its parent, with a record for each reply.
    Based,
    /// The same without records: its totals go on where its parent's were.
    BasedTotals,
    /// A subagent that repeats the counts of its parent.
    SpawnedCopy,
    /// A subagent that starts from nothing.
    SpawnedFresh,
    /// Compressed.
    Compressed,
    /// Put away.
    Archived,
    /// Put away, and a longer one is still in its place.
    ArchivedTwin,
    /// Compressed, and the plain one is still there.
    CompressedTwin,
    /// As early versions wrote them, without tokens: lines.
    Bare,
    /// As the first versions wrote them, without tokens: one document.
    Document,
}

impl Case {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Totals,
        Self::Records,
        Self::Reset,
        Self::Equal,
        Self::Sparse,
        Self::Replayed,
        Self::ReplayedTwice,
        Self::Based,
        Self::BasedTotals,
        Self::SpawnedCopy,
        Self::SpawnedFresh,
        Self::Compressed,
        Self::Archived,
        Self::ArchivedTwin,
        Self::CompressedTwin,
        Self::Bare,
        Self::Document,
    ];
}

fn write(corpus: &mut Corpus, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    // Some sessions have more than one file.
    let sessions = (sessions * 3 / 4).max(AGENT.cases);
    for (number, size) in sizes(seed ^ 2, sessions, bytes * 4 / 5).into_iter().enumerate() {
        let case = Case::ALL.get(number % Case::ALL.len()).copied().unwrap_or(Case::Totals);
        session(corpus, case, seed.wrapping_mul(37).wrapping_add(number as u64), size)?;
    }
    Ok(())
}

/// Writes one session of a case, with what belongs to it.
pub fn session(corpus: &mut Corpus, case: Case, seed: u64, bytes: u64) -> anyhow::Result<()> {
    let mut plan = PLANNER.session(seed, bytes);
    if case == Case::Equal {
        let same = Tokens { input: 100, output: 20, cache_read: 40, reasoning: 5, replies: 1, ..Tokens::default() };
        plan.turns.iter_mut().flat_map(|turn| turn.replies.iter_mut()).for_each(|reply| reply.tokens = same);
    }
    let thread = uuid(plan.seed, 1);
    match case {
        Case::Bare => return bare(corpus, &plan, &thread),
        Case::Document => return document(corpus, &plan, &thread),
        _ => {}
    }
    let mode = match case {
        Case::Records | Case::Based | Case::SpawnedFresh => Mode::Records,
        Case::BasedTotals => Mode::Pages,
        _ => Mode::Legacy,
    };
    let mut main = Rollout::new(&thread, mode);
    main.sparse = case == Case::Sparse;
    main.needle = (case == Case::Totals).then(|| corpus.needle(AGENT.name, &thread));
    main.meta(&plan, json!({"session_id": thread, "source": "cli"}));
    for (number, turn) in plan.turns.iter().enumerate() {
        if case == Case::Reset && number == 2 {
            main.overflow(turn.at);
        }
        main.turn(corpus, &plan, turn);
        if number == plan.turns.len() / 2 {
            beside(corpus, &main, &plan, case)?;
        }
    }
    corpus.tell(AGENT.name, &thread, plan.cwd, plan.replies());
    put(corpus, &main.lines, &plan, &thread, case)
}

/// The file itself, in the place and the form of its case.
fn put(corpus: &mut Corpus, lines: &Lines, plan: &Plan, thread: &str, case: Case) -> anyhow::Result<()> {
    let (active, name) = (path(plan, thread), name(plan, thread));
    let packed = || zstd::encode_all(lines.0.as_slice(), 3);
    match case {
        Case::Compressed => corpus.file(&format!("{active}.zst"), &packed()?),
        Case::Archived => corpus.file(&format!(".codex/archived_sessions/{name}"), &lines.0),
        Case::ArchivedTwin => {
            corpus.file(&format!(".codex/archived_sessions/{name}"), first_lines(&lines.0, 2, 3))?;
            corpus.file(&active, &lines.0)
        }
        Case::CompressedTwin => {
            corpus.file(&format!("{active}.zst"), &packed()?)?;
            corpus.file(&active, &lines.0)
        }
        _ => corpus.file(&active, &lines.0),
    }
}

/// Threads that came out of this one while it ran.
fn beside(corpus: &mut Corpus, main: &Rollout, plan: &Plan, case: Case) -> anyhow::Result<()> {
    match case {
        Case::Replayed => replayed(corpus, main, plan, 1).map(drop),
        Case::ReplayedTwice => {
            let (fork, forked) = replayed(corpus, main, plan, 1)?;
            replayed(corpus, &fork, &forked, 2).map(drop)
        }
        Case::Based | Case::BasedTotals => based(corpus, main, plan),
        Case::SpawnedCopy | Case::SpawnedFresh => spawned(corpus, main, plan, case),
        _ => Ok(()),
    }
}

fn own_turns(of: &Plan, number: u64) -> Plan {
    Plan { cwd: of.cwd, branch: of.branch, ..PLANNER.session(of.seed ^ number.wrapping_mul(0xabcd), 9_000) }
        .after(of.ended())
}

/// A fork with all that the parent had so far, written anew at the time of the fork. Also gives what another fork of it
/// would repeat.
fn replayed(corpus: &mut Corpus, parent: &Rollout, of: &Plan, number: u64) -> anyhow::Result<(Rollout, Plan)> {
    let (own, thread) = (own_turns(of, number), uuid(of.seed, 40 + number));
    let mut fork = Rollout::new(&thread, Mode::Legacy);
    fork.meta(&own, json!({"session_id": thread, "forked_from_id": parent.thread, "source": "cli"}));
    let so_far = first_turns(of, parent.turns);
    fork.replay(corpus, &so_far, &parent.thread, own.began());
    own.turns.iter().for_each(|turn| fork.turn(corpus, &own, turn));
    corpus.tell(AGENT.name, &thread, own.cwd, own.replies());
    corpus.file(&path(&own, &thread), &fork.lines.0)?;
    let turns = [so_far.turns, own.turns].concat();
    Ok((fork, Plan { turns, ..of.clone() }))
}

/// A fork that has nothing of its parent, and says where that is.
fn based(corpus: &mut Corpus, parent: &Rollout, of: &Plan) -> anyhow::Result<()> {
    let (own, thread) = (own_turns(of, 3), uuid(of.seed, 43));
    let mut fork = Rollout::new(&thread, parent.mode);
    fork.go_on_from(parent);
    let base = json!({"thread_id": parent.thread, "end_ordinal_exclusive": parent.ordinal, "end_byte_offset": parent.lines.0.len()});
    fork.meta(
        &own,
        json!({"session_id": thread, "forked_from_id": parent.thread, "forked_from_ordinal_exclusive": parent.ordinal,
        "history_base": base, "source": "cli"}),
    );
    own.turns.iter().for_each(|turn| fork.turn(corpus, &own, turn));
    corpus.tell(AGENT.name, &thread, own.cwd, own.replies());
    corpus.file(&path(&own, &thread), &fork.lines.0)
}

/// A subagent's thread.
fn spawned(corpus: &mut Corpus, parent: &Rollout, of: &Plan, case: Case) -> anyhow::Result<()> {
    let (own, thread) = (own_turns(of, 5), uuid(of.seed, 44));
    let mut child = Rollout::new(&thread, parent.mode);
    let spawn =
        json!({"parent_thread_id": parent.thread, "depth": 1, "agent_nickname": "Euclid", "agent_role": "worker"});
    let mut meta = json!({"session_id": parent.thread, "parent_thread_id": parent.thread, "agent_nickname": "Euclid",
        "source": {"subagent": {"thread_spawn": spawn}}});
    if case == Case::SpawnedCopy {
        meta["forked_from_id"] = json!(parent.thread);
    }
    child.meta(&own, meta);
    if case == Case::SpawnedCopy {
        child.replay(corpus, &first_turns(of, parent.turns), &parent.thread, own.began());
    }
    own.turns.iter().for_each(|turn| child.turn(corpus, &own, turn));
    corpus.tell(AGENT.name, &parent.thread, own.cwd, own.replies());
    corpus.file(&path(&own, &thread), &child.lines.0)
}

/// Items without an envelope, and states between them.
fn bare(corpus: &mut Corpus, plan: &Plan, thread: &str) -> anyhow::Result<()> {
    let mut lines = Lines::default();
    lines.push(
        &json!({"id": thread, "timestamp": stamp(plan.began()), "instructions": null, "git": {"branch": plan.branch}}),
    );
    items(corpus, plan).iter().for_each(|item| {
        lines.push(item);
        lines.push(&json!({"record_type": "state"}));
    });
    corpus.file(&path(plan, thread), &lines.0)
}

fn document(corpus: &mut Corpus, plan: &Plan, thread: &str) -> anyhow::Result<()> {
    let session = json!({"timestamp": stamp(plan.began()), "id": thread, "instructions": ""});
    let document = json!({"session": session, "items": items(corpus, plan)});
    let (year, month, day) = date(plan.began());
    let path = format!(".codex/sessions/rollout-{year:04}-{month:02}-{day:02}-{thread}.json");
    corpus.file(&path, serde_json::to_string_pretty(&document)?.as_bytes())
}

fn items(corpus: &Corpus, plan: &Plan) -> Vec<Value> {
    let message = |role: &str, kind: &str, text: String| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let prompt = |seed, words| message("user", "input_text", corpus.words.prose(&mut dice(seed, 1), words));
    let answer = |seed, words| message("assistant", "output_text", corpus.words.prose(&mut dice(seed, 4), words));
    plan.turns
        .iter()
        .flat_map(|turn| {
            std::iter::once(prompt(turn.seed, turn.words))
                .chain(turn.replies.iter().map(|reply| answer(reply.seed, reply.said)))
        })
        .collect()
}

fn name(plan: &Plan, thread: &str) -> String {
    let ((year, month, day), (hour, minute, second, _)) = (date(plan.began()), clock(plan.began()));
    format!("rollout-{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}-{thread}.jsonl")
}

fn path(plan: &Plan, thread: &str) -> String {
    let (year, month, day) = date(plan.began());
    format!(".codex/sessions/{year:04}/{month:02}/{day:02}/{}", name(plan, thread))
}

/// The lines of a part of a file, as far as they are whole.
fn first_lines(bytes: &[u8], part: usize, of: usize) -> &[u8] {
    let some = bytes.get(..bytes.len() / of * part).unwrap_or_default();
    let end = memchr::memrchr(b'\n', some).map_or(0, |end| end + 1);
    some.get(..end).unwrap_or_default()
}
