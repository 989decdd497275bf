//! Every message of the dialect has a type and survives a round trip.

use serde_json::Value;
use switchboard_dialects::{DIALECTS, MessageBuffer};
use switchboard_event::{Event, EventBody};
use switchboard_testkit::recording::{self, Recording, load_recordings};

use super::{AgentEvent, AgentEventKind, stream::AgentEventDecoder};
use crate::AgentErrorKind;

/// Returns the events of a recording.
fn recording_events(recording: &Recording) -> Vec<Event> {
    recording::stream_events(recording.source, &recording.bytes)
}

#[test]
fn every_message_of_every_recording_is_typed_without_loss() {
    let (mut messages, mut kinds) = (0, std::collections::BTreeSet::new());
    for recording in load_recordings().unwrap() {
        let (mut projection, mut out) = ((DIALECTS[0].projection)(), MessageBuffer::default());
        for event in recording_events(&recording) {
            out.clear();
            projection.project_event(&event, &mut out);
            for message in out.iter().map(|message| str::from_utf8(message).unwrap()) {
                let typed = AgentEvent::from_json(event.seq, message).unwrap();
                assert!(!matches!(typed.kind, AgentEventKind::Other { .. }), "{recording}: {message}");
                assert!(typed.extra.is_empty(), "{recording}: {message}");
                let again: Value = serde_json::to_value(&typed).unwrap();
                assert_eq!(again, serde_json::from_str::<Value>(message).unwrap(), "{recording}");
                kinds.insert(typed.kind.name().to_owned());
                messages += 1;
            }
        }
    }
    assert!(messages > 1000, "{messages}");
    assert_eq!(kinds.len(), 12, "{kinds:?}");
}

#[test]
fn requests_are_events_too() {
    let all = load_recordings().unwrap();
    let (mut opened, mut resolved) = (0, 0);
    for recording in &all {
        let mut decoder = AgentEventDecoder::default();
        for event in recording_events(recording) {
            let typed = decoder.decode_event(&event);
            let is = |name: &str| typed.iter().filter(|event| event.kind.name() == name).count();
            match event.body {
                EventBody::RequestOpened(_) => opened += is("approvalRequested"),
                EventBody::RequestResolved(_) => resolved += is("approvalResolved"),
                _ => assert_eq!(is("approvalRequested") + is("approvalResolved"), 0),
            }
            for event in typed {
                let text = serde_json::to_string(&event).unwrap();
                let again = AgentEvent::from_json(event.seq, &text).unwrap();
                assert_eq!(again.kind.name(), event.kind.name());
                assert_eq!(serde_json::to_string(&again).unwrap(), text);
            }
        }
    }
    assert!(opened > 10 && opened == resolved, "{opened} {resolved}");
}

#[test]
fn what_is_new_is_kept() {
    let check = |message: &str, name: &str, typed: bool| {
        let event = AgentEvent::from_json(7, message).unwrap();
        assert_eq!((event.seq, event.kind.name()), (7, name));
        assert_eq!(!matches!(event.kind, AgentEventKind::Other { .. }), typed, "{message}");
        let again = serde_json::to_value(&event).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(message).unwrap());
    };
    let head = r#""id":"e","sessionId":"s","timestamp":"2026-01-01T00:00:00.000000Z""#;
    check(&format!(r#"{{{head},"type":"sessionMoved","to":{{"a":[1,2.50]}}}}"#), "sessionMoved", false);
    check(
        &format!(r#"{{{head},"type":"textChunk","content":"a","isComplete":false,"mood":"good"}}"#),
        "textChunk",
        true,
    );
    check(&format!(r#"{{{head},"type":"fileChanged","filePath":"/a","changeType":"moved"}}"#), "fileChanged", false);
    check(&format!(r#"{{{head},"type":"toolStarted","toolName":"x","parentToolId":"p"}}"#), "toolStarted", false);
    assert!(AgentEvent::from_json(1, "{}").is_none() && AgentEvent::from_json(1, "nonsense").is_none());
}

#[test]
fn an_error_brings_the_agent_and_its_own_words() {
    let mut found = 0;
    for recording in load_recordings().unwrap() {
        let mut decoder = AgentEventDecoder::default();
        for event in recording_events(&recording) {
            for typed in decoder.decode_event(&event) {
                if let AgentEventKind::SessionEnded { error: Some(error), .. } = typed.kind {
                    assert_eq!(error.agent_type.as_deref(), Some(&*event.agent));
                    found += usize::from(error.native_error.is_some() && error.kind != AgentErrorKind::Unknown);
                }
            }
        }
    }
    assert!(found > 0);
}
