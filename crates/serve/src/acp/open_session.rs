//! A session that the editor has open, and the task that sends its updates and requests to the editor in order.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use agent_client_protocol::{RequestCancellationHandle, UntypedMessage};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::Value;
use switchboard_dialects::{
    MessageBuffer, Projection as _,
    acp::{AcpProjection, request_kind},
};
use switchboard_event::{Event, EventBody, Id, McpServerConfig, RequestOpened, SessionState};
use tokio::{sync::watch, task::AbortHandle};

use super::{
    UpdateLimiter,
    approvals::EditorRequest,
    editor::{EditorClient, EditorConnection},
    prompt_queue::EditorPrompts,
};
use crate::{
    Problem,
    conversation::{Conversation, EventWatch, SettingChanges},
};

pub struct OpenSession {
    pub conversation: Conversation,
    pub client: EditorClient,
    /// Held by the prompt that the agent has, so that prompts run one at a time.
    pub prompt_lock: tokio::sync::Mutex<()>,
    prompts: Mutex<EditorPrompts>,
    /// The requests that the editor shows, to cancel them once they are resolved elsewhere.
    requests: Mutex<HashMap<Id, Vec<RequestCancellationHandle>>>,
    /// The last event that was sent to the editor.
    sent: watch::Sender<u64>,
    /// The servers given with a session that had ended, for its next run.
    servers: Mutex<Option<BTreeMap<String, McpServerConfig>>>,
    updates: Mutex<Option<AbortHandle>>,
    /// How often the editor cancelled.
    cancels: AtomicU64,
}

impl OpenSession {
    pub fn new(conversation: Conversation, client: EditorClient) -> Self {
        Self {
            conversation,
            client,
            prompt_lock: tokio::sync::Mutex::default(),
            prompts: Mutex::default(),
            requests: Mutex::default(),
            sent: watch::Sender::new(0),
            servers: Mutex::default(),
            updates: Mutex::default(),
            cancels: AtomicU64::default(),
        }
    }

    pub fn id(&self) -> &Id {
        self.conversation.id()
    }

    pub fn prompts(&self) -> MutexGuard<'_, EditorPrompts> {
        self.prompts.lock()
    }

    /// Marks the events up to this one as sent.
    fn mark_sent(&self, seq: u64) {
        self.sent.send_replace(seq);
    }

    /// Waits until the events up to this one were sent.
    pub async fn wait_until_sent(&self, seq: u64) {
        // The sender lives in `self`, so this does not fail.
        self.sent.subscribe().wait_for(|sent| *sent >= seq).await.ok();
    }

    pub fn add_request(&self, request: &Id, handle: RequestCancellationHandle) {
        self.requests.lock().entry(request.clone()).or_default().push(handle);
    }

    /// Cancels a resolved request in the editor, unless the editor has answered it.
    pub fn cancel_request(&self, request: &str) {
        for handle in self.requests.lock().remove(request).into_iter().flatten() {
            // An editor that is gone needs no cancellation.
            drop(handle.cancel());
        }
    }

    pub fn count_cancel(&self) {
        self.cancels.fetch_add(1, Ordering::AcqRel);
    }

    pub fn cancels(&self) -> u64 {
        self.cancels.load(Ordering::Acquire)
    }

    pub fn set_servers(&self, servers: BTreeMap<String, McpServerConfig>) {
        *self.servers.lock() = Some(servers).filter(|servers| !servers.is_empty());
    }

    /// Takes the changes for the next run.
    pub fn take_changes(&self) -> SettingChanges {
        SettingChanges { mcp_servers: self.servers.lock().take(), ..SettingChanges::default() }
    }

    fn set_updates(&self, updates: AbortHandle) {
        *self.updates.lock() = Some(updates);
    }

    pub fn stop_updates(&self) {
        if let Some(updates) = self.updates.lock().take() {
            updates.abort();
        }
    }
}

/// Sends the updates and requests of a session to the editor, in order.
pub struct UpdateForwarder {
    editor: EditorConnection,
    open: Arc<OpenSession>,
    events: EventWatch,
    projection: AcpProjection,
    state: SessionState,
    /// The requests of the past, of which only those that are still open are sent.
    past_requests: Vec<EditorRequest>,
}

/// Whether the editor gets the updates of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EventAge {
    /// It happens now.
    Now,
    /// It is history that the editor wants.
    Replayed,
    /// It is history that the editor has.
    Known,
}

#[derive(Deserialize)]
struct AcpMessage {
    #[serde(default)]
    id: Option<String>,
    method: String,
    params: Value,
}

impl AcpMessage {
    fn update(&self, name: &str) -> Option<&str> {
        self.params.get("update")?.get(name)?.as_str()
    }
}

impl UpdateForwarder {
    pub async fn new(editor: &EditorConnection, open: &Arc<OpenSession>) -> Result<Self, Problem> {
        let events = open.conversation.follow_events().await?;
        Ok(Self {
            editor: editor.clone(),
            open: open.clone(),
            events,
            projection: AcpProjection::for_client(editor.client_capabilities()),
            state: SessionState::default(),
            past_requests: Vec::new(),
        })
    }

    /// Reads the history up to an event.
    pub async fn catch_up(&mut self, head: u64, age: EventAge) -> Result<(), Problem> {
        while self.events.seen() < head {
            let events = self.events.next().await?;
            self.forward_events(&events, age).await;
        }
        Ok(())
    }

    /// Sends what follows, as long as the editor has the session open.
    pub fn run(mut self) {
        let open = self.open.clone();
        let task = tokio::spawn(async move {
            for request in std::mem::take(&mut self.past_requests) {
                request.send(&self.open);
            }
            // Ends when the session is deleted or the log cannot be read.
            while let Ok(events) = self.events.next().await {
                self.forward_events(&events, EventAge::Now).await;
            }
        });
        open.set_updates(task.abort_handle());
    }

    async fn forward_events(&mut self, events: &[Event], age: EventAge) {
        for event in events {
            self.forward_event(event, age).await;
            self.open.mark_sent(event.seq);
        }
        self.past_requests.retain(|past| self.state.is_open(&past.request.request));
    }

    async fn forward_event(&mut self, event: &Event, age: EventAge) {
        self.state.apply(event);
        self.apply_before(event, age);
        let mut out = MessageBuffer::default();
        self.projection.project_event(event, &mut out);
        let messages = out.iter().filter_map(|message| serde_json::from_slice::<AcpMessage>(message).ok());
        let messages: Vec<_> = messages.collect();
        let (questions, updates): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.id.is_some());
        for message in updates {
            if age == EventAge::Replayed || age == EventAge::Now && !self.is_echo(event, &message) {
                send_update(self.editor.update_limiter(), &self.open.client, message).await;
            }
        }
        if let EventBody::RequestOpened(request) = &event.body {
            self.send_request(request, questions, age);
        }
        self.apply_after(event, age);
    }

    /// Applies what must be known before the updates of an event are sent.
    fn apply_before(&mut self, event: &Event, age: EventAge) {
        match (&event.body, event.turn) {
            (EventBody::TurnStarted(started), Some(turn)) => {
                let is_cancelled = self.open.prompts().turn_started(turn, started);
                if is_cancelled && age == EventAge::Now {
                    self.open.clone().stop();
                }
            }
            (EventBody::RequestResolved(resolved), _) => self.open.cancel_request(&resolved.request),
            _ => {}
        }
    }

    /// Applies what follows from an event after its updates were sent.
    fn apply_after(&mut self, event: &Event, age: EventAge) {
        match (&event.body, event.turn) {
            (EventBody::TurnCompleted(completed), Some(turn)) => {
                self.open.prompts().turn_completed(turn, completed, &self.state.turn_usage);
            }
            (EventBody::SessionEnded(ended), _) if age == EventAge::Now => {
                self.open.prompts().run_ended(event.run, ended.error.as_ref());
            }
            _ => {}
        }
    }

    /// The editor already shows the prompts it sent itself.
    fn is_echo(&self, event: &Event, message: &AcpMessage) -> bool {
        let text = message.params.pointer("/update/content/text").and_then(Value::as_str);
        message.update("sessionUpdate") == Some("user_message_chunk")
            && self.open.prompts().is_own_text(event.turn, text.unwrap_or_default())
    }

    fn send_request(&mut self, request: &RequestOpened, questions: Vec<AcpMessage>, age: EventAge) {
        let questions = questions.into_iter().map(|question| (question.method, question.params)).collect();
        let ask = EditorRequest { request: request.clone(), kind: request_kind(request), questions };
        match age {
            EventAge::Now => ask.send(&self.open),
            EventAge::Replayed | EventAge::Known => self.past_requests.push(ask),
        }
    }
}

async fn send_update(updates: &UpdateLimiter, client: &EditorClient, message: AcpMessage) {
    updates.wait_for_capacity().await;
    if let Ok(message) = UntypedMessage::new(&message.method, message.params) {
        // The connection ends when the editor is gone.
        drop(client.send_notification(message));
    }
}
