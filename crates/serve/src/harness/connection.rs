//! One client: what it says, line by line, and who does what it asks.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::value::RawValue;
use switchboard_agents::Agent;
use switchboard_dialects::harness::{Call, Incoming, RequestId, RpcError, code, failed};
use switchboard_event::Id;
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
            asks: Asks::default(),
            lanes: Lanes::default(),
            under_way: Arc::new(Semaphore::new(UNDER_WAY)),
            defaults: Mutex::default(),
        };
        (Self(Arc::new(inner)), lines)
    }

    /// Takes a line. Returns when it is under way, which may be before it is done; lines are to be given one by one.
    pub async fn hear(&self, line: &[u8]) {
        match Incoming::read(line) {
            Ok(None | Some(Incoming::Notification { .. })) => {}
            Ok(Some(Incoming::Request { id, method, params })) => self.requested(id, &method, params.as_deref()).await,
            Ok(Some(Incoming::Response { id, result })) => {
                // All that we ask has a text for an id.
                let Some(id) = id.text() else { return };
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

    async fn requested(&self, id: RequestId, method: &str, params: Option<&RawValue>) {
        let call = match self.read(method, params) {
            Ok(call) => call,
            Err(error) => return self.refuse(Some(&id), &error).await,
        };
        if let Call::Initialize(_) = &call {
            return self.initialize(&id).await;
        }
        let mut turn = self.turn_of(&call);
        let Ok(place) = self.0.under_way.clone().acquire_owned().await else { return };
        let connection = self.clone();
        tokio::spawn(async move {
            turn.come().await;
            if let Err(error) = connection.perform(&id, call).await {
                connection.refuse(Some(&id), &error).await;
            }
            drop((turn, place));
        });
    }

    /// What a request means, if it may be made now.
    fn read(&self, method: &str, params: Option<&RawValue>) -> Result<Call, RpcError> {
        let first = method == "initialize";
        match (first, self.0.initialized.load(Ordering::Relaxed)) {
            (false, false) => return Err(RpcError::new(code::NOT_INITIALIZED, "`initialize` must come first")),
            (true, true) => return Err(RpcError::new(code::INVALID_REQUEST, "`initialize` comes once")),
            _ => {}
        }
        let call = Call::read(method, params)?;
        if first {
            self.0.initialized.store(true, Ordering::Relaxed);
        }
        Ok(call)
    }

    /// Behind what it has to wait.
    fn turn_of(&self, call: &Call) -> Turn {
        match (call, call.thread()) {
            (_, Some(thread)) => self.0.lanes.enter(thread),
            (Call::ConfigSet(_) | Call::ConfigList(_) | Call::ConfigRead(_), None) => self.0.lanes.enter(DEFAULTS),
            (_, None) => self.0.lanes.beside(DEFAULTS),
        }
    }

    async fn perform(&self, id: &RequestId, call: Call) -> Result<(), RpcError> {
        self.may_command().await?;
        match call {
            Call::Initialize(_) => Ok(()),
            Call::ThreadStart(params) => self.thread_start(id, params).await,
            Call::ThreadResume(params) => self.thread_resume(id, params).await,
            Call::ThreadList(params) => self.thread_list(id, &params).await,
            Call::ThreadArchive(params) => self.thread_archive(id, &params, true).await,
            Call::ThreadUnarchive(params) => self.thread_archive(id, &params, false).await,
            Call::TurnStart(params) => self.turn_start(id, params).await,
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

    async fn refuse(&self, id: Option<&RequestId>, error: &RpcError) {
        // Who is gone need not be told.
        self.say(failed(id, error)).await;
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
        self.0.defaults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The threads that are open.
    pub(super) fn threads(&self) -> MutexGuard<'_, HashMap<Id, Arc<OpenThread>>> {
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that is open.
    pub(super) fn thread(&self, id: &str) -> Result<Arc<OpenThread>, RpcError> {
        self.threads().get(id).cloned().ok_or_else(|| no_thread(id))
    }
}
