//! Asking in place: what is shown, what each key means, and that nothing but a clear yes allows.

use std::fmt::Write as _;

use switchboard_agents::{Abilities, RequestAnswer, RequestDecision};
use switchboard_event::{EventBody, RequestOpened};

use super::{ViewOptions, check, recorded_events};
use crate::view::{PromptStep, RequestPrompt};

const ALL: Abilities = Abilities { changed_input: true, interrupt: true, ..Abilities::NONE };

/// The requests of a recording.
fn requests(recording: &str) -> Vec<RequestOpened> {
    let opened = recorded_events(recording).into_iter().filter_map(|event| match event.body {
        EventBody::RequestOpened(request) => Some(*request),
        _ => None,
    });
    opened.collect()
}

/// A command of an agent that offers all kinds of answers.
fn command() -> RequestOpened {
    requests("claude live/e_stdio_allow").remove(0)
}

fn questions() -> RequestOpened {
    let all = requests("codex:app-server app-server/made-requests");
    all.into_iter().find(|request| request.questions.len() == 2 && request.options.is_empty()).unwrap()
}

fn plain(request: &RequestOpened, abilities: &Abilities) -> RequestPrompt {
    RequestPrompt::new(request, abilities, &ViewOptions::piped())
}

/// What comes of some lines; the last must be the answer.
fn answered(request: &RequestOpened, abilities: &Abilities, lines: &[&str]) -> RequestAnswer {
    let mut asking = plain(request, abilities);
    let (last, before) = lines.split_last().unwrap();
    for line in before {
        assert!(matches!(asking.line(line), PromptStep::Again(_)), "{line:?} ended it");
    }
    match asking.line(last) {
        PromptStep::Done(answer) => answer,
        PromptStep::Again(text) => panic!("{last:?} did not end it: {text}"),
    }
}

#[test]
fn what_would_happen_is_shown() {
    let mut text = String::new();
    for recording in [
        "claude live/e_stdio_allow",
        "claude live/e_write_ask",
        "claude live/e_exit_plan",
        "codex:app-server app-server/made-requests",
        "opencode live/made-requests",
        "acp live/made-permissions",
        "acp live/made-elicitation",
    ] {
        for request in requests(recording) {
            writeln!(text, "{}<\n", plain(&request, &ALL).prompt_text()).unwrap();
        }
    }
    check("asking", &text);
}

#[test]
fn keys_mean_what_they_say() {
    for (line, decision, option) in [
        ("y", RequestDecision::Allow, "allow"),
        ("YES", RequestDecision::Allow, "allow"),
        (" a \r\n", RequestDecision::AllowSession, "allow_session"),
        ("n", RequestDecision::Decline, "deny"),
        ("no", RequestDecision::Decline, "deny"),
        ("c", RequestDecision::Cancel, "interrupt"),
    ] {
        let answer = answered(&command(), &ALL, &[line]);
        assert_eq!((answer.decision, answer.option.as_deref()), (decision, Some(option)), "{line}");
        assert_eq!(answer.request, command().request);
    }
}

#[test]
fn a_reason_is_sent_along() {
    for lines in [&["r", "use the other file"][..], &["r use the other file"]] {
        let answer = answered(&command(), &ALL, lines);
        assert_eq!(
            (answer.decision, answer.message.as_deref()),
            (RequestDecision::Decline, Some("use the other file"))
        );
    }
    assert_eq!(answered(&command(), &ALL, &["r", ""]).message, None);
}

#[test]
fn another_command_can_be_allowed() {
    for lines in [&["e", "touch other.txt"][..], &["e touch other.txt"], &["e", "", "e", "touch other.txt"]] {
        let answer = answered(&command(), &ALL, lines);
        let input = answer.input.unwrap();
        assert_eq!(answer.decision, RequestDecision::Allow);
        assert_eq!(input.get(), r#"{"command":"touch other.txt","description":"Create made.txt"}"#);
    }
    let mut asking = plain(&command(), &Abilities::NONE);
    assert!(matches!(asking.line("e"), PromptStep::Again(_)));
    assert!(!asking.prompt().contains("[e]") && !plain(&command(), &Abilities::NONE).prompt().contains("[e]"));
}

#[test]
fn another_input_must_be_an_object() {
    let request = requests("claude live/e_exit_plan").remove(0);
    let answer = answered(&request, &ALL, &["e", "not json", "e", "[1]", "e", r#"{"plan":"less"}"#]);
    assert_eq!(answer.input.unwrap().get(), r#"{"plan":"less"}"#);
}

#[test]
fn what_is_not_understood_is_asked_again() {
    let mut asking = plain(&command(), &ALL);
    for line in ["", "  ", "x", "yy", "y please", "ok", "1", "allow", "\x1b[A", "да", "y\ny"] {
        let PromptStep::Again(text) = asking.line(line) else { panic!("{line:?} was taken for an answer") };
        assert!(text.contains("one of y, a, n, r, e, c"), "{text}");
    }
}

#[test]
fn a_closed_terminal_declines_in_every_state() {
    for lines in [&[][..], &["e"], &["r"], &["x"]] {
        let mut asking = plain(&command(), &ALL);
        lines.iter().for_each(|line| drop(asking.line(line)));
        let answer = asking.closed();
        assert_eq!((answer.decision, answer.input.is_none()), (RequestDecision::Decline, true), "{lines:?}");
    }
    let mut asking = plain(&questions(), &ALL);
    drop(asking.line("1"));
    assert_eq!((asking.closed().decision, asking.closed().answers.len()), (RequestDecision::Decline, 0));
}

#[test]
fn no_comes_first_where_only_a_person_may_answer() {
    let asking = plain(&command().require_person(), &ALL);
    assert_eq!(asking.prompt(), "[n] decline  [r] say why  [c] stop  [y] allow once  [e] edit\n> ");
    let recorded = requests("claude live/e_exit_plan_person").remove(0);
    assert!(recorded.requires_person && plain(&recorded, &ALL).prompt().starts_with("[n] decline"));
}

#[test]
fn options_that_have_no_letter_have_a_number() {
    let all = requests("acp live/made-permissions");
    let asking = plain(&all[0], &Abilities::NONE);
    assert_eq!(asking.prompt(), "[y] allow once  [a] always  [n] decline  [r] say why  [1] Never\n> ");
    let never = answered(&all[0], &Abilities::NONE, &["1"]);
    assert_eq!((never.decision, never.option.as_deref()), (RequestDecision::Decline, Some("never")));
    let always = answered(&all[0], &Abilities::NONE, &["a"]);
    assert_eq!((always.decision, always.option.as_deref()), (RequestDecision::AllowSession, Some("a")));
}

#[test]
fn questions_are_asked_one_after_the_other() {
    let mut asking = plain(&questions(), &ALL);
    assert!(!asking.is_secret());
    for line in ["", "   "] {
        assert!(matches!(asking.line(line), PromptStep::Again(_)));
    }
    assert!(matches!(asking.line("2"), PromptStep::Again(text) if text.is_empty()));
    assert!(asking.is_secret());
    let PromptStep::Done(answer) = asking.line(" key with spaces ") else { panic!("that was the last question") };
    let answers: Vec<_> = answer.answers.iter().map(|(id, given)| (id.as_str(), given.join("|"))).collect();
    assert_eq!(answers, [("q1", "Blue".to_owned()), ("q2", " key with spaces ".to_owned())]);
    assert_eq!(answer.decision, RequestDecision::Allow);
}

#[test]
fn several_choices_are_taken_where_they_are_allowed() {
    let request = requests("opencode live/made-requests").into_iter().find(|request| request.questions.len() == 2);
    let request = request.unwrap();
    for line in ["1,2", "2 1 2", "a, b", "B,1"] {
        let answer = answered(&request, &ALL, &["3", "1,3", "C", line, "because"]);
        assert_eq!(answer.answers.get("Which?").map(Vec::len), Some(2), "{line}");
    }
    assert_eq!(answered(&request, &ALL, &["1", "because"]).answers["Which?"], ["A"]);
}

#[test]
fn own_words_are_taken_where_they_are_allowed() {
    let answer = answered(&questions(), &ALL, &["green, rather", "k"]);
    assert_eq!(answer.answers["q1"], ["green, rather"]);
}

#[test]
fn what_is_too_long_to_show_is_said_to_be() {
    let long = RequestOpened { command: Some("echo a\n".repeat(1_000)), ..command() };
    assert!(plain(&long, &ALL).prompt_text().contains("… 600 lines not shown …"));
    let long = RequestOpened { command: Some("x".repeat(100_000)), ..command() };
    assert!(plain(&long, &ALL).prompt_text().contains("… 34464 characters not shown …"));
}
