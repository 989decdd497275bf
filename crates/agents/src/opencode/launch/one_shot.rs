//! One prompt, one answer: `opencode run`. It cannot ask, so calls that need approval are refused.

use switchboard_event::ApprovalMode;

use super::rules;
use crate::{AgentLaunch, LaunchRequest, PromptImage, StdinMode, UnsupportedOperation};

/// Completes a launch. The prompt is passed on standard input, because `opencode run` would quote it as an argument.
pub fn finish(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) -> Result<(), UnsupportedOperation> {
    if order.prompt.output_schema.is_some() {
        return Err(UnsupportedOperation::new("`opencode run` cannot give its answer a schema")
            .with_hint("leave out --one-shot"));
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
    launch.input = StdinMode::Text(order.prompt.text.clone());
    Ok(())
}

fn path_of(image: &PromptImage) -> Result<String, UnsupportedOperation> {
    let path = image.path.as_ref().map(|path| path.display().to_string());
    path.ok_or_else(|| {
        UnsupportedOperation::new("`opencode run` takes images only as files").with_hint("leave out --one-shot")
    })
}
