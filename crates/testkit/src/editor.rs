//! An editor built on the official ACP client library. It connects to a program, records its messages, and has a
//! scripted user.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout},
    sync::Arc,
    thread,
    time::Duration,
};

use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            CancelNotification, ClientCapabilities, ContentBlock, CreateElicitationRequest, CreateElicitationResponse,
            InitializeRequest, NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse,
            RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
            SessionId, SessionNotification, TextContent,
        },
    },
};
use anyhow::Context as _;
use futures_util::{Sink, Stream, sink, stream};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc};

const EDITOR_TIMEOUT: Duration = Duration::from_secs(90);

/// The user's reaction to a permission request.
#[derive(Clone, Copy, Debug)]
pub enum EditorUserAction {
    /// Chooses this option.
    Chooses(&'static str),
    /// Chooses the first option of this kind.
    Wants(&'static str),
    /// Does not answer yet.
    TakesTime,
}

/// Received messages and the scripted user.
#[derive(Clone, Default)]
struct EditorState(Arc<EditorStateInner>);

#[derive(Default)]
struct EditorStateInner {
    updates: Mutex<Vec<Value>>,
    questions: Mutex<Vec<Value>>,
    user: Mutex<VecDeque<EditorUserAction>>,
    open: Mutex<Vec<Responder<RequestPermissionResponse>>>,
    news: Notify,
}

impl EditorState {
    fn record_update(&self, notification: &SessionNotification) -> Result<(), Error> {
        let update = serde_json::to_value(&notification.update).map_err(Error::into_internal_error)?;
        self.0.updates.lock().push(update);
        self.0.news.notify_waiters();
        Ok(())
    }

    fn handle_permission(
        &self,
        request: &RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<(), Error> {
        let question = serde_json::to_value(request).map_err(Error::into_internal_error)?;
        let user = self.0.user.lock().pop_front().unwrap_or(EditorUserAction::TakesTime);
        let option = match user {
            EditorUserAction::Chooses(option) => Some(option.to_owned()),
            EditorUserAction::Wants(kind) => option_of_kind(&question, kind),
            EditorUserAction::TakesTime => None,
        };
        self.0.questions.lock().push(question);
        let answered = match option {
            Some(option) => {
                let chosen = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option));
                responder.respond(RequestPermissionResponse::new(chosen))
            }
            None => {
                self.0.open.lock().push(responder);
                Ok(())
            }
        };
        self.0.news.notify_waiters();
        answered
    }

    /// Chooses the last option of every field.
    fn fill_form(&self, request: &CreateElicitationRequest) -> Result<CreateElicitationResponse, Error> {
        let form = serde_json::to_value(request).map_err(Error::into_internal_error)?;
        let fields = form.pointer("/requestedSchema/properties").and_then(Value::as_object).into_iter().flatten();
        let last = |field: &Value| field.get("oneOf")?.as_array()?.last()?.get("const").cloned();
        let content: Map<_, _> = fields.filter_map(|(name, field)| Some((name.clone(), last(field)?))).collect();
        self.0.questions.lock().push(form);
        let answer = json!({"action": "accept", "content": content});
        serde_json::from_value(answer).map_err(Error::into_internal_error)
    }
}

fn option_of_kind(question: &Value, kind: &str) -> Option<String> {
    let options = question.get("options")?.as_array()?;
    let option = options.iter().find(|option| option.get("kind").is_some_and(|known| known == kind))?;
    option.get("optionId")?.as_str().map(str::to_owned)
}

/// A connection to an agent.
pub struct AcpTestEditor {
    pub agent: ConnectionTo<Agent>,
    state: EditorState,
}

impl AcpTestEditor {
    /// Opens a session in a directory.
    pub async fn new_session(&self, folder: &Path) -> Result<NewSessionResponse, Error> {
        self.agent.send_request(NewSessionRequest::new(folder)).block_task().await
    }

    /// Sends a prompt and waits for the end of the turn.
    pub async fn run_prompt(&self, session: &SessionId, text: &str) -> Result<PromptResponse, Error> {
        self.agent.send_request(prompt_request(session, text)).block_task().await
    }

    /// Cancels the turn of a session; open permission requests are answered as cancelled, as the protocol requires.
    pub fn cancel_turn(&self, session: &SessionId) -> Result<(), Error> {
        self.agent.send_notification(CancelNotification::new(session.clone()))?;
        let open = std::mem::take(&mut *self.state.0.open.lock());
        let cancelled = || RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
        open.into_iter().try_for_each(|responder| responder.respond(cancelled()))
    }

    /// Appends the user's next reactions.
    pub fn queue_user_actions(&self, does: &[EditorUserAction]) {
        self.state.0.user.lock().extend(does);
    }

    /// Takes all updates so far.
    #[must_use]
    pub fn take_updates(&self) -> Vec<Value> {
        std::mem::take(&mut *self.state.0.updates.lock())
    }

    /// Takes all requests to the user so far.
    #[must_use]
    pub fn take_questions(&self) -> Vec<Value> {
        std::mem::take(&mut *self.state.0.questions.lock())
    }

    /// Waits until a request to the user is open.
    pub async fn wait_until_asked(&self) {
        self.wait_until(|state| !state.0.open.lock().is_empty()).await;
    }

    /// Waits for a matching update.
    pub async fn wait_for_update(&self, wanted: impl Fn(&Value) -> bool) {
        self.wait_until(|state| state.0.updates.lock().iter().any(&wanted)).await;
    }

    async fn wait_until(&self, is_so: impl Fn(&EditorState) -> bool) {
        loop {
            let news = self.state.0.news.notified();
            if is_so(&self.state) {
                return;
            }
            news.await;
        }
    }
}

#[must_use]
pub fn prompt_request(session: &SessionId, text: &str) -> PromptRequest {
    PromptRequest::new(session.clone(), vec![ContentBlock::Text(TextContent::new(text))])
}

#[must_use]
pub fn updates_of_kind<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update.get("sessionUpdate").is_some_and(|known| known == kind)).collect()
}

/// Returns the joined text of all updates of a kind.
#[must_use]
pub fn update_text(updates: &[Value], kind: &str) -> String {
    let chunks = updates_of_kind(updates, kind).into_iter();
    chunks.filter_map(|update| update.pointer("/content/text")?.as_str()).collect()
}

/// Connects an editor to a program with piped streams, runs `play`, and closes the input. The program must exit
/// successfully without writing to stderr.
pub fn run_with_agent<R>(
    mut child: Child,
    capabilities: ClientCapabilities,
    play: impl AsyncFnOnce(&AcpTestEditor) -> Result<R, Error>,
) -> anyhow::Result<R> {
    let (stdin, stdout) = (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let played = runtime.block_on(async {
        tokio::time::timeout(EDITOR_TIMEOUT, run_connection(stdin, stdout, capabilities, play)).await
    });
    if played.is_err() {
        child.kill()?;
    }
    let ended = child.wait_with_output()?;
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    let result = played.with_context(|| format!("nothing happens any more\n{errors}"))?;
    let result = result.map_err(|error| anyhow::anyhow!("{error:?}\n{errors}"))?;
    anyhow::ensure!(ended.status.code() == Some(0) && errors.is_empty(), "it ended with {}\n{errors}", ended.status);
    Ok(result)
}

async fn run_connection<R>(
    stdin: ChildStdin,
    stdout: ChildStdout,
    capabilities: ClientCapabilities,
    play: impl AsyncFnOnce(&AcpTestEditor) -> Result<R, Error>,
) -> Result<R, Error> {
    let state = EditorState::default();
    let (updates, permissions, forms) = (state.clone(), state.clone(), state.clone());
    Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _| updates.record_update(&notification),
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                permissions.handle_permission(&request, responder)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CreateElicitationRequest, responder, _| {
                responder.respond_with_result(forms.fill_form(&request))
            },
            on_receive_request!(),
        )
        .connect_with(Lines::new(stdin_sink(stdin), stdout_lines(stdout)), async |agent: ConnectionTo<Agent>| {
            let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
            agent.send_request(hello).block_task().await?;
            play(&AcpTestEditor { agent, state }).await
        })
        .await
}

/// Returns a sink for lines to a program. Its input is closed when the sink is dropped.
fn stdin_sink(mut stdin: ChildStdin) -> impl Sink<String, Error = io::Error> + Send + 'static {
    let (says, mut said) = mpsc::unbounded_channel::<String>();
    thread::spawn(move || {
        while let Some(line) = said.blocking_recv() {
            if writeln!(stdin, "{line}").is_err() {
                return;
            }
        }
    });
    sink::unfold(says, async |says: mpsc::UnboundedSender<String>, line| {
        says.send(line).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(says)
    })
}

fn stdout_lines(stdout: ChildStdout) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    let (state, lines) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::BufReader::new(stdout).lines() {
            // The editor may have stopped reading; the program must not block.
            drop(state.send(line));
        }
    });
    stream::unfold(lines, async |mut lines: mpsc::UnboundedReceiver<io::Result<String>>| {
        let line = lines.recv().await?;
        Some((line, lines))
    })
}
