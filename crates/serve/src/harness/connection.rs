//! The connection of one client: reads its lines and dispatches its requests.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use switchboard_agents::Agent;
use switchboard_dialects::harness::{
    AgentInfo, Call, Capabilities, HarnessClientMessage, HarnessRequestId, InitializeResult, RpcError, code,
    error_response, result_response, warning_notice,
};
use switchboard_event::{ClientSettings, Id, describe_ignored};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    open_thread::{HarnessRequests, OpenThread},
    request_order::{LanePosition, RequestLanes},
    thread_not_open, to_rpc_error,
    transport::{Outbox, OutgoingLines, outgoing_queue},
};
use crate::{Problem, Service, guard::Caller};

/// The maximum number of requests in progress; further ones wait, and the client with them.
const MAX_CONCURRENT_REQUESTS: usize = 256;

/// The lane of requests about the defaults of new threads.
const DEFAULTS_LANE: &str = "";

/// The agent name of a connection without a default agent.
const OWN_NAME: &str = "switchboard";

/// The version of an agent that does not report one.
const UNKNOWN_VERSION: &str = "unknown";

/// The settings of a connection.
#[derive(Default)]
pub struct HarnessOptions {
    /// The agent of threads that name none.
    pub agent: Option<&'static Agent>,
    /// The program of that agent, if it is given by its command.
    pub command: Vec<String>,
    /// The client, unless access is not restricted.
    pub caller: Option<Caller>,
}

/// The connection of one client. Cheap to clone.
#[derive(Clone)]
pub struct HarnessConnection(Arc<HarnessConnectionState>);

struct HarnessConnectionState {
    service: Service,
    options: HarnessOptions,
    outbox: Outbox,
    initialized: AtomicBool,
    threads: Mutex<HashMap<Id, Arc<OpenThread>>>,
    /// The thread that was started or resumed last.
    last_opened: Mutex<Option<Id>>,
    requests: HarnessRequests,
    lanes: RequestLanes,
    in_progress: Arc<Semaphore>,
    /// The option values of new threads, by agent.
    defaults: Mutex<HashMap<&'static str, BTreeMap<String, String>>>,
}

impl HarnessConnection {
    /// Returns a connection and its outgoing lines. The client counts as disconnected when those are dropped.
    #[must_use]
    pub fn new(service: Service, options: HarnessOptions) -> (Self, OutgoingLines) {
        let (outbox, lines) = outgoing_queue();
        let inner = HarnessConnectionState {
            service,
            options,
            outbox,
            initialized: AtomicBool::new(false),
            threads: Mutex::default(),
            last_opened: Mutex::default(),
            requests: HarnessRequests::default(),
            lanes: RequestLanes::default(),
            in_progress: Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)),
            defaults: Mutex::default(),
        };
        (Self(Arc::new(inner)), lines)
    }

    /// Handles one line, in order. Returns when the request is in progress, possibly before it is done.
    pub async fn handle_line(&self, line: &[u8]) {
        match HarnessClientMessage::read(line) {
            Ok(None | Some(HarnessClientMessage::Notification { .. })) => {}
            Ok(Some(HarnessClientMessage::Request { id, method, params })) => {
                self.handle_request(id, &method, params.as_deref()).await
            }
            Ok(Some(HarnessClientMessage::Response { id, result })) => {
                // The IDs of outgoing requests are strings.
                let Some(id) = id.as_text() else { return };
                let Ok(permit) = self.0.in_progress.clone().acquire_owned().await else { return };
                let connection = self.clone();
                tokio::spawn(async move {
                    connection.handle_response(&id, result).await;
                    drop(permit);
                });
            }
            Err(refused) => self.refuse(refused.id.as_ref(), &refused.error).await,
        }
    }

    /// Reports a line above the size limit.
    pub async fn report_long_line(&self) {
        let error = RpcError::new(code::INVALID_REQUEST, "the message is larger than 32 MB");
        self.refuse(None, &error).await;
    }

    /// Waits until no request is in progress.
    pub async fn wait_for_requests(&self) {
        let all = u32::try_from(MAX_CONCURRENT_REQUESTS).unwrap_or(u32::MAX);
        drop(self.0.in_progress.acquire_many(all).await);
    }

    /// Waits for a limited time until the client was sent the end of all threads that have ended, and then sends
    /// nothing more.
    pub async fn finish(&self, within: Duration) {
        let threads: Vec<_> = self.threads().drain().map(|(_, thread)| thread).collect();
        let sent = join_all(threads.iter().map(|thread| self.wait_until_end_sent(thread)));
        drop(timeout(within, sent).await);
        threads.iter().for_each(|thread| thread.stop_messages());
    }

    async fn handle_request(&self, id: HarnessRequestId, method: &str, params: Option<&RawValue>) {
        let (call, given) = match self.read(method, params) {
            Ok(read) => read,
            Err(error) => return self.refuse(Some(&id), &error).await,
        };
        if let Call::Initialize(_) = &call {
            self.initialize(&id).await;
            if let Some(text) = describe_ignored(&given.ignored) {
                self.send(warning_notice("", &text)).await;
            }
            return;
        }
        let (call, mut position) = self.queue_request(call);
        let Ok(permit) = self.0.in_progress.clone().acquire_owned().await else { return };
        let connection = self.clone();
        tokio::spawn(async move {
            position.wait().await;
            if let Err(error) = connection.perform(&id, call, given).await {
                connection.refuse(Some(&id), &error).await;
            }
            drop((position, permit));
        });
    }

    /// Parses a request and checks that it is allowed now.
    fn read(&self, method: &str, params: Option<&RawValue>) -> Result<(Call, ClientSettings), RpcError> {
        let is_first = method == "initialize";
        match (is_first, self.0.initialized.load(Ordering::Relaxed)) {
            (false, false) => return Err(RpcError::new(code::NOT_INITIALIZED, "`initialize` must come first")),
            (true, true) => return Err(RpcError::new(code::INVALID_REQUEST, "`initialize` must be sent only once")),
            _ => {}
        }
        let read = Call::read(method, params)?;
        if is_first {
            self.0.initialized.store(true, Ordering::Relaxed);
        }
        Ok(read)
    }

    /// Returns the position of a request behind earlier ones. Settings without a thread belong to the thread that was
    /// opened last.
    fn queue_request(&self, mut call: Call) -> (Call, LanePosition) {
        let lanes = &self.0.lanes;
        // A thread that is being opened is not known yet: requests about its settings wait for it.
        if !lanes.is_shared(DEFAULTS_LANE) {
            self.choose_thread(&mut call);
        }
        let position = match (&call, call.thread_id()) {
            (Call::ThreadResume(_), Some(thread)) => lanes.enter(thread).also_hold(lanes.share(DEFAULTS_LANE)),
            (_, Some(thread)) => lanes.enter(thread),
            (Call::ConfigSet(_) | Call::ConfigList(_) | Call::ConfigRead(_), None) => lanes.enter(DEFAULTS_LANE),
            (_, None) => lanes.share(DEFAULTS_LANE),
        };
        (call, position)
    }

    /// Fills in the thread of a settings request that names neither a thread nor an agent.
    fn choose_thread(&self, call: &mut Call) {
        let (thread_id, agent) = match call {
            Call::ConfigSet(params) => (&mut params.thread_id, &params.agent),
            Call::ConfigList(params) | Call::ConfigRead(params) => (&mut params.thread_id, &params.agent),
            _ => return,
        };
        if thread_id.is_none() && agent.is_none() {
            *thread_id = self.last_opened().map(|id| id.to_string());
        }
    }

    async fn perform(&self, id: &HarnessRequestId, mut call: Call, given: ClientSettings) -> Result<(), RpcError> {
        self.check_may_control().await?;
        self.choose_thread(&mut call);
        if let (Some(text), false) = (describe_ignored(&given.ignored), matches!(call, Call::ThreadStart(_))) {
            self.send(warning_notice(call.thread_id().unwrap_or_default(), &text)).await;
        }
        match call {
            Call::Initialize(_) => Ok(()),
            Call::ThreadStart(params) => self.thread_start(id, params, given).await,
            Call::ThreadResume(params) => self.thread_resume(id, params, given.config).await,
            Call::ThreadList(params) => self.thread_list(id, &params).await,
            Call::ThreadArchive(params) => self.thread_archive(id, &params, true).await,
            Call::ThreadUnarchive(params) => self.thread_archive(id, &params, false).await,
            Call::TurnStart(params) => self.turn_start(id, params, given.config).await,
            Call::TurnInterrupt(params) => self.turn_interrupt(id, &params).await,
            Call::ModelList(params) => self.model_list(id, &params).await,
            Call::ConfigList(params) => self.config_list(id, &params).await,
            Call::ConfigSet(params) => self.config_set(id, &params).await,
            Call::ConfigRead(params) => self.config_read(id, &params).await,
        }
    }

    pub(super) async fn check_may_control(&self) -> Result<(), RpcError> {
        match &self.0.options.caller {
            Some(caller) => caller.check_may_control().await.map_err(|refused| to_rpc_error(Problem::from(refused))),
            None => Ok(()),
        }
    }

    async fn refuse(&self, id: Option<&HarnessRequestId>, error: &RpcError) {
        // The client may be gone.
        self.send(error_response(id, error)).await;
    }

    pub(super) fn service(&self) -> &Service {
        &self.0.service
    }

    pub(super) fn options(&self) -> &HarnessOptions {
        &self.0.options
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    pub(super) fn requests(&self) -> &HarnessRequests {
        &self.0.requests
    }

    pub(super) fn defaults(&self) -> MutexGuard<'_, HashMap<&'static str, BTreeMap<String, String>>> {
        self.0.defaults.lock()
    }

    pub(super) fn threads(&self) -> MutexGuard<'_, HashMap<Id, Arc<OpenThread>>> {
        self.0.threads.lock()
    }

    /// Returns the thread that was started or resumed last, if it is still open.
    fn last_opened(&self) -> Option<Id> {
        let last = self.0.last_opened.lock().clone();
        last.filter(|id| self.threads().contains_key(id))
    }

    pub(super) fn set_last_opened(&self, id: Id) {
        *self.0.last_opened.lock() = Some(id);
    }

    pub(super) fn thread(&self, id: &str) -> Result<Arc<OpenThread>, RpcError> {
        self.threads().get(id).cloned().ok_or_else(|| thread_not_open(id))
    }
}

impl HarnessConnection {
    /// Handles the first request. It never fails: an agent that is not installed is reported when a thread uses it.
    pub(super) async fn initialize(&self, id: &HarnessRequestId) {
        let result = match self.options().agent {
            Some(agent) => {
                InitializeResult { agent_info: self.agent_info(agent).await, capabilities: capabilities(agent) }
            }
            None => InitializeResult { agent_info: own_info(), capabilities: any_capabilities() },
        };
        self.send(result_response(id, result)).await;
    }

    async fn agent_info(&self, agent: &'static Agent) -> AgentInfo {
        let version = if agent.program.is_none() {
            env!("CARGO_PKG_VERSION").to_owned()
        } else {
            self.service().agents().version(agent.name).await.unwrap_or_else(|| UNKNOWN_VERSION.to_owned())
        };
        AgentInfo { name: agent.name.to_owned(), version, provider: agent.provider.to_owned() }
    }
}

fn own_info() -> AgentInfo {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    AgentInfo { name: OWN_NAME.to_owned(), version, provider: OWN_NAME.to_owned() }
}

fn capabilities(agent: &Agent) -> Capabilities {
    let abilities = agent.abilities;
    Capabilities {
        streaming: abilities.streaming,
        config_options: abilities.set_mode,
        reasoning: abilities.reasoning,
        plans: abilities.plans,
        review: false,
    }
}

fn any_capabilities() -> Capabilities {
    Capabilities { streaming: true, config_options: true, reasoning: true, plans: true, review: false }
}
