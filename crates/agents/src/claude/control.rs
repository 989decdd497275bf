//! The control protocol: what Claude asks of its host, and what the host asks of Claude.

use std::collections::{BTreeMap, VecDeque};

use serde_json::value::RawValue;
use switchboard_event::{
    About, Choice, Decider, Id, Info, Item, Model, Named, Notice, OptionKind, Outcome, Question, RequestOpened,
    RequestOption, RequestResolved, Topic,
};

use super::{items, live::Live, system};
use crate::{Json, Object, Scribe};

/// How many of each are remembered.
const REMEMBERED: usize = 256;

/// Requests of the control protocol, both ways.
#[derive(Default)]
pub struct Asks {
    /// What we asked for, by the id of the request.
    ours: VecDeque<(String, String)>,
    /// What Claude asked for and is not shown as a request: hooks, by name and tool call, and MCP traffic.
    theirs: VecDeque<(String, (String, Option<String>))>,
    /// Tool calls that were allowed with another input, and are not seen yet.
    changed: VecDeque<(Id, Box<RawValue>)>,
    /// Tool calls that were not allowed.
    denied: VecDeque<Id>,
    /// The tool call that an open request is about.
    calls: VecDeque<(Id, Id)>,
}

fn remember<T>(list: &mut VecDeque<T>, entry: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(entry);
}

fn take<T>(list: &mut VecDeque<(String, T)>, id: &str) -> Option<T> {
    let index = list.iter().position(|(known, _)| known == id)?;
    list.remove(index).map(|(_, what)| what)
}

impl Asks {
    /// A tool call was not allowed.
    pub fn denied(&mut self, call: &str) {
        remember(&mut self.denied, Id::from(call));
    }

    /// The input that a tool call was allowed with, if it is another. Answers once.
    pub fn changed(&mut self, call: &str) -> Option<Box<RawValue>> {
        let index = self.changed.iter().position(|(id, _)| *id == *call)?;
        self.changed.remove(index).map(|(_, input)| input)
    }

    /// The tool call was not allowed. Answers once.
    pub fn was_denied(&mut self, call: &str) -> bool {
        let index = self.denied.iter().position(|id| *id == *call);
        index.and_then(|index| self.denied.remove(index)).is_some()
    }
}

impl Live {
    /// `control_request` from Claude.
    pub(super) fn asked(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = fields.string("request_id").unwrap_or_default();
        let request = fields.object("request");
        let subtype = request.string("subtype").unwrap_or_default();
        match subtype.as_str() {
            "can_use_tool" => self.can_use_tool(&id, &request, scribe),
            "elicitation" => elicitation(&id, &request, scribe),
            "hook_callback" => {
                let input = request.object("input");
                let event = input.string("hook_event_name").unwrap_or_default();
                let name = input.string("tool_name").map_or(event.clone(), |tool| format!("{event}:{tool}"));
                remember(&mut self.asks.theirs, (id, (name.clone(), request.string("tool_use_id"))));
                scribe.notice(Notice::new(Topic::Hook).with_name(name).with_status("started"));
            }
            other => {
                remember(&mut self.asks.theirs, (id, (String::new(), None)));
                scribe.notice(Notice::new(Topic::Control).with_name(other));
            }
        }
    }

    fn can_use_tool(&mut self, id: &str, request: &Object<'_>, scribe: &mut Scribe) {
        let call = request.str("tool_use_id").map(Id::from);
        let task = request.str("agent_id");
        if let Some(task) = task {
            // A subagent asks before its tool call is seen: only the task says where it belongs.
            scribe.within(self.tasks.call_of(&task), Some(Id::from(task)));
        }
        let name = request.str("tool_name").unwrap_or_default();
        let opened = request_opened(id, &name, request, &self.todos, scribe);
        if let Some(call) = &call {
            remember(&mut self.asks.calls, (Id::from(id), call.clone()));
        }
        scribe.request_opened(call, opened);
    }

    /// `control_cancel_request`: Claude no longer asks.
    pub(super) fn withdrawn(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let request = Id::from(fields.str("request_id").unwrap_or_default());
        let resolved =
            RequestResolved { request, outcome: Outcome::Withdrawn, by: Decider::Agent, ..Default::default() };
        scribe.request_resolved(resolved);
        scribe.otherwise(Notice::new(Topic::Control).with_name("control_cancel_request"));
    }

    /// `control_response` to Claude: a decision, or an answer that concerns nobody else.
    pub(super) fn decided(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let response = fields.object("response");
        let id = response.str("request_id").unwrap_or_default();
        if scribe.request_is_open(&id) {
            return self.resolved(resolution(&id, &response), scribe);
        }
        match take(&mut self.asks.theirs, &id) {
            Some((hook, call)) if !hook.is_empty() => {
                let decision = response.object("response").object("hookSpecificOutput");
                if let Some(call) = call.filter(|_| decision.is("permissionDecision", "deny")) {
                    self.asks.denied(&call);
                }
                scribe.notice(Notice::new(Topic::Hook).with_name(hook).with_status("completed"));
            }
            _ => scribe.notice(Notice::new(Topic::Control).with_name("control_response")),
        }
    }

    /// A request about a tool call was decided: what was declined never runs, and what was changed runs changed.
    fn resolved(&mut self, resolved: RequestResolved, scribe: &mut Scribe) {
        let known = self.asks.calls.iter().find(|(request, _)| *request == resolved.request);
        let call = known.map(|(_, call)| call.clone());
        let (outcome, input) = (resolved.outcome, resolved.input.clone());
        scribe.request_resolved(resolved);
        let Some(call) = call else { return };
        match (outcome, input) {
            (Outcome::Declined | Outcome::Cancelled, _) => self.asks.denied(&call),
            (Outcome::Allowed, Some(input)) => self.change_input(call, input, scribe),
            _ => {}
        }
    }

    fn change_input(&mut self, call: Id, input: Box<RawValue>, scribe: &mut Scribe) {
        let Some(item) = scribe.item(&call).cloned() else {
            return remember(&mut self.asks.changed, (call, input));
        };
        let asked = item.call.as_deref();
        if asked.and_then(|asked| asked.input.as_deref()).is_some_and(|asked| asked.get() != input.get()) {
            let name = asked.map(|asked| asked.name.clone()).unwrap_or_default();
            let changed = items::item(&name, Some(Json::of(&input)), &self.todos, scribe);
            scribe.item_set(&call, Item { reply: item.reply, ..changed });
        }
    }

    /// `control_request` to Claude.
    pub(super) fn told(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let subtype = fields.object("request").string("subtype").unwrap_or_default();
        if let Some(id) = fields.string("request_id") {
            remember(&mut self.asks.ours, (id, subtype.clone()));
        }
        if subtype == "interrupt" {
            if scribe.in_turn() {
                scribe.interrupted();
            }
            return scribe.notice(Notice::new(Topic::Interrupt));
        }
        scribe.notice(Notice::new(Topic::Control).with_name(subtype));
    }

    /// `control_response` from Claude: what became of our request. With `--replay-user-messages`, our own come back.
    pub(super) fn answered(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let response = fields.object("response");
        let id = response.str("request_id").unwrap_or_default();
        let Some(subtype) = take(&mut self.asks.ours, &id) else {
            return scribe.notice(Notice::new(Topic::Echo).with_name("control_response"));
        };
        let payload = response.object("response");
        if response.is("subtype", "success") {
            match subtype.as_str() {
                "initialize" => initialized(&payload, scribe),
                "set_permission_mode" => scribe.info(Info { mode: payload.filled("mode"), ..Info::default() }),
                _ => {}
            }
        }
        let mut notice = Notice::new(Topic::Control).with_name(subtype).with_status("answered");
        notice.text = response.filled("error");
        scribe.otherwise(notice);
    }
}

fn initialized(payload: &Object<'_>, scribe: &mut Scribe) {
    let model = |model: Json<'_>| {
        let model = model.object();
        let id = model.filled("value")?;
        Some(Model {
            name: model.filled("displayName").unwrap_or_else(|| id.clone()),
            description: model.filled("description"),
            default: id == "default",
            id,
        })
    };
    let agent = |agent: Json<'_>| {
        let agent = agent.object();
        Some(Named { name: agent.filled("name")?, description: agent.filled("description") })
    };
    scribe.info(Info {
        commands: payload.array("commands").into_iter().filter_map(system::command).collect(),
        models: payload.array("models").into_iter().filter_map(model).collect(),
        agents: payload.array("agents").into_iter().filter_map(agent).collect(),
        ..Info::default()
    });
}

fn request_opened(id: &str, name: &str, request: &Object<'_>, todos: &items::Todos, scribe: &Scribe) -> RequestOpened {
    use switchboard_event::Details;
    let item = items::item(name, request.get("input"), todos, scribe);
    let input = request.object("input");
    let questions: Vec<_> = input.array("questions").into_iter().map(question).collect();
    let (about, command, changes) = match item.details {
        _ if !questions.is_empty() => (About::Question, None, Vec::new()),
        Details::Command(command) => (About::Command, Some(command.command), Vec::new()),
        Details::FileChange(change) => (About::FileChange, None, change.changes),
        Details::Plan(_) => (About::Plan, None, Vec::new()),
        _ => (About::Tool, None, Vec::new()),
    };
    let title = request.filled("title").or_else(|| request.filled("description"));
    RequestOpened {
        request: Id::from(id),
        about,
        title: title.or_else(|| command.clone()).unwrap_or_else(|| name.to_owned()),
        reason: request.filled("decision_reason"),
        call: item.call,
        cwd: command.as_ref().and_then(|_| scribe.cwd().map(str::to_owned)),
        command,
        changes,
        questions,
        options: options(),
        expires_at: None,
    }
}

/// What can be answered. Claude takes yes and no; for the rest of the session is a change of its rules.
fn options() -> Vec<RequestOption> {
    [
        ("allow", "Allow once", OptionKind::AllowOnce),
        ("allow_session", "Allow for this session", OptionKind::AllowSession),
        ("deny", "Decline", OptionKind::Reject),
        ("interrupt", "Decline and stop", OptionKind::Cancel),
    ]
    .map(|(id, label, kind)| RequestOption { id: id.to_owned(), label: label.to_owned(), kind })
    .into()
}

fn question(question: Json<'_>) -> Question {
    let fields = question.object();
    let text = fields.string("question").unwrap_or_default();
    let choice = |option: Json<'_>| {
        let option = option.object();
        Choice { label: option.string("label").unwrap_or_default(), description: option.filled("description") }
    };
    Question {
        id: text.clone(),
        question: text,
        header: fields.filled("header"),
        choices: fields.array("options").into_iter().map(choice).collect(),
        multiple: fields.is_true("multiSelect"),
        free_text: true,
        secret: false,
    }
}

fn elicitation(id: &str, request: &Object<'_>, scribe: &mut Scribe) {
    let title = request.filled("message").unwrap_or_else(|| "an MCP server asks".to_owned());
    scribe.request_opened(
        None,
        RequestOpened { request: Id::from(id), about: About::Elicitation, title, ..RequestOpened::default() },
    );
}

/// What a decision means. An answer that is none counts as no: that is how Claude takes it.
fn resolution(id: &str, response: &Object<'_>) -> RequestResolved {
    let answer = response.object("response");
    let allowed =
        response.is("subtype", "success") && (answer.is("behavior", "allow") || answer.is("action", "accept"));
    let input = answer.object("updatedInput");
    let answers: BTreeMap<_, _> = input.object("answers").iter().map(|(q, a)| (q.to_owned(), chosen(a))).collect();
    let (outcome, option) = match allowed {
        true if !answers.is_empty() => (Outcome::Answered, None),
        true if answer.has("updatedPermissions") => (Outcome::Allowed, Some("allow_session")),
        true => (Outcome::Allowed, Some("allow")),
        false if answer.is_true("interrupt") => (Outcome::Cancelled, Some("interrupt")),
        false => (Outcome::Declined, Some("deny")),
    };
    RequestResolved {
        request: Id::from(id),
        outcome,
        by: Decider::Client,
        option: option.map(str::to_owned),
        input: answer.raw("updatedInput").filter(|_| allowed),
        answers,
        message: answer.filled("message").or_else(|| response.filled("error")),
    }
}

fn chosen(answer: Json<'_>) -> Vec<String> {
    match answer.str() {
        Some(one) => vec![one.into_owned()],
        None => answer.array().into_iter().map(|a| a.display().into_owned()).collect(),
    }
}
