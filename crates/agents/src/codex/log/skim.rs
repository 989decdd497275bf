//! The quick way through a rollout: who, what was used, what was said.

use std::{collections::VecDeque, sync::LazyLock};

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use super::{
    account::{Account, NoNumbers, Reply},
    head, known,
    line::Line,
    lineage::{self, Lineage},
    passages, reader,
    said::{self, Said, Voice},
};
use crate::{Called, Depth, Facts, Finds, LogFile, Object, Skim, Spent, walk::Walk};

/// What prompts say of themselves.
static USER_MESSAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"UserMessage\""));
static USER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"user\""));

/// How many calls are remembered, so that their answers can be named.
const CALLS: usize = 64;

/// One file.
#[derive(Default, Serialize, Deserialize)]
pub struct Rollout {
    account: Account,
    pub(super) said: Said,
    model: Option<String>,
    cwd: Option<String>,
    subagent: Option<String>,
    /// Where a subagent's own history begins.
    start: Option<u64>,
    prompted: bool,
    /// Tools that were called since the last reply was counted, by id and name.
    tools: Vec<(String, String)>,
    /// The last reply of the turn that was counted.
    last: Option<(String, bool)>,
    calls: VecDeque<(String, String)>,
}

/// How a record begins: in the middle of a line, it was appended to a torn one.
static RECORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("{\"timestamp\":"));

impl Rollout {
    fn counts_by_head(&self, record: &[u8]) -> bool {
        let Some(head) = head::head(record) else { return true };
        let find = |word: &Finder<'_>| word.find(head.near).is_some();
        match (head.kind, head.what) {
            (b"session_meta" | b"turn_context" | b"token_usage_record", _) => true,
            (b"event_msg" | b"response_item", None) => true,
            (b"event_msg", Some(b"item_completed")) => self.account.listens() || find(&USER_MESSAGE),
            (b"event_msg", Some(what)) => EVENTS.contains(&what) || self.account.listens(),
            (b"response_item", Some(what)) | (what, None) => match what {
                b"message" => find(&USER) || self.account.listens(),
                b"function_call"
                | b"custom_tool_call"
                | b"local_shell_call"
                | b"tool_search_call"
                | b"web_search_call"
                | b"image_generation_call" => true,
                _ => self.account.listens(),
            },
            _ => false,
        }
    }
}

impl Skim for Rollout {
    fn counts(&self, record: &[u8]) -> bool {
        self.counts_by_head(record) || record.get(1..).is_some_and(|rest| RECORD.find(rest).is_some())
    }

    fn record(&mut self, record: &str, depth: Depth, found: &mut Finds) {
        let mut walk = Walk::new(record);
        let line = Line::of(&mut walk);
        if !walk.is_over() {
            return found.is_no_json();
        }
        let Some(line) = line else {
            found.trouble = Some("a record of no kind".to_owned());
            return;
        };
        found.facts.happened(line.at);
        match line.kind.as_ref() {
            "session_meta" => self.session(&line, found),
            "turn_context" => self.context(&line, &line.fields, found),
            "token_usage_record" => {
                let reply = self.account.record(&line.fields, line.at);
                self.spent(reply, &line, found);
            }
            "event_msg" => self.event(&line, found),
            "response_item" => self.item(&line, found),
            _ => {}
        }
        let repeated = self.prompt(&line, found);
        if depth == Depth::All {
            found.unknown = (!line.is_known()).then(|| line.name());
            passages::of(&line, repeated, self, found);
        }
    }

    fn save(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Events that say what was used, or to whom later tokens belong.
const EVENTS: &[&[u8]] = &[
    b"token_count",
    b"task_started",
    b"turn_started",
    b"task_complete",
    b"turn_complete",
    b"turn_aborted",
    b"thread_settings_applied",
    b"thread_name_updated",
    b"user_message",
];

impl Rollout {
    /// From the beginning, or from where what it saved was read.
    pub fn new(file: &LogFile, saved: Option<&[u8]>) -> Self {
        let fresh = || {
            let account = Account::of(Lineage::named(file.session.clone()));
            Self { account, ..Self::default() }
        };
        saved.and_then(|saved| serde_json::from_slice(saved).ok()).unwrap_or_else(fresh)
    }

    fn session(&mut self, line: &Line<'_>, found: &mut Finds) {
        let meta = &line.fields;
        if !self.account.session(meta, line.at) {
            return;
        }
        self.subagent = subagent(meta);
        self.start = meta.u64("subagent_history_start_ordinal");
        self.cwd = meta.filled("cwd").or(self.cwd.take());
        let root = || meta.filled("session_id").filter(|root| !meta.is("id", root));
        found.facts.learn(Facts {
            session: meta.filled("id"),
            parent: self.subagent.as_ref().and_then(|_| lineage::spawned_by(meta).or_else(root)),
            subagent: self.subagent.clone(),
            base: lineage::base(meta),
            cwd: meta.filled("cwd"),
            branch: meta.object("git").filled("branch"),
            version: meta.filled("cli_version"),
            ..Facts::default()
        });
    }

    /// The model and the folder of what follows.
    fn context(&mut self, line: &Line<'_>, fields: &Object<'_>, found: &mut Finds) {
        if let Some(turn) = fields.filled("turn_id") {
            self.turn(Some(&turn), line, found);
        }
        self.model = fields.filled("model").or(self.model.take());
        self.cwd = fields.filled("cwd").or(self.cwd.take());
        found.facts.learn(Facts { model: fields.filled("model"), cwd: fields.filled("cwd"), ..Facts::default() });
    }

    fn turn(&mut self, turn: Option<&str>, line: &Line<'_>, found: &mut Finds) {
        if self.account.turn(turn, line.at) {
            self.left_tools(line, found);
            self.last = None;
        }
    }

    fn event(&mut self, line: &Line<'_>, found: &mut Finds) {
        let fields = &line.fields;
        match line.what().as_ref() {
            "token_count" => {
                let info = fields.object("info");
                let reply = self.account.total(&info, line.at);
                self.spent(reply, line, found);
                let (used, size) = reader::context(&info).unwrap_or_default();
                let facts = &mut found.facts;
                (facts.context_used, facts.context_size) = (used.or(facts.context_used), size.or(facts.context_size));
            }
            "task_started" | "turn_started" => self.turn(fields.filled("turn_id").as_deref(), line, found),
            "task_complete" | "turn_complete" | "turn_aborted" => self.left_tools(line, found),
            "thread_settings_applied" => self.context(line, &fields.object("thread_settings"), found),
            "thread_name_updated" => {
                found.facts.learn(Facts { title: fields.filled("thread_name"), ..Facts::default() });
            }
            "agent_message" | "agent_reasoning" | "agent_reasoning_raw_content" => self.account.spoke(),
            _ => {}
        }
    }

    fn item(&mut self, line: &Line<'_>, found: &mut Finds) {
        let what = line.what();
        if let Some(cwd) = said::folder(line).filter(|_| self.cwd.is_none()) {
            self.cwd = Some(cwd.clone());
            found.facts.learn(Facts { cwd: Some(cwd), ..Facts::default() });
        }
        if !known::is_models(&what, &line.fields) {
            return;
        }
        self.account.spoke();
        if let Some((id, name)) = passages::call(&what, &line.fields) {
            if self.calls.len() >= CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back((id.clone(), name.clone()));
            self.tools.push((id, name));
        }
    }

    /// The name of the tool that a call called.
    pub(super) fn called(&self, id: &str) -> Option<&str> {
        self.calls.iter().rev().find(|(call, _)| call == id).map(|(_, name)| name.as_str())
    }

    fn spent(&mut self, reply: Result<Option<Reply>, NoNumbers>, line: &Line<'_>, found: &mut Finds) {
        match reply {
            Ok(Some(Reply { key, used, copied })) => {
                let used = used.usage(None);
                self.last = Some((key.clone(), copied));
                let spent = self.under(key, copied, line);
                found.spent.push(Spent {
                    input: used.input,
                    output: used.output,
                    cache_read: used.cache_read,
                    cache_write: used.cache_write_5m,
                    reasoning: used.reasoning,
                    ..spent
                });
            }
            Ok(None) => {}
            Err(wrong) => found.trouble = Some(wrong.to_string()),
        }
    }

    /// Tools that were called after the last tokens of the turn were counted: they belong to that reply.
    fn left_tools(&mut self, line: &Line<'_>, found: &mut Finds) {
        if let Some((key, copied)) = self.last.clone().filter(|_| !self.tools.is_empty()) {
            let spent = self.under(key, copied, line);
            found.spent.push(spent);
        }
        self.tools.clear();
    }

    fn under(&mut self, key: String, copied: bool, line: &Line<'_>) -> Spent {
        let tools = std::mem::take(&mut self.tools);
        Spent {
            key,
            copied,
            at: line.at,
            model: self.model.clone(),
            cwd: self.cwd.clone(),
            subagent: self.subagent.clone(),
            tools: tools.into_iter().map(|(id, name)| Called { id, name }).collect(),
            ..Spent::default()
        }
    }

    /// What a person says. True if it was said before, the other way. A subagent hears no person: the first that it is
    /// told by itself is its task.
    fn prompt(&mut self, line: &Line<'_>, found: &mut Finds) -> bool {
        let Some((way, text)) = said::prompt(line) else { return false };
        if self.said.again(Voice::User, way, &text, line.at) {
            return true;
        }
        self.account.prompted(&text, line.at);
        let before = self.start.zip(line.ordinal).is_some_and(|(start, at)| at < start);
        if self.subagent.is_some() && (before || self.account.is_copied(line.at)) {
            return false;
        }
        let first = !std::mem::replace(&mut self.prompted, true);
        let prompts = u32::from(self.subagent.is_none());
        found.facts.learn(Facts { prompt: first.then(|| text.into_owned()), prompts, ..Facts::default() });
        false
    }
}

/// The subagent whose thread it is, by its nickname, its role, or what it is for.
fn subagent(meta: &Object<'_>) -> Option<String> {
    let source = meta.object("source");
    let spawn = source.object("subagent").object("thread_spawn");
    let named = |name: &str| meta.filled(name).or_else(|| spawn.filled(name));
    let is = source.has("subagent") || meta.is("thread_source", "subagent") || meta.has("parent_thread_id");
    let name = named("agent_nickname").or_else(|| named("agent_role")).or_else(|| source.filled("subagent"));
    is.then(|| name.or_else(|| meta.filled("id")).unwrap_or_default())
}
