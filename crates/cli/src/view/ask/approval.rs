//! Yes or no: the keys that are offered, and what each means.

use switchboard_agents::{Abilities, RequestAnswer, RequestDecision};
use switchboard_event::{About, OptionKind, RequestOpened, RequestOption};

use super::{Step, answer, input};
use crate::view::clean;

/// The way to a yes or a no.
#[derive(Debug)]
pub struct Approval {
    keys: Vec<Key>,
    typing: Typing,
}

/// One key.
#[derive(Debug)]
struct Key {
    name: String,
    /// A word or two, for the line of all keys.
    label: String,
    /// What it does, for who asks.
    help: &'static str,
    means: Means,
}

/// What a key means.
#[derive(Clone, Debug)]
enum Means {
    /// An answer; where the agent offers options, one of them.
    Decide(RequestDecision, Option<String>),
    /// A reason is typed next.
    Reason(Option<String>),
    /// Another input is typed next.
    Edit,
}

/// What the next line is.
#[derive(Debug)]
enum Typing {
    Key,
    Reason(Option<String>),
    Edit,
}

impl Approval {
    pub fn new(request: &RequestOpened, abilities: &Abilities) -> Self {
        let of = |kind| request.options.iter().find(|option| option.kind == kind).map(|option| option.id.clone());
        let is_open = request.options.is_empty();
        let mut keys = Vec::new();
        let mut offer = |name: &str, label: &str, help, means| {
            keys.push(Key { name: name.to_owned(), label: label.to_owned(), help, means });
        };
        let once = of(OptionKind::AllowOnce);
        if is_open || once.is_some() {
            offer("y", yes(request.about), "allow this, once", Means::Decide(RequestDecision::Allow, once));
        }
        if let Some(session) = of(OptionKind::AllowSession) {
            let means = Means::Decide(RequestDecision::AllowSession, Some(session));
            offer("a", "for this session", "allow this and the like until the session ends", means);
        } else if let Some(always) = of(OptionKind::AllowAlways) {
            let means = Means::Decide(RequestDecision::AllowSession, Some(always));
            offer("a", "always", "allow this and the like from now on", means);
        }
        let reject = of(OptionKind::Reject);
        offer(
            "n",
            "decline",
            "do not allow this; the agent goes on",
            Means::Decide(RequestDecision::Decline, reject.clone()),
        );
        offer("r", "say why", "do not allow this, and tell the agent why", Means::Reason(reject));
        if abilities.changed_input && input::can_change(request) {
            offer("e", "edit", "allow something else instead, which you type", Means::Edit);
        }
        let cancel = of(OptionKind::Cancel);
        if cancel.is_some() || abilities.interrupt {
            offer("c", "stop", "do not allow this, and stop the turn", Means::Decide(RequestDecision::Cancel, cancel));
        }
        keys.extend(others(&request.options));
        if request.requires_person {
            keys.sort_by_key(Key::allows);
        }
        Self { keys, typing: Typing::Key }
    }

    pub fn prompt(&self) -> String {
        match self.typing {
            Typing::Key => {
                let names = self.keys.iter().map(|key| format!("[{}] {}", key.name, clean::line(&key.label)));
                format!("{}\n> ", names.collect::<Vec<_>>().join("  "))
            }
            Typing::Reason(_) => "why? > ".to_owned(),
            Typing::Edit => "instead > ".to_owned(),
        }
    }

    pub fn line(&mut self, line: &str, request: &RequestOpened) -> Step {
        match std::mem::replace(&mut self.typing, Typing::Key) {
            Typing::Key => self.key(line, request),
            Typing::Reason(option) => Step::Done(declined(request, option, line)),
            Typing::Edit if line.trim().is_empty() => Step::Again("nothing was changed\n".to_owned()),
            Typing::Edit => changed(request, line),
        }
    }

    /// A key, and for some of them what else was typed on the line.
    fn key(&mut self, line: &str, request: &RequestOpened) -> Step {
        let line = line.trim();
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let Some(key) = self.keys.iter().find(|key| key.name.eq_ignore_ascii_case(&word(name))) else {
            return Step::Again(self.not_understood(line));
        };
        match (key.means.clone(), rest.trim()) {
            (Means::Decide(decision, option), "") => Step::Done(RequestAnswer { option, ..answer(request, decision) }),
            (Means::Decide(..), _) => Step::Again(self.not_understood(line)),
            (Means::Reason(option), "") => {
                self.typing = Typing::Reason(option);
                Step::Again(String::new())
            }
            (Means::Reason(option), why) => Step::Done(declined(request, option, why)),
            (Means::Edit, "") => {
                self.typing = Typing::Edit;
                Step::Again(format!("{}\n", input::wanted(request)))
            }
            (Means::Edit, input) => changed(request, input),
        }
    }

    fn not_understood(&self, line: &str) -> String {
        let names = self.keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(", ");
        let keys = self.keys.iter().map(|key| format!("  {}  {}\n", key.name, key.explained())).collect::<String>();
        match line {
            "" | "?" => format!("please answer with one of {names}\n{keys}"),
            line => format!("`{}` is not one of {names}\n{keys}", clean::line(line)),
        }
    }
}

impl Key {
    fn allows(&self) -> bool {
        matches!(self.means, Means::Decide(RequestDecision::Allow | RequestDecision::AllowSession, _) | Means::Edit)
    }

    fn explained(&self) -> String {
        if self.help.is_empty() { clean::line(&self.label) } else { self.help.to_owned() }
    }
}

/// What a yes is called.
fn yes(about: About) -> &'static str {
    match about {
        About::Question | About::Elicitation | About::Auth => "accept",
        _ => "allow once",
    }
}

/// `yes` and `no` are what they say.
fn word(typed: &str) -> String {
    match typed.to_lowercase().as_str() {
        "yes" => "y".to_owned(),
        "no" => "n".to_owned(),
        other => other.to_owned(),
    }
}

/// Options that no letter stands for: the second and later ones of a kind, by number.
fn others(options: &[RequestOption]) -> Vec<Key> {
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
            let means = Means::Decide(decision, Some(option.id.clone()));
            Key { name: number.to_string(), label: option.label.clone(), help: "", means }
        })
        .collect()
}

fn declined(request: &RequestOpened, option: Option<String>, why: &str) -> RequestAnswer {
    let why = Some(why.trim()).filter(|why| !why.is_empty()).map(str::to_owned);
    RequestAnswer { option, message: why, ..answer(request, RequestDecision::Decline) }
}

fn changed(request: &RequestOpened, typed: &str) -> Step {
    match input::changed(request, typed.trim()) {
        Ok(input) => Step::Done(RequestAnswer { input: Some(input), ..answer(request, RequestDecision::Allow) }),
        Err(why) => Step::Again(format!("{why}\n")),
    }
}
