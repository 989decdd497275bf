//! `thread/…`: beginning threads, going on with them, listing them, putting them away.

use std::sync::Arc;

use switchboard_agents::{Agent, find_agent};
use switchboard_dialects::harness::{
    Done, HarnessRequestId, RpcError, SandboxSettings, Thread, ThreadArchiveParams, ThreadListParams, ThreadListResult,
    ThreadMeta, ThreadResumeParams, ThreadResumeResult, ThreadStartParams, ThreadStartResult, result_response,
    thread_started, warning_notice,
};
use switchboard_event::{ClientSettings, SessionConfig, Timestamp, describe_ignored};
use switchboard_store::{SessionFilter, SessionRecord};

use super::{connection::Connection, refusal::refusal, thread::OpenThread, turns::changes_of};
use crate::{
    conversation::{Changes, Conversation, Opening},
    harness::selectors::Selectors,
};

/// So many threads are listed where nothing is said, and at most.
const USUAL: u32 = 25;
const MOST: u32 = 200;

/// How much of the first prompt stands for the thread.
const PREVIEW: usize = 200;

impl Connection {
    pub(super) async fn thread_start(
        &self,
        id: &HarnessRequestId,
        params: ThreadStartParams,
        mut given: ClientSettings,
    ) -> Result<(), RpcError> {
        let named = given.config.agent_type.take();
        let agent = self.agent(params.agent.as_deref().or(named.as_deref()))?;
        let is_ours = self.purpose().agent.is_some_and(|ours| ours.name == agent.name);
        let command =
            params.command.clone().unwrap_or_else(|| if is_ours { self.purpose().command.clone() } else { Vec::new() });
        let mut config = self.config_of(agent, params).await?;
        config.add_given(&given.config).map_err(|error| RpcError::bad_params(error.to_string()))?;
        let opening = Opening { agent: agent.name.to_owned(), config, command, ..Opening::default() };
        let conversation = self.service().converse(opening).await.map_err(refusal)?;
        let stored = self.service().stored(conversation.id()).await.map_err(refusal)?;
        let shown = Shown::new(&stored, conversation.agent().provider);
        let answer = ThreadStartResult { thread: shown.thread(), model_provider: conversation.agent().provider };
        let thread = self.open(conversation.clone());
        self.say(result_response(id, answer)).await;
        self.introduce(&thread, &shown, None).await;
        if let Some(text) = describe_ignored(&given.ignored) {
            self.say(warning_notice(thread.conversation.id(), &text)).await;
        }
        Ok(())
    }

    pub(super) async fn thread_resume(
        &self,
        id: &HarnessRequestId,
        params: ThreadResumeParams,
        given: SessionConfig,
    ) -> Result<(), RpcError> {
        let conversation = self.service().take_up(&params.thread_id).await.map_err(refusal)?;
        let own = SessionConfig { model: params.model, working_directory: params.cwd, ..SessionConfig::default() };
        let changes = changes_of(own, &given)?;
        conversation.change(&changes).await.map_err(refusal)?;
        let mut stored = self.service().stored(conversation.id()).await.map_err(refusal)?;
        if stored.archived {
            self.service().archive(&stored.id, false).await.map_err(refusal)?;
            stored.archived = false;
        }
        let info = conversation.info().await.map_err(refusal)?;
        let shown = Shown::new(&stored, info.provider.as_deref().unwrap_or(conversation.agent().provider));
        let thread = self.open(conversation);
        self.say(result_response(id, ThreadResumeResult { thread: shown.thread() })).await;
        self.introduce(&thread, &shown, Some(stored.head)).await;
        Ok(())
    }

    /// Makes a thread one of this connection. It is one before the client hears of it: the next line may be a turn.
    fn open(&self, conversation: Conversation) -> Arc<OpenThread> {
        let id = conversation.id().clone();
        let thread = Arc::new(OpenThread::new(conversation));
        if let Some(before) = self.threads().insert(id.clone(), thread.clone()) {
            before.stop();
        }
        self.set_last_opened(id);
        thread
    }

    /// Begins to tell what happens in a thread.
    async fn introduce(&self, thread: &Arc<OpenThread>, shown: &Shown<'_>, history: Option<u64>) {
        self.say(thread_started(shown.thread())).await;
        self.tell(thread, history);
    }

    pub(super) async fn thread_list(&self, id: &HarnessRequestId, params: &ThreadListParams) -> Result<(), RpcError> {
        let limit = match params.limit.unwrap_or(USUAL) {
            0 => return Err(RpcError::bad_params("limit: at least 1")),
            limit => usize::try_from(limit.min(MOST)).unwrap_or(usize::MAX),
        };
        let before = params.cursor.as_deref().map(place).transpose()?;
        let archived = Some(params.archived.unwrap_or(false));
        let filter = SessionFilter { archived, before, limit: Some(limit + 1), ..SessionFilter::default() };
        let mut found = self.service().ask(move |log| log.list_sessions(&filter)).await.map_err(refusal)?;
        let more = found.len() > limit;
        found.truncate(limit);
        let shown: Vec<_> = found.iter().map(|stored| Shown::new(stored, provider(&stored.agent))).collect();
        let next_cursor = found.last().filter(|_| more).map(|last| cursor(last.number));
        let page = ThreadListResult { data: shown.iter().map(Shown::thread).collect(), next_cursor };
        self.say(result_response(id, page)).await;
        Ok(())
    }

    pub(super) async fn thread_archive(
        &self,
        id: &HarnessRequestId,
        params: &ThreadArchiveParams,
        archived: bool,
    ) -> Result<(), RpcError> {
        self.service().archive(&params.thread_id, archived).await.map_err(refusal)?;
        self.say(result_response(id, Done {})).await;
        Ok(())
    }

    /// The agent that is meant: the one that is named, or the connection's.
    pub(super) fn agent(&self, name: Option<&str>) -> Result<&'static Agent, RpcError> {
        let hint = "`switchboard agents` lists them".to_owned();
        match name {
            Some(name) => find_agent(name).ok_or_else(|| {
                RpcError::bad_params(format!("agent: there is no agent `{name}`"))
                    .with_data("unknown_agent", Some(hint))
            }),
            None => self.purpose().agent.ok_or_else(|| {
                RpcError::bad_params("agent: which agent? This connection has none of its own")
                    .with_data("no_agent", Some(hint))
            }),
        }
    }

    async fn config_of(&self, agent: &'static Agent, params: ThreadStartParams) -> Result<SessionConfig, RpcError> {
        let mut chosen = self.defaults().get(agent.name).cloned().unwrap_or_default();
        chosen.extend(params.config.unwrap_or_default());
        let changes = if chosen.is_empty() {
            Changes::default()
        } else {
            Selectors::of(&self.discover(agent).await?).changes(chosen)?
        };
        let sandbox = params.sandbox.map(SandboxSettings::from);
        Ok(SessionConfig {
            working_directory: params.cwd,
            model: params.model,
            mode: changes.mode,
            options: changes.options,
            approval_mode: params.approval_policy.map(Into::into),
            sandbox_mode: sandbox.as_ref().map(|sandbox| sandbox.mode),
            writable_roots: sandbox.as_ref().map(|sandbox| sandbox.writable_roots.clone()),
            network_access: sandbox.and_then(|sandbox| sandbox.network_access),
            ..SessionConfig::default()
        })
    }

    /// Says something, to whoever is still there.
    pub(super) async fn say(&self, line: Vec<u8>) {
        drop(self.outbox().say(line).await);
    }
}

/// A thread, as clients see it.
struct Shown<'a> {
    stored: &'a SessionRecord,
    provider: &'a str,
}

impl<'a> Shown<'a> {
    fn new(stored: &'a SessionRecord, provider: &'a str) -> Self {
        Self { stored, provider }
    }

    fn thread(&self) -> Thread<'_> {
        let stored = self.stored;
        let preview = stored.title.as_deref().unwrap_or(&stored.prompt);
        Thread {
            id: &stored.id,
            preview: preview.get(..preview.floor_char_boundary(PREVIEW)).unwrap_or_default(),
            model_provider: self.provider,
            created_at: seconds(stored.created),
            meta: Some(ThreadMeta {
                agent: &stored.agent,
                agent_session: stored.agent_session.as_deref(),
                cwd: Some(&stored.cwd),
                state: Some(stored.state.name()),
                title: stored.title.as_deref(),
                turns: Some(stored.turns),
                updated_at: Some(seconds(stored.updated)),
                archived: stored.archived,
                ..ThreadMeta::default()
            }),
        }
    }
}

fn seconds(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(1_000_000)
}

/// Who makes an agent; nothing is known of one that is not in the table.
fn provider(name: &str) -> &'static str {
    find_agent(name).map_or("", |agent| agent.provider)
}

/// Where a page ends, for clients to give back. It means nothing to them.
fn cursor(number: u64) -> String {
    format!("t{number:x}")
}

fn place(cursor: &str) -> Result<u64, RpcError> {
    let number = cursor.strip_prefix('t').and_then(|number| u64::from_str_radix(number, 16).ok());
    number.ok_or_else(|| RpcError::bad_params("cursor: none that thread/list has given"))
}
