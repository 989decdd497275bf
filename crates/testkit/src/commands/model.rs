//! `model`: the scripted model alone, to try an agent against it by hand.

use anyhow::Context as _;
use clap::Args;
use switchboard_testkit::model::Model as Server;

use super::{say, stage::line};

/// Run the scripted model until it is stopped, and say what it is asked
#[derive(Args)]
pub struct Model {
    /// The port of loopback to listen on; any free one if it is 0
    #[arg(long, default_value_t = 0)]
    port: u16,
}

/// Runs the command.
pub fn run(args: &Model) -> anyhow::Result<()> {
    let model = Server::on_port(args.port).with_context(|| format!("cannot listen on port {}", args.port))?;
    say(&model.url());
    let mut seen = 0;
    loop {
        let Some(request) = model.next(seen) else { continue };
        seen += 1;
        say(&line(&request));
    }
}
