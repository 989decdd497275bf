//! An engine for tests.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use switchboard_agents::{AgentPrompt, RequestAnswer, RequestDecision};
use switchboard_engine::{
    Engine, Follower, HostEnvironment, RequestAudience, SessionHandle, StartRequest, this_process,
};
use switchboard_event::{Event, EventBody, Id, RequestOpened, Timestamp};
use switchboard_store::{SessionLog, SqliteStore, StoreOptions};
use tempfile::TempDir;

/// An engine and its working directory.
pub struct EngineFixture {
    pub engine: Engine,
    pub directory: TempDir,
}

impl EngineFixture {
    pub fn new() -> Self {
        Self::with(&StoreOptions::default())
    }

    /// Returns an engine with a program that starts the processes of agents.
    pub fn with_program(program: &str) -> Self {
        let fixture = Self::new();
        let host = HostEnvironment { program: program.into(), ..fixture.engine.host().clone() };
        Self { engine: Engine::new(fixture.engine.log().clone(), host), ..fixture }
    }

    pub fn with(options: &StoreOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = StoreOptions { owner: Some(this_process()), ..options.clone() };
        let store = SqliteStore::open(&directory.path().join("data"), &options).unwrap();
        let log: Arc<dyn SessionLog> = Arc::new(store);
        let engine = Engine::new(log, host_environment(&directory));
        Self { engine, directory }
    }

    /// Returns the request for a script, with a client that can answer.
    pub fn script(&self, lines: &str) -> StartRequest {
        let mut request = StartRequest {
            agent: "script".to_owned(),
            prompt: Some(prompt(lines)),
            audience: RequestAudience::Client,
            ..StartRequest::default()
        };
        request.config.working_directory = Some(self.directory.path().to_string_lossy().into_owned());
        request
    }

    pub async fn start(&self, request: StartRequest) -> SessionHandle {
        self.engine.start_session(request).await.unwrap()
    }

    /// Runs a script to its end.
    pub async fn play(&self, request: StartRequest) -> Vec<Event> {
        let session = self.start(request).await;
        remaining_events(&mut session.follow()).await
    }
}

fn host_environment(directory: &TempDir) -> HostEnvironment {
    HostEnvironment {
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        home: directory.path().to_owned(),
        temp: directory.path().join("tmp"),
        program: "/nowhere".into(),
        is_root: false,
        now,
        new_id: || Id::from(uuid::Uuid::now_v7().to_string()),
        new_secret: || uuid::Uuid::new_v4().simple().to_string(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the engine is given a clock, and here it is")]
fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap()
}

pub fn prompt(text: &str) -> AgentPrompt {
    AgentPrompt { text: text.to_owned(), ..AgentPrompt::default() }
}

pub fn answer(request: &RequestOpened, decision: RequestDecision) -> RequestAnswer {
    RequestAnswer { request: request.request.clone(), decision, ..RequestAnswer::default() }
}

/// Returns the remaining events. Fails after a timeout, so that a hanging test is reported.
pub async fn remaining_events(follower: &mut Follower) -> Vec<Event> {
    let mut all = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        while let Some(events) = follower.next().await.unwrap() {
            all.extend(events.events().unwrap());
        }
    });
    assert!(ended.await.is_ok(), "the session did not end: {}", event_kinds(&all));
    all
}

pub async fn wait_for_event<T>(follower: &mut Follower, wanted: impl Fn(&EventBody) -> Option<T>) -> T {
    let found = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let events = follower.next().await.unwrap().expect("the session ended before");
            if let Some(found) = events.events().unwrap().iter().find_map(|event| wanted(&event.body)) {
                return found;
            }
        }
    });
    found.await.expect("it never came")
}

pub async fn wait_for_request(follower: &mut Follower) -> RequestOpened {
    wait_for_event(follower, |body| match body {
        EventBody::RequestOpened(request) => Some((**request).clone()),
        _ => None,
    })
    .await
}

/// Returns the kinds of events, separated by spaces.
pub fn event_kinds(events: &[Event]) -> String {
    let kind = |event: &Event| serde_json::to_value(event.body.kind()).unwrap().as_str().unwrap().to_owned();
    events.iter().map(kind).collect::<Vec<_>>().join(" ")
}

/// Returns the outcome and decider of all requests.
pub fn resolutions(events: &[Event]) -> Vec<String> {
    let resolution = |event: &Event| match &event.body {
        EventBody::RequestResolved(resolved) => Some(format!("{:?} by {:?}", resolved.outcome, resolved.by)),
        _ => None,
    };
    events.iter().filter_map(resolution).collect()
}

pub fn end_reason(events: &[Event]) -> String {
    match &events.last().unwrap().body {
        EventBody::SessionEnded(ended) => format!("{:?}", ended.reason),
        other => panic!("not an end: {other:?}"),
    }
}
