//! Gemini CLI's logs: messages that later lines replace, rewind or rewrite, and older logs that are one document.
//! Rewound replies count too, because they were paid for.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::CorpusAgent;
use crate::corpus::files::{CorpusWriter, JsonLines, hex_digits, seeded_uuid, session_sizes, text_rng};
use crate::corpus::plan::{
    ReplyPlan, SessionPlan, SessionPlanner, TurnPlan, civil_date, format_timestamp, time_of_day,
};

pub const AGENT: CorpusAgent = CorpusAgent { name: "gemini", percent: 8, cases: CountingCase::ALL.len(), write };

const PLANNER: SessionPlanner =
    SessionPlanner { models: &["gemini-2.5-pro", "gemini-2.5-flash"], writes_cache: false, for_an_hour: false };

/// Each case is a way to count incorrectly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountingCase {
    Plain,
    /// A reply is written before its tokens are known, and again after its tools have run.
    Replaced,
    /// Turns that were rewound.
    Rewound,
    /// All messages are replaced by some of them.
    Rewritten,
    /// A message is changed in place.
    Patched,
    /// A subagent in a directory of the session.
    Subagent,
    /// One document, as in older versions.
    Document,
    /// The document of an older version, and the file converted from it.
    Migrated,
}

impl CountingCase {
    pub const ALL: &'static [Self] = &[
        Self::Plain,
        Self::Replaced,
        Self::Rewound,
        Self::Rewritten,
        Self::Patched,
        Self::Subagent,
        Self::Document,
        Self::Migrated,
    ];
}

fn write(corpus: &mut CorpusWriter, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    let sessions = (sessions * 3 / 4).max(AGENT.cases);
    for (number, size) in session_sizes(seed ^ 3, sessions, bytes).into_iter().enumerate() {
        let case = CountingCase::ALL.get(number % CountingCase::ALL.len()).copied().unwrap_or(CountingCase::Plain);
        write_session(corpus, case, seed.wrapping_mul(41).wrapping_add(number as u64), size)?;
    }
    Ok(())
}

/// Writes one session of a case.
pub fn write_session(corpus: &mut CorpusWriter, case: CountingCase, seed: u64, bytes: u64) -> anyhow::Result<()> {
    let plan = PLANNER.plan_session(seed, bytes);
    let id = seeded_uuid(plan.seed, 1);
    write_project_root(corpus, plan.cwd)?;
    let needle = (case == CountingCase::Plain).then(|| corpus.plant_rare_word(AGENT.name, &id));
    corpus.record_replies(AGENT.name, &id, plan.cwd, plan.replies());
    if matches!(case, CountingCase::Document | CountingCase::Migrated) {
        let mut document = session_header(&plan, &id, "main");
        document["messages"] = plan.turns.iter().flat_map(|turn| turn_messages(corpus, turn)).collect();
        corpus.write_file(&log_path(&plan, &id, "json"), document.to_string().as_bytes())?;
    }
    if case != CountingCase::Document {
        let lines = session_lines(corpus, &plan, &id, case, needle);
        corpus.write_file(&log_path(&plan, &id, "jsonl"), &lines.0)?;
    }
    if case == CountingCase::Subagent {
        write_subagent(corpus, &plan, &id)?;
    }
    Ok(())
}

/// Writes the file that names the project's directory.
fn write_project_root(corpus: &mut CorpusWriter, cwd: &str) -> anyhow::Result<()> {
    let file = format!(".gemini/tmp/{}/.project_root", project_slug(cwd));
    if corpus.home.join(&file).exists() { Ok(()) } else { corpus.write_file(&file, cwd.as_bytes()) }
}

fn write_subagent(corpus: &mut CorpusWriter, of: &SessionPlan, session: &str) -> anyhow::Result<()> {
    let plan = SessionPlan { cwd: of.cwd, ..PLANNER.plan_session(of.seed ^ 5, 9_000) }.shift_after(of.began_at());
    let id = seeded_uuid(of.seed, 2);
    let mut lines = JsonLines::default();
    lines.push(&session_header(&plan, &id, "subagent"));
    plan.turns.iter().flat_map(|turn| turn_messages(corpus, turn)).for_each(|message| lines.push(&message));
    corpus.record_replies(AGENT.name, session, of.cwd, plan.replies());
    corpus.write_file(&format!(".gemini/tmp/{}/chats/{session}/{id}.jsonl", project_slug(of.cwd)), &lines.0)
}

fn session_lines(
    corpus: &CorpusWriter,
    plan: &SessionPlan,
    id: &str,
    case: CountingCase,
    needle: Option<String>,
) -> JsonLines {
    let mut lines = JsonLines::default();
    lines.push(&session_header(plan, id, "main"));
    let context = format!("<session_context>\n- **Workspace Directories:**\n  - {}\n</session_context>", plan.cwd);
    let first = json!({"id": hex_digits(plan.seed, 9, 32), "timestamp": format_timestamp(plan.began_at()), "type": "user", "content": [{"text": context}]});
    lines.push(&json!({"$set": {"messages": [first], "lastUpdated": format_timestamp(plan.began_at())}}));
    for (number, turn) in plan.turns.iter().enumerate() {
        for message in turn_messages(corpus, turn) {
            push_message(&mut lines, &message, case);
        }
        lines.push(&json!({"$set": {"lastUpdated": format_timestamp(turn.at)}}));
        match case {
            CountingCase::Rewound if number % 3 == 1 => lines.push(&json!({"$rewindTo": seeded_uuid(turn.seed, 8)})),
            CountingCase::Rewritten if number % 3 == 1 => {
                let kept: Value = turn_messages(corpus, turn).collect();
                lines.push(&json!({"$set": {"messages": kept, "lastUpdated": format_timestamp(turn.at)}}));
            }
            CountingCase::Patched => {
                let last = turn.replies.last().map(|reply| seeded_uuid(reply.seed, 8));
                lines.push(&json!({"$patch": {"id": last, "content": "changed"}}));
            }
            _ => {}
        }
    }
    if let Some(needle) = needle {
        let at = format_timestamp(plan.ended_at() + 5_000);
        lines.push(&json!({"id": seeded_uuid(plan.seed, 10), "timestamp": at, "type": "user", "content": [{"text": format!("And {needle}?")}]}));
    }
    // A session that is opened again repeats its header.
    lines.push(&session_header(plan, id, "main"));
    lines
}

/// Writes a message, with its earlier versions if the case has them.
fn push_message(lines: &mut JsonLines, message: &Value, case: CountingCase) {
    if case == CountingCase::Replaced && message["type"] == "gemini" {
        let mut early = message.clone();
        early["tokens"] = Value::Null;
        early["toolCalls"] = json!([]);
        lines.push(&early);
        lines.push(message);
    }
    lines.push(message);
}

fn turn_messages<'a>(corpus: &'a CorpusWriter, turn: &'a TurnPlan) -> impl Iterator<Item = Value> + 'a {
    let text = corpus.words.random_prose(&mut text_rng(turn.seed, 1), turn.words);
    let prompt = json!({"id": seeded_uuid(turn.seed, 8), "timestamp": format_timestamp(turn.at), "type": "user", "content": [{"text": text}]});
    std::iter::once(prompt).chain(turn.replies.iter().map(|reply| reply_message(corpus, reply)))
}

fn reply_message(corpus: &CorpusWriter, reply: &ReplyPlan) -> Value {
    let tokens = &reply.tokens;
    let (input, output) = (tokens.input + tokens.cache_read, tokens.output - tokens.reasoning);
    let mut message = json!({"id": seeded_uuid(reply.seed, 8), "timestamp": format_timestamp(reply.at), "type": "gemini",
        "content": corpus.words.random_prose(&mut text_rng(reply.seed, 4), reply.said), "model": reply.model,
        "tokens": {"input": input, "output": output, "cached": tokens.cache_read, "thoughts": tokens.reasoning, "tool": 0,
            "total": input + tokens.output}});
    if reply.thought > 0 {
        let thought = corpus.words.random_prose(&mut text_rng(reply.seed, 2), reply.thought);
        message["thoughts"] =
            json!([{"subject": "Planning", "description": thought, "timestamp": format_timestamp(reply.at)}]);
    }
    let calls: Vec<Value> =
        (0..).zip(&reply.tools).map(|(number, words)| tool_call(corpus, reply, number, *words)).collect();
    if !calls.is_empty() {
        message["toolCalls"] = json!(calls);
    }
    message
}

fn tool_call(corpus: &CorpusWriter, reply: &ReplyPlan, number: u64, words: usize) -> Value {
    let (id, output) = (
        format!("run_{}", hex_digits(reply.seed, 30 + number, 12)),
        corpus.words.random_code(&mut text_rng(reply.seed, 40 + number), words),
    );
    let command = corpus.words.random_code(&mut text_rng(reply.seed, 20 + number), 9);
    json!({"id": id, "name": "run_shell_command", "args": {"command": command}, "status": "success", "timestamp": format_timestamp(reply.at),
        "result": [{"functionResponse": {"id": id, "name": "run_shell_command", "response": {"output": output}}}],
        "resultDisplay": output, "displayName": "Shell", "description": "look"})
}

fn session_header(plan: &SessionPlan, id: &str, kind: &str) -> Value {
    json!({"sessionId": id, "projectHash": project_hash(plan.cwd), "startTime": format_timestamp(plan.began_at()), "lastUpdated": format_timestamp(plan.ended_at()), "kind": kind})
}

fn project_hash(cwd: &str) -> String {
    Sha256::digest(cwd.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn project_slug(cwd: &str) -> String {
    let plain: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.trim_matches('-').to_lowercase()
}

fn log_path(plan: &SessionPlan, id: &str, ending: &str) -> String {
    let ((year, month, day), (hour, minute, ..)) = (civil_date(plan.began_at()), time_of_day(plan.began_at()));
    let short = id.split('-').next().unwrap_or_default();
    format!(
        ".gemini/tmp/{}/chats/session-{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{short}.{ending}",
        project_slug(plan.cwd)
    )
}
