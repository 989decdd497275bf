//! The scanner of session logs. A record is split once, its fields are inspected in place, and only changes are copied.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem::Finder;
use switchboard_event::{Timestamp, Usage};

use super::{replies, subagent_of_file};
use crate::{
    JsonView, LogFile, LogScanner, ReplyTokens, ScanDepth, ScanOutput, ToolCallRef, claude::turn,
    logs::usage_figure_problem, walk::JsonWalker,
};

static USAGE_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));

static ASSISTANT_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"assistant\""));

/// A record with totals names its kind first.
static COST_STATE_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"cost-state\""));

const COST_STATE_PREFIX_BYTES: usize = 64;

/// A record that is older than the first record of its file by more than this was written for another session and
/// copied.
const MIN_COPIED_AGE_MICROS: i64 = 1_000_000;

/// Scans one file.
#[derive(Default)]
pub struct ClaudeLogScanner {
    /// The session, from the file name; in a subagent's file, the subagent.
    pub(super) file: Option<String>,
    /// The file belongs to a subagent.
    is_sub: bool,
    /// The time of the first record.
    began: Option<Timestamp>,
    /// The time of the last reply.
    replied: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    /// The rank of the reported title.
    pub(super) title: u8,
    told: ReportedFacts,
    /// The reply of the last record and its usage: most records repeat them.
    reply: (String, TokenFigures),
}

/// The facts reported last.
#[derive(Default)]
struct ReportedFacts {
    session: bool,
    cwd: bool,
    branch: String,
    version: String,
    model: String,
    subagent: bool,
}

type TokenFigures = [u64; 6];

/// The relevant fields of a record, as written.
#[derive(Default)]
pub struct LogRecordFields<'a> {
    pub kind: Option<JsonView<'a>>,
    pub subtype: Option<JsonView<'a>>,
    pub message: Option<JsonView<'a>>,
    pub content: Option<JsonView<'a>>,
    pub attachment: Option<JsonView<'a>>,
    pub data: Option<JsonView<'a>>,
    pub title: Option<JsonView<'a>>,
    pub summary: Option<JsonView<'a>>,
    pub origin: Option<JsonView<'a>>,
    pub link: Option<JsonView<'a>>,
    pub inside: LogMessageFields<'a>,
    pub has_result: bool,
    pub is_injected: bool,
    pub is_summary: bool,
    pub is_sidechain: bool,
    pub is_error: bool,
    totals: Option<JsonView<'a>>,
    started: Option<JsonView<'a>>,
    forked: bool,
    asked_in: Option<JsonView<'a>>,
    uuid: Option<JsonView<'a>>,
    request: Option<JsonView<'a>>,
    session: Option<JsonView<'a>>,
    time: Option<JsonView<'a>>,
    cwd: Option<JsonView<'a>>,
    branch: Option<JsonView<'a>>,
    version: Option<JsonView<'a>>,
    agent: Option<JsonView<'a>>,
    agent_type: Option<JsonView<'a>>,
}

impl<'a> LogRecordFields<'a> {
    /// Splits the object at the walker's position.
    fn from_walker(walk: &mut JsonWalker<'a>) -> Self {
        let mut it = Self::default();
        walk.walk_object(|key, walk| it.take_field(key, walk));
        it
    }

    fn take_field(&mut self, key: &str, walk: &mut JsonWalker<'a>) {
        let field = match key {
            "message" => {
                let mut inside = LogMessageFields::default();
                let message = walk.walk_object(|key, walk| inside.take_field(key, walk));
                self.inside = inside;
                return set_unless_null(&mut self.message, message);
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
            "toolUseResult" => return self.has_result |= walk.take_value() != "null",
            "isMeta" | "isVisibleInTranscriptOnly" => return self.is_injected |= walk.take_value() == "true",
            "isCompactSummary" => return self.is_summary |= walk.take_value() == "true",
            "isSidechain" => return self.is_sidechain |= walk.take_value() == "true",
            "isApiErrorMessage" => return self.is_error |= walk.take_value() == "true",
            "forkedFrom" => return self.forked |= walk.take_value() != "null",
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
        set_unless_null(field, walk.take_value());
    }
}

/// Sets a field unless the value is `null`.
fn set_unless_null<'a>(field: &mut Option<JsonView<'a>>, value: &'a str) {
    if value != "null" {
        *field = Some(JsonView::from_valid_text(value));
    }
}

/// The relevant fields of a message.
#[derive(Default)]
pub struct LogMessageFields<'a> {
    pub content: Option<JsonView<'a>>,
    id: Option<JsonView<'a>>,
    model: Option<JsonView<'a>>,
    usage: Option<JsonView<'a>>,
    /// The tools that the message calls.
    tools: Vec<LogToolUse<'a>>,
}

impl<'a> LogMessageFields<'a> {
    fn take_field(&mut self, key: &str, walk: &mut JsonWalker<'a>) {
        let field = match key {
            "content" => {
                let content = walk.walk_array(|walk| self.tools.extend(LogToolUse::from_walker(walk)));
                return set_unless_null(&mut self.content, content);
            }
            "id" => &mut self.id,
            "model" => &mut self.model,
            "usage" => &mut self.usage,
            _ => return,
        };
        set_unless_null(field, walk.take_value());
    }
}

struct LogToolUse<'a> {
    id: JsonView<'a>,
    name: JsonView<'a>,
}

impl<'a> LogToolUse<'a> {
    /// Parses the block at the walker's position, if it is a tool call.
    fn from_walker(walk: &mut JsonWalker<'a>) -> Option<Self> {
        let (mut kind, mut id, mut name) = ("", None, None);
        walk.walk_object(|key, walk| match key {
            "type" => kind = walk.take_value(),
            "id" => set_unless_null(&mut id, walk.take_value()),
            "name" => set_unless_null(&mut name, walk.take_value()),
            _ => {}
        });
        let calls = matches!(kind, "\"tool_use\"" | "\"server_tool_use\"" | "\"mcp_tool_use\"");
        calls.then(|| Some(Self { id: id?, name: name? })).flatten()
    }

    fn to_call_ref(&self) -> Option<ToolCallRef> {
        Some(ToolCallRef { id: self.id.as_str()?.into_owned(), name: self.name.as_str()?.into_owned() })
    }
}

impl ClaudeLogScanner {
    /// Starts at the beginning of a file, or at a saved state.
    pub fn new(file: &LogFile, saved: Option<&[u8]>) -> Self {
        let mut it = Self { file: file.session.clone(), is_sub: subagent_of_file(file).is_some(), ..Self::default() };
        if let Some((began, rest)) = saved.and_then(|saved| saved.split_first_chunk())
            && let Some((last, [title, replied @ ..])) = rest.split_first_chunk()
        {
            let time = |bytes: &[u8; 8]| Timestamp::from_micros(i64::from_le_bytes(*bytes));
            (it.began, it.last, it.title) = (time(began), time(last), *title);
            it.replied = replied.first_chunk().and_then(time);
        }
        it
    }

    fn scan_fields(&mut self, fields: &LogRecordFields<'_>, depth: ScanDepth, found: &mut ScanOutput) {
        let at = fields.time.and_then(JsonView::as_str).and_then(|parse_time| Timestamp::parse(&parse_time));
        self.last = at.or(self.last);
        self.began = self.began.or(at);
        self.update_facts(fields, at, found);
        let kind = fields.kind.and_then(JsonView::as_str);
        match kind.as_deref() {
            Some("assistant") => self.scan_reply(fields, depth, found),
            Some("progress") => self.scan_progress(fields, depth, found),
            Some("cost-state") => self.push_totals(fields, found),
            Some(kind) => self.scan_other(kind, fields, depth, found),
            None => found.trouble = Some("a record has no type".to_owned()),
        }
    }

    /// Reports changed facts about the session.
    fn update_facts(&mut self, fields: &LogRecordFields<'_>, at: Option<Timestamp>, found: &mut ScanOutput) {
        let facts = &mut found.facts;
        facts.include_time(at);
        if !self.told.session
            && let Some(session) = non_empty_text(fields.session)
        {
            self.told.session = true;
            let own = self.file.clone().or_else(|| non_empty_text(fields.agent).map(Into::into));
            match self.is_sub
                || fields.is_sidechain && own.is_some() && own.as_deref() == non_empty_text(fields.agent).as_deref()
            {
                true => (self.is_sub, facts.session, facts.parent) = (true, own, Some(session.into_owned())),
                false => facts.session = self.file.clone().or_else(|| Some(session.into_owned())),
            }
        }
        if fields.is_sidechain && !self.is_sub {
            return;
        }
        // The first record does not have the type of the subagent; its replies do.
        if self.is_sub && !self.told.subagent && fields.kind.is_some_and(|kind| kind.raw_text() == "\"assistant\"") {
            self.told.subagent = true;
            facts.subagent = non_empty_text(fields.agent_type.or(fields.agent)).map(Into::into);
        }
        if !self.told.cwd && fields.cwd.is_some() {
            self.told.cwd = true;
            facts.cwd = non_empty_text(fields.cwd).map(Into::into);
        }
        facts.branch = changed_text(&mut self.told.branch, fields.branch).or(facts.branch.take());
        facts.version = changed_text(&mut self.told.version, fields.version).or(facts.version.take());
    }

    /// Scans `progress`: up to 2.1, a subagent's records were stored in the progress of its call.
    fn scan_progress<'a>(&mut self, fields: &LogRecordFields<'a>, depth: ScanDepth, found: &mut ScanOutput) {
        let of = |json: JsonView<'a>| LogRecordFields::from_walker(&mut JsonWalker::new(json.raw_text()));
        let data = fields.data.map(of).unwrap_or_default();
        let Some(record) = data.message.filter(|record| record.is_object()) else { return };
        let mut inner = of(record);
        inner.is_sidechain = true;
        (inner.agent, inner.cwd) = (data.agent, inner.cwd.or(fields.cwd));
        match inner.kind.and_then(JsonView::as_str).as_deref() {
            Some("assistant") => self.scan_reply(&inner, depth, found),
            Some(kind) => self.scan_other(kind, &inner, depth, found),
            None => {}
        }
    }

    /// Scans an `assistant` record.
    fn scan_reply(&mut self, fields: &LogRecordFields<'_>, depth: ScanDepth, found: &mut ScanOutput) {
        let message = &fields.inside;
        let model = message.model.and_then(JsonView::as_str);
        let is_synthetic = model.as_deref() == Some("<synthetic>");
        if !is_synthetic {
            self.replied = self.last;
            let usage = self.parse_reply_usage(fields, message, found);
            if let Some(usage) = usage {
                self.push_reply_usage(fields, message, &usage, found);
            }
            if self.is_sub || !fields.is_sidechain {
                found.facts.model = changed_text(&mut self.told.model, message.model).or(found.facts.model.take());
            }
        }
        if fields.message.is_none_or(|message| !message.is_object()) {
            found.trouble = Some("a reply has no message".to_owned());
        }
        if depth == ScanDepth::All {
            self.scan_reply_text(fields, message.content, is_synthetic, found);
        }
    }

    fn parse_reply_usage(
        &self,
        fields: &LogRecordFields<'_>,
        message: &LogMessageFields<'_>,
        found: &mut ScanOutput,
    ) -> Option<Usage> {
        let figures = message.usage?.as_object();
        let bad = ["input_tokens", "output_tokens"]
            .into_iter()
            .find(|key| figures.contains_key(key) && figures.get_u64(key).is_none());
        let cache = ["cache_read_input_tokens", "cache_creation_input_tokens"];
        let wrong = || usage_figure_problem("a reply", message.usage, &cache);
        if let Some(wrong) = bad.map(|key| format!("{key} of a reply is not a number")).or_else(wrong) {
            found.trouble = Some(wrong);
        }
        let usage = turn::parse_usage(&figures);
        if !fields.is_sidechain || self.is_sub {
            found.facts.context_used = Some(usage.all_input()).filter(|tokens| *tokens > 0);
        }
        Some(usage).filter(|usage| !usage.is_zero())
    }

    /// Reports the usage of a reply, unless it equals the last reported one.
    fn push_reply_usage(
        &mut self,
        fields: &LogRecordFields<'_>,
        message: &LogMessageFields<'_>,
        usage: &Usage,
        found: &mut ScanOutput,
    ) {
        let [id, request, uuid] = [message.id, fields.request, fields.uuid].map(|id| id.and_then(JsonView::as_str));
        let nameless = || {
            let [session, at] = [fields.session, fields.time].map(|text| text.and_then(JsonView::as_str));
            Cow::Owned(replies::reply_fingerprint(session.as_deref().or(self.file.as_deref()), at.as_deref(), usage))
        };
        let name = replies::reply_name(id.as_deref(), request.as_deref(), uuid.as_deref()).unwrap_or_else(nameless);
        let figures = token_figures(usage);
        let tools: Vec<_> = message.tools.iter().filter_map(LogToolUse::to_call_ref).collect();
        if self.reply.0 == *name && self.reply.1 == figures && tools.is_empty() {
            return;
        }
        self.reply.0.clear();
        self.reply.0.push_str(&name);
        self.reply.1 = figures;
        let text = |json: Option<JsonView<'_>>| json.and_then(JsonView::as_str).map(Cow::into_owned);
        let subagent =
            fields.is_sidechain.then(|| text(fields.agent_type.or(fields.agent)).unwrap_or_else(unnamed_subagent));
        found.spent.push(ReplyTokens {
            key: replies::reply_key(&name),
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

    /// Reports the totals of a `cost-state`. A fork continues with the totals and the start time of its origin: the
    /// start time tells which sessions share usage that no reply has.
    fn push_totals(&self, fields: &LogRecordFields<'_>, found: &mut ScanOutput) {
        let started = fields.started.map_or("", |started| started.raw_text());
        for (model, usage) in fields.totals.map(|totals| replies::model_totals(&totals.as_object())).unwrap_or_default()
        {
            found.spent.push(ReplyTokens {
                key: replies::reply_key(&format!("total:{started}:{model}")),
                at: self.replied.or(self.began),
                model: Some(model),
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write_5m,
                cache_write_1h: usage.cache_write_1h,
                reasoning: usage.reasoning,
                is_total: true,
                ..ReplyTokens::default()
            });
        }
    }

    /// Returns whether the record was written for another session: it is marked as such, or older than the file.
    fn is_copied(&self, fields: &LogRecordFields<'_>) -> bool {
        let session = fields.session.and_then(JsonView::as_str);
        let of_another =
            !self.is_sub && session.is_some() && self.file.is_some() && session.as_deref() != self.file.as_deref();
        let older = match (self.began, self.last) {
            (Some(began), Some(at)) => began.as_micros().saturating_sub(at.as_micros()) > MIN_COPIED_AGE_MICROS,
            _ => false,
        };
        let asked_in = fields.asked_in.and_then(JsonView::as_str);
        let asked_elsewhere = asked_in.is_some() && session.is_some() && asked_in != session;
        fields.forked || asked_elsewhere || of_another || older
    }
}

impl LogScanner for ClaudeLogScanner {
    fn may_affect_usage(&self, record: &[u8]) -> bool {
        // The first record has the time at which the file began, which tells copied records from own ones.
        self.began.is_none()
            || USAGE_FINDER.find(record).is_some() && ASSISTANT_FINDER.find(record).is_some()
            || record.get(..COST_STATE_PREFIX_BYTES).is_some_and(|start| COST_STATE_FINDER.find(start).is_some())
    }

    fn scan_record(&mut self, scan_record: &str, depth: ScanDepth, found: &mut ScanOutput) {
        let mut walk = JsonWalker::new(scan_record);
        let is_object = walk.starts_with(b'{');
        let fields = LogRecordFields::from_walker(&mut walk);
        match walk.is_complete() {
            true if is_object => self.scan_fields(&fields, depth, found),
            true => found.trouble = Some("a record is no object".to_owned()),
            false => found.mark_not_json(),
        }
    }

    fn save_state(&self) -> Vec<u8> {
        let time = |at: Option<Timestamp>| at.map_or(i64::MIN, Timestamp::as_micros).to_le_bytes();
        [&time(self.began)[..], &time(self.last)[..], &[self.title][..], &time(self.replied)[..]].concat()
    }
}

fn non_empty_text<'a>(json: Option<JsonView<'a>>) -> Option<Cow<'a, str>> {
    json.and_then(JsonView::as_str).filter(|text| !text.is_empty())
}

/// Returns the text if it differs from the known one.
fn changed_text(known: &mut String, new: Option<JsonView<'_>>) -> Option<String> {
    let new = new.and_then(JsonView::as_str).filter(|new| !new.is_empty() && **new != **known)?;
    known.clear();
    known.push_str(&new);
    Some(new.into_owned())
}

/// The name of a subagent without name and id.
fn unnamed_subagent() -> String {
    "sidechain".to_owned()
}

fn token_figures(usage: &Usage) -> TokenFigures {
    [usage.input, usage.output, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.reasoning]
}
