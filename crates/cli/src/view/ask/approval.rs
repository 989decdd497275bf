//! Approvals: the offered keys and their actions.

use serde_json::{Map, Value, value::RawValue};
use switchboard_agents::{Abilities, RequestAnswer, RequestDecision};
use switchboard_event::{About, OptionKind, RequestOpened, RequestOption, to_raw_json};

use super::{PromptStep, plain_answer};
use crate::view::sanitize::{reveal_hidden, sanitize_line};

/// The prompt for a request that is approved or declined.
#[derive(Debug)]
pub struct ApprovalPrompt {
    keys: Vec<ApprovalKey>,
    typing: ExpectedInput,
}

#[derive(Debug)]
struct ApprovalKey {
    name: String,
    /// A short label for the line of all keys.
    label: String,
    help: &'static str,
    means: KeyAction,
}

#[derive(Clone, Debug)]
enum KeyAction {
    /// Answers, with one of the agent's options if it offers any.
    Decide(RequestDecision, Option<String>),
    /// Declines, with a reason that is typed next.
    Reason(Option<String>),
    /// Approves another input, which is typed next.
    Edit,
}

#[derive(Debug)]
enum ExpectedInput {
    Key,
    Reason(Option<String>),
    Edit,
}

impl ApprovalPrompt {
    pub fn new(request: &RequestOpened, abilities: &Abilities) -> Self {
        let of = |kind| request.options.iter().find(|option| option.kind == kind).map(|option| option.id.clone());
        let is_open = request.options.is_empty();
        let mut keys = Vec::new();
        let mut offer = |name: &str, label: &str, help, means| {
            keys.push(ApprovalKey { name: name.to_owned(), label: label.to_owned(), help, means });
        };
        let once = of(OptionKind::AllowOnce);
        if is_open || once.is_some() {
            offer(
                "y",
                accept_label(request.about),
                "allow this, once",
                KeyAction::Decide(RequestDecision::Allow, once),
            );
        }
        if let Some(session) = of(OptionKind::AllowSession) {
            let means = KeyAction::Decide(RequestDecision::AllowSession, Some(session));
            offer("a", "for this session", "allow this and the like until the session ends", means);
        } else if let Some(always) = of(OptionKind::AllowAlways) {
            let means = KeyAction::Decide(RequestDecision::AllowSession, Some(always));
            offer("a", "always", "allow this and the like from now on", means);
        }
        let reject = of(OptionKind::Reject);
        offer(
            "n",
            "decline",
            "do not allow this; the agent goes on",
            KeyAction::Decide(RequestDecision::Decline, reject.clone()),
        );
        offer("r", "say why", "do not allow this, and tell the agent why", KeyAction::Reason(reject));
        if abilities.changed_input && has_editable_input(request) {
            offer("e", "edit", "allow something else instead, which you type", KeyAction::Edit);
        }
        let cancel = of(OptionKind::Cancel);
        if cancel.is_some() || abilities.interrupt {
            offer(
                "c",
                "stop",
                "do not allow this, and stop the turn",
                KeyAction::Decide(RequestDecision::Cancel, cancel),
            );
        }
        keys.extend(numbered_keys(&request.options));
        if request.requires_person {
            keys.sort_by_key(ApprovalKey::allows);
        }
        Self { keys, typing: ExpectedInput::Key }
    }

    pub fn prompt(&self) -> String {
        match self.typing {
            ExpectedInput::Key => {
                let names = self.keys.iter().map(|key| format!("[{}] {}", key.name, sanitize_line(&key.label)));
                format!("{}\n> ", names.collect::<Vec<_>>().join("  "))
            }
            ExpectedInput::Reason(_) => "why? > ".to_owned(),
            ExpectedInput::Edit => "instead > ".to_owned(),
        }
    }

    pub fn line(&mut self, line: &str, request: &RequestOpened) -> PromptStep {
        match std::mem::replace(&mut self.typing, ExpectedInput::Key) {
            ExpectedInput::Key => self.key(line, request),
            ExpectedInput::Reason(option) => PromptStep::Done(decline(request, option, line)),
            ExpectedInput::Edit if line.trim().is_empty() => PromptStep::Again("nothing was changed\n".to_owned()),
            ExpectedInput::Edit => allow_changed(request, line),
        }
    }

    /// Handles a key and its argument, if it takes one.
    fn key(&mut self, line: &str, request: &RequestOpened) -> PromptStep {
        let line = line.trim();
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let Some(key) = self.keys.iter().find(|key| key.name.eq_ignore_ascii_case(&normalize_key(name))) else {
            return PromptStep::Again(self.not_understood(line));
        };
        match (key.means.clone(), rest.trim()) {
            (KeyAction::Decide(decision, option), "") => {
                PromptStep::Done(RequestAnswer { option, ..plain_answer(request, decision) })
            }
            (KeyAction::Decide(..), _) => PromptStep::Again(self.not_understood(line)),
            (KeyAction::Reason(option), "") => {
                self.typing = ExpectedInput::Reason(option);
                PromptStep::Again(String::new())
            }
            (KeyAction::Reason(option), why) => PromptStep::Done(decline(request, option, why)),
            (KeyAction::Edit, "") => {
                self.typing = ExpectedInput::Edit;
                PromptStep::Again(format!("{}\n", edit_instructions(request)))
            }
            (KeyAction::Edit, input) => allow_changed(request, input),
        }
    }

    fn not_understood(&self, line: &str) -> String {
        let names = self.keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(", ");
        let keys = self.keys.iter().map(|key| format!("  {}  {}\n", key.name, key.explained())).collect::<String>();
        match line {
            "" | "?" => format!("please answer with one of {names}\n{keys}"),
            line => format!("`{}` is not one of {names}\n{keys}", sanitize_line(line)),
        }
    }
}

impl ApprovalKey {
    fn allows(&self) -> bool {
        matches!(
            self.means,
            KeyAction::Decide(RequestDecision::Allow | RequestDecision::AllowSession, _) | KeyAction::Edit
        )
    }

    fn explained(&self) -> String {
        if self.help.is_empty() { sanitize_line(&self.label) } else { self.help.to_owned() }
    }
}

fn accept_label(about: About) -> &'static str {
    match about {
        About::Question | About::Elicitation | About::Auth => "accept",
        _ => "allow once",
    }
}

/// Accepts `yes` and `no` for their keys.
fn normalize_key(typed: &str) -> String {
    match typed.to_lowercase().as_str() {
        "yes" => "y".to_owned(),
        "no" => "n".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns numbered keys for the options without a letter: the second and later ones of a kind.
fn numbered_keys(options: &[RequestOption]) -> Vec<ApprovalKey> {
    let is_first = |at: usize, option: &RequestOption| {
        let mut before = options.iter().take(at);
        let is_shadowed = option.kind == OptionKind::AllowAlways
            && options.iter().any(|other| other.kind == OptionKind::AllowSession);
        !is_shadowed && !before.any(|earlier| earlier.kind == option.kind)
    };
    let rest = options.iter().enumerate().filter(|(at, option)| !is_first(*at, option));
    rest.zip(1..)
        .map(|((_, option), number)| {
            let decision = match option.kind {
                OptionKind::AllowOnce => RequestDecision::Allow,
                OptionKind::AllowSession | OptionKind::AllowAlways => RequestDecision::AllowSession,
                OptionKind::Reject => RequestDecision::Decline,
                OptionKind::Cancel => RequestDecision::Cancel,
            };
            let means = KeyAction::Decide(decision, Some(option.id.clone()));
            ApprovalKey { name: number.to_string(), label: option.label.clone(), help: "", means }
        })
        .collect()
}

fn decline(request: &RequestOpened, option: Option<String>, why: &str) -> RequestAnswer {
    let why = Some(why.trim()).filter(|why| !why.is_empty()).map(str::to_owned);
    RequestAnswer { option, message: why, ..plain_answer(request, RequestDecision::Decline) }
}

fn allow_changed(request: &RequestOpened, typed: &str) -> PromptStep {
    match changed_input(request, typed.trim()) {
        Ok(input) => {
            PromptStep::Done(RequestAnswer { input: Some(input), ..plain_answer(request, RequestDecision::Allow) })
        }
        Err(why) => PromptStep::Again(format!("{why}\n")),
    }
}

/// Returns whether the input of the request can be changed.
fn has_editable_input(request: &RequestOpened) -> bool {
    request.command.is_some() || input_fields(request).is_some()
}

fn edit_instructions(request: &RequestOpened) -> String {
    match (&request.command, input_fields(request)) {
        (Some(_), _) => "type the command that may run instead; an empty line changes nothing".to_owned(),
        (None, Some(fields)) => {
            let now = reveal_hidden(&Value::Object(fields).to_string());
            format!("type the input as JSON; an empty line changes nothing. Now it is\n{now}")
        }
        (None, None) => String::new(),
    }
}

/// Returns the input with the typed change.
pub fn changed_input(request: &RequestOpened, typed: &str) -> Result<Box<RawValue>, String> {
    let Some(command) = &request.command else {
        return match serde_json::from_str::<Map<String, Value>>(typed) {
            Ok(fields) => Ok(to_raw_json(&fields)),
            Err(error) => Err(format!("that is not a JSON object: {error}")),
        };
    };
    let mut fields = input_fields(request).unwrap_or_default();
    let is_it = |value: &Value| value.as_str() == Some(command.as_str());
    let name = fields.iter().find(|(_, value)| is_it(value)).map_or("command", |(name, _)| name.as_str()).to_owned();
    // A command given as a list of words cannot be edited as one line.
    if fields.get(&name).is_some_and(|value| !value.is_string()) {
        return Err("this command cannot be changed here".to_owned());
    }
    fields.insert(name, Value::from(typed));
    Ok(to_raw_json(&fields))
}

fn input_fields(request: &RequestOpened) -> Option<Map<String, Value>> {
    serde_json::from_str(request.call.as_ref()?.input.as_ref()?.get()).ok()
}
