//! `switchboard sessions prompt`: a prompt for a session that runs or has ended.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use switchboard_agents::AgentPrompt;
use switchboard_client::{AgentError, FollowUpRequest, ImageData, RemoteServer};
use switchboard_engine::StartRequest;
use switchboard_store::SessionRecord;

use super::{find_session, remote};
use crate::{
    data,
    failure::Failure,
    host,
    remote::{ServerClient, server_failure, session_record},
    run,
    terminal::{Terminal, print_note},
    watch::DisplaySettings,
};

/// Send a prompt to a session
///
/// While the session runs, the prompt joins the turn or waits for its end, depending on the agent. A session that has
/// ended is continued: by a `switchboard serve` of the same data directory if there is one, otherwise in this process,
/// like `switchboard run --resume`.
#[derive(Args)]
pub struct PromptSessionArgs {
    /// Session: an ID or its beginning, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// Prompt; read from standard input if `-` or omitted
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// Image for the agent; repeatable
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    image: Vec<PathBuf>,
}

pub fn run(args: &PromptSessionArgs, data: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let folder = host::data_directory(data)?;
    let log = data::open_log(Some(folder.clone()))?;
    let session = find_session(&*log, &args.session)?;
    let words = args.words()?;
    let remote = remote::connect_owner(&folder, &session)?;
    let runtime = host::build_runtime()?;
    let Some(remote) = remote.or_else(|| runtime.block_on(remote::find_server(&folder, &log))) else {
        drop((runtime, log));
        return continue_here(&folder, &session, words);
    };
    let explain = |error| remote::explain_remote_error(&*log, &session, error);
    runtime.block_on(send_prompt(&remote, &session, words, explain))?;
    Ok(ExitCode::SUCCESS)
}

pub fn run_on_server(args: &PromptSessionArgs, server: &ServerClient) -> Result<(), Failure> {
    let words = args.words()?;
    let session = session_record(&server.find_session(&args.session)?);
    server.runtime.block_on(send_prompt(&server.server, &session, words, server_failure))
}

impl PromptSessionArgs {
    fn words(&self) -> Result<AgentPrompt, Failure> {
        let images = self.image.iter().map(|path| run::read_image(path)).collect::<Result<_, _>>()?;
        Ok(AgentPrompt { text: run::read_prompt(self.prompt.as_deref())?, images, ..AgentPrompt::default() })
    }
}

/// Sends the prompt to the process that runs the session, or to a server that can.
async fn send_prompt(
    remote: &RemoteServer,
    session: &SessionRecord,
    words: AgentPrompt,
    explain: impl Fn(AgentError) -> Failure,
) -> Result<(), Failure> {
    let images = words.images.into_iter().map(|image| ImageData { media_type: image.media_type, data: image.data });
    let request = FollowUpRequest { prompt: words.text, images: images.collect(), ..FollowUpRequest::default() };
    remote.send_prompt(&session.id, &request).await.map_err(explain)?;
    let what = if session.state.is_final() { "continues" } else { "got the prompt" };
    print_note(&format!("session {id} {what}; watch it with: switchboard sessions follow {id}", id = session.id));
    Ok(())
}

/// Continues the session in this process, as there is no other that can.
fn continue_here(folder: &Path, session: &SessionRecord, words: AgentPrompt) -> Result<ExitCode, Failure> {
    print_note(&format!("session {} has ended and no server runs; it is continued here", session.id));
    let terminal = Terminal::new();
    let request = StartRequest {
        resume: Some(session.id.clone()),
        prompt: Some(words),
        audience: run::request_audience(None, &terminal),
        ..StartRequest::default()
    };
    let data = data::open_session_host(Some(folder.to_owned()), false, None)?;
    run::run_session(
        &data,
        request,
        None,
        &DisplaySettings { reasoning: true, ..DisplaySettings::default() },
        &terminal,
    )
}
