//! Sessions that stay open between turns: several turns in one run, changes in between, consecutive runs, and other
//! processes.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;
use switchboard_agents::AgentPrompt;
use switchboard_dialects::find_dialect;
use switchboard_event::{ApprovalMode, SessionConfig};
use switchboard_serve::{
    Service,
    conversation::{Conversation, MessageWatch, NewConversation, SettingChanges},
    feed::FeedStart,
};

use crate::rig::Rig;

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, future).await.unwrap_or_else(|_| panic!("{what} did not come"))
}

async fn open(service: &Service) -> Conversation {
    service
        .start_conversation(NewConversation { agent: "script".to_owned(), ..NewConversation::default() })
        .await
        .unwrap()
}

struct ReceivedEvents {
    watch: MessageWatch,
    events: Vec<Value>,
}

impl ReceivedEvents {
    async fn of(conversation: &Conversation) -> Self {
        let watch =
            conversation.follow_messages(find_dialect("events").unwrap(), FeedStart::AfterMessages(0)).await.unwrap();
        Self { watch, events: Vec::new() }
    }

    /// Waits for the next event of a kind.
    async fn next(&mut self, kind: &str) -> Value {
        within(kind, async {
            loop {
                if let Some(place) = self.events.iter().position(|event| event["kind"] == kind) {
                    return self.events.drain(..=place).next_back().unwrap();
                }
                let part = self.watch.next().await.unwrap();
                let events = part.messages().iter().map(|one| serde_json::from_slice::<Value>(&one.json).unwrap());
                self.events.extend(events);
            }
        })
        .await
    }
}

fn prompt(text: &str) -> AgentPrompt {
    AgentPrompt { text: text.to_owned(), ..AgentPrompt::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_has_several_turns_and_the_next_goes_on_behind_it() {
    let rig = Rig::new();
    let conversation = open(&rig.service).await;
    let mut received = ReceivedEvents::of(&conversation).await;
    assert_eq!(received.next("session.started").await["run"], 1);
    for turn in [1, 2] {
        conversation.prompt(prompt("text hello"), &SettingChanges::default()).await.unwrap();
        assert_eq!(received.next("turn.completed").await["turn"], turn);
    }
    conversation.close().await;
    assert_eq!(received.next("session.ended").await["data"]["reason"], "completed");
    conversation.prompt(prompt("text again"), &SettingChanges::default()).await.unwrap();
    let completed = received.next("turn.completed").await;
    assert_eq!((&completed["turn"], &completed["run"]), (&3.into(), &2.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_can_be_told_needs_no_other_process_and_the_rest_does() {
    let rig = Rig::new();
    let conversation = open(&rig.service).await;
    let mut received = ReceivedEvents::of(&conversation).await;
    let options = BTreeMap::from([("pace".to_owned(), "brisk".to_owned())]);
    let model = conversation.service().discover("script", None).await.unwrap().models.pop().unwrap().id;
    let live = SettingChanges { model: Some(model.clone()), options, ..SettingChanges::default() };
    conversation.prompt(prompt("text one"), &live).await.unwrap();
    assert_eq!(received.next("turn.completed").await["run"], 1);
    let info = conversation.info().await.unwrap();
    let pace = info.options.iter().find(|option| option.id == "pace").unwrap();
    assert_eq!((info.model, pace.value.as_str()), (Some(model.clone()), "brisk"));

    let strict = SettingChanges { approval_mode: Some(ApprovalMode::AutoAll), ..SettingChanges::default() };
    conversation.prompt(prompt("approve touch x\ntext two"), &strict).await.unwrap();
    assert_eq!(received.next("turn.completed").await["run"], 2, "the rules belong to a run");
    let settings = conversation.settings().await.unwrap();
    assert_eq!((settings.model, settings.approval_mode), (Some(model), Some(ApprovalMode::AutoAll)));
    assert_eq!(settings.options["pace"], "brisk", "what was received once holds for later runs");
    let same = conversation.info().await.unwrap();
    assert_eq!(same.options.iter().find(|option| option.id == "pace").unwrap().value, "brisk");

    conversation.prompt(prompt("text three"), &strict).await.unwrap();
    assert_eq!(received.next("turn.completed").await["run"], 2, "what holds already changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_needs_another_process_changes_in_a_turn() {
    let rig = Rig::new();
    let conversation = open(&rig.service).await;
    let mut received = ReceivedEvents::of(&conversation).await;
    conversation.prompt(prompt("sleep 60"), &SettingChanges::default()).await.unwrap();
    received.next("turn.started").await;
    let strict = SettingChanges { approval_mode: Some(ApprovalMode::AutoAll), ..SettingChanges::default() };
    assert_eq!(conversation.change(&strict).await.unwrap_err().code, "turn_in_progress");
    conversation.interrupt().await.unwrap();
    assert_eq!(received.next("turn.completed").await["data"]["status"], "interrupted");
    conversation.change(&strict).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_never_had_a_turn_can_be_taken_up() {
    let rig = Rig::new();
    let conversation = open(&rig.service).await;
    let mut received = ReceivedEvents::of(&conversation).await;
    conversation.close().await;
    received.next("session.ended").await;
    let again = rig.service.find_conversation(conversation.id()).await.unwrap();
    again.prompt(prompt("text late"), &SettingChanges::default()).await.unwrap();
    let completed = received.next("turn.completed").await;
    assert_eq!((&completed["turn"], &completed["run"]), (&1.into(), &2.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_takes_it_up_while_it_runs_and_goes_on_when_it_has_ended() {
    let rig = Rig::new();
    rig.listen();
    let conversation = open(&rig.service).await;
    let beside = rig.second_process();
    let there = beside.service.find_conversation(conversation.id()).await.unwrap();
    let mut received = ReceivedEvents::of(&there).await;
    there.prompt(prompt("text from there"), &SettingChanges::default()).await.unwrap();
    received.next("turn.completed").await;
    let folder = SettingChanges { working_directory: Some("/".to_owned()), ..SettingChanges::default() };
    assert_eq!(there.change(&folder).await.unwrap_err().code, "elsewhere");
    conversation.close().await;
    received.next("session.ended").await;
    there.prompt(prompt("text mine now"), &SettingChanges::default()).await.unwrap();
    assert_eq!(received.next("turn.completed").await["run"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_offer_leaves_no_session_behind() {
    let rig = Rig::new();
    let info = rig.service.discover("script", None).await.unwrap();
    assert!(!info.models.is_empty() && !info.options.is_empty(), "{info:?}");
    assert_eq!(rig.get("/api/sessions").await.body["sessions"], serde_json::json!([]));
    assert_eq!(rig.service.discover("nobody", None).await.unwrap_err().code, "unknown_agent");
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_beside_the_workspace_are_below_the_roots_too() {
    let inside = tempfile::tempdir().unwrap();
    let rig = Rig::with(vec![inside.path().to_owned()]);
    let config = SessionConfig {
        working_directory: Some(inside.path().to_string_lossy().into_owned()),
        writable_roots: Some(vec!["/usr".to_owned()]),
        ..SessionConfig::default()
    };
    let opening = NewConversation { agent: "script".to_owned(), config, ..NewConversation::default() };
    let refused = rig.service.start_conversation(opening).await.map(drop).unwrap_err();
    assert_eq!(refused.code, "outside_roots");
}

#[tokio::test(flavor = "multi_thread")]
async fn slash_commands_are_the_agents_own() {
    let rig = Rig::new();
    let conversation = open(&rig.service).await;
    let mut received = ReceivedEvents::of(&conversation).await;
    assert!(conversation.wait_until_ready().await);
    let known = conversation.info().await.unwrap().commands;
    let name = &known.first().unwrap().name;
    conversation.send_slash_command(name, "").await.unwrap();
    received.next("turn.completed").await;
    let refused = conversation.send_slash_command("no-such-command", "").await.unwrap_err();
    assert_eq!(refused.code, "unsupported", "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_settings_decide_is_asked_of_nobody() {
    let rig = Rig::new();
    let config = SessionConfig { approval_mode: Some(ApprovalMode::AskDangerous), ..SessionConfig::default() };
    let opening = NewConversation { agent: "script".to_owned(), config, ..NewConversation::default() };
    let conversation = rig.service.start_conversation(opening).await.unwrap();
    let mut received = ReceivedEvents::of(&conversation).await;
    conversation.prompt(prompt("approve-edit inside.txt"), &SettingChanges::default()).await.unwrap();
    assert_eq!(received.next("request.opened").await["data"]["decided"], true);
    assert_eq!(received.next("request.resolved").await["data"]["by"], "policy");
    received.next("turn.completed").await;
    conversation.close().await;
    received.next("session.ended").await;
    for (name, asks) in [
        ("harness", "requestApproval"),
        ("message", "permission_request"),
        ("consumer", "permission_request"),
        ("acp", "request_permission"),
    ] {
        let mut reader = rig
            .service
            .open_reader(conversation.id(), find_dialect(name).unwrap(), FeedStart::AfterMessages(0))
            .await
            .unwrap();
        while let Some(part) = reader.next().await.unwrap() {
            for message in part.messages() {
                let text = String::from_utf8_lossy(&message.json);
                assert!(!text.contains(asks), "{name}: {text}");
            }
        }
    }
}
