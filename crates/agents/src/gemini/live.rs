//! What `gemini -p --output-format stream-json` prints, and the shapes that older descriptions of it have
//! (`content`, `tool_call`, `retry`; bare `text`; raw `candidates`).

use switchboard_event::{
    AgentMessage, Details, Dir, Fault, Field, Id, Info, Item, Level, Notice, Status, Stop, Timestamp, Topic,
    TurnCompleted, TurnStarted, TurnStatus, Usage, UserMessage,
};

use super::{errors, items};
use crate::{Json, Object, Reader, Scribe};

/// Reads the one-way stream.
#[derive(Default)]
pub struct Live {
    /// The message being written; a tool ends it.
    message: Option<Id>,
    messages: u32,
    tools: u32,
    /// The last error that did not end the run: a `result` may fail without saying why.
    warned: Option<Fault>,
}

impl Reader for Live {
    fn read(&mut self, _: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        scribe.happened(fields.str("timestamp").and_then(|t| Timestamp::parse(&t)));
        match fields.str("type").as_deref() {
            Some("init") => init(&fields, scribe),
            Some("message") => self.message(&fields, scribe),
            Some("content") => self.say(&fields.str("value").unwrap_or_default(), scribe),
            Some("tool_use") => self.tool_use(&fields, scribe),
            Some("tool_call") => self.tool_call(&fields, scribe),
            Some("tool_result") => tool_result(&fields, scribe),
            Some("error") => self.error(&fields, scribe),
            Some("retry") => scribe.notice(Notice::new(Topic::Retry)),
            Some("result") => self.result(&fields, scribe),
            _ => self.untyped(&fields, scribe),
        }
    }
}

fn init(fields: &Object<'_>, scribe: &mut Scribe) {
    scribe.identify(&fields.str("session_id").unwrap_or_default());
    scribe.info(Info { model: fields.filled("model"), ..Info::default() });
}

impl Live {
    fn message(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let content = fields.str("content").unwrap_or_default();
        if fields.is("role", "user") {
            scribe.turn_started(TurnStarted { prompt: Some(content.to_string()), ..TurnStarted::default() });
            let id = self.next_message(scribe);
            scribe.item_completed(&id, Item::new(UserMessage::text(content)));
        } else {
            self.say(&content, scribe);
        }
    }

    fn next_message(&mut self, scribe: &Scribe) -> Id {
        self.messages += 1;
        scribe.local_id(&format!("message_{}", self.messages))
    }

    fn say(&mut self, text: &str, scribe: &mut Scribe) {
        scribe.ensure_turn();
        let id = match &self.message {
            Some(id) if scribe.item_is_open(id) => id.clone(),
            _ => {
                let id = self.next_message(scribe);
                scribe.item_started(&id, Item::new(AgentMessage::default()));
                self.message.insert(id).clone()
            }
        };
        scribe.item_append(&id, Field::Text, 0, text);
    }

    fn end_message(&mut self, scribe: &mut Scribe) {
        if let Some(id) = self.message.take() {
            scribe.item_closed(&id, Status::Completed);
        }
    }

    fn tool_use(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        self.end_message(scribe);
        let name = fields.str("tool_name").unwrap_or_default();
        let item = items::item(&name, fields.get("parameters"), scribe);
        let id = match fields.filled("tool_id") {
            Some(id) => Id::from(id),
            None => self.next_tool(scribe),
        };
        scribe.item_started(&id, item);
    }

    fn next_tool(&mut self, scribe: &Scribe) -> Id {
        self.tools += 1;
        scribe.local_id(&format!("tool_{}", self.tools))
    }

    /// The older shape: one record for the whole call, without a result.
    fn tool_call(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        self.end_message(scribe);
        let name = fields.str("name").unwrap_or_default();
        let item = items::item(&name, fields.get("args"), scribe);
        let id = self.next_tool(scribe);
        scribe.item_completed(&id, item);
    }

    /// `{severity,message}` is a warning; with an `error` object, as older descriptions have it, it ends the run.
    fn error(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if fields.has("error") {
            return self.fail(errors::fault(&fields.object("error")), None, scribe);
        }
        let fault = errors::fault(fields);
        let level = if fields.is("severity", "warning") { Level::Warning } else { Level::Error };
        let notice = Notice::new(Topic::Warning).with_level(level).with_text(fault.message.clone());
        scribe.notice(Notice { error: Some(fault.clone()), ..notice });
        self.warned = Some(fault);
    }

    fn result(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        self.end_message(scribe);
        let stats = fields.object("stats");
        count(&stats, scribe);
        let duration_ms = stats.u64("duration_ms");
        match fields.str("status").as_deref() {
            Some("error") => {
                let said = fields.get("error").map(|error| errors::fault(&error.object()));
                let fault = said.or(self.warned.take()).unwrap_or_else(|| errors::fault(&Object::default()));
                self.fail(fault, duration_ms, scribe);
            }
            Some("cancelled") => {
                let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
                scribe.turn_completed(TurnCompleted { status, stop, duration_ms, ..TurnCompleted::default() });
            }
            _ => scribe.turn_completed(TurnCompleted { duration_ms, ..TurnCompleted::default() }),
        }
    }

    fn fail(&mut self, fault: Fault, duration_ms: Option<u64>, scribe: &mut Scribe) {
        use switchboard_event::ErrorCode;
        let (status, stop) = match fault.code {
            ErrorCode::Aborted => (TurnStatus::Interrupted, Stop::Cancelled),
            ErrorCode::MaxTurns => (TurnStatus::Failed, Stop::MaxTurns),
            _ => (TurnStatus::Failed, Stop::Error),
        };
        self.end_message(scribe);
        scribe.turn_completed(TurnCompleted {
            status,
            stop,
            error: Some(fault),
            duration_ms,
            ..TurnCompleted::default()
        });
    }

    /// Records without a known type: `{"text"}` and the raw replies of the model's API.
    fn untyped(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let candidate = fields.array("candidates").first().map(|c| c.object());
        let parts = candidate.map(|c| c.object("content").array("parts")).unwrap_or_default();
        let texts = parts.iter().filter_map(|part| part.object().str("text"));
        for text in fields.str("text").into_iter().chain(texts) {
            self.say(&text, scribe);
        }
    }
}

fn tool_result(fields: &Object<'_>, scribe: &mut Scribe) {
    let id = fields.str("tool_id").unwrap_or_default();
    let Some(mut item) = scribe.item(&id).cloned() else {
        return scribe.notice(Notice::new(Topic::Late).with_name("tool_result"));
    };
    let failed = fields.is("status", "error");
    let error = failed.then(|| fields.object("error").filled("message").or_else(|| fields.filled("output"))).flatten();
    // A tool that is not allowed here is not offered at all, and calling it is reported like this.
    let declined = fields.object("error").is("type", "tool_not_registered");
    item.status = match (declined, failed) {
        (true, _) => Status::Declined,
        (_, true) => Status::Failed,
        _ => Status::Completed,
    };
    let output = fields.string("output").unwrap_or_default();
    match &mut item.details {
        Details::Command(command) => {
            command.exit_code = exit_code(&output).or((!failed).then_some(0));
            command.output = output;
        }
        Details::Tool(tool) => tool.output = output,
        Details::FileChange(change) => change.output = Some(output).filter(|o| !o.is_empty()),
        Details::Subagent(subagent) => subagent.result = Some(output),
        Details::Mcp(mcp) => {
            mcp.error.clone_from(&error);
            mcp.result = fields.raw("output");
        }
        Details::WebSearch(search) => search.results = fields.raw("output"),
        _ => {}
    }
    if let Some(call) = &mut item.call {
        call.error = error;
    }
    scribe.item_completed(&Id::from(id), item);
}

/// The shell tool's display says `Exit Code: 3` when the command failed.
fn exit_code(output: &str) -> Option<i32> {
    let (_, after) = output.rsplit_once("Exit Code: ")?;
    after.split(|c: char| c != '-' && !c.is_ascii_digit()).next()?.parse().ok()
}

/// One figure a model. `input_tokens` includes the cache; thoughts are only in the total.
fn count(stats: &Object<'_>, scribe: &mut Scribe) {
    let models = stats.object("models");
    if models.is_empty() {
        let model = scribe.model().map(str::to_owned);
        return scribe.usage(usage(stats, model));
    }
    for (model, figures) in models.iter() {
        scribe.usage(usage(&figures.object(), Some(model.to_owned())));
    }
}

fn usage(figures: &Object<'_>, model: Option<String>) -> Usage {
    let (input, answer) = (figures.count("input_tokens"), figures.count("output_tokens"));
    let cache_read = figures.u64("cached").unwrap_or_else(|| figures.count("cache_tokens"));
    let tool = figures.u64("tool_tokens").filter(|tokens| *tokens > 0);
    let known = input.saturating_add(answer).saturating_add(tool.unwrap_or(0));
    let reasoning = figures
        .u64("thought_tokens")
        .filter(|tokens| *tokens > 0)
        .unwrap_or_else(|| figures.u64("total_tokens").map_or(0, |total| total.saturating_sub(known)));
    Usage {
        scope: switchboard_event::Scope::Turn,
        model,
        input: input.saturating_sub(cache_read),
        output: answer.saturating_add(reasoning),
        cache_read,
        reasoning,
        tool,
        cached_in_input: true,
        reasoning_in_output: false,
        ..Usage::default()
    }
}
