//! The words of the client library in those of the engine, and back.

use std::time::Duration;

use switchboard_agents::{Answer, Command, Decision, Image, Prompt};
use switchboard_client::{self as client, Order, SessionQuery, SessionRequest, SessionState, SessionView};
use switchboard_store::{Filter, Session as Stored, State};

use crate::{Audience, Limits, StartRequest};

/// What the engine is asked for.
pub fn start(request: SessionRequest) -> StartRequest {
    let mut config = request.config.unwrap_or_default();
    config.project_id = request.project_id.or(config.project_id);
    let limits = Limits::default();
    StartRequest {
        agent: request.agent_type,
        prompt: Some(prompt(client::PromptRequest { prompt: request.prompt, images: request.images, config: None })),
        config,
        resume: request.session_id,
        fork: request.fork,
        command: request.command,
        env: request.env,
        audience: Audience::Client,
        stay: request.stay,
        limits: Limits {
            total: request.timeout_seconds.map(Duration::from_secs),
            approval: request.approval_timeout_seconds.map_or(limits.approval, Duration::from_secs),
            ..limits
        },
        ..StartRequest::default()
    }
}

/// A prompt.
pub fn prompt(request: client::PromptRequest) -> Prompt {
    let image = |image: client::ImageData| Image { media_type: image.media_type, data: image.data, path: None };
    Prompt { text: request.prompt, images: request.images.into_iter().map(image).collect(), output_schema: None }
}

/// What the agent is told; nothing if it is the session that shall end.
pub fn command(order: Order) -> Option<Command> {
    Some(match order {
        Order::Prompt(request) => Command::Prompt(prompt(request)),
        Order::Answer { request, answer } => Command::Answer(Answer {
            request,
            decision: match answer.decision {
                client::Decision::Accept => Decision::Allow,
                client::Decision::AcceptForSession => Decision::AllowSession,
                client::Decision::Decline => Decision::Decline,
                client::Decision::Cancel => Decision::Cancel,
            },
            option: answer.option,
            input: answer.input,
            answers: answer.answers,
            message: answer.reason,
        }),
        Order::Interrupt => Command::Interrupt,
        Order::SetModel(model) => Command::SetModel(model),
        Order::SetMode(mode) => Command::SetMode(mode),
        Order::SetOption { id, value } => Command::SetOption { id, value },
        Order::Cancel => return None,
    })
}

/// Which sessions are wanted, but for their state and number.
pub fn filter(query: &SessionQuery) -> Filter {
    Filter {
        agent: query.agent.clone(),
        project: query.project.clone(),
        cwd: query.cwd.clone(),
        text: query.text.clone(),
        before: query.before.as_deref().and_then(|number| number.parse().ok()),
        ..Filter::default()
    }
}

/// A session as clients see it.
pub fn view(stored: Stored, here: bool, approvals: usize) -> SessionView {
    let end = stored.end().ok().flatten();
    let (state, activity) = match stored.state {
        State::Done => (SessionState::Done, None),
        State::Failed => (SessionState::Failed, None),
        State::Cancelled => (SessionState::Cancelled, None),
        State::Waiting => (SessionState::Running, Some(client::Activity::Waiting)),
        State::Idle => (SessionState::Running, Some(client::Activity::Idle)),
        State::Running | State::Other => (SessionState::Running, Some(client::Activity::Running)),
    };
    SessionView {
        state,
        activity,
        agent_type: stored.agent.to_string(),
        config: stored.config().map(|config| config.masked()).unwrap_or_default(),
        project_id: stored.project,
        prompt: stored.prompt,
        title: stored.title,
        working_directory: Some(stored.cwd),
        created_at: Some(stored.created),
        updated_at: Some(stored.updated),
        ended_at: stored.ended,
        turns: stored.turns,
        runs: stored.runs,
        events: stored.head,
        reason: end.as_ref().map(|end| end.reason),
        error: end.and_then(|end| end.error).map(|error| error.message),
        here,
        approvals: u64::try_from(approvals).unwrap_or(u64::MAX),
        id: stored.id,
    }
}
