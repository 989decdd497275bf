//! Switchboard as an agent of the Agent Client Protocol, so that an editor can use every agent. Serves one connection
//! over any transport of lines. Sessions are stored in the log and survive the connection.
//!
//! * `editor` is the state of a connection; `sessions`, `settings` and `prompts` implement the methods.
//! * `open_session` is a session that the editor has open; it forwards updates and, through `approvals`, requests.
//!
//! The files and terminals of the editor are not used: agents have their own.
//!
//! Handlers run inside the loop that reads messages, so they only start work and never wait for it.

mod approvals;
mod editor;
mod errors;
mod open_session;
mod prompt_content;
mod prompt_queue;
mod prompts;
mod request_settings;
mod sessions;
mod settings;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use agent_client_protocol::{
    Agent, ConnectTo, Error, JsonRpcResponse, Lines, Result, on_receive_notification, on_receive_request,
    v1::{
        Responder,
        schema::{
            AuthenticateRequest, CancelNotification, CloseSessionRequest, ForkSessionRequest, InitializeRequest,
            ListSessionsRequest, LoadSessionRequest, NewSessionRequest, PromptRequest, ResumeSessionRequest,
            SetSessionConfigOptionRequest, SetSessionModeRequest,
        },
    },
};
use futures_util::{Sink, SinkExt as _, Stream};
use tokio::sync::Notify;

use crate::Service;
use editor::EditorConnection;
use open_session::UpdateForwarder;
use request_settings::RequestWithSettings;
use settings::SetModelRequest;

pub use editor::AcpAgentConfig;

/// The maximum number of updates that are queued for the editor.
const MAX_QUEUED_UPDATES: usize = 1024;

/// Occurs in every update and, that early in a line, in nothing else.
const UPDATE_METHOD: &str = "\"session/update\"";

/// Serves an editor until the input ends.
pub async fn serve(
    service: Service,
    agent_config: AcpAgentConfig,
    incoming: impl Stream<Item = io::Result<String>> + Send + 'static,
    outgoing: impl Sink<String, Error = io::Error> + Send + 'static,
) -> Result<()> {
    let updates = UpdateLimiter::default();
    let editor = EditorConnection::new(service, agent_config, updates.clone());
    let outgoing = outgoing.with(move |line: String| {
        updates.count_written(&line);
        std::future::ready(Ok::<_, io::Error>(line))
    });
    let served = serve_editor(editor.clone(), Lines::new(outgoing, incoming)).await;
    editor.stop_updates();
    served
}

/// Responds when the result is known.
fn respond_later<T: JsonRpcResponse + Send + 'static>(
    responder: Responder<T>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<()> {
    tokio::spawn(async move {
        // An editor that is gone needs no response.
        drop(responder.respond_with_result(work.await));
    });
    Ok(())
}

/// Responds when the session is open, and then starts to send its updates.
fn respond_and_stream<T: JsonRpcResponse + Send + 'static>(
    responder: Responder<T>,
    work: impl Future<Output = Result<(T, UpdateForwarder)>> + Send + 'static,
) -> Result<()> {
    tokio::spawn(async move {
        let (response, updates) = match work.await {
            Ok((response, updates)) => (Ok(response), Some(updates)),
            Err(error) => (Err(error), None),
        };
        drop(responder.respond_with_result(response));
        if let Some(updates) = updates {
            updates.run();
        }
    });
    Ok(())
}

/// Adds request handlers, each with its own handle of the connection.
macro_rules! requests {
    ($builder:expr, $editor:ident, $(($request:ident: $kind:ty, $responder:ident, $line:ident) => $body:expr,)*) => {
        $builder$(.on_receive_request(
            {
                let $editor = $editor.clone();
                async move |$request: $kind, $responder, $line| {
                    let $editor = $editor.clone();
                    $body
                }
            },
            on_receive_request!(),
        ))*
    };
}

async fn serve_editor(editor: EditorConnection, lines: impl ConnectTo<Agent> + 'static) -> Result<()> {
    let cancelled = editor.clone();
    let agent = requests!(
        Agent.v1().name("switchboard"), editor,
        (request: InitializeRequest, responder, _line) => responder.respond(editor.initialize(&request)),
        (request: AuthenticateRequest, responder, _line) => {
            responder.respond_with_result(editor.authenticate(&request))
        },
        (request: RequestWithSettings<NewSessionRequest>, responder, line) => {
            respond_and_stream(responder, async move { editor.new_session(request, line).await })
        },
        (request: RequestWithSettings<LoadSessionRequest>, responder, line) => {
            respond_and_stream(responder, async move { editor.load(request, line).await })
        },
        (request: RequestWithSettings<ResumeSessionRequest>, responder, line) => {
            respond_and_stream(responder, async move { editor.resume(request, line).await })
        },
        (request: RequestWithSettings<ForkSessionRequest>, responder, line) => {
            respond_and_stream(responder, async move { editor.fork(request, line).await })
        },
        (request: ListSessionsRequest, responder, _line) => {
            respond_later(responder, async move { editor.list(&request).await })
        },
        (request: CloseSessionRequest, responder, _line) => {
            respond_later(responder, async move { editor.close(&request).await })
        },
        (request: SetSessionModeRequest, responder, _line) => {
            respond_later(responder, async move { editor.set_mode(&request).await })
        },
        (request: SetSessionConfigOptionRequest, responder, _line) => {
            respond_later(responder, async move { editor.set_config_option(&request).await })
        },
        (request: SetModelRequest, responder, _line) => {
            respond_later(responder, async move { editor.set_model(&request).await })
        },
        (request: RequestWithSettings<PromptRequest>, responder, _line) => match editor.accept_prompt(&request.request) {
            Ok(prompt) => {
                let cancellation = responder.cancellation();
                respond_later(responder, prompt.run_until_cancelled(cancellation))
            }
            Err(error) => responder.respond_with_error(error),
        },
    );
    let cancel = async move |request: CancelNotification, _line| {
        cancelled.cancel(&request.session_id.0);
        Ok::<_, Error>(())
    };
    agent.on_receive_notification(cancel, on_receive_notification!()).connect_to(lines).await
}

/// Limits the updates on their way to the editor: the queue below is unbounded, so a session waits here while the
/// editor reads more slowly than its agent writes.
#[derive(Clone, Default)]
pub struct UpdateLimiter(Arc<UpdateCount>);

#[derive(Default)]
struct UpdateCount {
    queued: AtomicUsize,
    written: Notify,
}

impl UpdateLimiter {
    /// Waits until another update may be sent.
    pub async fn wait_for_capacity(&self) {
        loop {
            let written = self.0.written.notified();
            if self.0.queued.load(Ordering::Acquire) < MAX_QUEUED_UPDATES {
                self.0.queued.fetch_add(1, Ordering::AcqRel);
                return;
            }
            written.await;
        }
    }

    /// Counts a written line.
    fn count_written(&self, line: &str) {
        // The method comes first, so the agent's own text cannot be mistaken for it.
        let head = line.get(..line.floor_char_boundary(64)).unwrap_or_default();
        if head.contains(UPDATE_METHOD) {
            let less = |count: usize| count.checked_sub(1);
            self.0.queued.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok();
            self.0.written.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_QUEUED_UPDATES, UpdateLimiter};

    #[tokio::test]
    async fn an_update_waits_while_the_editor_does_not_read() {
        let updates = UpdateLimiter::default();
        for _ in 0..MAX_QUEUED_UPDATES {
            updates.wait_for_capacity().await;
        }
        let mut waiting = Box::pin(updates.wait_for_capacity());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        updates.count_written(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        updates.count_written(r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#);
        assert!(futures_util::poll!(&mut waiting).is_ready());
    }
}
