//! Recordings of several versions where usage or text could easily be counted or shown twice.

use switchboard_event::{
    ChangeKind, Details, ErrorCode, Event, EventBody, Item, Origin, Status, Topic, TurnStatus, Usage,
};

use crate::{Record, RecordTranslator, TranslatorOptions, find_source};

/// Translates the records of a stream and returns the translator too.
fn translate_records(from: &str, records: &[u8]) -> (Vec<Event>, RecordTranslator) {
    let mut translator = RecordTranslator::new(find_source(from).unwrap(), TranslatorOptions::default());
    let mut events = Vec::new();
    for line in records.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        translator.translate_record(&Record::from_line(line).unwrap(), &mut events);
    }
    (events, translator)
}

fn events_of(from: &str, records: &[u8]) -> Vec<Event> {
    let (mut events, mut translator) = translate_records(from, records);
    translator.finish(&mut events);
    events
}

macro_rules! live {
    ($name:literal) => {
        events_of("claude", include_bytes!(concat!("testdata/live/", $name, ".jsonl")))
    };
}

/// Input tokens without the cache, and output tokens, turn by turn.
fn usage_by_turn(events: &[Event]) -> Vec<(u64, u64)> {
    let mut turns = Vec::new();
    for event in events {
        match &event.body {
            EventBody::TurnStarted(_) => turns.push((0, 0)),
            EventBody::Usage(usage) if !usage.cumulative => {
                let (input, output) = turns.last_mut().unwrap();
                *input += usage.input;
                *output += usage.output;
            }
            _ => {}
        }
    }
    turns
}

/// The messages of the main conversation with their final status.
fn agent_messages(events: &[Event]) -> Vec<(&str, Status)> {
    let said = events.iter().filter(|event| event.thread.is_none()).filter_map(|event| match &event.body {
        EventBody::ItemCompleted(item) => match &item.details {
            Details::AgentMessage(message) => Some((message.text.as_str(), item.status)),
            _ => None,
        },
        _ => None,
    });
    said.collect()
}

/// All streamed text, as a client shows it that cannot retract anything.
fn streamed_text(events: &[Event]) -> String {
    use switchboard_event::{Delta, Field};
    let mut shown = String::new();
    for event in events.iter().filter(|event| event.thread.is_none()) {
        if let EventBody::ItemDelta(Delta::Append { field: Field::Text, text, .. }) = &event.body {
            shown.push_str(text);
        }
    }
    shown
}

fn turn_origins(events: &[Event]) -> Vec<Origin> {
    let origin = |event: &Event| match &event.body {
        EventBody::TurnStarted(turn) => Some(turn.origin),
        _ => None,
    };
    events.iter().filter_map(origin).collect()
}

fn completed_tools(events: &[Event]) -> Vec<&Item> {
    let tool = |body: &'_ EventBody| match body {
        EventBody::ItemCompleted(item) => item.call.is_some(),
        _ => false,
    };
    let completed = events.iter().filter(|event| tool(&event.body)).filter_map(|event| match &event.body {
        EventBody::ItemCompleted(item) => Some(&**item),
        _ => None,
    });
    completed.collect()
}

#[test]
fn a_resumed_session_counts_only_what_is_new() {
    let events = live!("v326_n_resume_usage");
    assert_eq!(usage_by_turn(&events), [(100, 12)]);
    let cost = events.iter().find_map(|event| match &event.body {
        EventBody::TurnCompleted(turn) => turn.cost_usd,
        _ => None,
    });
    assert_eq!(cost, Some(0.000_746));
    assert_eq!(usage_by_turn(&live!("g_resume")), [(100, 14)], "2.1.197 begins at zero");
}

#[test]
fn a_fork_does_not_count_its_parent() {
    assert_eq!(usage_by_turn(&live!("v326_g_fork")), [(100, 14)]);
    assert_eq!(usage_by_turn(&live!("g_fork")), [(100, 14)]);
}

#[test]
fn totals_begin_anew_when_the_conversation_is_cleared() {
    assert_eq!(usage_by_turn(&live!("v326_n_clear")), [(100, 12), (0, 0), (100, 12)]);
}

#[test]
fn a_cleared_conversation_is_the_one_to_continue() {
    let records = include_bytes!("testdata/live/v326_n_clear.jsonl");
    let (events, translator) = translate_records("claude", records);
    assert_eq!(translator.agent_session().map(|id| &**id), Some("b8418544-ac77-40f4-be0e-e425d6c5015f"));
    assert!(events.iter().all(|event| *event.session == *"dca6effe-f7f9-47c6-a315-005fd669f540"), "it is one session");
    let (_, translator) = translate_records("claude", include_bytes!("testdata/live/v326_k_slash_clear.jsonl"));
    assert_eq!(translator.agent_session().map(|id| &**id), Some("4a69f327-9385-49a9-be5a-5eab4b8e41fb"));
}

#[test]
fn what_an_agent_in_the_background_led_to_is_said_once() {
    let events = live!("v326_i_task");
    let said: Vec<_> = agent_messages(&events).into_iter().map(|(text, _)| text).collect();
    assert_eq!(said, ["Delegating.", "The subagent reported back.", "Noted the notification."]);
    assert_eq!(turn_origins(&events), [Origin::Prompt, Origin::Background]);
    assert_eq!(usage_by_turn(&events), [(200, 81), (300, 106)]);
}

#[test]
fn two_agents_in_the_background_are_two_turns() {
    let events = live!("v326_n_twoagents");
    let turns = usage_by_turn(&events);
    assert_eq!(turns.iter().fold((0, 0), |(i, o), turn| (i + turn.0, o + turn.1)), (700, 295));
    assert_eq!(turn_origins(&events), [Origin::Prompt, Origin::Background, Origin::Background]);
}

#[test]
fn a_monitor_begins_turns_in_the_background() {
    let mut expected = vec![Origin::Background; 5];
    expected[0] = Origin::Prompt;
    assert_eq!(turn_origins(&live!("v326_n_monitor")), expected);
}

#[test]
fn text_that_is_streamed_again_is_not_said_again() {
    for events in [live!("h_cut"), live!("v326_h_cut")] {
        let whole = "This stream is cut in the middle of the answer, badly.";
        assert_eq!(agent_messages(&events), [(whole, Status::Completed)]);
        assert_eq!(streamed_text(&events), "This stream is cut in th");
    }
}

/// A stream that breaks off, followed by these deltas.
fn events_after_cut(then: &[&str]) -> Vec<Event> {
    let stream = |event: &str| {
        format!(r#"{{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{event}}}"#)
    };
    let start = |id: &str| {
        stream(&format!(
            r#"{{"type":"message_start","message":{{"id":"{id}","model":"m","usage":{{"input_tokens":1,"output_tokens":1}}}}}}"#
        ))
    };
    let block = stream(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#);
    let delta = |text: &str| {
        stream(&format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ))
    };
    let stop = stream(r#"{"type":"content_block_stop","index":0}"#);
    let end = r#"{"type":"message_stop"}"#;
    let void = format!(
        r#"{{"type":"stream_event","session_id":"s","event":{end},"abandoned_blocks":{{"api_message_id":"a","from_block_index":0}}}}"#
    );
    let mut lines = vec![start("a"), block.clone(), delta("One two"), stop.clone(), void, start("b"), block];
    lines.extend(then.iter().map(|text| delta(text)));
    lines.extend([stop, stream(end)]);
    lines.push(
        r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"x","usage":{}}"#.to_owned(),
    );
    events_of("claude", lines.join("\n").as_bytes())
}

#[test]
fn text_that_differs_takes_the_place_of_what_was_void() {
    let events = events_after_cut(&["One ", "three"]);
    assert_eq!(agent_messages(&events), [("One two", Status::Superseded), ("One three", Status::Completed)]);
    let events = events_after_cut(&["One ", "two three"]);
    assert_eq!(agent_messages(&events), [("One two three", Status::Completed)]);
    assert_eq!(streamed_text(&events), "One two three");
    let events = events_after_cut(&["One"]);
    assert_eq!(agent_messages(&events), [("One two", Status::Superseded), ("One", Status::Completed)]);
    assert_eq!(agent_messages(&events_after_cut(&[])), [("One two", Status::Superseded)]);
}

#[test]
fn blocks_that_stay_are_not_taken_back() {
    let events = live!("v326_h_ssefail");
    assert!(agent_messages(&events).iter().all(|(_, status)| *status != Status::Superseded));
}

#[test]
fn only_what_was_refused_is_declined() {
    let status = |events: &[Event]| completed_tools(events).iter().map(|item| item.status).collect::<Vec<_>>();
    for (events, expected) in [
        (live!("v326_c_badtool"), Status::Failed),
        (live!("c_badtool"), Status::Failed),
        (live!("c_badinput"), Status::Failed),
        (live!("z_permtool_missing"), Status::Failed),
        (live!("v326_b_bash_mutate_default_denied"), Status::Declined),
        (live!("b_bash_mutate_default_denied"), Status::Declined),
        (live!("hooks_shell_block"), Status::Declined),
        (live!("x_denyrule_oneshot"), Status::Declined),
    ] {
        assert_eq!(status(&events), [expected]);
    }
    let blocked = events_of("claude", br#"{"type":"assistant","session_id":"s","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"sleep 300"}}]}}
{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"<tool_use_error>Blocked: standalone sleep 300.</tool_use_error>"}]}}"#);
    let [item] = completed_tools(&blocked)[..] else { panic!("one tool") };
    assert_eq!(item.status, Status::Failed);
    assert_eq!(item.call.as_ref().and_then(|call| call.error.as_deref()), Some("Blocked: standalone sleep 300."));
}

#[test]
fn files_that_a_command_changes_are_changes() {
    let changes = |events: &[Event]| {
        let change = |event: &Event| match &event.body {
            EventBody::ItemCompleted(item) => match &item.details {
                Details::FileChange(change) => Some(change.changes.clone()),
                _ => None,
            },
            _ => None,
        };
        events.iter().filter_map(change).flatten().collect::<Vec<_>>()
    };
    let made = changes(&live!("v326_n_bashedit"));
    let made: Vec<_> = made.iter().map(|change| (change.path.as_str(), change.kind, change.diff.as_str())).collect();
    assert_eq!(
        made,
        [
            ("/home/dev/project/be.txt", ChangeKind::Add, "@@ -0,0 +1,1 @@\n+one\n"),
            ("/home/dev/project/be2.txt", ChangeKind::Add, "@@ -0,0 +1,2 @@\n+x\n+y\n"),
        ]
    );
    let changed = changes(&live!("v326_n_bashedit2"));
    assert_eq!(changed.iter().map(|change| change.kind).collect::<Vec<_>>(), [ChangeKind::Modify, ChangeKind::Delete]);
}

#[test]
fn a_refused_connection_is_one() {
    let events = live!("v326_h_connrefused");
    let failed = events.iter().find_map(|event| match &event.body {
        EventBody::TurnCompleted(turn) => turn.error.as_ref(),
        _ => None,
    });
    assert_eq!(failed.map(|fault| fault.code), Some(ErrorCode::ConnectionFailed));
}

fn log_events(lines: &[&str]) -> Vec<Event> {
    events_of("claude:log", lines.join("\n").as_bytes())
}

const PROMPT: &str = r#"{"type":"user","sessionId":"s","cwd":"/p","uuid":"u","timestamp":"2025-08-01T10:00:00Z","message":{"role":"user","content":"go"}}"#;

#[test]
fn a_log_that_never_says_why_replies_stop_ends_well() {
    let text = r#"{"type":"assistant","sessionId":"s","cwd":"/p","uuid":"a","timestamp":"2025-08-01T10:00:01Z","message":{"id":"m","model":"x","stop_reason":null,"content":[{"type":"text","text":"done"}],"usage":{"input_tokens":1,"output_tokens":1}}}"#;
    let ends = |events: &[Event]| {
        let end = |event: &Event| match &event.body {
            EventBody::TurnCompleted(turn) => Some(turn.status),
            _ => None,
        };
        events.iter().filter_map(end).collect::<Vec<_>>()
    };
    assert_eq!(ends(&log_events(&[PROMPT, text])), [TurnStatus::Completed]);
    assert_eq!(ends(&log_events(&[PROMPT, text, PROMPT, text])), [TurnStatus::Completed, TurnStatus::Completed]);
    let stopped = text.replace("null", "\"end_turn\"").replace("\"m\"", "\"n\"");
    assert_eq!(
        ends(&log_events(&[PROMPT, &stopped, PROMPT, text, PROMPT]))[1],
        TurnStatus::Interrupted,
        "it broke off"
    );
}

#[test]
fn a_result_without_a_block_belongs_to_its_call() {
    let call = r#"{"type":"assistant","sessionId":"s","cwd":"/p","uuid":"a","timestamp":"2025-08-01T10:00:01Z","message":{"id":"m","model":"x","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
    let result = r#"{"type":"user","sessionId":"s","cwd":"/p","uuid":"r","timestamp":"2025-08-01T10:00:02Z","toolUseResult":{"stdout":"a.txt","stderr":"","interrupted":false},"message":{"role":"user","content":[]}}"#;
    let events = log_events(&[PROMPT, call, result]);
    let [item] = completed_tools(&events)[..] else { panic!("one tool") };
    let Details::Command(command) = &item.details else { panic!("a command") };
    assert_eq!((item.status, command.output.as_str()), (Status::Completed, "a.txt"));
    let stray = log_events(&[PROMPT, result]);
    let is_late = |event: &Event| matches!(&event.body, EventBody::Notice(notice) if notice.topic == Topic::Late);
    assert!(stray.iter().any(is_late));
}

#[test]
fn running_totals_of_a_log_are_shown_and_not_counted() {
    let events = events_of(
        "claude:log",
        include_bytes!("testdata/log/projects/v326/15e65c89-fbe8-40be-98fb-b20074c2a2a0.jsonl"),
    );
    let all = |cumulative: bool| {
        let mut sum = Usage::default();
        for event in &events {
            if let EventBody::Usage(usage) = &event.body
                && usage.cumulative == cumulative
            {
                sum.add(usage);
            }
        }
        (sum.input, sum.output)
    };
    assert_eq!((all(true), all(false)), ((500, 63), (300, 39)));
    let unknown = events
        .iter()
        .filter(|event| matches!(&event.body, EventBody::Notice(notice) if notice.topic == Topic::Unknown));
    assert_eq!(unknown.count(), 0);
}

/// The models of all completed items, by whether a subagent caused them.
fn item_models(events: &[Event]) -> Vec<(bool, Option<&str>)> {
    let models = events.iter().filter_map(|event| match &event.body {
        EventBody::ItemCompleted(item) if !matches!(item.details, Details::UserMessage(_)) => {
            Some((event.thread.is_some(), item.model.as_deref()))
        }
        _ => None,
    });
    models.collect()
}

#[test]
fn items_have_the_model_that_wrote_them() {
    for (events, model) in [(live!("i_taskfg_forward"), "claude-opus-4-8"), (live!("v326_i_task"), "claude-opus-5-5")] {
        let models = item_models(&events);
        assert!(models.iter().any(|(of_subagent, _)| *of_subagent));
        assert!(models.iter().all(|(_, named)| *named == Some(model)), "{models:?}");
    }
}

#[test]
fn a_turn_whose_cost_was_reported_before_has_none() {
    let events = live!("v326_i_task");
    let costs = events.iter().filter_map(|event| match &event.body {
        EventBody::TurnCompleted(turn) => Some(turn.cost_usd),
        _ => None,
    });
    assert_eq!(costs.collect::<Vec<_>>(), [Some(0.006_27), None]);
    assert_eq!(usage_by_turn(&events).len(), 2);
}
