//! One prompt, one answer: `opencode run`. Nobody can be asked: what would be asked is refused.

use switchboard_event::ApprovalMode;

use super::rules;
use crate::{Image, Input, Launch, Order, Unsupported};

/// Completes what is started. The prompt goes through the standard input: as an argument it would be put in quotes.
pub fn finish(order: &Order<'_>, launch: &mut Launch) -> Result<(), Unsupported> {
    if order.prompt.output_schema.is_some() {
        return Err(
            Unsupported::new("`opencode run` cannot give its answer a schema").with_hint("leave out --one-shot")
        );
    }
    let mut args = vec!["run", "--format", "json", "--thinking"];
    if rules::is_free(order.config) {
        args.push("--auto");
    }
    if let Some(model) = &order.config.model {
        args.extend(["--model", model]);
    }
    if let Some(resume) = order.resume {
        args.extend(["--session", resume.session]);
        if resume.fork {
            args.push("--fork");
        }
    }
    launch.args = args.into_iter().map(str::to_owned).collect();
    for image in &order.prompt.images {
        launch.args.extend(["--file".to_owned(), path_of(image)?]);
    }
    if order.config.approval_mode == Some(ApprovalMode::AskDangerous) {
        launch
            .weaker
            .push("a one-shot cannot tell dangerous calls from others, so all but looking is refused".to_owned());
    }
    launch.source = "opencode:run";
    launch.input = Input::Text(order.prompt.text.clone());
    Ok(())
}

fn path_of(image: &Image) -> Result<String, Unsupported> {
    let path = image.path.as_ref().map(|path| path.display().to_string());
    path.ok_or_else(|| Unsupported::new("`opencode run` takes images only as files").with_hint("leave out --one-shot"))
}
