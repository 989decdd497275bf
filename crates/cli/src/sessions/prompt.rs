//! `switchboard sessions prompt`: something more for a session to do, whether it runs or has ended.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use switchboard_agents::AgentPrompt;
use switchboard_client::{FollowUpRequest, ImageData, RemoteServer};
use switchboard_engine::StartRequest;
use switchboard_store::{SessionRecord, SqliteStore};

use super::{found, process, say};
use crate::{data, failure::Failure, host, run, terminal::Terminal, watch::Look};

/// Give a session something more to do
///
/// While the session runs, the prompt joins the turn or waits for its end, as the agent can. A session that has ended is
/// continued: by a `switchboard serve` of the same data folder if there is one, else here, as `switchboard run --resume`
/// would.
#[derive(Args)]
pub struct Prompt {
    /// The session: its id or the beginning of it, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// What to do; read from standard input if it is `-` or left out
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// An image for the agent to look at
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    image: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Prompt, data: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let folder = host::data_folder(data)?;
    let log = data::log(Some(folder.clone()))?;
    let session = found::find(&*log, &args.session)?;
    let words = args.words()?;
    let remote = process::of(&folder, &session)?;
    let runtime = host::runtime()?;
    let Some(remote) = remote.or_else(|| runtime.block_on(process::server(&folder, &log))) else {
        drop((runtime, log));
        return here(&folder, &session, words);
    };
    runtime.block_on(there(&remote, &log, &session, words))?;
    Ok(ExitCode::SUCCESS)
}

impl Prompt {
    fn words(&self) -> Result<AgentPrompt, Failure> {
        let images = self.image.iter().map(|path| run::image(path)).collect::<Result<_, _>>()?;
        Ok(AgentPrompt { text: run::text(self.prompt.as_deref())?, images, ..AgentPrompt::default() })
    }
}

/// Sends the prompt to the process that runs the session, or to a server that can.
async fn there(
    remote: &RemoteServer,
    log: &SqliteStore,
    session: &SessionRecord,
    words: AgentPrompt,
) -> Result<(), Failure> {
    let images = words.images.into_iter().map(|image| ImageData { media_type: image.media_type, data: image.data });
    let request = FollowUpRequest { prompt: words.text, images: images.collect(), ..FollowUpRequest::default() };
    let told = remote.send_prompt(&session.id, &request).await;
    told.map_err(|error| process::explained(log, session, error))?;
    let what = if session.state.is_final() { "goes on" } else { "was told" };
    say(&format!("session {id} {what}; watch it with: switchboard sessions follow {id}", id = session.id));
    Ok(())
}

/// Continues the session in this process, as no other can run it.
fn here(folder: &Path, session: &SessionRecord, words: AgentPrompt) -> Result<ExitCode, Failure> {
    say(&format!("session {} has ended and no server runs; it is continued here", session.id));
    let terminal = Terminal::new();
    let request = StartRequest {
        resume: Some(session.id.clone()),
        prompt: Some(words),
        audience: run::audience(None, &terminal),
        ..StartRequest::default()
    };
    let data = data::open(Some(folder.to_owned()), false)?;
    run::perform(&data, request, None, &Look { reasoning: true, ..Look::default() }, &terminal)
}
