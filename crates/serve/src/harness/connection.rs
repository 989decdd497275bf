//! One client: what it says, line by line, and who does what it asks.

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
    Call, HarnessClientMessage, HarnessRequestId, RpcError, code, error_response, warning_notice,
};
use switchboard_event::{ClientSettings, Id, describe_ignored};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    asks::Asks,
    lanes::{Lanes, Turn},
    outbox::{Lines, Outbox, outbox},
    refusal::{no_thread, refusal},
    thread::OpenThread,
};
use crate::{Problem, Service, guard::Caller};

/// So much of what a client asks is under way at once; what comes then waits, and the client with it.
const UNDER_WAY: usize = 256;

/// What is about no thread in particular, and must be done in order: what holds for threads to come.
const DEFAULTS: &str = "";

/// Whom a connection is for, and with which agent.
#[derive(Default)]
pub struct Purpose {
    /// The agent of threads that name none.
    pub agent: Option<&'static Agent>,
    /// The program of that agent, where it is named by its command.
    pub command: Vec<String>,
    /// Who is at the other end; nobody is asked without a guard around the server.
    pub caller: Option<Caller>,
}

/// One client. Cloning it is cheap.
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    service: Service,
    purpose: Purpose,
    outbox: Outbox,
    initialized: AtomicBool,
    threads: Mutex<HashMap<Id, Arc<OpenThread>>>,
    /// The thread that was started or resumed last.
    last_opened: Mutex<Option<Id>>,
    asks: Asks,
    lanes: Lanes,
    under_way: Arc<Semaphore>,
    /// Values of selectors for threads to come, by agent.
    defaults: Mutex<HashMap<&'static str, BTreeMap<String, String>>>,
}

impl Connection {
    /// A client that has said nothing yet, and what it will be told. It is gone when that is dropped.
    #[must_use]
    pub fn new(service: Service, purpose: Purpose) -> (Self, Lines) {
        let (outbox, lines) = outbox();
        let inner = Inner {
            service,
            purpose,
            outbox,
            initialized: AtomicBool::new(false),
            threads: Mutex::default(),
            last_opened: Mutex::default(),
            asks: Asks::default(),
            lanes: Lanes::default(),
            under_way: Arc::new(Semaphore::new(UNDER_WAY)),
            defaults: Mutex::default(),
        };
        (Self(Arc::new(inner)), lines)
    }

    /// Takes a line. Returns when it is under way, which may be before it is done; lines are to be given one by one.
    pub async fn hear(&self, line: &[u8]) {
        match HarnessClientMessage::read(line) {
            Ok(None | Some(HarnessClientMessage::Notification { .. })) => {}
            Ok(Some(HarnessClientMessage::Request { id, method, params })) => {
                self.requested(id, &method, params.as_deref()).await
            }
            Ok(Some(HarnessClientMessage::Response { id, result })) => {
                // All that we ask has a text for an id.
                let Some(id) = id.as_text() else { return };
                let Ok(place) = self.0.under_way.clone().acquire_owned().await else { return };
                let connection = self.clone();
                tokio::spawn(async move {
                    connection.responded(&id, result).await;
                    drop(place);
                });
            }
            Err(refused) => self.refuse(refused.id.as_ref(), &refused.error).await,
        }
    }

    /// A line was too long to be kept.
    pub async fn hear_too_much(&self) {
        let error = RpcError::new(code::INVALID_REQUEST, "the message is too long: at most 32 MB");
        self.refuse(None, &error).await;
    }

    /// Waits until nothing that was asked is under way.
    pub async fn settled(&self) {
        let all = u32::try_from(UNDER_WAY).unwrap_or(u32::MAX);
        drop(self.0.under_way.acquire_many(all).await);
    }

    /// Waits, for some time at most, until the client was told the end of all threads that have ended, and tells it
    /// nothing more.
    pub async fn finish(&self, within: Duration) {
        let threads: Vec<_> = self.threads().drain().map(|(_, thread)| thread).collect();
        let told = join_all(threads.iter().map(|thread| self.told_the_end(thread)));
        drop(timeout(within, told).await);
        threads.iter().for_each(|thread| thread.stop());
    }

    async fn requested(&self, id: HarnessRequestId, method: &str, params: Option<&RawValue>) {
        let (call, given) = match self.read(method, params) {
            Ok(read) => read,
            Err(error) => return self.refuse(Some(&id), &error).await,
        };
        if let Call::Initialize(_) = &call {
            self.initialize(&id).await;
            if let Some(text) = describe_ignored(&given.ignored) {
                self.say(warning_notice("", &text)).await;
            }
            return;
        }
        let (call, mut turn) = self.turn_of(call);
        let Ok(place) = self.0.under_way.clone().acquire_owned().await else { return };
        let connection = self.clone();
        tokio::spawn(async move {
            turn.come().await;
            if let Err(error) = connection.perform(&id, call, given).await {
                connection.refuse(Some(&id), &error).await;
            }
            drop((turn, place));
        });
    }

    /// What a request means, if it may be made now.
    fn read(&self, method: &str, params: Option<&RawValue>) -> Result<(Call, ClientSettings), RpcError> {
        let first = method == "initialize";
        match (first, self.0.initialized.load(Ordering::Relaxed)) {
            (false, false) => return Err(RpcError::new(code::NOT_INITIALIZED, "`initialize` must come first")),
            (true, true) => return Err(RpcError::new(code::INVALID_REQUEST, "`initialize` comes once")),
            _ => {}
        }
        let read = Call::read(method, params)?;
        if first {
            self.0.initialized.store(true, Ordering::Relaxed);
        }
        Ok(read)
    }

    /// Returns behind what a request has to wait, and what it means then: settings without a thread are those of the thread
    /// that was opened last.
    fn turn_of(&self, mut call: Call) -> (Call, Turn) {
        let lanes = &self.0.lanes;
        // A thread that is being opened is not known yet: who asks for its settings waits for it.
        if !lanes.is_shared(DEFAULTS) {
            self.choose_thread(&mut call);
        }
        let turn = match (&call, call.thread_id()) {
            (Call::ThreadResume(_), Some(thread)) => lanes.enter(thread).and_hold(lanes.share(DEFAULTS)),
            (_, Some(thread)) => lanes.enter(thread),
            (Call::ConfigSet(_) | Call::ConfigList(_) | Call::ConfigRead(_), None) => lanes.enter(DEFAULTS),
            (_, None) => lanes.share(DEFAULTS),
        };
        (call, turn)
    }

    /// Names the thread that settings are of where the request does not, unless it is about an agent.
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
        self.may_command().await?;
        self.choose_thread(&mut call);
        if let (Some(text), false) = (describe_ignored(&given.ignored), matches!(call, Call::ThreadStart(_))) {
            self.say(warning_notice(call.thread_id().unwrap_or_default(), &text)).await;
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

    /// Whoever descends from a session commands none.
    pub(super) async fn may_command(&self) -> Result<(), RpcError> {
        match &self.0.purpose.caller {
            Some(caller) => caller.may_command().await.map_err(|refused| refusal(Problem::from(refused))),
            None => Ok(()),
        }
    }

    async fn refuse(&self, id: Option<&HarnessRequestId>, error: &RpcError) {
        // Who is gone need not be told.
        self.say(error_response(id, error)).await;
    }

    /// The server.
    pub(super) fn service(&self) -> &Service {
        &self.0.service
    }

    /// Whom it is for.
    pub(super) fn purpose(&self) -> &Purpose {
        &self.0.purpose
    }

    /// What the client is told.
    pub(super) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    /// What agents ask.
    pub(super) fn asks(&self) -> &Asks {
        &self.0.asks
    }

    /// Values of selectors for threads to come, by agent.
    pub(super) fn defaults(&self) -> MutexGuard<'_, HashMap<&'static str, BTreeMap<String, String>>> {
        self.0.defaults.lock()
    }

    /// The threads that are open.
    pub(super) fn threads(&self) -> MutexGuard<'_, HashMap<Id, Arc<OpenThread>>> {
        self.0.threads.lock()
    }

    /// Returns the thread that was started or resumed last, if it is still open.
    fn last_opened(&self) -> Option<Id> {
        let last = self.0.last_opened.lock().clone();
        last.filter(|id| self.threads().contains_key(id))
    }

    /// Notes that a thread was started or resumed.
    pub(super) fn set_last_opened(&self, id: Id) {
        *self.0.last_opened.lock() = Some(id);
    }

    /// A thread that is open.
    pub(super) fn thread(&self, id: &str) -> Result<Arc<OpenThread>, RpcError> {
        self.threads().get(id).cloned().ok_or_else(|| no_thread(id))
    }
}
