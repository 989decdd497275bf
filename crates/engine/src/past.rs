//! What a session continues: one of ours, or one that only its agent has.

use switchboard_event::{Id, SessionConfig, Usage};
use switchboard_store::Log;

use crate::{Adopted, StartError, StartRequest};

/// What a session continues.
pub struct Past {
    /// Our id of it.
    pub id: Id,
    /// The agent's own id of it; none if it had no turn yet, for then the agent has kept nothing.
    pub agent_session: Option<Id>,
    /// The last event of it.
    pub head: u64,
    /// How many runs it had.
    pub runs: u32,
    /// How many turns it had.
    pub turns: u32,
    /// What it has used, where that is known.
    pub used: Option<Usage>,
    /// Ours goes on. Otherwise one of the agent does, or a copy, and ours begins.
    pub is_ours: bool,
}

impl Past {
    /// What the request continues. The settings of then hold, but for what is set now.
    pub fn of(log: &dyn Log, request: &mut StartRequest) -> Result<Option<Self>, StartError> {
        let Some(id) = request.resume.clone() else { return Ok(request.adopt.as_ref().map(Self::adopted)) };
        let session = log.session(&id)?.ok_or_else(|| StartError::NoSession(format!("no session {id}")))?;
        if request.agent.is_empty() {
            request.agent = session.agent.to_string();
        }
        if request.agent != *session.agent {
            let text = format!("session {id} is of {}, and {} cannot continue it", session.agent, request.agent);
            return Err(StartError::NoSession(text));
        }
        let agent_session = session.agent_session.clone().filter(|_| session.turns > 0);
        if agent_session.is_none() && (session.turns > 0 || request.fork) {
            let text = format!("session {id} ended before the agent began, so it cannot be continued");
            return Err(StartError::NoSession(text));
        }
        request.config = merged(std::mem::take(&mut request.config), session.config()?);
        let used = session.carry.as_ref().and_then(|carry| serde_json::from_str(carry.get()).ok()).unwrap_or_default();
        let (head, runs, turns) = (session.head, session.runs, session.turns);
        Ok(Some(Self { id, agent_session, head, runs, turns, used: Some(used), is_ours: true }))
    }

    /// The agent has it, and we begin to.
    fn adopted(adopted: &Adopted) -> Self {
        let agent_session = Some(adopted.session.clone());
        let used = adopted.used.clone();
        Self { id: Id::default(), agent_session, head: 0, runs: 0, turns: 0, used, is_ours: false }
    }
}

/// What is set now, and what was set then where nothing is.
fn merged(now: SessionConfig, then: SessionConfig) -> SessionConfig {
    SessionConfig {
        agent_type: now.agent_type.or(then.agent_type),
        project_id: now.project_id.or(then.project_id),
        working_directory: now.working_directory.or(then.working_directory),
        model: now.model.or(then.model),
        approval_mode: now.approval_mode.or(then.approval_mode),
        sandbox_mode: now.sandbox_mode.or(then.sandbox_mode),
        allowed_tools: now.allowed_tools.or(then.allowed_tools),
        blocked_tools: now.blocked_tools.or(then.blocked_tools),
        max_turns: now.max_turns.or(then.max_turns),
        mcp_servers: if now.mcp_servers.is_empty() { then.mcp_servers } else { now.mcp_servers },
        mode: now.mode.or(then.mode),
        options: then.options.into_iter().chain(now.options).collect(),
        writable_roots: now.writable_roots.or(then.writable_roots),
        writable_paths: now.writable_paths.or(then.writable_paths),
        network_access: now.network_access.or(then.network_access),
    }
}
