//! `model`: the scripted model alone, to try an agent against it by hand.

use anyhow::Context as _;
use clap::Args;
use switchboard_testkit::model::ScriptedModel;

use super::{print_line, stage::describe_request};

/// Run the scripted model until it is stopped, and say what it is asked
#[derive(Args)]
pub struct ScriptedModelArgs {
    /// The port of loopback to listen on; any free one if it is 0
    #[arg(long, default_value_t = 0)]
    port: u16,
}

pub fn run_model(args: &ScriptedModelArgs) -> anyhow::Result<()> {
    let model =
        ScriptedModel::start_on_port(args.port).with_context(|| format!("cannot listen on port {}", args.port))?;
    print_line(&model.base_url());
    let mut seen = 0;
    loop {
        let Some(request) = model.wait_for_nth(seen) else { continue };
        seen += 1;
        print_line(&describe_request(&request));
    }
}
