//! The quick way through a session log. A record is taken apart once, its fields are looked at as they are written, and
//! nothing is copied that is not news.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem::Finder;
use switchboard_event::{Timestamp, Usage};

use super::{super::turn, figures, places::subagent};
use crate::{Called, Depth, Finds, Json, LogFile, Skim, Spent, logs::wrong_figures, walk::Walk};

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static ASSISTANT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"assistant\""));

/// A record with totals names its kind first.
static COST_STATE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"cost-state\""));
const TOTAL_PREFIX: usize = 64;

/// A record that is so much older than the first of its file was written for another session, and copied.
const COPIED: i64 = 1_000_000;

/// Looks through one file.
#[derive(Default)]
pub struct Glance {
    /// The session, by the name of the file; of a subagent's file, the subagent.
    pub(super) file: Option<String>,
    /// The file is a subagent's.
    pub(super) is_sub: bool,
    /// When the file began, and what was last.
    began: Option<Timestamp>,
    /// When the last reply came.
    replied: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    /// How good the title is that was told.
    pub(super) title: u8,
    told: Told,
    /// The reply of the last record, and what it used: most records repeat them.
    reply: (String, Figures),
}

/// What was told last.
#[derive(Default)]
struct Told {
    session: bool,
    cwd: bool,
    branch: String,
    version: String,
    model: String,
    subagent: bool,
}

type Figures = [u64; 6];

/// The fields of a record that matter here, as they are written.
#[derive(Default)]
pub struct Fields<'a> {
    pub kind: Option<Json<'a>>,
    pub subtype: Option<Json<'a>>,
    pub message: Option<Json<'a>>,
    pub content: Option<Json<'a>>,
    pub attachment: Option<Json<'a>>,
    pub data: Option<Json<'a>>,
    pub title: Option<Json<'a>>,
    pub summary: Option<Json<'a>>,
    pub origin: Option<Json<'a>>,
    pub link: Option<Json<'a>>,
    pub inside: Message<'a>,
    pub has_result: bool,
    pub is_injected: bool,
    pub is_summary: bool,
    pub is_sidechain: bool,
    pub is_error: bool,
    totals: Option<Json<'a>>,
    started: Option<Json<'a>>,
    forked: bool,
    asked_in: Option<Json<'a>>,
    uuid: Option<Json<'a>>,
    request: Option<Json<'a>>,
    session: Option<Json<'a>>,
    time: Option<Json<'a>>,
    cwd: Option<Json<'a>>,
    branch: Option<Json<'a>>,
    version: Option<Json<'a>>,
    agent: Option<Json<'a>>,
    agent_type: Option<Json<'a>>,
}

impl<'a> Fields<'a> {
    /// Takes the object apart that a walk is at.
    fn of(walk: &mut Walk<'a>) -> Self {
        let mut it = Self::default();
        walk.object(|key, walk| it.take(key, walk));
        it
    }

    fn take(&mut self, key: &str, walk: &mut Walk<'a>) {
        let field = match key {
            "message" => {
                let mut inside = Message::default();
                let message = walk.object(|key, walk| inside.take(key, walk));
                self.inside = inside;
                return fill(&mut self.message, message);
            }
            "type" => &mut self.kind,
            "subtype" => &mut self.subtype,
            "content" => &mut self.content,
            "attachment" => &mut self.attachment,
            "data" => &mut self.data,
            "customTitle" | "aiTitle" | "title" => &mut self.title,
            "summary" => &mut self.summary,
            "origin" => &mut self.origin,
            "prUrl" => &mut self.link,
            "toolUseResult" => return self.has_result |= walk.value() != "null",
            "isMeta" | "isVisibleInTranscriptOnly" => return self.is_injected |= walk.value() == "true",
            "isCompactSummary" => return self.is_summary |= walk.value() == "true",
            "isSidechain" => return self.is_sidechain |= walk.value() == "true",
            "isApiErrorMessage" => return self.is_error |= walk.value() == "true",
            "forkedFrom" => return self.forked |= walk.value() != "null",
            "modelUsage" => &mut self.totals,
            "startTime" => &mut self.started,
            "requestSessionId" => &mut self.asked_in,
            "uuid" => &mut self.uuid,
            "requestId" => &mut self.request,
            "sessionId" => &mut self.session,
            "timestamp" => &mut self.time,
            "cwd" => &mut self.cwd,
            "gitBranch" => &mut self.branch,
            "version" => &mut self.version,
            "agentId" => &mut self.agent,
            "attributionAgent" => &mut self.agent_type,
            _ => return,
        };
        fill(field, walk.value());
    }
}

/// What a field holds, unless that is nothing.
fn fill<'a>(field: &mut Option<Json<'a>>, value: &'a str) {
    if value != "null" {
        *field = Some(Json::known(value));
    }
}

/// A message, as far as it matters here.
#[derive(Default)]
pub struct Message<'a> {
    pub content: Option<Json<'a>>,
    id: Option<Json<'a>>,
    model: Option<Json<'a>>,
    usage: Option<Json<'a>>,
    /// The tools that it calls.
    tools: Vec<Tool<'a>>,
}

impl<'a> Message<'a> {
    fn take(&mut self, key: &str, walk: &mut Walk<'a>) {
        let field = match key {
            "content" => {
                let content = walk.array(|walk| self.tools.extend(Tool::of(walk)));
                return fill(&mut self.content, content);
            }
            "id" => &mut self.id,
            "model" => &mut self.model,
            "usage" => &mut self.usage,
            _ => return,
        };
        fill(field, walk.value());
    }
}

/// A tool that is called.
struct Tool<'a> {
    id: Json<'a>,
    name: Json<'a>,
}

impl<'a> Tool<'a> {
    /// The tool of the block that a walk is at, if it calls one.
    fn of(walk: &mut Walk<'a>) -> Option<Self> {
        let (mut kind, mut id, mut name) = ("", None, None);
        walk.object(|key, walk| match key {
            "type" => kind = walk.value(),
            "id" => fill(&mut id, walk.value()),
            "name" => fill(&mut name, walk.value()),
            _ => {}
        });
        let calls = matches!(kind, "\"tool_use\"" | "\"server_tool_use\"" | "\"mcp_tool_use\"");
        calls.then(|| Some(Self { id: id?, name: name? })).flatten()
    }

    fn called(&self) -> Option<Called> {
        Some(Called { id: self.id.str()?.into_owned(), name: self.name.str()?.into_owned() })
    }
}

impl Glance {
    /// At the beginning of a file, or where it was left.
    pub fn new(file: &LogFile, saved: Option<&[u8]>) -> Self {
        let mut it = Self { file: file.session.clone(), is_sub: subagent(file).is_some(), ..Self::default() };
        if let Some((began, rest)) = saved.and_then(|saved| saved.split_first_chunk())
            && let Some((last, [title, replied @ ..])) = rest.split_first_chunk()
        {
            let time = |bytes: &[u8; 8]| Timestamp::from_micros(i64::from_le_bytes(*bytes));
            (it.began, it.last, it.title) = (time(began), time(last), *title);
            it.replied = replied.first_chunk().and_then(time);
        }
        it
    }

    fn look(&mut self, fields: &Fields<'_>, depth: Depth, found: &mut Finds) {
        let at = fields.time.and_then(Json::str).and_then(|time| Timestamp::parse(&time));
        self.last = at.or(self.last);
        self.began = self.began.or(at);
        self.describe(fields, at, found);
        let kind = fields.kind.and_then(Json::str);
        match kind.as_deref() {
            Some("assistant") => self.reply(fields, depth, found),
            Some("progress") => self.progress(fields, depth, found),
            Some("cost-state") => self.total(fields, found),
            Some(kind) => self.words(kind, fields, depth, found),
            None => found.trouble = Some("a record has no type".to_owned()),
        }
    }

    /// What is news about the session.
    fn describe(&mut self, fields: &Fields<'_>, at: Option<Timestamp>, found: &mut Finds) {
        let facts = &mut found.facts;
        facts.happened(at);
        if !self.told.session
            && let Some(session) = filled(fields.session)
        {
            self.told.session = true;
            let own = self.file.clone().or_else(|| filled(fields.agent).map(Into::into));
            match self.is_sub
                || fields.is_sidechain && own.is_some() && own.as_deref() == filled(fields.agent).as_deref()
            {
                true => (self.is_sub, facts.session, facts.parent) = (true, own, Some(session.into_owned())),
                false => facts.session = self.file.clone().or_else(|| Some(session.into_owned())),
            }
        }
        if fields.is_sidechain && !self.is_sub {
            return;
        }
        // Its first record does not say what kind of subagent it is; its replies do.
        if self.is_sub && !self.told.subagent && fields.kind.is_some_and(|kind| kind.text() == "\"assistant\"") {
            self.told.subagent = true;
            facts.subagent = filled(fields.agent_type.or(fields.agent)).map(Into::into);
        }
        if !self.told.cwd && fields.cwd.is_some() {
            self.told.cwd = true;
            facts.cwd = filled(fields.cwd).map(Into::into);
        }
        facts.branch = news(&mut self.told.branch, fields.branch).or(facts.branch.take());
        facts.version = news(&mut self.told.version, fields.version).or(facts.version.take());
    }

    /// `progress`: up to 2.1, a subagent's records stood in the progress of its call.
    fn progress<'a>(&mut self, fields: &Fields<'a>, depth: Depth, found: &mut Finds) {
        let of = |json: Json<'a>| Fields::of(&mut Walk::new(json.text()));
        let data = fields.data.map(of).unwrap_or_default();
        let Some(record) = data.message.filter(|record| record.is_object()) else { return };
        let mut inner = of(record);
        inner.is_sidechain = true;
        (inner.agent, inner.cwd) = (data.agent, inner.cwd.or(fields.cwd));
        match inner.kind.and_then(Json::str).as_deref() {
            Some("assistant") => self.reply(&inner, depth, found),
            Some(kind) => self.words(kind, &inner, depth, found),
            None => {}
        }
    }

    /// `assistant`.
    fn reply(&mut self, fields: &Fields<'_>, depth: Depth, found: &mut Finds) {
        let message = &fields.inside;
        let model = message.model.and_then(Json::str);
        let is_synthetic = model.as_deref() == Some("<synthetic>");
        if !is_synthetic {
            self.replied = self.last;
            let usage = self.figures(fields, message, found);
            if let Some(usage) = usage {
                self.spend(fields, message, &usage, found);
            }
            if self.is_sub || !fields.is_sidechain {
                found.facts.model = news(&mut self.told.model, message.model).or(found.facts.model.take());
            }
        }
        if fields.message.is_none_or(|message| !message.is_object()) {
            found.trouble = Some("a reply has no message".to_owned());
        }
        if depth == Depth::All {
            self.said(fields, message.content, is_synthetic, found);
        }
    }

    fn figures(&self, fields: &Fields<'_>, message: &Message<'_>, found: &mut Finds) -> Option<Usage> {
        let figures = message.usage?.object();
        let bad =
            ["input_tokens", "output_tokens"].into_iter().find(|key| figures.has(key) && figures.u64(key).is_none());
        let cache = ["cache_read_input_tokens", "cache_creation_input_tokens"];
        let wrong = || wrong_figures("a reply", message.usage, &cache);
        if let Some(wrong) = bad.map(|key| format!("{key} of a reply is not a number")).or_else(wrong) {
            found.trouble = Some(wrong);
        }
        let usage = turn::usage(&figures);
        if !fields.is_sidechain || self.is_sub {
            found.facts.context_used = Some(usage.all_input()).filter(|tokens| *tokens > 0);
        }
        Some(usage).filter(|usage| !usage.is_zero())
    }

    /// Tells what a reply used, once as long as nothing is new about it.
    fn spend(&mut self, fields: &Fields<'_>, message: &Message<'_>, usage: &Usage, found: &mut Finds) {
        let [id, request, uuid] = [message.id, fields.request, fields.uuid].map(|id| id.and_then(Json::str));
        let nameless = || {
            let [session, at] = [fields.session, fields.time].map(|text| text.and_then(Json::str));
            Cow::Owned(figures::nameless(session.as_deref().or(self.file.as_deref()), at.as_deref(), usage))
        };
        let name = figures::name(id.as_deref(), request.as_deref(), uuid.as_deref()).unwrap_or_else(nameless);
        let figures = figures_of(usage);
        let tools: Vec<_> = message.tools.iter().filter_map(Tool::called).collect();
        if self.reply.0 == *name && self.reply.1 == figures && tools.is_empty() {
            return;
        }
        self.reply.0.clear();
        self.reply.0.push_str(&name);
        self.reply.1 = figures;
        let text = |json: Option<Json<'_>>| json.and_then(Json::str).map(Cow::into_owned);
        let subagent = fields.is_sidechain.then(|| text(fields.agent_type.or(fields.agent)).unwrap_or_else(sidechain));
        found.spent.push(Spent {
            key: figures::key(&name),
            at: self.last,
            model: text(message.model),
            cwd: text(fields.cwd),
            subagent,
            copied: self.is_copied(fields),
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
            reasoning: usage.reasoning,
            cost_usd: None,
            tools,
            is_total: false,
        });
    }

    /// `cost-state`. A fork goes on with the totals and the start of what it was forked from: the start tells which
    /// sessions share what no reply has.
    fn total(&self, fields: &Fields<'_>, found: &mut Finds) {
        let started = fields.started.map_or("", |started| started.text());
        for (model, usage) in fields.totals.map(|totals| figures::totals(&totals.object())).unwrap_or_default() {
            found.spent.push(Spent {
                key: figures::key(&format!("total:{started}:{model}")),
                at: self.replied.or(self.began),
                model: Some(model),
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write_5m,
                cache_write_1h: usage.cache_write_1h,
                reasoning: usage.reasoning,
                is_total: true,
                ..Spent::default()
            });
        }
    }

    /// The record was written for another session: it says so, or is older than the file.
    fn is_copied(&self, fields: &Fields<'_>) -> bool {
        let session = fields.session.and_then(Json::str);
        let of_another =
            !self.is_sub && session.is_some() && self.file.is_some() && session.as_deref() != self.file.as_deref();
        let older = match (self.began, self.last) {
            (Some(began), Some(at)) => began.as_micros().saturating_sub(at.as_micros()) > COPIED,
            _ => false,
        };
        let asked_in = fields.asked_in.and_then(Json::str);
        let asked_elsewhere = asked_in.is_some() && session.is_some() && asked_in != session;
        fields.forked || asked_elsewhere || of_another || older
    }
}

impl Skim for Glance {
    fn counts(&self, record: &[u8]) -> bool {
        // The first record says when the file began, and so what was copied into it.
        self.began.is_none()
            || USAGE.find(record).is_some() && ASSISTANT.find(record).is_some()
            || record.get(..TOTAL_PREFIX).is_some_and(|start| COST_STATE.find(start).is_some())
    }

    fn record(&mut self, record: &str, depth: Depth, found: &mut Finds) {
        let mut walk = Walk::new(record);
        let is_object = walk.is(b'{');
        let fields = Fields::of(&mut walk);
        match walk.is_over() {
            true if is_object => self.look(&fields, depth, found),
            true => found.trouble = Some("a record is no object".to_owned()),
            false => found.is_no_json(),
        }
    }

    fn save(&self) -> Vec<u8> {
        let time = |at: Option<Timestamp>| at.map_or(i64::MIN, Timestamp::as_micros).to_le_bytes();
        [&time(self.began)[..], &time(self.last)[..], &[self.title][..], &time(self.replied)[..]].concat()
    }
}

/// A text that is not empty.
fn filled<'a>(json: Option<Json<'a>>) -> Option<Cow<'a, str>> {
    json.and_then(Json::str).filter(|text| !text.is_empty())
}

/// The text, if it is another than before.
fn news(known: &mut String, new: Option<Json<'_>>) -> Option<String> {
    let new = new.and_then(Json::str).filter(|new| !new.is_empty() && **new != **known)?;
    known.clear();
    known.push_str(&new);
    Some(new.into_owned())
}

/// What a subagent is called of which nothing is known.
fn sidechain() -> String {
    "sidechain".to_owned()
}

fn figures_of(usage: &Usage) -> Figures {
    [usage.input, usage.output, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.reasoning]
}
