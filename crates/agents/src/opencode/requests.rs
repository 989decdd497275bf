//! OpenCode's requests: permissions and questions, and the answers to them.

use std::collections::BTreeMap;

use switchboard_event::{
    About, Call, Choice, Decider, Id, Level, Notice, OptionKind, Outcome, Question, RequestOpened, RequestOption,
    RequestResolved, Topic,
};

use super::{bus::BusReader, calls::call_key, file_changes, tools};
use crate::{JsonObject, JsonView, RunRecorder};

/// Maximum number of questions remembered until they are answered.
const LIMIT: usize = 64;

/// The open questions. An answer identifies them only by their order.
#[derive(Default)]
pub struct OpenQuestions(Vec<(Id, Vec<String>)>);

impl OpenQuestions {
    fn ask(&mut self, request: Id, ids: Vec<String>) {
        if self.0.len() >= LIMIT {
            self.0.remove(0);
        }
        self.0.push((request, ids));
    }

    /// Returns the answers to a request, by question.
    pub fn answers(&mut self, request: &str, answers: Vec<JsonView<'_>>) -> BTreeMap<String, Vec<String>> {
        self.take(request).into_iter().zip(answers.into_iter().map(texts)).collect()
    }

    fn take(&mut self, request: &str) -> Vec<String> {
        let at = self.0.iter().position(|(id, _)| *id == *request);
        at.map(|at| self.0.remove(at).1).unwrap_or_default()
    }
}

/// A permission request, whose fields have different names in three versions.
struct RequestOrigin<'a> {
    request: Id,
    permission: String,
    patterns: Vec<String>,
    meta: JsonObject<'a>,
    title: Option<String>,
    key: Option<Id>,
}

impl<'a> RequestOrigin<'a> {
    fn of(fields: &JsonObject<'a>) -> Self {
        let permission = ["permission", "action", "type"].into_iter().find_map(|key| fields.get_non_empty(key));
        let patterns = ["patterns", "resources", "pattern"].into_iter().find_map(|key| fields.get(key));
        let tool = if fields.contains_key("tool") { fields.get_object("tool") } else { fields.get_object("source") };
        let inner = |key| tool.get_str(key).or_else(|| fields.get_str(key));
        Self {
            request: Id::from(fields.get_str("id").unwrap_or_default()),
            permission: permission.unwrap_or_default(),
            patterns: patterns.map(texts).unwrap_or_default(),
            meta: fields.get_object("metadata"),
            title: fields.get_non_empty("title"),
            key: inner("callID").zip(inner("messageID")).map(|(call, message)| call_key(&message, &call)),
        }
    }
}

fn texts(value: JsonView<'_>) -> Vec<String> {
    match value.as_str() {
        Some(text) => vec![text.into_owned()],
        None => value.as_array().into_iter().filter_map(|text| text.as_str().map(|text| text.into_owned())).collect(),
    }
}

impl BusReader {
    /// `permission.asked`.
    pub(super) fn permission_asked(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let asked = RequestOrigin::of(fields);
        self.asked.insert(asked.request.clone(), ());
        if let Some(pending) = asked.key.as_ref().and_then(|key| self.calls.get_mut(key)) {
            pending.diff = asked.meta.get_non_empty("diff");
        }
        let item = self.item_of(asked.key.as_deref());
        let call = self.call_of(&asked, fields, recorder);
        let request = RequestOpened {
            request: asked.request.clone(),
            about: about(&asked.permission),
            title: title(&asked),
            reason: reason(&asked),
            call: Some(Box::new(call)),
            command: asked.meta.get_non_empty("command"),
            cwd: recorder.working_directory().map(str::to_owned),
            changes: file_changes::changes_of_request(&asked.meta, recorder),
            options: options(),
            ..RequestOpened::default()
        };
        recorder.request_opened(item, request);
    }

    fn item_of(&self, key: Option<&str>) -> Option<Id> {
        key.and_then(|key| self.calls.get(key)).map(|pending| pending.part.clone())
    }

    /// Returns the call that permission is requested for. Until its input is complete, only the request describes it.
    fn call_of(&self, asked: &RequestOrigin<'_>, fields: &JsonObject<'_>, recorder: &RunRecorder) -> Call {
        let pending = asked.key.as_deref().and_then(|key| self.calls.get(key));
        let known = pending.and_then(|pending| recorder.open_item(&pending.part)).and_then(|item| item.call.as_deref());
        if let Some(call) = known {
            return call.clone();
        }
        // For a repeated call, only the metadata names the tool.
        let repeated = asked.meta.get_non_empty("tool").filter(|_| asked.permission == "doom_loop");
        let input = if repeated.is_some() { asked.meta.get_raw("input") } else { fields.get_raw("metadata") };
        let input = input.filter(|_| !asked.meta.is_empty());
        let name = repeated.or_else(|| pending.map(|pending| pending.tool.clone()));
        let name = name.unwrap_or_else(|| asked.permission.clone());
        let (kind, op) = tools::tool_kind(&name);
        Call { name, kind, op, input, ..Call::default() }
    }

    /// `permission.replied`. The older fields are `permissionID` and `response`.
    pub(super) fn permission_replied(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let reply = fields.get_non_empty("reply").or_else(|| fields.get_non_empty("response"));
        let outcome = if reply.as_deref() == Some("reject") { Outcome::Declined } else { Outcome::Allowed };
        self.resolve_reported(
            RequestResolved { outcome, option: reply, ..answer(fields) },
            "permission.replied",
            recorder,
        );
    }

    /// `question.asked`.
    pub(super) fn question_asked(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let request = Id::from(fields.get_str("id").unwrap_or_default());
        self.asked.insert(request.clone(), ());
        let questions: Vec<_> = fields.get_array("questions").into_iter().map(|q| question(&q.as_object())).collect();
        self.questions.ask(request.clone(), questions.iter().map(|question| question.id.clone()).collect());
        let tool = fields.get_object("tool");
        let key =
            tool.get_str("callID").zip(tool.get_str("messageID")).map(|(call, message)| call_key(&message, &call));
        let item = self.item_of(key.as_deref());
        let call = item.as_ref().and_then(|id| recorder.open_item(id)).and_then(|item| item.call.clone());
        let title = questions.first().map(|question| question.question.clone()).unwrap_or_default();
        let request =
            RequestOpened { request, about: About::Question, title, call, questions, ..RequestOpened::default() };
        recorder.request_opened(item, request);
    }

    /// `question.replied`: a list of labels for each question, in their order.
    pub(super) fn question_replied(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let resolved = RequestResolved { outcome: Outcome::Answered, ..answer(fields) };
        let answers = self.questions.answers(&resolved.request, fields.get_array("answers"));
        self.resolve_reported(RequestResolved { answers, ..resolved }, "question.replied", recorder);
    }

    /// `question.rejected`.
    pub(super) fn question_rejected(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let resolved = RequestResolved { outcome: Outcome::Declined, ..answer(fields) };
        self.questions.take(&resolved.request);
        self.resolve_reported(resolved, "question.rejected", recorder);
    }

    /// Resolves a request that the bus reports as answered. On Switchboard's own server only Switchboard answers;
    /// otherwise OpenCode resolved the request itself: one refusal refuses all open requests of the session, and one
    /// permanent permission grants all similar requests.
    fn resolve_reported(&mut self, resolved: RequestResolved, name: &str, recorder: &mut RunRecorder) {
        let by = if self.sessions.sends_prompts() { Decider::Agent } else { resolved.by };
        let again = self.replied.has(&resolved.request);
        if !recorder.request_resolved(RequestResolved { by, ..resolved }) {
            let topic = if again { Topic::Echo } else { Topic::Late };
            recorder.write_notice(Notice::new(topic).with_level(Level::Debug).with_name(name));
        }
    }
}

fn answer(fields: &JsonObject<'_>) -> RequestResolved {
    let request = fields.get_str("requestID").or_else(|| fields.get_str("permissionID")).unwrap_or_default();
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

fn title(asked: &RequestOrigin<'_>) -> String {
    let command = || asked.meta.get_non_empty("command").filter(|_| about(&asked.permission) == About::Command);
    let patterns = || format!("{} {}", asked.permission, asked.patterns.join(", ")).trim_end().to_owned();
    asked.title.clone().or_else(command).unwrap_or_else(patterns)
}

fn reason(asked: &RequestOrigin<'_>) -> Option<String> {
    match asked.permission.as_str() {
        "external_directory" => Some(format!("outside of the project: {}", asked.patterns.join(", "))),
        "doom_loop" => Some("the same call was made several times in a row".to_owned()),
        _ => None,
    }
}

/// `always` is valid until the server ends.
fn options() -> Vec<RequestOption> {
    let option = |id: &str, label: &str, kind| RequestOption { id: id.to_owned(), label: label.to_owned(), kind };
    vec![
        option("once", "Allow once", OptionKind::AllowOnce),
        option("always", "Allow always", OptionKind::AllowSession),
        option("reject", "Reject", OptionKind::Reject),
    ]
}

/// A question has no id, so its text serves as one.
fn question(fields: &JsonObject<'_>) -> Question {
    let text = fields.get_string("question").unwrap_or_default();
    let choices = fields.get_array("options").into_iter().map(JsonView::as_object).map(|option| Choice {
        label: option.get_string("label").unwrap_or_default(),
        description: option.get_non_empty("description"),
    });
    Question {
        id: text.clone(),
        question: text,
        header: fields.get_non_empty("header"),
        choices: choices.collect(),
        multiple: fields.is_true("multiple"),
        free_text: fields.get("custom").and_then(JsonView::as_bool).unwrap_or(true),
        secret: false,
    }
}
