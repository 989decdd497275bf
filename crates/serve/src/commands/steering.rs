//! Steering a session that runs: stopping its turn, ending it, changing how it goes on.

use std::time::Duration;

use axum::http::Method;
use serde::Serialize;
use switchboard_agents::AgentCommand;

use crate::{
    Problem, Service, foreign,
    order::{CommandRequest, ModeRequest, ModelRequest, OptionRequest},
    service::Place,
    view::Standing,
};

/// How long a session may take to hear that it is to end. It will hear of it later, too.
const HEARING: Duration = Duration::from_secs(2);

/// What stands behind a command has at most so many characters, as a prompt has.
const LONGEST: usize = 100_000;

impl Service {
    /// Ends a session. One that has ended stays as it is.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn cancel(&self, id: &str) -> Result<Standing, Problem> {
        match self.place(id).await? {
            Place::Elsewhere(socket) => {
                let path = format!("/api/sessions/{}/cancel", foreign::segment(id));
                foreign::call(&socket, Method::POST, &path, None::<&()>).await
            }
            Place::Here(session) => {
                let cancelling = tokio::spawn(async move { session.cancel().await });
                // That it has ended by itself is as good, and that it is slow to hear of it shows later.
                drop(tokio::time::timeout(HEARING, cancelling).await);
                Ok((&self.stored(id).await?).into())
            }
            Place::Ended(stored) => Ok((&*stored).into()),
        }
    }

    /// Stops the turn of a session; the session goes on.
    ///
    /// # Errors
    /// If there is no such session, or it has ended.
    pub async fn interrupt(&self, id: &str) -> Result<Standing, Problem> {
        self.tell(id, AgentCommand::Interrupt, "interrupt", None::<&()>).await
    }

    /// Has the agent use another model.
    ///
    /// # Errors
    /// If there is no such session, it has ended, or its agent cannot.
    pub async fn set_model(&self, id: &str, request: &ModelRequest) -> Result<Standing, Problem> {
        not_empty("model", &request.model)?;
        self.tell(id, AgentCommand::SetModel(request.model.clone()), "model", Some(request)).await
    }

    /// Has the agent use another of its modes.
    ///
    /// # Errors
    /// If there is no such session, it has ended, or its agent cannot.
    pub async fn set_mode(&self, id: &str, request: &ModeRequest) -> Result<Standing, Problem> {
        not_empty("mode", &request.mode)?;
        self.tell(id, AgentCommand::SetMode(request.mode.clone()), "mode", Some(request)).await
    }

    /// Sets one of the agent's own selectors.
    ///
    /// # Errors
    /// If there is no such session, it has ended, or its agent cannot.
    pub async fn set_option(&self, id: &str, request: &OptionRequest) -> Result<Standing, Problem> {
        not_empty("id", &request.id)?;
        let command = AgentCommand::SetOption { id: request.id.clone(), value: request.value.clone() };
        self.tell(id, command, "option", Some(request)).await
    }

    /// Gives the agent one of its slash commands.
    ///
    /// # Errors
    /// If there is no such session, it has ended, or its agent has no such command.
    pub async fn slash(&self, id: &str, request: &CommandRequest) -> Result<Standing, Problem> {
        not_empty("name", &request.name)?;
        if request.arguments.chars().count() > LONGEST {
            return Err(Problem::bad_field("arguments", "at most 100,000 characters"));
        }
        let CommandRequest { name, arguments } = request.clone();
        let name = name.strip_prefix('/').map_or(name.clone(), str::to_owned);
        self.tell(id, AgentCommand::Slash { name, arguments }, "command", Some(request)).await
    }

    async fn tell(
        &self,
        id: &str,
        command: AgentCommand,
        operation: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Standing, Problem> {
        match self.place(id).await? {
            Place::Elsewhere(socket) => {
                let path = format!("/api/sessions/{}/{operation}", foreign::segment(id));
                foreign::call(&socket, Method::POST, &path, body).await
            }
            Place::Here(session) => {
                session.send_command(command).await?;
                Ok((&self.stored(id).await?).into())
            }
            Place::Ended(_) => {
                Err(Problem::conflict("ended", format!("session {id} has ended"))
                    .with_hint("another prompt continues it"))
            }
        }
    }
}

fn not_empty(field: &str, text: &str) -> Result<(), Problem> {
    match text.chars().count() {
        1..=1000 => Ok(()),
        _ => Err(Problem::bad_field(field, "1 to 1000 characters")),
    }
}
