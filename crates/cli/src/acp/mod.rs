//! `switchboard acp`: any agent, for editors that speak the Agent Client Protocol.

mod args;
mod lines;

use std::{process::ExitCode, time::Duration};

use switchboard_serve::acp;

pub use args::Acp;

use crate::{
    data::{self, Bounds},
    failure::Failure,
    host,
    watch::{Asked, Signals},
};

/// How long agents may take to end when the editor is gone.
const ENDING: Duration = Duration::from_secs(10);
/// For those who still read what a session said last.
const PARTING: Duration = Duration::from_millis(500);

/// Runs the command.
pub fn run(args: &Acp) -> Result<ExitCode, Failure> {
    let front = args.front()?;
    let data = data::open(args.data.clone(), false)?;
    host::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let private = data.door()?;
        data.adopt_orphans()?;
        let bounds = Bounds { limits: args.timeouts.limits(), ..Bounds::default() };
        let service = data.service(host::absolute(".".as_ref()), bounds)?;
        let (incoming, outgoing, written) = lines::standard();
        let served = tokio::select! {
            served = acp::serve(service, front, incoming, outgoing) => served,
            () = ended(&mut signals) => Ok(()),
        };
        data.engine.stop_all_sessions(ENDING).await;
        if let Some(private) = private {
            private.close(PARTING).await;
        }
        written.finish().await;
        served.map_err(|error| Failure::Machine(format!("the editor cannot be spoken with: {error}")))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Waits for a signal to end. An editor may send Ctrl-C to all its children, which is no reason to end yet.
async fn ended(signals: &mut Signals) {
    while signals.next().await != Asked::End {}
}
