//! Codex's logs: one rollout per thread with running totals instead of figures per reply; forks that repeat or
//! reference the history of another thread; archived and compressed files.

mod rollout;

use serde_json::{Value, json};

use self::rollout::{RolloutHistoryMode, RolloutWriter};
use super::CorpusAgent;
use crate::corpus::CorpusTokens;
use crate::corpus::files::{CorpusWriter, JsonLines, first_turns, seeded_uuid, session_sizes, text_rng};
use crate::corpus::plan::{SessionPlan, SessionPlanner, civil_date, format_timestamp, time_of_day};

pub const AGENT: CorpusAgent = CorpusAgent { name: "codex", percent: 40, cases: CountingCase::ALL.len(), write };

const PLANNER: SessionPlanner =
    SessionPlanner { models: &["gpt-5.5", "gpt-5.5-codex", "gpt-5-mini"], writes_cache: true, for_an_hour: false };

/// Each case is a way to count incorrectly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountingCase {
    /// Totals only, repeated many times.
    Totals,
    /// A record for each reply, in addition to the totals.
    Records,
    /// Totals that restart after a context overflow.
    Reset,
    /// Two replies with exactly the same figures.
    Equal,
    /// Totals without figures of the last reply, and counts without totals.
    Sparse,
    /// A fork that repeats the counts of its parent at the time of the fork.
    Replayed,
    /// A fork of a fork, which repeats both.
    ReplayedTwice,
    /// A fork that references its parent, with a record for each reply.
    Based,
    /// Same without records: its totals continue those of its parent.
    BasedTotals,
    /// A subagent that repeats the counts of its parent.
    SpawnedCopy,
    /// A subagent that starts from zero.
    SpawnedFresh,
    Compressed,
    Archived,
    /// Archived, while a longer copy is still in place.
    ArchivedTwin,
    /// Compressed, while the plain file still exists.
    CompressedTwin,
    /// Lines without tokens, as in early versions.
    Bare,
    /// One document without tokens, as in the first versions.
    Document,
}

impl CountingCase {
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

fn write(corpus: &mut CorpusWriter, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    // Some sessions have more than one file.
    let sessions = (sessions * 3 / 4).max(AGENT.cases);
    for (number, size) in session_sizes(seed ^ 2, sessions, bytes * 4 / 5).into_iter().enumerate() {
        let case = CountingCase::ALL.get(number % CountingCase::ALL.len()).copied().unwrap_or(CountingCase::Totals);
        write_session(corpus, case, seed.wrapping_mul(37).wrapping_add(number as u64), size)?;
    }
    Ok(())
}

/// Writes one session of a case with its related threads.
pub fn write_session(corpus: &mut CorpusWriter, case: CountingCase, seed: u64, bytes: u64) -> anyhow::Result<()> {
    let mut plan = PLANNER.plan_session(seed, bytes);
    if case == CountingCase::Equal {
        let same = CorpusTokens {
            input: 100,
            output: 20,
            cache_read: 40,
            reasoning: 5,
            replies: 1,
            ..CorpusTokens::default()
        };
        plan.turns.iter_mut().flat_map(|turn| turn.replies.iter_mut()).for_each(|reply| reply.tokens = same);
    }
    let thread = seeded_uuid(plan.seed, 1);
    match case {
        CountingCase::Bare => return write_bare_log(corpus, &plan, &thread),
        CountingCase::Document => return write_document(corpus, &plan, &thread),
        _ => {}
    }
    let mode = match case {
        CountingCase::Records | CountingCase::Based | CountingCase::SpawnedFresh => RolloutHistoryMode::Records,
        CountingCase::BasedTotals => RolloutHistoryMode::Pages,
        _ => RolloutHistoryMode::Legacy,
    };
    let mut main = RolloutWriter::new(&thread, mode);
    main.sparse = case == CountingCase::Sparse;
    main.needle = (case == CountingCase::Totals).then(|| corpus.plant_rare_word(AGENT.name, &thread));
    main.write_meta(&plan, json!({"session_id": thread, "source": "cli"}));
    for (number, turn) in plan.turns.iter().enumerate() {
        if case == CountingCase::Reset && number == 2 {
            main.overflow_context(turn.at);
        }
        main.write_turn(corpus, &plan, turn);
        if number == plan.turns.len() / 2 {
            write_derived_threads(corpus, &main, &plan, case)?;
        }
    }
    corpus.record_replies(AGENT.name, &thread, plan.cwd, plan.replies());
    write_rollout_file(corpus, &main.lines, &plan, &thread, case)
}

/// Writes the file in the location and form of its case.
fn write_rollout_file(
    corpus: &mut CorpusWriter,
    lines: &JsonLines,
    plan: &SessionPlan,
    thread: &str,
    case: CountingCase,
) -> anyhow::Result<()> {
    let (active, name) = (rollout_path(plan, thread), rollout_name(plan, thread));
    let packed = || zstd::encode_all(lines.0.as_slice(), 3);
    match case {
        CountingCase::Compressed => corpus.write_file(&format!("{active}.zst"), &packed()?),
        CountingCase::Archived => corpus.write_file(&format!(".codex/archived_sessions/{name}"), &lines.0),
        CountingCase::ArchivedTwin => {
            corpus.write_file(&format!(".codex/archived_sessions/{name}"), first_lines(&lines.0, 2, 3))?;
            corpus.write_file(&active, &lines.0)
        }
        CountingCase::CompressedTwin => {
            corpus.write_file(&format!("{active}.zst"), &packed()?)?;
            corpus.write_file(&active, &lines.0)
        }
        _ => corpus.write_file(&active, &lines.0),
    }
}

/// Writes threads that branch off while this one runs.
fn write_derived_threads(
    corpus: &mut CorpusWriter,
    main: &RolloutWriter,
    plan: &SessionPlan,
    case: CountingCase,
) -> anyhow::Result<()> {
    match case {
        CountingCase::Replayed => write_replayed_fork(corpus, main, plan, 1).map(drop),
        CountingCase::ReplayedTwice => {
            let (fork, forked) = write_replayed_fork(corpus, main, plan, 1)?;
            write_replayed_fork(corpus, &fork, &forked, 2).map(drop)
        }
        CountingCase::Based | CountingCase::BasedTotals => write_based_fork(corpus, main, plan),
        CountingCase::SpawnedCopy | CountingCase::SpawnedFresh => write_subagent_thread(corpus, main, plan, case),
        _ => Ok(()),
    }
}

fn own_turns(of: &SessionPlan, number: u64) -> SessionPlan {
    SessionPlan { cwd: of.cwd, branch: of.branch, ..PLANNER.plan_session(of.seed ^ number.wrapping_mul(0xabcd), 9_000) }
        .shift_after(of.ended_at())
}

/// Writes a fork that repeats its parent's history at the time of the fork. Returns also the plan that another fork of
/// it would repeat.
fn write_replayed_fork(
    corpus: &mut CorpusWriter,
    parent: &RolloutWriter,
    of: &SessionPlan,
    number: u64,
) -> anyhow::Result<(RolloutWriter, SessionPlan)> {
    let (own, thread) = (own_turns(of, number), seeded_uuid(of.seed, 40 + number));
    let mut fork = RolloutWriter::new(&thread, RolloutHistoryMode::Legacy);
    fork.write_meta(&own, json!({"session_id": thread, "forked_from_id": parent.thread, "source": "cli"}));
    let so_far = first_turns(of, parent.turns);
    fork.replay_thread(corpus, &so_far, &parent.thread, own.began_at());
    own.turns.iter().for_each(|turn| fork.write_turn(corpus, &own, turn));
    corpus.record_replies(AGENT.name, &thread, own.cwd, own.replies());
    corpus.write_file(&rollout_path(&own, &thread), &fork.lines.0)?;
    let turns = [so_far.turns, own.turns].concat();
    Ok((fork, SessionPlan { turns, ..of.clone() }))
}

/// Writes a fork that only references its parent.
fn write_based_fork(corpus: &mut CorpusWriter, parent: &RolloutWriter, of: &SessionPlan) -> anyhow::Result<()> {
    let (own, thread) = (own_turns(of, 3), seeded_uuid(of.seed, 43));
    let mut fork = RolloutWriter::new(&thread, parent.mode);
    fork.continue_from(parent);
    let base = json!({"thread_id": parent.thread, "end_ordinal_exclusive": parent.ordinal, "end_byte_offset": parent.lines.0.len()});
    fork.write_meta(
        &own,
        json!({"session_id": thread, "forked_from_id": parent.thread, "forked_from_ordinal_exclusive": parent.ordinal,
        "history_base": base, "source": "cli"}),
    );
    own.turns.iter().for_each(|turn| fork.write_turn(corpus, &own, turn));
    corpus.record_replies(AGENT.name, &thread, own.cwd, own.replies());
    corpus.write_file(&rollout_path(&own, &thread), &fork.lines.0)
}

/// Writes a subagent's thread.
fn write_subagent_thread(
    corpus: &mut CorpusWriter,
    parent: &RolloutWriter,
    of: &SessionPlan,
    case: CountingCase,
) -> anyhow::Result<()> {
    let (own, thread) = (own_turns(of, 5), seeded_uuid(of.seed, 44));
    let mut child = RolloutWriter::new(&thread, parent.mode);
    let spawn =
        json!({"parent_thread_id": parent.thread, "depth": 1, "agent_nickname": "Euclid", "agent_role": "worker"});
    let mut meta = json!({"session_id": parent.thread, "parent_thread_id": parent.thread, "agent_nickname": "Euclid",
        "source": {"subagent": {"thread_spawn": spawn}}});
    if case == CountingCase::SpawnedCopy {
        meta["forked_from_id"] = json!(parent.thread);
    }
    child.write_meta(&own, meta);
    if case == CountingCase::SpawnedCopy {
        child.replay_thread(corpus, &first_turns(of, parent.turns), &parent.thread, own.began_at());
    }
    own.turns.iter().for_each(|turn| child.write_turn(corpus, &own, turn));
    corpus.record_replies(AGENT.name, &parent.thread, own.cwd, own.replies());
    corpus.write_file(&rollout_path(&own, &thread), &child.lines.0)
}

/// Writes items without an envelope, with states in between.
fn write_bare_log(corpus: &mut CorpusWriter, plan: &SessionPlan, thread: &str) -> anyhow::Result<()> {
    let mut lines = JsonLines::default();
    lines.push(
        &json!({"id": thread, "timestamp": format_timestamp(plan.began_at()), "instructions": null, "git": {"branch": plan.branch}}),
    );
    response_items(corpus, plan).iter().for_each(|item| {
        lines.push(item);
        lines.push(&json!({"record_type": "state"}));
    });
    corpus.write_file(&rollout_path(plan, thread), &lines.0)
}

fn write_document(corpus: &mut CorpusWriter, plan: &SessionPlan, thread: &str) -> anyhow::Result<()> {
    let session = json!({"timestamp": format_timestamp(plan.began_at()), "id": thread, "instructions": ""});
    let document = json!({"session": session, "items": response_items(corpus, plan)});
    let (year, month, day) = civil_date(plan.began_at());
    let path = format!(".codex/sessions/rollout-{year:04}-{month:02}-{day:02}-{thread}.json");
    corpus.write_file(&path, serde_json::to_string_pretty(&document)?.as_bytes())
}

fn response_items(corpus: &CorpusWriter, plan: &SessionPlan) -> Vec<Value> {
    let message = |role: &str, kind: &str, text: String| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let prompt = |seed, words| message("user", "input_text", corpus.words.random_prose(&mut text_rng(seed, 1), words));
    let answer =
        |seed, words| message("assistant", "output_text", corpus.words.random_prose(&mut text_rng(seed, 4), words));
    plan.turns
        .iter()
        .flat_map(|turn| {
            std::iter::once(prompt(turn.seed, turn.words))
                .chain(turn.replies.iter().map(|reply| answer(reply.seed, reply.said)))
        })
        .collect()
}

fn rollout_name(plan: &SessionPlan, thread: &str) -> String {
    let ((year, month, day), (hour, minute, second, _)) = (civil_date(plan.began_at()), time_of_day(plan.began_at()));
    format!("rollout-{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}-{thread}.jsonl")
}

fn rollout_path(plan: &SessionPlan, thread: &str) -> String {
    let (year, month, day) = civil_date(plan.began_at());
    format!(".codex/sessions/{year:04}/{month:02}/{day:02}/{}", rollout_name(plan, thread))
}

/// Returns the complete lines of the first part of a file.
fn first_lines(bytes: &[u8], part: usize, of: usize) -> &[u8] {
    let some = bytes.get(..bytes.len() / of * part).unwrap_or_default();
    let end = memchr::memrchr(b'\n', some).map_or(0, |end| end + 1);
    some.get(..end).unwrap_or_default()
}
