//! What consumers say, heard one by one: whatever is wrong with it is an `error`, and the connection lives.

use std::num::NonZeroU32;

use axum::http::StatusCode;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde::Deserialize;
use switchboard_dialects::consumer::wire::{
    CLIENT_TYPES, PermissionAnswer, ServerMessage, SetModel, SetPermissionMode, SlashCommand, SlashSource, UserInput,
};

use switchboard_event::SettingsForm;

use super::{
    prompts::{answer, slash},
    room::Seat,
};
use crate::{
    Problem,
    conversation::Changes,
    guard::Caller,
    input::{RequestBody, no_settings, parse, parse_body},
};

/// The largest message without images.
const LARGEST: usize = 256 << 10;

/// So many messages a second, and so many at once.
const RATE: NonZeroU32 = NonZeroU32::MIN.saturating_add(49);
const BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Somebody who is heard.
pub struct Speaker {
    /// Who it is, and where.
    pub seat: Seat,
    caller: Option<Caller>,
    limiter: DefaultDirectRateLimiter,
}

/// The form of a message: its own fields, and those that any message may have.
macro_rules! forms {
    ($($message:ty => [$($field:ident),*],)*) => {
        $(impl RequestBody for $message {
            const FORM: SettingsForm =
                no_settings(&[$(stringify!($field),)* "type", "id", "request_id", "session_id", "uuid", "timestamp"]);
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

/// What kind of message it is.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    request_id: Option<String>,
}

impl Speaker {
    /// Somebody who came in. Without a guard around the server nobody asks who it is.
    pub fn new(seat: Seat, caller: Option<Caller>) -> Self {
        Self { seat, caller, limiter: RateLimiter::direct(Quota::per_second(RATE).allow_burst(BURST)) }
    }

    /// Does what was said. What there is to say about it, if there is.
    pub async fn hear(&self, text: &[u8]) -> Option<ServerMessage> {
        if self.limiter.check().is_err() {
            let detail = format!("more than {RATE} messages a second");
            return Some(error(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail), None));
        }
        let kind = match parse::<Kind>(text) {
            Ok(kind) => kind,
            Err(problem) => return Some(error(problem, None)),
        };
        match self.obey(&kind, text).await {
            Ok(reply) => reply,
            Err(problem) => Some(error(problem, Some(&kind))),
        }
    }

    async fn obey(&self, kind: &Kind, text: &[u8]) -> Result<Option<ServerMessage>, Problem> {
        let name = kind.kind.as_str();
        if !CLIENT_TYPES.contains(&name) {
            let known = CLIENT_TYPES.join(", ");
            return Err(
                Problem::bad_field("type", &format!("there is no `{name}`")).with_hint(format!("one of {known}"))
            );
        }
        let carries = matches!(name, "user_message" | "queue_message" | "update_queued_message");
        if text.len() > LARGEST && !carries {
            let detail = "a message has at most 256 kB, without images";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        if name == "presence_query" {
            let consumers = self.seat.room.look().present();
            return Ok(Some(ServerMessage::PresenceUpdate { consumers }));
        }
        self.may_steer().await?;
        match name {
            "slash_command" => Ok(Some(self.slash(text).await?)),
            _ => self.steer(name, text).await.map(|()| None),
        }
    }

    async fn may_steer(&self) -> Result<(), Problem> {
        if !self.seat.may_steer() {
            let detail = "you are an observer, and observers only look";
            let problem = Problem::new(StatusCode::FORBIDDEN, "observer", detail);
            return Err(problem.with_hint("connect with `role=participant` to steer the session"));
        }
        match &self.caller {
            Some(caller) => Ok(caller.may_command().await?),
            None => Ok(()),
        }
    }

    async fn steer(&self, name: &str, text: &[u8]) -> Result<(), Problem> {
        let (room, conversation) = (&self.seat.room, &self.seat.room.conversation);
        match name {
            "user_message" => self.seat.say(self.read::<UserInput>(text).await?).await,
            "queue_message" => room.queue(&self.seat.consumer, self.read::<UserInput>(text).await?),
            "update_queued_message" => room.update(self.read::<UserInput>(text).await?),
            "cancel_queued_message" => room.take_back(),
            "permission_response" => {
                let said = self.read::<PermissionAnswer>(text).await?;
                conversation.answer(&said.request_id, &answer(&said)).await.map(drop)
            }
            "interrupt" => conversation.interrupt().await,
            "set_model" => {
                let model = named("model", self.read::<SetModel>(text).await?.model)?;
                conversation.change(&Changes { model: Some(model), ..Changes::default() }).await
            }
            "set_permission_mode" => {
                let mode = named("mode", self.read::<SetPermissionMode>(text).await?.mode)?;
                conversation.change(&Changes { mode: Some(mode), ..Changes::default() }).await
            }
            // All others are above, or answered before.
            _ => {
                let agent = conversation.agent().name;
                let detail = format!("a session keeps its agent, and this one is of {agent}");
                Err(Problem::conflict("other_agent", detail).with_hint("start another session with POST /api/sessions"))
            }
        }
    }

    /// Reads a message. The session tells of fields that were ignored.
    async fn read<T: RequestBody>(&self, text: &[u8]) -> Result<T, Problem> {
        let (message, ignored) = parse_body(text)?;
        let conversation = &self.seat.room.conversation;
        conversation.service().remark_ignored(conversation.id(), &ignored).await;
        Ok(message)
    }

    async fn slash(&self, text: &[u8]) -> Result<ServerMessage, Problem> {
        let said = self.read::<SlashCommand>(text).await?;
        let (name, arguments) = slash(&said)?;
        let (command, request_id) = (format!("/{name}"), said.request_id);
        let done = self.seat.room.conversation.slash(&name, &arguments).await;
        Ok(match done {
            Ok(()) => {
                let (content, source) = (String::new(), SlashSource::Cli);
                ServerMessage::SlashCommandResult { command, request_id, content, source }
            }
            Err(problem) => ServerMessage::SlashCommandError { command, request_id, error: told(&problem) },
        })
    }
}

fn told(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("{} ({hint})", problem.detail),
        None => problem.detail.to_string(),
    }
}

fn named(field: &str, name: String) -> Result<String, Problem> {
    match name.chars().count() {
        1..=1000 => Ok(name),
        _ => Err(Problem::bad_field(field, "1 to 1000 characters")),
    }
}

fn error(problem: Problem, to: Option<&Kind>) -> ServerMessage {
    ServerMessage::Error {
        message: problem.detail.into(),
        code: problem.code.into_owned(),
        hint: problem.hint.map(Into::into),
        to: to.map(|kind| kind.kind.clone()),
        request_id: to.and_then(|kind| kind.request_id.clone()),
    }
}
