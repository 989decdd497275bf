//! Nothing that an agent or its commands say reaches the terminal as anything but text, and nothing of any size costs
//! more than what is shown of it.

use switchboard_agents::Abilities;
use switchboard_event::{
    AgentMessage, Call, Change, Choice, Command, Delta, Details, ErrorCode, EventBody, Fault, Field, FileChange, Id,
    Info, Item, Level, Mcp, Notice, Plan, PlanEntry, Question, Reasoning, RequestOpened, RequestOption,
    RequestResolved, SessionStarted, Status, Subagent, Tool, Topic, TurnCompleted, TurnStarted, TurnStatus,
    UserMessage, WebSearch, to_raw_json,
};

use super::{Event, ViewOptions, WrittenOutput, event, render};
use crate::view::{RequestPrompt, TranscriptView, ViewOutput};

/// Everything that a terminal would obey, and text around it.
const EVIL: &str =
    "a\x1b[2J\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x1b\\\u{9b}31m\r\0\x08\x7f\u{202e}gpj.exe\u{2066}\u{85}z";

fn evil() -> String {
    EVIL.to_owned()
}

/// One item of each type, begun and ended.
fn items() -> Vec<Item> {
    let call = Call { name: evil(), title: Some(evil()), input: Some(to_raw_json(&[("x", EVIL)])), ..Call::default() };
    let step = PlanEntry { step: evil(), ..PlanEntry::default() };
    let change = Change { path: evil(), to: Some(evil()), diff: format!("+{EVIL}\n-{EVIL}\n"), ..Change::default() };
    let details: Vec<Details> = vec![
        AgentMessage::text(evil()).into(),
        Reasoning { text: Some(evil()), ..Reasoning::default() }.into(),
        Command { command: evil(), cwd: Some(evil()), output: format!("{EVIL}\n{EVIL}"), ..Command::default() }.into(),
        FileChange { changes: vec![change], output: None }.into(),
        Mcp { server: evil(), tool: evil(), result: None, error: Some(evil()) }.into(),
        WebSearch { queries: vec![evil()], results: None }.into(),
        Plan { entries: vec![step], text: Some(evil()), explanation: Some(evil()), output: None }.into(),
        Subagent { name: evil(), label: evil(), prompt: Some(evil()), result: Some(evil()), ..Subagent::default() }
            .into(),
        Tool { output: evil(), result: None }.into(),
        UserMessage::text(evil()).into(),
    ];
    let called = |details: Details| {
        let is_work = !matches!(details, Details::AgentMessage(_) | Details::Reasoning(_) | Details::UserMessage(_));
        let item = Item::new(details);
        if is_work { item.with_call(Call { error: Some(evil()), ..call.clone() }) } else { item }
    };
    details.into_iter().map(called).collect()
}

fn request() -> RequestOpened {
    RequestOpened {
        request: Id::from("r"),
        title: evil(),
        reason: Some(evil()),
        command: Some(evil()),
        cwd: Some(evil()),
        call: Some(Box::new(Call { name: evil(), input: Some(to_raw_json(&[(EVIL, EVIL)])), ..Call::default() })),
        changes: vec![Change { path: evil(), diff: format!("+{EVIL}\n"), ..Change::default() }],
        options: vec![RequestOption { id: evil(), label: evil(), ..RequestOption::default() }; 3],
        ..RequestOpened::default()
    }
}

fn events() -> Vec<Event> {
    let fault = Fault::new(ErrorCode::ProviderAuth, evil());
    let info = Info { cwd: Some(evil()), model: Some(evil()), version: Some(evil()), ..Info::default() };
    let prompt = || EventBody::TurnStarted(Box::new(TurnStarted { prompt: Some(evil()), ..TurnStarted::default() }));
    let mut events = vec![
        event(None, EventBody::SessionStarted(Box::new(SessionStarted { info, ..SessionStarted::default() }))),
        event(None, prompt()),
        event(None, prompt()),
    ];
    for (number, item) in items().into_iter().enumerate() {
        for status in [Status::Completed, Status::Failed, Status::Interrupted] {
            let id = format!("i{number}{status:?}");
            events.push(event(Some(&id), EventBody::ItemStarted(Box::new(item.clone()))));
            let delta = Delta::Append { field: Field::Output, part: 0, text: evil() };
            events.push(event(Some(&id), EventBody::ItemDelta(delta)));
            events.push(event(Some(&id), EventBody::ItemCompleted(Box::new(item.clone().with_status(status)))));
        }
    }
    for topic in [Topic::Retry, Topic::Warning, Topic::Auth, Topic::ModelChanged, Topic::Task, Topic::Hook] {
        for level in [Level::Info, Level::Warning, Level::Error] {
            let notice = Notice::new(topic).with_text(evil()).with_name(evil()).with_status("failed").with_level(level);
            events.push(event(None, EventBody::Notice(Box::new(notice))));
        }
    }
    events.push(event(None, EventBody::RequestOpened(Box::new(request()))));
    let resolved = RequestResolved { request: Id::from("r"), message: Some(evil()), ..RequestResolved::default() };
    let resolved = RequestResolved { outcome: switchboard_event::Outcome::Declined, ..resolved };
    events.push(event(None, EventBody::RequestResolved(Box::new(resolved))));
    let turn = TurnCompleted {
        error: Some(fault),
        status: TurnStatus::Failed,
        result: Some(evil()),
        ..TurnCompleted::default()
    };
    events.push(event(None, EventBody::TurnCompleted(Box::new(turn))));
    events
}

/// What is left after our own colors are taken away.
fn obeyed(text: &str) -> String {
    let ours = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"];
    let text = ours.iter().fold(text.to_owned(), |text, code| text.replace(code, ""));
    let bad = |c: &char| {
        c.is_control() && *c != '\n' && *c != '\t' || matches!(*c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(bad).collect()
}

#[test]
fn nothing_an_agent_says_is_obeyed() {
    for options in [ViewOptions::piped(), ViewOptions::terminal(40), ViewOptions::terminal(400)] {
        let written = render(&events(), options);
        assert_eq!(obeyed(&written.all), "", "{options:?}: {:?}", written.all);
        let is_cut = options.width == 40;
        assert!(is_cut || written.all.matches("gpj.exe").count() > 40, "the text itself is shown");
    }
}

#[test]
fn nothing_is_obeyed_while_it_runs() {
    let mut view = TranscriptView::new(ViewOptions::terminal(200));
    for event in events() {
        view.event(&event, &mut ViewOutput::default());
        assert_eq!(obeyed(&view.status(std::time::Duration::from_secs(1))), "");
    }
}

#[test]
fn nothing_is_obeyed_or_hidden_while_asking() {
    let abilities = Abilities { changed_input: true, interrupt: true, ..Abilities::NONE };
    let hidden = RequestOpened { command: Some("rm\u{200b} x".to_owned()), ..request() };
    let mut asking = RequestPrompt::new(&hidden, &abilities, &ViewOptions::terminal(80));
    assert_eq!(obeyed(&asking.prompt_text()), "");
    assert!(asking.prompt_text().contains("rm<U+200B> x"));
    for line in ["e", "", EVIL, "r"] {
        if let crate::view::PromptStep::Again(text) = asking.line(line) {
            assert_eq!(obeyed(&text), "", "{text:?}");
        }
    }
    let choice = Choice { label: evil(), description: Some(evil()) };
    let question = Question { question: evil(), header: Some(evil()), choices: vec![choice], ..Question::default() };
    let asked = RequestOpened { questions: vec![question], ..request() };
    let mut asking = RequestPrompt::new(&asked, &abilities, &ViewOptions::terminal(80));
    assert_eq!(obeyed(&asking.prompt_text()), "");
    let crate::view::PromptStep::Again(text) = asking.line("\x1b[2J") else { panic!("that is no choice") };
    assert_eq!(obeyed(&text), "");
}

/// A command that printed this.
fn printed(output: String) -> WrittenOutput {
    let command = Command { command: "make".to_owned(), output, ..Command::default() };
    let item = Item::new(command);
    let events = [
        event(
            Some("c"),
            EventBody::ItemStarted(Box::new(Item::new(Command { command: "make".to_owned(), ..Command::default() }))),
        ),
        event(Some("c"), EventBody::ItemCompleted(Box::new(item.with_status(Status::Completed)))),
    ];
    render(&events, ViewOptions { color: false, ..ViewOptions::terminal(40) })
}

#[test]
fn long_output_is_folded() {
    let lines = (1..=1_000_000).map(|line| format!("line {line}\n")).collect::<String>();
    let seen = printed(lines).all;
    assert!(seen.contains("… 999990 more lines …"), "{seen}");
    assert_eq!(seen.lines().count(), 12);
}

#[test]
fn long_lines_are_cut() {
    for line in
        ["x".repeat(8 << 20), "日".repeat(1 << 20), format!("a{}", "\u{301}".repeat(1 << 20)), "\t".repeat(1 << 20)]
    {
        let seen = printed(line).all;
        assert!(seen.len() < 600, "{} bytes", seen.len());
        assert!(seen.trim_end().ends_with('…') || seen == "$ make\n", "{seen}");
    }
}

#[test]
fn progress_bars_show_where_they_ended() {
    let seen = printed("10%\r50%\r\x1b[32m100%\x1b[0m\r\ndone\x07".to_owned()).all;
    assert_eq!(seen, "$ make\n  100%\n  done\n");
}

#[test]
fn long_commands_diffs_plans_and_errors_are_folded() {
    let many = || (1..=10_000).map(|line| format!("+line {line} of many\n")).collect::<String>();
    let change = Change { path: "/x".to_owned(), diff: many(), ..Change::default() };
    let steps = (0..10_000).map(|step| PlanEntry { step: step.to_string(), ..PlanEntry::default() }).collect();
    let details: Vec<Details> = vec![
        Command { command: many(), ..Command::default() }.into(),
        FileChange { changes: vec![change; 100], output: None }.into(),
        Plan { entries: steps, ..Plan::default() }.into(),
        Subagent { label: many(), prompt: Some(many()), result: Some(many()), ..Subagent::default() }.into(),
    ];
    for details in details {
        let item = Item::new(details);
        let events = [
            event(Some("x"), EventBody::ItemStarted(Box::new(item.clone()))),
            event(Some("x"), EventBody::ItemCompleted(Box::new(item.with_status(Status::Completed)))),
            event(
                None,
                EventBody::Notice(Box::new(Notice::new(Topic::Warning).with_text(many()).with_level(Level::Error))),
            ),
        ];
        let seen = render(&events, ViewOptions::terminal(80)).all;
        assert!(seen.lines().count() < 900 && seen.contains(" more "), "{} lines", seen.lines().count());
    }
}
