//! What OpenCode asks: permissions and questions, and how they are answered.

use std::collections::BTreeMap;

use switchboard_event::{
    About, Call, Choice, Decider, Id, Level, Notice, OptionKind, Outcome, Question, RequestOpened, RequestOption,
    RequestResolved, Topic,
};

use super::{bus::Bus, calls::call_key, changes, tools};
use crate::{Json, Object, Scribe};

/// How many questions are remembered until they are answered.
const LIMIT: usize = 64;

/// The questions that are open: an answer only gives their order.
#[derive(Default)]
pub struct Questions(Vec<(Id, Vec<String>)>);

impl Questions {
    fn ask(&mut self, request: Id, ids: Vec<String>) {
        if self.0.len() >= LIMIT {
            self.0.remove(0);
        }
        self.0.push((request, ids));
    }

    /// The answers to a request, by question.
    pub fn answers(&mut self, request: &str, answers: Vec<Json<'_>>) -> BTreeMap<String, Vec<String>> {
        self.take(request).into_iter().zip(answers.into_iter().map(texts)).collect()
    }

    fn take(&mut self, request: &str) -> Vec<String> {
        let at = self.0.iter().position(|(id, _)| *id == *request);
        at.map(|at| self.0.remove(at).1).unwrap_or_default()
    }
}

/// One way to ask for permission, in the words of three versions.
struct Asked<'a> {
    request: Id,
    permission: String,
    patterns: Vec<String>,
    meta: Object<'a>,
    title: Option<String>,
    key: Option<Id>,
}

impl<'a> Asked<'a> {
    fn of(fields: &Object<'a>) -> Self {
        let permission = ["permission", "action", "type"].into_iter().find_map(|key| fields.filled(key));
        let patterns = ["patterns", "resources", "pattern"].into_iter().find_map(|key| fields.get(key));
        let tool = if fields.has("tool") { fields.object("tool") } else { fields.object("source") };
        let inner = |key| tool.str(key).or_else(|| fields.str(key));
        Self {
            request: Id::from(fields.str("id").unwrap_or_default()),
            permission: permission.unwrap_or_default(),
            patterns: patterns.map(texts).unwrap_or_default(),
            meta: fields.object("metadata"),
            title: fields.filled("title"),
            key: inner("callID").zip(inner("messageID")).map(|(call, message)| call_key(&message, &call)),
        }
    }
}

fn texts(value: Json<'_>) -> Vec<String> {
    match value.str() {
        Some(text) => vec![text.into_owned()],
        None => value.array().into_iter().filter_map(|text| text.str().map(|text| text.into_owned())).collect(),
    }
}

impl Bus {
    /// `permission.asked`.
    pub(super) fn permission_asked(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let asked = Asked::of(fields);
        self.asked.insert(asked.request.clone(), ());
        if let Some(pending) = asked.key.as_ref().and_then(|key| self.calls.get_mut(key)) {
            pending.diff = asked.meta.filled("diff");
        }
        let item = self.item_of(asked.key.as_deref());
        let call = self.call_of(&asked, fields, scribe);
        let request = RequestOpened {
            request: asked.request.clone(),
            about: about(&asked.permission),
            title: title(&asked),
            reason: reason(&asked),
            call: Some(Box::new(call)),
            command: asked.meta.filled("command"),
            cwd: scribe.cwd().map(str::to_owned),
            changes: changes::asked(&asked.meta, scribe),
            options: options(),
            ..RequestOpened::default()
        };
        scribe.request_opened(item, request);
    }

    fn item_of(&self, key: Option<&str>) -> Option<Id> {
        key.and_then(|key| self.calls.get(key)).map(|pending| pending.part.clone())
    }

    /// The call that permission is asked for. Before its input is complete, all that is known of it is what the
    /// request says.
    fn call_of(&self, asked: &Asked<'_>, fields: &Object<'_>, scribe: &Scribe) -> Call {
        let pending = asked.key.as_deref().and_then(|key| self.calls.get(key));
        let known = pending.and_then(|pending| scribe.item(&pending.part)).and_then(|item| item.call.as_deref());
        if let Some(call) = known {
            return call.clone();
        }
        // A call that is made over and over is only named beside.
        let repeated = asked.meta.filled("tool").filter(|_| asked.permission == "doom_loop");
        let input = if repeated.is_some() { asked.meta.raw("input") } else { fields.raw("metadata") };
        let input = input.filter(|_| !asked.meta.is_empty());
        let name = repeated.or_else(|| pending.map(|pending| pending.tool.clone()));
        let name = name.unwrap_or_else(|| asked.permission.clone());
        let (kind, op) = tools::nature(&name);
        Call { name, kind, op, input, ..Call::default() }
    }

    /// `permission.replied`. The older fields are `permissionID` and `response`.
    pub(super) fn permission_replied(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let reply = fields.filled("reply").or_else(|| fields.filled("response"));
        let outcome = if reply.as_deref() == Some("reject") { Outcome::Declined } else { Outcome::Allowed };
        self.replied_to(RequestResolved { outcome, option: reply, ..answer(fields) }, "permission.replied", scribe);
    }

    /// `question.asked`.
    pub(super) fn question_asked(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let request = Id::from(fields.str("id").unwrap_or_default());
        self.asked.insert(request.clone(), ());
        let questions: Vec<_> = fields.array("questions").into_iter().map(|q| question(&q.object())).collect();
        self.questions.ask(request.clone(), questions.iter().map(|question| question.id.clone()).collect());
        let tool = fields.object("tool");
        let key = tool.str("callID").zip(tool.str("messageID")).map(|(call, message)| call_key(&message, &call));
        let item = self.item_of(key.as_deref());
        let call = item.as_ref().and_then(|id| scribe.item(id)).and_then(|item| item.call.clone());
        let title = questions.first().map(|question| question.question.clone()).unwrap_or_default();
        let request =
            RequestOpened { request, about: About::Question, title, call, questions, ..RequestOpened::default() };
        scribe.request_opened(item, request);
    }

    /// `question.replied`: a list of labels for each question, in their order.
    pub(super) fn question_replied(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let resolved = RequestResolved { outcome: Outcome::Answered, ..answer(fields) };
        let answers = self.questions.answers(&resolved.request, fields.array("answers"));
        self.replied_to(RequestResolved { answers, ..resolved }, "question.replied", scribe);
    }

    /// `question.rejected`.
    pub(super) fn question_rejected(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let resolved = RequestResolved { outcome: Outcome::Declined, ..answer(fields) };
        self.questions.take(&resolved.request);
        self.replied_to(resolved, "question.rejected", scribe);
    }

    /// A request is answered. On a server of ours only we answer; else OpenCode did so itself: one refusal refuses
    /// all that is open in the session, and one permission for good grants all that are like it.
    fn replied_to(&mut self, resolved: RequestResolved, name: &str, scribe: &mut Scribe) {
        let by = if self.sessions.are_ours() { Decider::Agent } else { resolved.by };
        let again = self.replied.has(&resolved.request);
        if !scribe.request_resolved(RequestResolved { by, ..resolved }) {
            let topic = if again { Topic::Echo } else { Topic::Late };
            scribe.notice(Notice::new(topic).with_level(Level::Debug).with_name(name));
        }
    }
}

fn answer(fields: &Object<'_>) -> RequestResolved {
    let request = fields.str("requestID").or_else(|| fields.str("permissionID")).unwrap_or_default();
    RequestResolved { request: Id::from(request), by: Decider::Client, ..RequestResolved::default() }
}

fn about(permission: &str) -> About {
    match permission {
        "bash" | "shell" => About::Command,
        "edit" | "write" | "patch" | "apply_patch" => About::FileChange,
        "external_directory" => About::Permissions,
        "plan_enter" | "plan_exit" => About::Plan,
        _ => About::Tool,
    }
}

fn title(asked: &Asked<'_>) -> String {
    let command = || asked.meta.filled("command").filter(|_| about(&asked.permission) == About::Command);
    let patterns = || format!("{} {}", asked.permission, asked.patterns.join(", ")).trim_end().to_owned();
    asked.title.clone().or_else(command).unwrap_or_else(patterns)
}

fn reason(asked: &Asked<'_>) -> Option<String> {
    match asked.permission.as_str() {
        "external_directory" => Some(format!("outside of the project: {}", asked.patterns.join(", "))),
        "doom_loop" => Some("the same call was made several times in a row".to_owned()),
        _ => None,
    }
}

/// `always` holds until the server ends.
fn options() -> Vec<RequestOption> {
    let option = |id: &str, label: &str, kind| RequestOption { id: id.to_owned(), label: label.to_owned(), kind };
    vec![
        option("once", "Allow once", OptionKind::AllowOnce),
        option("always", "Allow always", OptionKind::AllowSession),
        option("reject", "Reject", OptionKind::Reject),
    ]
}

/// A question has no id of its own.
fn question(fields: &Object<'_>) -> Question {
    let text = fields.string("question").unwrap_or_default();
    let choices = fields.array("options").into_iter().map(Json::object).map(|option| Choice {
        label: option.string("label").unwrap_or_default(),
        description: option.filled("description"),
    });
    Question {
        id: text.clone(),
        question: text,
        header: fields.filled("header"),
        choices: choices.collect(),
        multiple: fields.is_true("multiple"),
        free_text: fields.get("custom").and_then(Json::bool).unwrap_or(true),
        secret: false,
    }
}
