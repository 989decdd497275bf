//! An editor, made of the protocol's own client: it starts the program, speaks with it, and remembers what it hears.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, Write as _},
    path::Path,
    process::Child,
    sync::{Arc, Mutex},
    thread,
};

use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            ClientCapabilities, ContentBlock, CreateElicitationRequest, CreateElicitationResponse, InitializeRequest,
            NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse, RequestPermissionOutcome,
            RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionId,
            SessionNotification, TextContent,
        },
    },
};
use futures_util::{Sink, Stream, sink, stream};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::binary;

/// What the editor's user does when asked: chooses an option, or takes time.
#[derive(Clone, Copy)]
pub enum User {
    Chooses(&'static str),
    TakesTime,
}

/// What an editor heard, and what its user does.
#[derive(Clone, Default)]
pub struct Heard(Arc<Inner>);

#[derive(Default)]
struct Inner {
    updates: Mutex<Vec<Value>>,
    questions: Mutex<Vec<Value>>,
    user: Mutex<VecDeque<User>>,
    open: Mutex<Vec<Responder<RequestPermissionResponse>>>,
    news: Notify,
}

impl Heard {
    fn update(&self, notification: &SessionNotification) {
        self.0.updates.lock().unwrap().push(serde_json::to_value(&notification.update).unwrap());
        self.0.news.notify_waiters();
    }

    fn asked(
        &self,
        request: &RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<(), Error> {
        self.0.questions.lock().unwrap().push(serde_json::to_value(request).unwrap());
        let user = self.0.user.lock().unwrap().pop_front().unwrap_or(User::TakesTime);
        let answered = match user {
            User::Chooses(option) => {
                let chosen = SelectedPermissionOutcome::new(option);
                responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Selected(chosen)))
            }
            User::TakesTime => {
                self.0.open.lock().unwrap().push(responder);
                Ok(())
            }
        };
        self.0.news.notify_waiters();
        answered
    }

    /// The user takes the last of all choices.
    fn form(&self, request: &CreateElicitationRequest) -> CreateElicitationResponse {
        let form = serde_json::to_value(request).unwrap();
        let fields = form["requestedSchema"]["properties"].as_object().unwrap().iter();
        let choices = fields
            .filter_map(|(name, field)| Some((name.clone(), field["oneOf"].as_array()?.last()?["const"].clone())));
        let content: serde_json::Map<String, Value> = choices.collect();
        self.0.questions.lock().unwrap().push(form);
        serde_json::from_value(json!({"action": "accept", "content": content})).unwrap()
    }
}

/// A connection to the program.
pub struct Editor {
    pub agent: ConnectionTo<Agent>,
    heard: Heard,
}

impl Editor {
    pub async fn new_session(&self, folder: &Path) -> Result<NewSessionResponse, Error> {
        self.agent.send_request(NewSessionRequest::new(folder)).block_task().await
    }

    pub async fn prompt(&self, session: &SessionId, text: &str) -> Result<PromptResponse, Error> {
        self.agent.send_request(prompt(session, text)).block_task().await
    }

    /// What the user does, one after the other.
    pub fn user(&self, does: &[User]) {
        self.heard.0.user.lock().unwrap().extend(does);
    }

    /// Takes what was heard of sessions so far.
    pub fn updates(&self) -> Vec<Value> {
        std::mem::take(&mut *self.heard.0.updates.lock().unwrap())
    }

    /// Takes what was asked so far.
    pub fn questions(&self) -> Vec<Value> {
        std::mem::take(&mut *self.heard.0.questions.lock().unwrap())
    }

    /// Waits until the user is asked, and does not answer yet.
    pub async fn until_asked(&self) {
        self.until(|heard| !heard.0.open.lock().unwrap().is_empty()).await;
    }

    /// Waits until an update was heard that is as it should be.
    pub async fn until_heard(&self, wanted: impl Fn(&Value) -> bool) {
        self.until(|heard| heard.0.updates.lock().unwrap().iter().any(&wanted)).await;
    }

    async fn until(&self, is_so: impl Fn(&Heard) -> bool) {
        loop {
            let news = self.heard.0.news.notified();
            if is_so(&self.heard) {
                return;
            }
            news.await;
        }
    }

    /// What was asked is answered as the protocol wants it when a prompt is cancelled.
    pub fn cancel_questions(&self) {
        for responder in self.heard.0.open.lock().unwrap().drain(..) {
            responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)).unwrap();
        }
    }
}

/// A prompt of text.
pub fn prompt(session: &SessionId, text: &str) -> PromptRequest {
    PromptRequest::new(session.clone(), vec![ContentBlock::Text(TextContent::new(text))])
}

/// All text of updates of a kind.
pub fn text(updates: &[Value], kind: &str) -> String {
    let chunks = updates.iter().filter(|update| update["sessionUpdate"] == kind);
    chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// The kinds of updates, in their order.
pub fn kinds(updates: &[Value]) -> Vec<&str> {
    updates.iter().filter_map(|update| update["sessionUpdate"].as_str()).collect()
}

/// Starts the program with an agent, plays, and ends it by closing its input. It must end well.
pub fn with_agent<R>(
    data: &Path,
    capabilities: ClientCapabilities,
    play: impl AsyncFnOnce(&Editor) -> Result<R, Error>,
) -> R {
    let mut child = binary::start(&["acp", "--agent", "script", "--data", &data.to_string_lossy()]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(speak(&mut child, capabilities, play));
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!((ended.status.code(), errors.as_str()), (Some(0), ""), "it ends well, and silently");
    result.unwrap()
}

async fn speak<R>(
    child: &mut Child,
    capabilities: ClientCapabilities,
    play: impl AsyncFnOnce(&Editor) -> Result<R, Error>,
) -> Result<R, Error> {
    let heard = Heard::default();
    let (updates, permissions, forms) = (heard.clone(), heard.clone(), heard.clone());
    let (outgoing, incoming) = lines(child);
    Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _| {
                updates.update(&notification);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| permissions.asked(&request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CreateElicitationRequest, responder, _| responder.respond(forms.form(&request)),
            on_receive_request!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async |agent: ConnectionTo<Agent>| {
            let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
            let hello = agent.send_request(hello).block_task().await?;
            assert_eq!(hello.protocol_version, ProtocolVersion::V1);
            assert!(hello.agent_capabilities.load_session);
            play(&Editor { agent, heard }).await
        })
        .await
}

/// The child's lines. Its input is closed when the editor lets go of them.
fn lines(
    child: &mut Child,
) -> (impl Sink<String, Error = io::Error> + Send + 'static, impl Stream<Item = io::Result<String>> + Send + 'static) {
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (says, mut said) = mpsc::unbounded_channel::<String>();
    thread::spawn(move || {
        while let Some(line) = said.blocking_recv() {
            writeln!(stdin, "{line}").unwrap();
        }
    });
    let (heard, lines) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::BufReader::new(stdout).lines() {
            // The editor may have heard enough.
            drop(heard.send(line));
        }
    });
    let outgoing = sink::unfold(says, async |says: mpsc::UnboundedSender<String>, line| {
        says.send(line).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(says)
    });
    let incoming = stream::unfold(lines, async |mut lines: mpsc::UnboundedReceiver<io::Result<String>>| {
        let line = lines.recv().await?;
        Some((line, lines))
    });
    (outgoing, incoming)
}
