//! Switchboard's engine in this process, for cases that `switchboard run` has no options for: sessions that stay open,
//! answers with changed input, handshake timeouts. Its agents run on the stage too.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use switchboard_agents::{AgentCommand, AgentPrompt, RequestAnswer, RequestDecision};
use switchboard_engine::{
    Engine, Follower, HostEnvironment, RequestAudience, RunOutcome, SessionHandle, StartRequest, is_root, this_process,
};
use switchboard_event::{Event, EventBody, Id, Info, RequestOpened, SessionConfig, Timestamp};
use switchboard_store::{PageQuery, SqliteStore, StoreOptions};
use switchboard_testkit::stage::StageProcessOutput;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::observed_run::ObservedRun;
use crate::trial::LiveTrial;

const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

pub struct EmbeddedEngine {
    pub engine: Engine,
    runtime: Runtime,
}

pub struct WatchedSession<'a> {
    pub session: SessionHandle,
    follower: Follower,
    events: Vec<Event>,
    /// Number of events examined: several arrive at once, and the next wait continues after the last match.
    seen: usize,
    inside: &'a EmbeddedEngine,
}

impl EmbeddedEngine {
    /// Creates an engine with the sessions of the stage.
    pub fn new(trial: &LiveTrial<'_>) -> anyhow::Result<Self> {
        let options = StoreOptions { owner: Some(this_process()), ..StoreOptions::default() };
        let store = SqliteStore::open(&trial.stage.data_dir(), &options)?;
        let machine = HostEnvironment {
            env: trial.stage.environment().iter().cloned().collect(),
            home: trial.stage.home_dir(),
            temp: trial.stage.data_dir().join("tmp"),
            program: trial.switchboard.to_owned(),
            is_root: is_root(),
            now,
            new_id: || Id::from(uuid::Uuid::now_v7().to_string()),
            new_secret: || uuid::Uuid::new_v4().simple().to_string(),
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { engine: Engine::new(Arc::new(store), machine), runtime })
    }

    /// Starts a session whose requests are answered by the client.
    pub fn start_session(&self, request: StartRequest) -> anyhow::Result<WatchedSession<'_>> {
        let session = self.runtime.block_on(self.engine.start_session(request))?;
        Ok(WatchedSession { follower: session.follow(), session, events: Vec::new(), seen: 0, inside: self })
    }

    /// Returns what an agent offers, without a session.
    pub fn discover_agent(&self, agent: &str, config: SessionConfig) -> anyhow::Result<Info> {
        Ok(self.runtime.block_on(self.engine.discover_capabilities(agent, config, None))?)
    }

    pub fn session_events(&self, session: &Id) -> anyhow::Result<Vec<Event>> {
        let everything = PageQuery { after: 0, limit: 1_000_000, max_bytes: 1 << 30, kinds: &[] };
        Ok(self.engine.log().read_events(session, everything)?)
    }

    pub fn run_from_events(&self, events: Vec<Event>, ended: StageProcessOutput) -> ObservedRun {
        ObservedRun { events, ended }
    }
}

/// A request for a session that stays open, with a client to answer.
pub fn persistent_request(trial: &LiveTrial<'_>, folder: &Path, prompt: &str) -> StartRequest {
    StartRequest {
        agent: trial.cli.name.to_owned(),
        prompt: Some(text_prompt(prompt)),
        config: trial.session_config(folder),
        audience: RequestAudience::Client,
        stay: true,
        ..StartRequest::default()
    }
}

fn text_prompt(text: &str) -> AgentPrompt {
    AgentPrompt { text: text.to_owned(), ..AgentPrompt::default() }
}

pub fn minimal_answer(request: &RequestOpened, decision: RequestDecision) -> RequestAnswer {
    RequestAnswer { request: request.request.clone(), decision, ..RequestAnswer::default() }
}

impl WatchedSession<'_> {
    /// Waits for the next matching event.
    pub fn wait_for_event<T>(&mut self, what: &str, mut wanted: impl FnMut(&Event) -> Option<T>) -> anyhow::Result<T> {
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
        let found = inside.runtime.block_on(async { timeout(EVENT_TIMEOUT, search).await });
        found
            .map_err(|_| anyhow!("it took too long"))
            .and_then(|found| found)
            .with_context(|| self.timeout_message(what))
    }

    fn timeout_message(&self, what: &str) -> String {
        let kinds = self.events.iter().map(|event| format!("{:?}", event.body)).collect::<Vec<_>>();
        let last = kinds.iter().rev().take(12).rev().map(String::as_str).collect::<Vec<_>>();
        format!("never: {what}; the last events were\n{}", last.join("\n"))
    }

    pub fn wait_for_request(&mut self) -> anyhow::Result<RequestOpened> {
        self.wait_for_event("a question", |event| match &event.body {
            EventBody::RequestOpened(request) => Some((**request).clone()),
            _ => None,
        })
    }

    pub fn wait_for_turn_end(&mut self) -> anyhow::Result<()> {
        self.wait_for_event("the end of a turn", |event| {
            matches!(event.body, EventBody::TurnCompleted(_)).then_some(())
        })
    }

    pub fn send_prompt(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.send_prompt(text_prompt(text)))?)
    }

    pub fn send_command(&self, command: AgentCommand) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.send_command(command))?)
    }

    pub fn send_answer(&self, answer: RequestAnswer) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.answer_request(answer))?)
    }

    pub fn interrupt_turn(&self) -> anyhow::Result<()> {
        Ok(self.inside.runtime.block_on(self.session.interrupt())?)
    }

    /// Closes the session and returns its outcome and all events.
    pub fn close_and_wait(mut self) -> anyhow::Result<(RunOutcome, ObservedRun)> {
        let close = self.session.send_command(AgentCommand::Close);
        // The session may have ended already.
        drop(self.inside.runtime.block_on(close));
        self.wait_for_event("the end", |event| matches!(event.body, EventBody::SessionEnded(_)).then_some(()))?;
        let outcome = self.inside.runtime.block_on(self.session.wait_for_outcome());
        let ended = StageProcessOutput { code: None, signal: None, stdout: String::new(), stderr: String::new() };
        Ok((outcome, ObservedRun { events: self.events, ended }))
    }
}

#[expect(clippy::disallowed_methods, reason = "the engine is given its clock")]
fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap_or_default()
}
