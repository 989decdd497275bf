//! `switchboard run --server`: the session runs on a server, and is shown here.

use std::process::ExitCode;

use switchboard_client::{ImageData, RemoteServer, SessionView, StartSessionRequest};
use switchboard_dialects::Dialect;
use switchboard_engine::{RequestAudience, StartRequest};
use switchboard_event::Id;

use super::{RunArgs, exit_code, request_audience};
use crate::{
    failure::Failure,
    remote::{RemoteEvents, ServerClient, ServerSession, session_record},
    sessions::SessionHistory,
    signals::StopSignals,
    terminal::{Terminal, print_note},
    watch::{self, MessageWriter, WatchEnd, interactive::show_session},
};

pub fn run(
    args: &RunArgs,
    server: &ServerClient,
    dialect: Option<&Dialect>,
    terminal: &Terminal,
) -> Result<ExitCode, Failure> {
    args.check_for_server()?;
    let audience = request_audience(dialect, terminal);
    let resumed = args.resume.as_deref().map(|what| server.find_session(what)).transpose()?;
    let request = session_request(args, args.request(audience)?, resumed.as_ref().map(|session| &session.id));
    // A copy begins with its own events.
    let after = resumed.filter(|_| !args.fork).map_or(0, |session| session.events);
    let session = server.wait(server.server.create_session(&request))?;
    let watched = server.runtime.block_on(watch_session(args, &server.server, &session, after, dialect, terminal));
    if watched.is_err() {
        // The reader of the output or the connection is gone, so the session has no purpose.
        drop(server.wait(server.server.cancel_session(&session.id)));
    }
    match watched? {
        WatchEnd::ToItsEnd => ended_exit_code_on_server(server, &session.id),
        WatchEnd::Left => {
            print_note(&format!(
                "stopped watching; the session may continue: switchboard sessions follow {}",
                session.id
            ));
            Ok(ExitCode::from(130))
        }
    }
}

/// Returns the request to the server. A server decides about the working directory of a session without one.
fn session_request(args: &RunArgs, local: StartRequest, resumed: Option<&Id>) -> StartSessionRequest {
    let prompt = local.prompt.unwrap_or_default();
    let image = |image: switchboard_agents::PromptImage| ImageData { media_type: image.media_type, data: image.data };
    StartSessionRequest {
        agent_type: local.agent,
        prompt: prompt.text,
        session_id: resumed.cloned(),
        config: Some(local.config),
        images: prompt.images.into_iter().map(image).collect(),
        command: local.command,
        env: local.env.into_iter().collect(),
        fork: local.fork,
        timeout_seconds: args.timeout.map(|time| time.as_secs_f64()),
        approval_timeout_seconds: args.approval_timeout.map(|time| time.as_secs_f64()),
        ..StartSessionRequest::default()
    }
}

async fn watch_session(
    args: &RunArgs,
    server: &RemoteServer,
    session: &SessionView,
    after: u64,
    dialect: Option<&Dialect>,
    terminal: &Terminal,
) -> Result<WatchEnd, Failure> {
    let mut signals = StopSignals::listen()?;
    let control = ServerSession::started(server, session);
    let mut events = RemoteEvents::follow(server, session, after);
    if request_audience(dialect, terminal) == RequestAudience::None {
        events.decline_requests(server, session);
    }
    match dialect {
        Some(dialect) => watch::write_messages(&mut events, &control, MessageWriter::new(dialect), &mut signals).await,
        None => show_session(&mut events, &control, &args.look(), terminal, &mut signals).await,
    }
}

/// Returns the documented exit code for a session of a server that has ended.
pub fn ended_exit_code_on_server(server: &ServerClient, id: &Id) -> Result<ExitCode, Failure> {
    let view = server.wait(server.server.get_session(id))?;
    let session = session_record(&view);
    Ok(exit_code(view.reason, || SessionHistory::on_server(server, &session).has_started_turn()))
}
