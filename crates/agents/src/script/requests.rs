//! What a script asks for, and what the answers do. No request is allowed by silence.

use std::collections::BTreeMap;

use switchboard_event::{
    About, ApprovalMode, Call, Choice, Decider, Details, Id, Item, OptionKind, Outcome, Question, RequestOpened,
    RequestOption, RequestResolved, Status, Tool, raw,
};

use super::{
    live::Live,
    stage::Printing,
    verb::{Shell, Sides},
};
use crate::{Json, Object, Scribe};

/// A request that is open.
pub struct Asking {
    request: Id,
    item: Id,
    subject: Subject,
}

enum Subject {
    Command(Printing),
    Edit,
    Question,
}

/// The id of the only question.
const QUESTION: &str = "answer";

/// What is sent back, what is shown, what it means.
const OPTIONS: [(&str, &str, OptionKind); 4] = [
    ("accept", "Allow", OptionKind::AllowOnce),
    ("acceptForSession", "Allow for this session", OptionKind::AllowSession),
    ("decline", "Decline", OptionKind::Reject),
    ("cancel", "Decline and stop", OptionKind::Cancel),
];

impl Live {
    pub(super) fn approve(&mut self, shell: &Shell<'_>, scribe: &mut Scribe) {
        let command = shell.command;
        let item = self.start_command(command, scribe);
        if runs_unasked(scribe) {
            return self.finish_command(&item, &Printing::of(shell), scribe);
        }
        let opened = RequestOpened {
            about: About::Command,
            title: format!("Run {command}"),
            command: Some(command.to_owned()),
            cwd: scribe.cwd().map(str::to_owned),
            ..RequestOpened::default()
        };
        self.open(item, Subject::Command(Printing::of(shell)), opened, scribe);
    }

    pub(super) fn approve_edit(&mut self, file: &Sides<'_>, scribe: &mut Scribe) {
        let item = self.start_edit(file, scribe);
        if runs_unasked(scribe) {
            return self.finish_edit(&item, scribe);
        }
        let changes = match scribe.item(&item).map(|item| &item.details) {
            Some(Details::FileChange(change)) => change.changes.clone(),
            _ => Vec::new(),
        };
        let title = format!("Edit {}", file.path);
        let opened = RequestOpened { about: About::FileChange, title, changes, ..RequestOpened::default() };
        self.open(item, Subject::Edit, opened, scribe);
    }

    pub(super) fn ask(&mut self, question: &str, choices: &[&str], scribe: &mut Scribe) {
        let item = self.next_id("question", scribe);
        let call = Call {
            name: "ask".to_owned(),
            input: Some(raw(&serde_json::json!({ "question": question, "choices": choices }))),
            ..Call::default()
        };
        scribe.item_started(&item, Item::new(Tool::default()).with_call(call));
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
        self.open(item, Subject::Question, opened, scribe);
    }

    fn open(&mut self, item: Id, subject: Subject, mut opened: RequestOpened, scribe: &mut Scribe) {
        opened.request = self.next_id("request", scribe);
        opened.call = scribe.item(&item).and_then(|item| item.call.clone());
        if !matches!(subject, Subject::Question) {
            let option = |(id, label, kind): &(&str, &str, OptionKind)| RequestOption {
                id: (*id).to_owned(),
                label: (*label).to_owned(),
                kind: *kind,
            };
            opened.options = OPTIONS.iter().map(option).collect();
        }
        self.asking = Some(Asking { request: opened.request.clone(), item: item.clone(), subject });
        scribe.request_opened(Some(item), opened);
    }

    /// The script goes on although nobody answered: the answer is no.
    pub(super) fn nobody_answers(&mut self, scribe: &mut Scribe) {
        if let Some(asking) = self.asking.take() {
            let resolved = RequestResolved {
                outcome: Outcome::Declined,
                message: Some("nobody is there to ask".to_owned()),
                ..RequestResolved::default()
            };
            self.resolve(asking, resolved, scribe);
        }
    }

    /// `answer`: what was decided about a request, by whom, and the answers to its questions.
    pub(super) fn answer(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        use switchboard_event::{Notice, Topic};
        let meant = |asking: &Asking| fields.str("request").is_none_or(|request| asking.request == *request);
        match self.asking.take_if(|asking| meant(asking)) {
            Some(asking) => {
                let resolved = decision(fields, &asking.subject);
                self.resolve(asking, resolved, scribe);
            }
            None => scribe.notice(Notice::new(Topic::Late).with_name("answer")),
        }
    }

    fn resolve(&mut self, asking: Asking, resolved: RequestResolved, scribe: &mut Scribe) {
        let (outcome, answers) = (resolved.outcome, resolved.answers.clone());
        scribe.request_resolved(RequestResolved { request: asking.request, ..resolved });
        match (outcome, asking.subject) {
            (Outcome::Allowed, Subject::Command(command)) => self.finish_command(&asking.item, &command, scribe),
            (Outcome::Allowed, Subject::Edit) => self.finish_edit(&asking.item, scribe),
            (Outcome::Answered, _) => {
                if let Some(Details::Tool(tool)) = scribe.item_mut(&asking.item).map(|item| &mut item.details) {
                    tool.output = answers.into_values().flatten().collect::<Vec<_>>().join(", ");
                }
                scribe.item_closed(&asking.item, Status::Completed);
            }
            (Outcome::Cancelled, _) => {
                scribe.item_closed(&asking.item, Status::Declined);
                self.stop(scribe);
            }
            _ => {
                scribe.item_closed(&asking.item, Status::Declined);
            }
        }
    }
}

/// What an answer means. A word that is not known is a no.
fn decision(fields: &Object<'_>, subject: &Subject) -> RequestResolved {
    let option = fields.string("decision");
    let answers = answers(fields);
    let by = match fields.str("by").as_deref() {
        Some("policy") => Decider::Policy,
        Some("timeout") => Decider::Timeout,
        Some("switchboard") => Decider::Switchboard,
        _ => Decider::Client,
    };
    let outcome = match (by, option.as_deref(), subject) {
        (Decider::Timeout, ..) => Outcome::Expired,
        (_, Some("cancel"), _) => Outcome::Cancelled,
        (_, Some("decline" | "reject" | "deny"), _) => Outcome::Declined,
        (.., Subject::Question) if !answers.is_empty() => Outcome::Answered,
        (.., Subject::Question) => Outcome::Declined,
        (_, Some("accept" | "acceptForSession" | "allow" | "approve"), _) => Outcome::Allowed,
        _ => Outcome::Declined,
    };
    let message = fields.string("message");
    RequestResolved { outcome, by, option, answers, message, ..RequestResolved::default() }
}

/// `{"answer":["A"]}`, or with a bare text.
fn answers(fields: &Object<'_>) -> BTreeMap<String, Vec<String>> {
    let texts = |value: Json<'_>| match value.str() {
        Some(text) => vec![text.into_owned()],
        None => value.array().into_iter().filter_map(|entry| entry.str().map(Into::into)).collect(),
    };
    fields.object("answers").iter().map(|(question, value)| (question.to_owned(), texts(value))).collect()
}

/// Nothing could be decided but yes. A tool that is blocked is declined when it asks.
fn runs_unasked(scribe: &Scribe) -> bool {
    let config = &scribe.start().config;
    config.approval_mode == Some(ApprovalMode::AutoAll) && config.blocked_tools.as_ref().is_none_or(Vec::is_empty)
}
