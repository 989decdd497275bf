//! Requests of a script and the effects of the answers. A request without an answer is never allowed.

use std::collections::BTreeMap;

use switchboard_event::{
    About, ApprovalMode, Call, Choice, Decider, Details, Id, Item, OptionKind, Outcome, Question, RequestOpened,
    RequestOption, RequestResolved, Status, Tool, to_raw_json,
};

use super::{
    ScriptReader,
    actions::CommandProgress,
    verb::{CommandVerb, EditVerb},
};
use crate::{JsonObject, JsonView, RunRecorder};

/// An open request.
pub struct PendingScriptRequest {
    request: Id,
    item: Id,
    subject: RequestedAction,
}

enum RequestedAction {
    Command(CommandProgress),
    Edit,
    Question,
}

/// The id of the only question.
const QUESTION: &str = "answer";

/// The options: the value that is sent back, the label, and the kind.
const OPTIONS: [(&str, &str, OptionKind); 4] = [
    ("accept", "Allow", OptionKind::AllowOnce),
    ("acceptForSession", "Allow for this session", OptionKind::AllowSession),
    ("decline", "Decline", OptionKind::Reject),
    ("cancel", "Decline and stop", OptionKind::Cancel),
];

impl ScriptReader {
    pub(super) fn approve(&mut self, shell: &CommandVerb<'_>, recorder: &mut RunRecorder) {
        let command = shell.command;
        let item = self.start_command(command, recorder);
        if runs_unasked(recorder) {
            return self.finish_command(&item, &CommandProgress::of(shell), recorder);
        }
        let opened = RequestOpened {
            about: About::Command,
            title: format!("Run {command}"),
            command: Some(command.to_owned()),
            cwd: recorder.working_directory().map(str::to_owned),
            ..RequestOpened::default()
        };
        self.open(item, RequestedAction::Command(CommandProgress::of(shell)), opened, recorder);
    }

    pub(super) fn approve_edit(&mut self, file: &EditVerb<'_>, recorder: &mut RunRecorder) {
        let item = self.start_edit(file, recorder);
        if runs_unasked(recorder) {
            return self.finish_edit(&item, recorder);
        }
        let changes = match recorder.open_item(&item).map(|item| &item.details) {
            Some(Details::FileChange(change)) => change.changes.clone(),
            _ => Vec::new(),
        };
        let title = format!("Edit {}", file.path);
        let opened = RequestOpened { about: About::FileChange, title, changes, ..RequestOpened::default() };
        self.open(item, RequestedAction::Edit, opened, recorder);
    }

    pub(super) fn ask(&mut self, question: &str, choices: &[&str], recorder: &mut RunRecorder) {
        let item = self.next_id("question", recorder);
        let call = Call {
            name: "ask".to_owned(),
            input: Some(to_raw_json(&serde_json::json!({ "question": question, "choices": choices }))),
            ..Call::default()
        };
        recorder.item_started(&item, Item::new(Tool::default()).with_call(call));
        let asked = Question {
            id: QUESTION.to_owned(),
            question: question.to_owned(),
            choices: choices.iter().map(|label| Choice { label: (*label).to_owned(), description: None }).collect(),
            free_text: true,
            ..Question::default()
        };
        let title = question.to_owned();
        let opened =
            RequestOpened { about: About::Question, title, questions: vec![asked], ..RequestOpened::default() };
        self.open(item, RequestedAction::Question, opened, recorder);
    }

    fn open(&mut self, item: Id, subject: RequestedAction, mut opened: RequestOpened, recorder: &mut RunRecorder) {
        opened.request = self.next_id("request", recorder);
        opened.call = recorder.open_item(&item).and_then(|item| item.call.clone());
        if !matches!(subject, RequestedAction::Question) {
            let option = |(id, label, kind): &(&str, &str, OptionKind)| RequestOption {
                id: (*id).to_owned(),
                label: (*label).to_owned(),
                kind: *kind,
            };
            opened.options = OPTIONS.iter().map(option).collect();
        }
        self.asking = Some(PendingScriptRequest { request: opened.request.clone(), item: item.clone(), subject });
        recorder.request_opened(Some(item), opened);
    }

    /// Declines an unanswered request when the script continues.
    pub(super) fn decline_unanswered(&mut self, recorder: &mut RunRecorder) {
        if let Some(asking) = self.asking.take() {
            let resolved = RequestResolved {
                outcome: Outcome::Declined,
                message: Some("nobody is there to ask".to_owned()),
                ..RequestResolved::default()
            };
            self.resolve(asking, resolved, recorder);
        }
    }

    /// Reads `answer`: the decision about a request, who made it, and the answers to its questions.
    pub(super) fn answer(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        use switchboard_event::{Notice, Topic};
        let meant =
            |asking: &PendingScriptRequest| fields.get_str("request").is_none_or(|request| asking.request == *request);
        match self.asking.take_if(|asking| meant(asking)) {
            Some(asking) => {
                let resolved = decision(fields, &asking.subject);
                self.resolve(asking, resolved, recorder);
            }
            None => recorder.write_notice(Notice::new(Topic::Late).with_name("answer")),
        }
    }

    fn resolve(&mut self, asking: PendingScriptRequest, resolved: RequestResolved, recorder: &mut RunRecorder) {
        let (outcome, answers) = (resolved.outcome, resolved.answers.clone());
        recorder.request_resolved(RequestResolved { request: asking.request, ..resolved });
        match (outcome, asking.subject) {
            (Outcome::Allowed, RequestedAction::Command(command)) => {
                self.finish_command(&asking.item, &command, recorder)
            }
            (Outcome::Allowed, RequestedAction::Edit) => self.finish_edit(&asking.item, recorder),
            (Outcome::Answered, _) => {
                if let Some(Details::Tool(tool)) = recorder.item_mut(&asking.item).map(|item| &mut item.details) {
                    tool.output = answers.into_values().flatten().collect::<Vec<_>>().join(", ");
                }
                recorder.item_closed(&asking.item, Status::Completed);
            }
            (Outcome::Cancelled, _) => {
                recorder.item_closed(&asking.item, Status::Declined);
                self.stop(recorder);
            }
            _ => {
                recorder.item_closed(&asking.item, Status::Declined);
            }
        }
    }
}

/// Returns the meaning of an answer. An unknown word is a refusal.
fn decision(fields: &JsonObject<'_>, subject: &RequestedAction) -> RequestResolved {
    let option = fields.get_string("decision");
    let answers = answers(fields);
    let by = match fields.get_str("by").as_deref() {
        Some("policy") => Decider::Policy,
        Some("timeout") => Decider::Timeout,
        Some("switchboard") => Decider::Switchboard,
        _ => Decider::Client,
    };
    let outcome = match (by, option.as_deref(), subject) {
        (Decider::Timeout, ..) => Outcome::Expired,
        (_, Some("cancel"), _) => Outcome::Cancelled,
        (_, Some("decline" | "reject" | "deny"), _) => Outcome::Declined,
        (.., RequestedAction::Question) if !answers.is_empty() => Outcome::Answered,
        (.., RequestedAction::Question) => Outcome::Declined,
        (_, Some("accept" | "acceptForSession" | "allow" | "approve"), _) => Outcome::Allowed,
        _ => Outcome::Declined,
    };
    let message = fields.get_string("message");
    RequestResolved { outcome, by, option, answers, message, ..RequestResolved::default() }
}

/// Parses `{"answer":["A"]}`, also with a plain string.
fn answers(fields: &JsonObject<'_>) -> BTreeMap<String, Vec<String>> {
    let texts = |value: JsonView<'_>| match value.as_str() {
        Some(text) => vec![text.into_owned()],
        None => value.as_array().into_iter().filter_map(|entry| entry.as_str().map(Into::into)).collect(),
    };
    fields.get_object("answers").iter().map(|(question, value)| (question.to_owned(), texts(value))).collect()
}

/// Returns whether every request would be allowed. With blocked tools, requests are still opened so that they can be
/// declined.
fn runs_unasked(recorder: &RunRecorder) -> bool {
    let config = &recorder.session_context().config;
    config.approval_mode == Some(ApprovalMode::AutoAll) && config.blocked_tools.as_ref().is_none_or(Vec::is_empty)
}
