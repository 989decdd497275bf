//! An engine to try things on.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use switchboard_agents::{Answer, Decision, Prompt};
use switchboard_engine::{Audience, Engine, Follower, Machine, Session, StartRequest, this_process};
use switchboard_event::{Body, Event, Id, RequestOpened, Timestamp};
use switchboard_store::{Log, Options, Store};
use tempfile::TempDir;

/// An engine and the folder that it works in.
pub struct Rig {
    pub engine: Engine,
    pub folder: TempDir,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(&Options::default())
    }

    pub fn with(options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { owner: Some(this_process()), ..options.clone() };
        let store = Store::open(&folder.path().join("data"), &options).unwrap();
        let log: Arc<dyn Log> = Arc::new(store);
        let engine = Engine::new(log, machine(&folder));
        Self { engine, folder }
    }

    /// A script to perform, with somebody there to answer.
    pub fn script(&self, lines: &str) -> StartRequest {
        let mut request = StartRequest {
            agent: "script".to_owned(),
            prompt: Some(prompt(lines)),
            audience: Audience::Client,
            ..StartRequest::default()
        };
        request.config.working_directory = Some(self.folder.path().to_string_lossy().into_owned());
        request
    }

    pub async fn start(&self, request: StartRequest) -> Session {
        self.engine.start(request).await.unwrap()
    }

    /// Runs a script to its end.
    pub async fn play(&self, request: StartRequest) -> Vec<Event> {
        let session = self.start(request).await;
        rest(&mut session.follow()).await
    }
}

fn machine(folder: &TempDir) -> Machine {
    Machine {
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        home: folder.path().to_owned(),
        temp: folder.path().join("tmp"),
        program: "/nowhere".into(),
        root: false,
        now,
        fresh_id: || Id::from(uuid::Uuid::now_v7().to_string()),
        secret: || uuid::Uuid::new_v4().simple().to_string(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the engine is given a clock, and here it is")]
fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap()
}

pub fn prompt(text: &str) -> Prompt {
    Prompt { text: text.to_owned(), ..Prompt::default() }
}

pub fn answer(request: &RequestOpened, decision: Decision) -> Answer {
    Answer { request: request.request.clone(), decision, ..Answer::default() }
}

/// Everything that is still to come, with a bound on the waiting so that a test that hangs says so.
pub async fn rest(follower: &mut Follower) -> Vec<Event> {
    let mut all = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        while let Some(events) = follower.next().await.unwrap() {
            all.extend(events.events().unwrap());
        }
    });
    assert!(ended.await.is_ok(), "the session did not end: {}", kinds(&all));
    all
}

/// Waits for the first event that is wanted.
pub async fn wait<T>(follower: &mut Follower, wanted: impl Fn(&Body) -> Option<T>) -> T {
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

pub async fn opened(follower: &mut Follower) -> RequestOpened {
    wait(follower, |body| match body {
        Body::RequestOpened(request) => Some((**request).clone()),
        _ => None,
    })
    .await
}

/// The kinds of events, a word each.
pub fn kinds(events: &[Event]) -> String {
    let kind = |event: &Event| serde_json::to_value(event.body.kind()).unwrap().as_str().unwrap().to_owned();
    events.iter().map(kind).collect::<Vec<_>>().join(" ")
}

/// What became of all requests: outcome and decider.
pub fn resolutions(events: &[Event]) -> Vec<String> {
    let resolution = |event: &Event| match &event.body {
        Body::RequestResolved(resolved) => Some(format!("{:?} by {:?}", resolved.outcome, resolved.by)),
        _ => None,
    };
    events.iter().filter_map(resolution).collect()
}

/// How the last run ended.
pub fn reason(events: &[Event]) -> String {
    match &events.last().unwrap().body {
        Body::SessionEnded(ended) => format!("{:?}", ended.reason),
        other => panic!("not an end: {other:?}"),
    }
}
