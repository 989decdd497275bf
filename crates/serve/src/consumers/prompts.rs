//! What consumers want of the agent, as the rest of the server takes it.

use switchboard_agents::{AgentPrompt, WhileRunning};
use switchboard_dialects::consumer::wire::{Behavior, PermissionAnswer, SlashCommand, UserInput};

use super::room::Seat;
use crate::{
    Problem,
    order::{ApprovalAnswer, ApprovalDecision, ImageData, PromptRequest},
};

/// A prompt that makes sense.
///
/// # Errors
/// If it is empty or too long, or an image is none.
pub fn prompt(input: &UserInput) -> Result<AgentPrompt, Problem> {
    let image = |image: &switchboard_dialects::consumer::wire::ImageData| ImageData {
        media_type: image.media_type.clone(),
        data: image.data.clone(),
    };
    let images = input.images.iter().map(image).collect();
    let request = PromptRequest { prompt: input.content.clone(), images, ..PromptRequest::default() };
    request.prompt().map_err(in_words_of_a_message)
}

/// The fields of a message have names of their own.
fn in_words_of_a_message(problem: Problem) -> Problem {
    let detail = problem.detail.replacen("prompt:", "content:", 1).replace(".mediaType", ".media_type");
    Problem { detail: detail.into(), ..problem }
}

/// The answer to what the agent asks.
pub fn answer(said: &PermissionAnswer) -> ApprovalAnswer {
    ApprovalAnswer {
        decision: match said.behavior {
            Behavior::Allow => ApprovalDecision::Accept,
            Behavior::Deny => ApprovalDecision::Decline,
        },
        option: said.option.clone(),
        reason: said.message.clone(),
        input: said.updated_input.clone(),
        answers: said.answers.clone(),
    }
}

/// The name of a slash command, and what stands behind it.
///
/// # Errors
/// If it has no name.
pub fn slash(said: &SlashCommand) -> Result<(String, String), Problem> {
    let line = said.command.trim().trim_start_matches('/');
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.is_empty() {
        return Err(Problem::bad_field("command", "which command?"));
    }
    let arguments = [Some(rest.trim()), said.args.as_deref()].into_iter().flatten().filter(|text| !text.is_empty());
    Ok((name.to_owned(), arguments.collect::<Vec<_>>().join(" ")))
}

impl Seat {
    /// A prompt: to the agent at once if no turn runs or the agent takes it into the turn, else it waits.
    ///
    /// # Errors
    /// If it makes no sense, one waits already, or the agent cannot be started.
    pub async fn say(&self, input: UserInput) -> Result<(), Problem> {
        let prompt = prompt(&input)?;
        let waits = self.room.conversation.agent().abilities.while_running == WhileRunning::Wait;
        if waits && self.room.is_busy().await? {
            return self.room.queue(&self.consumer, input);
        }
        self.room.give(prompt).await
    }
}
