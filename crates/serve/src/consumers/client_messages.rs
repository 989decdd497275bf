//! Handling of consumers' messages, one by one. An invalid message is answered with an `error`; the connection stays
//! open.

use std::num::NonZeroU32;

use axum::http::StatusCode;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde::Deserialize;
use switchboard_agents::{AgentPrompt, WhileRunning};
use switchboard_client::{ApprovalAnswer, ApprovalDecision, FollowUpRequest, ImageData};
use switchboard_dialects::consumer::wire::{
    Behavior, CLIENT_TYPES, PermissionAnswer, ServerMessage, SetModel, SetPermissionMode, SlashCommand, SlashSource,
    UserInput,
};
use switchboard_event::SettingsForm;

use super::shared_session::ConsumerPresence;
use crate::{
    Problem,
    conversation::SettingChanges,
    extract::{RequestBody, parse_body, parse_json, without_settings},
    guard::Caller,
    requests::PromptRequest,
};

/// The maximum size of a message without images.
const MAX_MESSAGE_BYTES: usize = 256 << 10;

const MESSAGES_PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(49);

const MESSAGE_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Handles the messages of one consumer.
pub struct ConsumerMessages {
    pub presence: ConsumerPresence,
    caller: Option<Caller>,
    limiter: DefaultDirectRateLimiter,
}

/// Declares the form of a message: its own fields, and those that any message may have.
macro_rules! forms {
    ($($message:ty => [$($field:ident),*],)*) => {
        $(impl RequestBody for $message {
            const FORM: SettingsForm =
                without_settings(&[$(stringify!($field),)* "type", "id", "request_id", "session_id", "uuid", "timestamp"]);
        })*
    };
}

forms! {
    UserInput => [content, text, images],
    PermissionAnswer => [behavior, updated_input, message, answers, option],
    SetModel => [model],
    SetPermissionMode => [mode],
    SlashCommand => [command, name, args, arguments],
}

/// The fields that are read before the message itself.
#[derive(Deserialize)]
struct ClientMessageHead {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    request_id: Option<String>,
}

impl ConsumerMessages {
    pub fn new(presence: ConsumerPresence, caller: Option<Caller>) -> Self {
        Self {
            presence,
            caller,
            limiter: RateLimiter::direct(Quota::per_second(MESSAGES_PER_SECOND).allow_burst(MESSAGE_BURST)),
        }
    }

    /// Handles a message and returns the response, if there is one.
    pub async fn handle_message(&self, text: &[u8]) -> Option<ServerMessage> {
        if self.limiter.check().is_err() {
            let detail = format!("more than {MESSAGES_PER_SECOND} messages per second");
            return Some(error_message(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail), None));
        }
        let kind = match parse_json::<ClientMessageHead>(text) {
            Ok(kind) => kind,
            Err(problem) => return Some(error_message(problem, None)),
        };
        match self.handle(&kind, text).await {
            Ok(reply) => reply,
            Err(problem) => Some(error_message(problem, Some(&kind))),
        }
    }

    async fn handle(&self, kind: &ClientMessageHead, text: &[u8]) -> Result<Option<ServerMessage>, Problem> {
        let name = kind.kind.as_str();
        if !CLIENT_TYPES.contains(&name) {
            let known = CLIENT_TYPES.join(", ");
            return Err(Problem::bad_field("type", &format!("unknown type `{name}`"))
                .with_hint(format!("known types: {known}")));
        }
        let carries = matches!(name, "user_message" | "queue_message" | "update_queued_message");
        if text.len() > MAX_MESSAGE_BYTES && !carries {
            let detail = "the message is larger than 256 kB (without images)";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        if name == "presence_query" {
            let consumers = self.presence.session.state().present();
            return Ok(Some(ServerMessage::PresenceUpdate { consumers }));
        }
        self.check_may_control().await?;
        match name {
            "slash_command" => Ok(Some(self.slash(text).await?)),
            _ => self.control(name, text).await.map(|()| None),
        }
    }

    async fn check_may_control(&self) -> Result<(), Problem> {
        if !self.presence.may_control() {
            let detail = "observers cannot control the session";
            let problem = Problem::new(StatusCode::FORBIDDEN, "observer", detail);
            return Err(problem.with_hint("connect with `role=participant` to control the session"));
        }
        match &self.caller {
            Some(caller) => Ok(caller.check_may_control().await?),
            None => Ok(()),
        }
    }

    async fn control(&self, name: &str, text: &[u8]) -> Result<(), Problem> {
        let (session, conversation) = (&self.presence.session, &self.presence.session.conversation);
        match name {
            "user_message" => self.presence.send_prompt(self.read::<UserInput>(text).await?).await,
            "queue_message" => session.queue_prompt(&self.presence.consumer, self.read::<UserInput>(text).await?),
            "update_queued_message" => session.update_prompt(self.read::<UserInput>(text).await?),
            "cancel_queued_message" => session.cancel_prompt(),
            "permission_response" => {
                let message = self.read::<PermissionAnswer>(text).await?;
                conversation.answer(&message.request_id, &to_approval_answer(&message)).await.map(drop)
            }
            "interrupt" => conversation.interrupt().await,
            "set_model" => {
                let model = check_name("model", self.read::<SetModel>(text).await?.model)?;
                conversation.change(&SettingChanges { model: Some(model), ..SettingChanges::default() }).await
            }
            "set_permission_mode" => {
                let mode = check_name("mode", self.read::<SetPermissionMode>(text).await?.mode)?;
                conversation.change(&SettingChanges { mode: Some(mode), ..SettingChanges::default() }).await
            }
            // The remaining type is `set_adapter`; all others are handled above.
            _ => {
                let agent = conversation.agent().name;
                let detail = format!("the agent of a session cannot be changed; this one belongs to {agent}");
                Err(Problem::conflict("other_agent", detail).with_hint("start another session with POST /api/sessions"))
            }
        }
    }

    /// Reads a message, and reports ignored fields in the session.
    async fn read<T: RequestBody>(&self, text: &[u8]) -> Result<T, Problem> {
        let (message, ignored) = parse_body(text)?;
        let conversation = &self.presence.session.conversation;
        conversation.service().report_ignored_fields(conversation.id(), &ignored).await;
        Ok(message)
    }

    async fn slash(&self, text: &[u8]) -> Result<ServerMessage, Problem> {
        let message = self.read::<SlashCommand>(text).await?;
        let (name, arguments) = parse_slash_command(&message)?;
        let (command, request_id) = (format!("/{name}"), message.request_id);
        let result = self.presence.session.conversation.send_slash_command(&name, &arguments).await;
        Ok(match result {
            Ok(()) => {
                let (content, source) = (String::new(), SlashSource::Cli);
                ServerMessage::SlashCommandResult { command, request_id, content, source }
            }
            Err(problem) => ServerMessage::SlashCommandError { command, request_id, error: describe_problem(&problem) },
        })
    }
}

fn describe_problem(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("{} ({hint})", problem.detail),
        None => problem.detail.to_string(),
    }
}

fn check_name(field: &str, name: String) -> Result<String, Problem> {
    match name.chars().count() {
        1..=1000 => Ok(name),
        _ => Err(Problem::bad_field(field, "must have 1 to 1000 characters")),
    }
}

fn error_message(problem: Problem, to: Option<&ClientMessageHead>) -> ServerMessage {
    ServerMessage::Error {
        message: problem.detail.into(),
        code: problem.code.into_owned(),
        hint: problem.hint.map(Into::into),
        to: to.map(|kind| kind.kind.clone()),
        request_id: to.and_then(|kind| kind.request_id.clone()),
    }
}

pub fn build_prompt(input: &UserInput) -> Result<AgentPrompt, Problem> {
    let image = |image: &switchboard_dialects::consumer::wire::ImageData| ImageData {
        media_type: image.media_type.clone(),
        data: image.data.clone(),
    };
    let images = input.images.iter().map(image).collect();
    let request =
        PromptRequest::from(FollowUpRequest { prompt: input.content.clone(), images, ..FollowUpRequest::default() });
    request.prompt().map_err(with_message_field_names)
}

/// The fields of a message have other names than those of a request.
fn with_message_field_names(problem: Problem) -> Problem {
    let detail = problem.detail.replacen("prompt:", "content:", 1).replace(".mediaType", ".media_type");
    Problem { detail: detail.into(), ..problem }
}

pub fn to_approval_answer(message: &PermissionAnswer) -> ApprovalAnswer {
    ApprovalAnswer {
        decision: match message.behavior {
            Behavior::Allow => ApprovalDecision::Accept,
            Behavior::Deny => ApprovalDecision::Decline,
        },
        option: message.option.clone(),
        reason: message.message.clone(),
        input: message.updated_input.clone(),
        answers: message.answers.clone(),
    }
}

/// Returns the name and the arguments of a slash command.
pub fn parse_slash_command(message: &SlashCommand) -> Result<(String, String), Problem> {
    let line = message.command.trim().trim_start_matches('/');
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.is_empty() {
        return Err(Problem::bad_field("command", "must name a command"));
    }
    let arguments = [Some(rest.trim()), message.args.as_deref()].into_iter().flatten().filter(|text| !text.is_empty());
    Ok((name.to_owned(), arguments.collect::<Vec<_>>().join(" ")))
}

impl ConsumerPresence {
    /// Sends a prompt to the agent, unless it must wait for the current turn.
    pub async fn send_prompt(&self, input: UserInput) -> Result<(), Problem> {
        let prompt = build_prompt(&input)?;
        let waits = self.session.conversation.agent().abilities.while_running == WhileRunning::Wait;
        if waits && self.session.is_busy().await? {
            return self.session.queue_prompt(&self.consumer, input);
        }
        self.session.send_prompt(prompt).await
    }
}
