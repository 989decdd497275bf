//! Gemini CLI's logs: files of messages that later lines replace, take back or rewrite, and older ones that are one
//! document. A reply that was taken back was paid for all the same.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Agent;
use crate::corpus::{
    calendar::{clock, date, stamp},
    files::{Corpus, Lines, dice, hex, sizes, uuid},
    plan::{Plan, Planner, Reply, Turn},
};

/// Its part of a corpus.
pub const AGENT: Agent = Agent { name: "gemini", percent: 8, cases: Case::ALL.len(), write };

const PLANNER: Planner =
    Planner { models: &["gemini-2.5-pro", "gemini-2.5-flash"], writes_cache: false, for_an_hour: false };

/// What is special about a session. Each is a way to count wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Nothing.
    Plain,
    /// A reply is told before its tokens are known, and again when its tools have run.
    Replaced,
    /// Turns that were taken back.
    Rewound,
    /// All messages are replaced by a few of them.
    Rewritten,
    /// A message is changed in place.
    Patched,
    /// A subagent in a folder of the session.
    Subagent,
    /// One document, as older versions wrote it.
    Document,
    /// The document of an older version, and the file that was made of it.
    Migrated,
}

impl Case {
    /// All of them.
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

fn write(corpus: &mut Corpus, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()> {
    let sessions = (sessions * 3 / 4).max(AGENT.cases);
    for (number, size) in sizes(seed ^ 3, sessions, bytes).into_iter().enumerate() {
        let case = Case::ALL.get(number % Case::ALL.len()).copied().unwrap_or(Case::Plain);
        session(corpus, case, seed.wrapping_mul(41).wrapping_add(number as u64), size)?;
    }
    Ok(())
}

/// Writes one session of a case.
pub fn session(corpus: &mut Corpus, case: Case, seed: u64, bytes: u64) -> anyhow::Result<()> {
    let plan = PLANNER.session(seed, bytes);
    let id = uuid(plan.seed, 1);
    project(corpus, plan.cwd)?;
    let needle = (case == Case::Plain).then(|| corpus.needle(AGENT.name, &id));
    corpus.tell(AGENT.name, &id, plan.cwd, plan.replies());
    if matches!(case, Case::Document | Case::Migrated) {
        let mut document = header(&plan, &id, "main");
        document["messages"] = plan.turns.iter().flat_map(|turn| messages(corpus, turn)).collect();
        corpus.file(&path(&plan, &id, "json"), document.to_string().as_bytes())?;
    }
    if case != Case::Document {
        let lines = lines(corpus, &plan, &id, case, needle);
        corpus.file(&path(&plan, &id, "jsonl"), &lines.0)?;
    }
    if case == Case::Subagent {
        subagent(corpus, &plan, &id)?;
    }
    Ok(())
}

/// The folder of a project says where the project is.
fn project(corpus: &mut Corpus, cwd: &str) -> anyhow::Result<()> {
    let file = format!(".gemini/tmp/{}/.project_root", slug(cwd));
    if corpus.home.join(&file).exists() { Ok(()) } else { corpus.file(&file, cwd.as_bytes()) }
}

fn subagent(corpus: &mut Corpus, of: &Plan, session: &str) -> anyhow::Result<()> {
    let plan = Plan { cwd: of.cwd, ..PLANNER.session(of.seed ^ 5, 9_000) }.after(of.began());
    let id = uuid(of.seed, 2);
    let mut lines = Lines::default();
    lines.push(&header(&plan, &id, "subagent"));
    plan.turns.iter().flat_map(|turn| messages(corpus, turn)).for_each(|message| lines.push(&message));
    corpus.tell(AGENT.name, session, of.cwd, plan.replies());
    corpus.file(&format!(".gemini/tmp/{}/chats/{session}/{id}.jsonl", slug(of.cwd)), &lines.0)
}

fn lines(corpus: &Corpus, plan: &Plan, id: &str, case: Case, needle: Option<String>) -> Lines {
    let mut lines = Lines::default();
    lines.push(&header(plan, id, "main"));
    let context = format!("<session_context>\n- **Workspace Directories:**\n  - {}\n</session_context>", plan.cwd);
    let first = json!({"id": hex(plan.seed, 9, 32), "timestamp": stamp(plan.began()), "type": "user", "content": [{"text": context}]});
    lines.push(&json!({"$set": {"messages": [first], "lastUpdated": stamp(plan.began())}}));
    for (number, turn) in plan.turns.iter().enumerate() {
        for message in messages(corpus, turn) {
            told(&mut lines, &message, case);
        }
        lines.push(&json!({"$set": {"lastUpdated": stamp(turn.at)}}));
        match case {
            Case::Rewound if number % 3 == 1 => lines.push(&json!({"$rewindTo": uuid(turn.seed, 8)})),
            Case::Rewritten if number % 3 == 1 => {
                let kept: Value = messages(corpus, turn).collect();
                lines.push(&json!({"$set": {"messages": kept, "lastUpdated": stamp(turn.at)}}));
            }
            Case::Patched => {
                let last = turn.replies.last().map(|reply| uuid(reply.seed, 8));
                lines.push(&json!({"$patch": {"id": last, "content": "changed"}}));
            }
            _ => {}
        }
    }
    if let Some(needle) = needle {
        let at = stamp(plan.ended() + 5_000);
        lines.push(&json!({"id": uuid(plan.seed, 10), "timestamp": at, "type": "user", "content": [{"text": format!("And {needle}?")}]}));
    }
    // A session that is opened again begins with its header once more.
    lines.push(&header(plan, id, "main"));
    lines
}

/// One message, or what is told of it one after the other.
fn told(lines: &mut Lines, message: &Value, case: Case) {
    if case == Case::Replaced && message["type"] == "gemini" {
        let mut early = message.clone();
        early["tokens"] = Value::Null;
        early["toolCalls"] = json!([]);
        lines.push(&early);
        lines.push(message);
    }
    lines.push(message);
}

fn messages<'a>(corpus: &'a Corpus, turn: &'a Turn) -> impl Iterator<Item = Value> + 'a {
    let text = corpus.words.prose(&mut dice(turn.seed, 1), turn.words);
    let prompt =
        json!({"id": uuid(turn.seed, 8), "timestamp": stamp(turn.at), "type": "user", "content": [{"text": text}]});
    std::iter::once(prompt).chain(turn.replies.iter().map(|reply| answer(corpus, reply)))
}

fn answer(corpus: &Corpus, reply: &Reply) -> Value {
    let tokens = &reply.tokens;
    let (input, output) = (tokens.input + tokens.cache_read, tokens.output - tokens.reasoning);
    let mut message = json!({"id": uuid(reply.seed, 8), "timestamp": stamp(reply.at), "type": "gemini",
        "content": corpus.words.prose(&mut dice(reply.seed, 4), reply.said), "model": reply.model,
        "tokens": {"input": input, "output": output, "cached": tokens.cache_read, "thoughts": tokens.reasoning, "tool": 0,
            "total": input + tokens.output}});
    if reply.thought > 0 {
        let thought = corpus.words.prose(&mut dice(reply.seed, 2), reply.thought);
        message["thoughts"] = json!([{"subject": "Planning", "description": thought, "timestamp": stamp(reply.at)}]);
    }
    let calls: Vec<Value> =
        (0..).zip(&reply.tools).map(|(number, words)| call(corpus, reply, number, *words)).collect();
    if !calls.is_empty() {
        message["toolCalls"] = json!(calls);
    }
    message
}

fn call(corpus: &Corpus, reply: &Reply, number: u64, words: usize) -> Value {
    let (id, output) = (
        format!("run_{}", hex(reply.seed, 30 + number, 12)),
        corpus.words.code(&mut dice(reply.seed, 40 + number), words),
    );
    let command = corpus.words.code(&mut dice(reply.seed, 20 + number), 9);
    json!({"id": id, "name": "run_shell_command", "args": {"command": command}, "status": "success", "timestamp": stamp(reply.at),
        "result": [{"functionResponse": {"id": id, "name": "run_shell_command", "response": {"output": output}}}],
        "resultDisplay": output, "displayName": "Shell", "description": "look"})
}

fn header(plan: &Plan, id: &str, kind: &str) -> Value {
    json!({"sessionId": id, "projectHash": hash(plan.cwd), "startTime": stamp(plan.began()), "lastUpdated": stamp(plan.ended()), "kind": kind})
}

fn hash(cwd: &str) -> String {
    Sha256::digest(cwd.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn slug(cwd: &str) -> String {
    let plain: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.trim_matches('-').to_lowercase()
}

fn path(plan: &Plan, id: &str, ending: &str) -> String {
    let ((year, month, day), (hour, minute, ..)) = (date(plan.began()), clock(plan.began()));
    let short = id.split('-').next().unwrap_or_default();
    format!(
        ".gemini/tmp/{}/chats/session-{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{short}.{ending}",
        slug(plan.cwd)
    )
}
