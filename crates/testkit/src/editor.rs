//! An editor, made of the client of those who made the protocol in which editors speak with agents. It speaks with a
//! program, remembers what it hears, and has a user who decides.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc};

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(90);

/// What the editor's user does when asked.
#[derive(Clone, Copy, Debug)]
pub enum User {
    /// Chooses this option.
    Chooses(&'static str),
    /// Chooses the first option of this kind.
    Wants(&'static str),
    /// Takes time.
    TakesTime,
}

/// What an editor heard, and what its user does.
#[derive(Clone, Default)]
struct Heard(Arc<Inner>);

#[derive(Default)]
struct Inner {
    updates: Mutex<Vec<Value>>,
    questions: Mutex<Vec<Value>>,
    user: Mutex<VecDeque<User>>,
    open: Mutex<Vec<Responder<RequestPermissionResponse>>>,
    news: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heard {
    fn update(&self, notification: &SessionNotification) -> Result<(), Error> {
        let update = serde_json::to_value(&notification.update).map_err(Error::into_internal_error)?;
        lock(&self.0.updates).push(update);
        self.0.news.notify_waiters();
        Ok(())
    }

    fn asked(
        &self,
        request: &RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<(), Error> {
        let asked = serde_json::to_value(request).map_err(Error::into_internal_error)?;
        let user = lock(&self.0.user).pop_front().unwrap_or(User::TakesTime);
        let option = match user {
            User::Chooses(option) => Some(option.to_owned()),
            User::Wants(kind) => of_kind(&asked, kind),
            User::TakesTime => None,
        };
        lock(&self.0.questions).push(asked);
        let answered = match option {
            Some(option) => {
                let chosen = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option));
                responder.respond(RequestPermissionResponse::new(chosen))
            }
            None => {
                lock(&self.0.open).push(responder);
                Ok(())
            }
        };
        self.0.news.notify_waiters();
        answered
    }

    /// The user takes the last of all choices.
    fn form(&self, request: &CreateElicitationRequest) -> Result<CreateElicitationResponse, Error> {
        let form = serde_json::to_value(request).map_err(Error::into_internal_error)?;
        let fields = form.pointer("/requestedSchema/properties").and_then(Value::as_object).into_iter().flatten();
        let last = |field: &Value| field.get("oneOf")?.as_array()?.last()?.get("const").cloned();
        let content: Map<_, _> = fields.filter_map(|(name, field)| Some((name.clone(), last(field)?))).collect();
        lock(&self.0.questions).push(form);
        let answer = json!({"action": "accept", "content": content});
        serde_json::from_value(answer).map_err(Error::into_internal_error)
    }
}

fn of_kind(asked: &Value, kind: &str) -> Option<String> {
    let options = asked.get("options")?.as_array()?;
    let option = options.iter().find(|option| option.get("kind").is_some_and(|known| known == kind))?;
    option.get("optionId")?.as_str().map(str::to_owned)
}

/// A connection to an agent.
pub struct Editor {
    /// The agent.
    pub agent: ConnectionTo<Agent>,
    heard: Heard,
}

impl Editor {
    /// Opens a session in a folder.
    ///
    /// # Errors
    /// If the agent says so.
    pub async fn new_session(&self, folder: &Path) -> Result<NewSessionResponse, Error> {
        self.agent.send_request(NewSessionRequest::new(folder)).block_task().await
    }

    /// Gives a session a prompt, and waits for its end.
    ///
    /// # Errors
    /// If the agent says so.
    pub async fn prompt(&self, session: &SessionId, text: &str) -> Result<PromptResponse, Error> {
        self.agent.send_request(prompt(session, text)).block_task().await
    }

    /// Stops what is going on in a session; what the user was asked is answered as the protocol wants it then.
    ///
    /// # Errors
    /// If the agent is gone.
    pub fn cancel(&self, session: &SessionId) -> Result<(), Error> {
        self.agent.send_notification(CancelNotification::new(session.clone()))?;
        let open = std::mem::take(&mut *lock(&self.heard.0.open));
        let cancelled = || RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
        open.into_iter().try_for_each(|responder| responder.respond(cancelled()))
    }

    /// What the user does, one after the other.
    pub fn user(&self, does: &[User]) {
        lock(&self.heard.0.user).extend(does);
    }

    /// Takes what was heard of sessions so far.
    #[must_use]
    pub fn updates(&self) -> Vec<Value> {
        std::mem::take(&mut *lock(&self.heard.0.updates))
    }

    /// Takes what was asked so far.
    #[must_use]
    pub fn questions(&self) -> Vec<Value> {
        std::mem::take(&mut *lock(&self.heard.0.questions))
    }

    /// Waits until the user is asked, and does not answer yet.
    pub async fn until_asked(&self) {
        self.until(|heard| !lock(&heard.0.open).is_empty()).await;
    }

    /// Waits until an update was heard that is as it should be.
    pub async fn until_heard(&self, wanted: impl Fn(&Value) -> bool) {
        self.until(|heard| lock(&heard.0.updates).iter().any(&wanted)).await;
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
}

/// A prompt of text.
#[must_use]
pub fn prompt(session: &SessionId, text: &str) -> PromptRequest {
    PromptRequest::new(session.clone(), vec![ContentBlock::Text(TextContent::new(text))])
}

/// The updates of a kind.
#[must_use]
pub fn updates_of<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update.get("sessionUpdate").is_some_and(|known| known == kind)).collect()
}

/// All text of updates of a kind.
#[must_use]
pub fn text(updates: &[Value], kind: &str) -> String {
    let chunks = updates_of(updates, kind).into_iter();
    chunks.filter_map(|update| update.pointer("/content/text")?.as_str()).collect()
}

/// Has an editor play with a program that was started with pipes to all sides, and then close its input. The program
/// must end well, and without complaints.
///
/// # Errors
/// If the player says so, or the program does not end as it should.
pub fn with_agent<R>(
    mut child: Child,
    capabilities: ClientCapabilities,
    play: impl AsyncFnOnce(&Editor) -> Result<R, Error>,
) -> anyhow::Result<R> {
    let (stdin, stdout) = (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let played =
        runtime.block_on(async { tokio::time::timeout(PATIENCE, speak(stdin, stdout, capabilities, play)).await });
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

async fn speak<R>(
    stdin: ChildStdin,
    stdout: ChildStdout,
    capabilities: ClientCapabilities,
    play: impl AsyncFnOnce(&Editor) -> Result<R, Error>,
) -> Result<R, Error> {
    let heard = Heard::default();
    let (updates, permissions, forms) = (heard.clone(), heard.clone(), heard.clone());
    Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _| updates.update(&notification),
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| permissions.asked(&request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CreateElicitationRequest, responder, _| {
                responder.respond_with_result(forms.form(&request))
            },
            on_receive_request!(),
        )
        .connect_with(Lines::new(outgoing(stdin), incoming(stdout)), async |agent: ConnectionTo<Agent>| {
            let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
            agent.send_request(hello).block_task().await?;
            play(&Editor { agent, heard }).await
        })
        .await
}

/// Where lines to a program go. Its input is closed when the editor lets go of it.
fn outgoing(mut stdin: ChildStdin) -> impl Sink<String, Error = io::Error> + Send + 'static {
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

/// The lines of a program.
fn incoming(stdout: ChildStdout) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    let (heard, lines) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::BufReader::new(stdout).lines() {
            // The editor may have heard enough; the program must not wait for it.
            drop(heard.send(line));
        }
    });
    stream::unfold(lines, async |mut lines: mpsc::UnboundedReceiver<io::Result<String>>| {
        let line = lines.recv().await?;
        Some((line, lines))
    })
}
