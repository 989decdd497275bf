//! Switchboard's engine in this process, for what `switchboard run` has no words for: a session that stays, answers with
//! another input, limits for a handshake. Its agents run on the stage like all others.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use switchboard_agents::{Answer, Command, Decision, Prompt};
use switchboard_engine::{Audience, Engine, Follower, Machine, Outcome, Session, StartRequest, is_root, this_process};
use switchboard_event::{Body, Event, Id, Info, RequestOpened, SessionConfig, Timestamp};
use switchboard_store::{Options, Page, Store};
use switchboard_testkit::stage::Ended;
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use crate::{heard::Heard, trial::Trial};

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// An engine on a stage.
pub struct Inside {
    /// The engine.
    pub engine: Engine,
    runtime: Runtime,
}

/// A session that is being watched.
pub struct Watched<'a> {
    /// The session.
    pub session: Session,
    follower: Follower,
    events: Vec<Event>,
    /// How many of the events were looked at: several come at once, and the next wait goes on behind the one it found.
    seen: usize,
    inside: &'a Inside,
}

impl Inside {
    /// An engine with the sessions of the stage.
    pub fn new(trial: &Trial<'_>) -> anyhow::Result<Self> {
        let options = Options { owner: Some(this_process()), ..Options::default() };
        let store = Store::open(&trial.stage.data(), &options)?;
        let machine = Machine {
            env: trial.stage.environment().iter().cloned().collect(),
            home: trial.stage.home(),
            temp: trial.stage.data().join("tmp"),
            program: trial.switchboard.to_owned(),
            root: is_root(),
            now,
            fresh_id: || Id::from(uuid::Uuid::now_v7().to_string()),
            secret: || uuid::Uuid::new_v4().simple().to_string(),
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { engine: Engine::new(Arc::new(store), machine), runtime })
    }

    /// Starts a session with somebody to answer.
    pub fn start(&self, request: StartRequest) -> anyhow::Result<Watched<'_>> {
        let session = self.runtime.block_on(self.engine.start(request))?;
        Ok(Watched { follower: session.follow(), session, events: Vec::new(), seen: 0, inside: self })
    }

    /// What an agent offers, without a session.
    pub fn discover(&self, agent: &str, config: SessionConfig) -> anyhow::Result<Info> {
        Ok(self.runtime.block_on(self.engine.discover(agent, config, None))?)
    }

    /// All events of a session.
    pub fn events(&self, session: &Id) -> anyhow::Result<Vec<Event>> {
        let everything = Page { after: 0, limit: 1_000_000, max_bytes: 1 << 30 };
        Ok(self.engine.log().page(session, everything)?)
    }

    /// Events that were not told by a program.
    pub fn heard(&self, events: Vec<Event>, ended: Ended) -> Heard {
        Heard { events, ended }
    }
}

/// A session that stays and has somebody to answer.
pub fn staying(trial: &Trial<'_>, folder: &Path, prompt: &str) -> StartRequest {
    let mut request = StartRequest {
        agent: trial.cli.name.to_owned(),
        prompt: Some(words(prompt)),
        audience: Audience::Client,
        stay: true,
        ..StartRequest::default()
    };
    request.config.working_directory = Some(folder.to_string_lossy().into_owned());
    request
}

/// A prompt of words alone.
pub fn words(text: &str) -> Prompt {
    Prompt { text: text.to_owned(), ..Prompt::default() }
}

/// An answer that says no more than it must.
pub fn answer(request: &RequestOpened, decision: Decision) -> Answer {
    Answer { request: request.request.clone(), decision, ..Answer::default() }
}

impl Watched<'_> {
    /// Waits for the next event that is wanted.
    pub fn wait<T>(&mut self, what: &str, mut wanted: impl FnMut(&Event) -> Option<T>) -> anyhow::Result<T> {
        let Self { follower, events, seen, inside, .. } = self;
        let search = async {
            loop {
                while let Some(event) = events.get(*seen) {
                    *seen += 1;
                    if let Some(found) = wanted(event) {
                        return anyhow::Ok(found);
                    }
                }
                let next = follower.next().await?.context("the session ended before")?;
                events.extend(next.events()?);
            }
        };
        let found = inside.runtime.block_on(async { timeout(PATIENCE, search).await });
        found.map_err(|_| anyhow!("it took too long")).and_then(|found| found).with_context(|| self.never(what))
    }

    fn never(&self, what: &str) -> String {
        let kinds = self.events.iter().map(|event| format!("{:?}", event.body)).collect::<Vec<_>>();
        let last = kinds.iter().rev().take(12).rev().map(String::as_str).collect::<Vec<_>>();
        format!("never: {what}; the last events were\n{}", last.join("\n"))
    }

    /// Waits until the agent asks.
    pub fn asked(&mut self) -> anyhow::Result<RequestOpened> {
        self.wait("a question", |event| match &event.body {
            Body::RequestOpened(request) => Some((**request).clone()),
            _ => None,
        })
    }

    /// Waits until a turn is over.
    pub fn turn(&mut self) -> anyhow::Result<()> {
        self.wait("the end of a turn", |event| matches!(event.body, Body::TurnCompleted(_)).then_some(()))
    }

    /// Gives the agent a prompt.
    pub fn prompt(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.prompt(words(text)))?)
    }

    /// Wants something of the agent.
    pub fn command(&self, command: Command) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.command(command))?)
    }

    /// Answers what the agent asks.
    pub fn answer(&self, answer: Answer) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.answer(answer))?)
    }

    /// Stops the turn.
    pub fn interrupt(&self) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.interrupt())?)
    }

    /// No more is wanted: how it ends, and all that was told.
    pub fn end(mut self) -> anyhow::Result<(Outcome, Heard)> {
        let close = self.session.command(Command::Close);
        // It may have ended by itself.
        drop(self.inside.runtime.block_on(close));
        self.wait("the end", |event| matches!(event.body, Body::SessionEnded(_)).then_some(()))?;
        let outcome = self.inside.runtime.block_on(self.session.outcome());
        let ended = Ended { code: None, signal: None, stdout: String::new(), stderr: String::new() };
        Ok((outcome, Heard { events: self.events, ended }))
    }
}

#[expect(clippy::disallowed_methods, reason = "the engine is given its clock")]
fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap_or_default()
}
