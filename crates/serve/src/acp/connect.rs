//! One connection: which request is handled by whom. Handlers run inside the loop that reads, so all they do is to begin
//! something; what takes time is a task of its own.

use std::io;

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

use super::{
    editor::{Editor, Front},
    flow::Flow,
    pump::Pump,
    settings::SetModelRequest,
};
use crate::Service;

/// Serves an editor over lines, until it sends no more.
///
/// # Errors
/// If the lines cannot be read or written.
pub async fn serve(
    service: Service,
    front: Front,
    incoming: impl Stream<Item = io::Result<String>> + Send + 'static,
    outgoing: impl Sink<String, Error = io::Error> + Send + 'static,
) -> Result<()> {
    let flow = Flow::default();
    let editor = Editor::new(service, front, flow.clone());
    let counted = outgoing.with(move |line: String| {
        flow.written(&line);
        std::future::ready(Ok::<_, io::Error>(line))
    });
    let served = connect(editor.clone(), Lines::new(counted, incoming)).await;
    editor.leave();
    served
}

/// Answers when it is known what.
fn later<T: JsonRpcResponse + Send + 'static>(
    responder: Responder<T>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<()> {
    tokio::spawn(async move {
        // An editor that is gone needs no answer.
        drop(responder.respond_with_result(work.await));
    });
    Ok(())
}

/// The same for what opens a session: how it goes on is told after the answer.
fn opens<T: JsonRpcResponse + Send + 'static>(
    responder: Responder<T>,
    work: impl Future<Output = Result<(T, Pump)>> + Send + 'static,
) -> Result<()> {
    tokio::spawn(async move {
        let (answer, pump) = match work.await {
            Ok((answer, pump)) => (Ok(answer), Some(pump)),
            Err(error) => (Err(error), None),
        };
        drop(responder.respond_with_result(answer));
        if let Some(pump) = pump {
            pump.go_on();
        }
    });
    Ok(())
}

/// Adds handlers of requests, each with the editor at hand.
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

async fn connect(editor: Editor, lines: impl ConnectTo<Agent> + 'static) -> Result<()> {
    let cancelled = editor.clone();
    let agent = requests!(
        Agent.v1().name("switchboard"), editor,
        (request: InitializeRequest, responder, _line) => responder.respond(editor.initialize(&request)),
        (request: AuthenticateRequest, responder, _line) => {
            responder.respond_with_result(editor.authenticate(&request))
        },
        (request: NewSessionRequest, responder, line) => {
            opens(responder, async move { editor.new_session(request, line).await })
        },
        (request: LoadSessionRequest, responder, line) => {
            opens(responder, async move { editor.load(request, line).await })
        },
        (request: ResumeSessionRequest, responder, line) => {
            opens(responder, async move { editor.resume(request, line).await })
        },
        (request: ForkSessionRequest, responder, line) => {
            opens(responder, async move { editor.fork(request, line).await })
        },
        (request: ListSessionsRequest, responder, _line) => {
            later(responder, async move { editor.list(&request).await })
        },
        (request: CloseSessionRequest, responder, _line) => {
            later(responder, async move { editor.close(&request).await })
        },
        (request: SetSessionModeRequest, responder, _line) => {
            later(responder, async move { editor.set_mode(&request).await })
        },
        (request: SetSessionConfigOptionRequest, responder, _line) => {
            later(responder, async move { editor.set_config_option(&request).await })
        },
        (request: SetModelRequest, responder, _line) => {
            later(responder, async move { editor.set_model(&request).await })
        },
        (request: PromptRequest, responder, _line) => match editor.prompted(&request) {
            Ok(waiting) => {
                let taken_back = responder.cancellation();
                later(responder, waiting.run_unless(taken_back))
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
