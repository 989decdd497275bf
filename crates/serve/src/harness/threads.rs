//! `thread/…`: starting, resuming, listing and archiving threads.

use std::sync::Arc;

use switchboard_agents::{Agent, find_agent};
use switchboard_dialects::harness::{
    EmptyResult, HarnessRequestId, RpcError, SandboxSettings, Thread, ThreadArchiveParams, ThreadListParams,
    ThreadListResult, ThreadMeta, ThreadResumeParams, ThreadResumeResult, ThreadStartParams, ThreadStartResult,
    result_response, thread_started, warning_notice,
};
use switchboard_event::{ClientSettings, SessionConfig, Timestamp, describe_ignored};
use switchboard_store::{SessionFilter, SessionRecord};

use super::{
    connection::HarnessConnection, open_thread::OpenThread, settings::AgentSelectors, to_rpc_error,
    turns::to_setting_changes,
};
use crate::conversation::{Conversation, NewConversation, SettingChanges};

const DEFAULT_LIST_LIMIT: u32 = 25;
const MAX_LIST_LIMIT: u32 = 200;

const MAX_PREVIEW_BYTES: usize = 200;

impl HarnessConnection {
    pub(super) async fn thread_start(
        &self,
        id: &HarnessRequestId,
        params: ThreadStartParams,
        mut given: ClientSettings,
    ) -> Result<(), RpcError> {
        let agent_type = given.config.agent_type.take();
        let agent = self.agent(params.agent.as_deref().or(agent_type.as_deref()))?;
        let is_default = self.options().agent.is_some_and(|default| default.name == agent.name);
        let command = params
            .command
            .clone()
            .unwrap_or_else(|| if is_default { self.options().command.clone() } else { Vec::new() });
        let mut config = self.thread_config(agent, params).await?;
        config.add_given(&given.config).map_err(|error| RpcError::bad_params(error.to_string()))?;
        let new = NewConversation { agent: agent.name.to_owned(), config, command, ..NewConversation::default() };
        let conversation = self.service().start_conversation(new).await.map_err(to_rpc_error)?;
        let stored = self.service().session_record(conversation.id()).await.map_err(to_rpc_error)?;
        let record = ThreadRecord::new(&stored, conversation.agent().provider);
        let result = ThreadStartResult { thread: record.thread(), model_provider: conversation.agent().provider };
        let thread = self.open(conversation.clone());
        self.send(result_response(id, result)).await;
        self.announce(&thread, &record, None).await;
        if let Some(text) = describe_ignored(&given.ignored) {
            self.send(warning_notice(thread.conversation.id(), &text)).await;
        }
        Ok(())
    }

    pub(super) async fn thread_resume(
        &self,
        id: &HarnessRequestId,
        params: ThreadResumeParams,
        given: SessionConfig,
    ) -> Result<(), RpcError> {
        let conversation = self.service().find_conversation(&params.thread_id).await.map_err(to_rpc_error)?;
        let own = SessionConfig { model: params.model, working_directory: params.cwd, ..SessionConfig::default() };
        let changes = to_setting_changes(own, &given)?;
        conversation.change(&changes).await.map_err(to_rpc_error)?;
        let mut stored = self.service().session_record(conversation.id()).await.map_err(to_rpc_error)?;
        if stored.archived {
            self.service().archive(&stored.id, false).await.map_err(to_rpc_error)?;
            stored.archived = false;
        }
        let info = conversation.info().await.map_err(to_rpc_error)?;
        let record = ThreadRecord::new(&stored, info.provider.as_deref().unwrap_or(conversation.agent().provider));
        let thread = self.open(conversation);
        self.send(result_response(id, ThreadResumeResult { thread: record.thread() })).await;
        self.announce(&thread, &record, Some(stored.head)).await;
        Ok(())
    }

    /// Opens a thread on this connection before the client knows it: its next line may be a turn.
    fn open(&self, conversation: Conversation) -> Arc<OpenThread> {
        let id = conversation.id().clone();
        let thread = Arc::new(OpenThread::new(conversation));
        if let Some(previous) = self.threads().insert(id.clone(), thread.clone()) {
            previous.stop_messages();
        }
        self.set_last_opened(id);
        thread
    }

    /// Announces a thread and starts to send its messages.
    async fn announce(&self, thread: &Arc<OpenThread>, record: &ThreadRecord<'_>, history: Option<u64>) {
        self.send(thread_started(record.thread())).await;
        self.start_messages(thread, history);
    }

    pub(super) async fn thread_list(&self, id: &HarnessRequestId, params: &ThreadListParams) -> Result<(), RpcError> {
        let limit = match params.limit.unwrap_or(DEFAULT_LIST_LIMIT) {
            0 => return Err(RpcError::bad_params("limit: must be at least 1")),
            limit => usize::try_from(limit.min(MAX_LIST_LIMIT)).unwrap_or(usize::MAX),
        };
        let before = params.cursor.as_deref().map(parse_cursor).transpose()?;
        let archived = Some(params.archived.unwrap_or(false));
        let filter = SessionFilter { archived, before, limit: Some(limit + 1), ..SessionFilter::default() };
        let mut found = self.service().query_log(move |log| log.list_sessions(&filter)).await.map_err(to_rpc_error)?;
        let more = found.len() > limit;
        found.truncate(limit);
        let records: Vec<_> =
            found.iter().map(|stored| ThreadRecord::new(stored, agent_provider(&stored.agent))).collect();
        let next_cursor = found.last().filter(|_| more).map(|last| write_cursor(last.number));
        let page = ThreadListResult { data: records.iter().map(ThreadRecord::thread).collect(), next_cursor };
        self.send(result_response(id, page)).await;
        Ok(())
    }

    pub(super) async fn thread_archive(
        &self,
        id: &HarnessRequestId,
        params: &ThreadArchiveParams,
        archived: bool,
    ) -> Result<(), RpcError> {
        self.service().archive(&params.thread_id, archived).await.map_err(to_rpc_error)?;
        self.send(result_response(id, EmptyResult {})).await;
        Ok(())
    }

    /// Returns the named agent, or the connection's default.
    pub(super) fn agent(&self, name: Option<&str>) -> Result<&'static Agent, RpcError> {
        let hint = "`switchboard agents` lists them".to_owned();
        match name {
            Some(name) => find_agent(name).ok_or_else(|| {
                RpcError::bad_params(format!("agent: unknown agent `{name}`")).with_data("unknown_agent", Some(hint))
            }),
            None => self.options().agent.ok_or_else(|| {
                RpcError::bad_params("agent: required, this connection has no default agent")
                    .with_data("no_agent", Some(hint))
            }),
        }
    }

    async fn thread_config(&self, agent: &'static Agent, params: ThreadStartParams) -> Result<SessionConfig, RpcError> {
        let mut chosen = self.defaults().get(agent.name).cloned().unwrap_or_default();
        chosen.extend(params.config.unwrap_or_default());
        let changes = if chosen.is_empty() {
            SettingChanges::default()
        } else {
            AgentSelectors::of(&self.discover(agent).await?).changes(chosen)?
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

    /// Sends a message, if the client is still connected.
    pub(super) async fn send(&self, line: Vec<u8>) {
        drop(self.outbox().send(line).await);
    }
}

/// A session as a thread.
struct ThreadRecord<'a> {
    stored: &'a SessionRecord,
    provider: &'a str,
}

impl<'a> ThreadRecord<'a> {
    fn new(stored: &'a SessionRecord, provider: &'a str) -> Self {
        Self { stored, provider }
    }

    fn thread(&self) -> Thread<'_> {
        let stored = self.stored;
        let preview = stored.title.as_deref().unwrap_or(&stored.prompt);
        Thread {
            id: &stored.id,
            preview: preview.get(..preview.floor_char_boundary(MAX_PREVIEW_BYTES)).unwrap_or_default(),
            model_provider: self.provider,
            created_at: to_unix_seconds(stored.created),
            meta: Some(ThreadMeta {
                agent: &stored.agent,
                agent_session: stored.agent_session.as_deref(),
                cwd: Some(&stored.cwd),
                state: Some(stored.state.name()),
                title: stored.title.as_deref(),
                turns: Some(stored.turns),
                updated_at: Some(to_unix_seconds(stored.updated)),
                archived: stored.archived,
                ..ThreadMeta::default()
            }),
        }
    }
}

fn to_unix_seconds(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(1_000_000)
}

/// Returns the provider of an agent, or nothing for unknown agents.
fn agent_provider(name: &str) -> &'static str {
    find_agent(name).map_or("", |agent| agent.provider)
}

/// Returns the cursor of a page, which is opaque to clients.
fn write_cursor(number: u64) -> String {
    format!("t{number:x}")
}

fn parse_cursor(cursor: &str) -> Result<u64, RpcError> {
    let number = cursor.strip_prefix('t').and_then(|number| u64::from_str_radix(number, 16).ok());
    number.ok_or_else(|| RpcError::bad_params("cursor: not a cursor of thread/list"))
}
