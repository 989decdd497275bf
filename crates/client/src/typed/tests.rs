//! Every message of the dialect has a type, and none loses anything on the way through it.

use serde_json::Value;
use switchboard_dialects::{DIALECTS, Messages};
use switchboard_event::{Body, Event};
use switchboard_testkit::{
    play,
    recording::{Recording, recordings},
};

use super::{AgentEvent, AgentEventKind, stream::Typist};
use crate::AgentErrorKind;

/// The events of a recording.
fn events(recording: &Recording) -> Vec<Event> {
    play::events(recording.source, &recording.bytes)
}

#[test]
fn every_message_of_every_recording_is_typed_without_loss() {
    let (mut messages, mut kinds) = (0, std::collections::BTreeSet::new());
    for recording in recordings().unwrap() {
        let (mut projection, mut out) = ((DIALECTS[0].projection)(), Messages::default());
        for event in events(&recording) {
            out.clear();
            projection.event(&event, &mut out);
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
    let all = recordings().unwrap();
    let (mut opened, mut resolved) = (0, 0);
    for recording in &all {
        let mut typist = Typist::default();
        for event in events(recording) {
            let typed = typist.read(&event);
            let is = |name: &str| typed.iter().filter(|event| event.kind.name() == name).count();
            match event.body {
                Body::RequestOpened(_) => opened += is("approvalRequested"),
                Body::RequestResolved(_) => resolved += is("approvalResolved"),
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
    for recording in recordings().unwrap() {
        let mut typist = Typist::default();
        for event in events(&recording) {
            for typed in typist.read(&event) {
                if let AgentEventKind::SessionEnded { error: Some(error), .. } = typed.kind {
                    assert_eq!(error.agent_type.as_deref(), Some(&*event.agent));
                    found += usize::from(error.native_error.is_some() && error.kind != AgentErrorKind::Unknown);
                }
            }
        }
    }
    assert!(found > 0);
}
