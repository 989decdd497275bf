//! Sessions and turns.

use switchboard_event::{
    EndReason, ErrorCode, Fault, Info, SessionEnded, SessionStarted, TurnCompleted, TurnStarted, TurnStatus,
};

use super::{
    project::Messenger,
    sink::Sink,
    wire::{
        AuthStatus, ConfigurationChange, Denial, Facts, Failure, Kind, LifecycleSubtype, Remark, SessionInit,
        SessionLifecycle, StatusChange, StatusSubtype, Tokens, TurnResult,
    },
};

/// How many errors of a turn are kept.
const ERRORS: usize = 16;

impl Messenger {
    /// A run began.
    pub(super) fn session_started(&mut self, started: &SessionStarted, out: &mut Sink<'_>) {
        self.activity.reset();
        self.see_model(started.info.model.as_ref().or(started.config.model.as_ref()));
        let facts = Facts::from(&started.info);
        let config = &started.config;
        out.send(Kind::SessionInit(Box::new(SessionInit {
            place: out.place(),
            agent: &out.event.agent,
            agent_session: started.agent_session.as_deref(),
            run: out.event.run,
            resumed: started.resumed.as_ref(),
            config,
            facts: Facts {
                model: facts.model.or(config.model.as_deref()),
                cwd: facts.cwd.or(config.working_directory.as_deref()),
                ..facts
            },
            context: started.info.context,
        })));
        if let Some(status) = started.info.status {
            self.show(status, out);
        }
    }

    /// Something about the session changed.
    pub(super) fn session_updated(&mut self, info: &Info, out: &mut Sink<'_>) {
        self.see_model(info.model.as_ref());
        if let Some(subtype) = subtype(info) {
            let (facts, remark) = (Facts::from(info), Remark::default());
            let change = ConfigurationChange { place: out.place(), subtype, facts, remark };
            out.send(Kind::ConfigurationChange(Box::new(change)));
        }
        if let Some(status) = info.status {
            self.show(status, out);
        }
        if let Some(context) = info.context {
            let (subtype, context) = (Some(StatusSubtype::Context), Some(context));
            out.send(Kind::StatusChange(Box::new(StatusChange { subtype, context, ..self.status(out) })));
        }
    }

    fn see_model(&mut self, model: Option<&String>) {
        if let Some(model) = model {
            self.model = Some(model.clone());
        }
    }

    /// A run ended.
    pub(super) fn session_ended(&mut self, ended: &SessionEnded, out: &mut Sink<'_>) {
        self.activity.reset();
        if self.activity.shown().is_some() {
            self.show(self.activity.settled(), out);
        }
        self.show_auth(ended.error.as_ref(), out);
        let failed = matches!(ended.reason, EndReason::Failed | EndReason::Timeout);
        let failure = ended.error.as_ref().map_or_else(Failure::default, Failure::of);
        out.send(Kind::SessionLifecycle(SessionLifecycle {
            reason: Some(ended.reason),
            exit_code: ended.exit_code,
            signal: ended.signal,
            duration_ms: Some(ended.duration_ms),
            failure: Some(Failure { is_error: failed, ..failure }),
            ..SessionLifecycle::new(LifecycleSubtype::SessionEnded, out.place())
        }));
    }

    /// A turn began.
    pub(super) fn turn_started(&mut self, turn: &TurnStarted, out: &mut Sink<'_>) {
        self.turn_began = out.event.at;
        self.errors.clear();
        self.told_auth = false;
        self.activity.turn(true);
        if let Some(change) = self.changed(self.activity.settled(), out) {
            let (origin, prompt) = (Some(turn.origin), turn.prompt.as_deref());
            out.send(Kind::StatusChange(Box::new(StatusChange { origin, prompt, ..change })));
        }
    }

    /// A turn ended.
    pub(super) fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut Sink<'_>) {
        self.activity.turn(false);
        self.show_auth(turn.error.as_ref(), out);
        if turn.status == TurnStatus::Failed {
            self.see_error(turn.error.as_ref());
        }
        let usage = self.usage.take();
        out.send(Kind::Result(Box::new(TurnResult {
            place: out.place(),
            status: turn.status,
            stop_reason: turn.stop,
            failure: failure(turn),
            errors: &self.errors,
            model: self.model.as_deref(),
            cost_usd: turn.cost_usd.or(usage.cost_usd),
            usage: Tokens::from(&usage),
            duration_ms: turn.duration_ms.unwrap_or_else(|| out.event.at.millis_since(self.turn_began)),
            num_turns: turn.steps,
            permission_denials: turn.denied.iter().map(denial).collect(),
            result: turn.result.as_deref(),
        })));
        self.show(self.activity.settled(), out);
    }

    /// Remembers what went wrong, for the end of the turn. The last word is never crowded out.
    pub(super) fn see_error(&mut self, fault: Option<&Fault>) {
        let Some(fault) = fault else { return };
        if self.errors.last() == Some(&fault.message) {
            return;
        }
        self.errors.truncate(ERRORS - 1);
        self.errors.push(fault.message.clone());
    }

    /// Credentials that are missing or refused are told once a turn.
    pub(super) fn show_auth(&mut self, fault: Option<&Fault>, out: &mut Sink<'_>) {
        let Some(fault) = fault.filter(|fault| fault.code == ErrorCode::ProviderAuth && !self.told_auth) else {
            return;
        };
        self.told_auth = true;
        let (remark, failure) = (Remark::default(), Some(Failure::of(fault)));
        out.send(Kind::AuthStatus(AuthStatus { place: out.place(), remark, failure }));
    }
}

/// An interrupted turn did not fail, but it did not do its work either.
fn failure(turn: &TurnCompleted) -> Failure<'_> {
    let said = turn.error.as_ref().map(Failure::of);
    match turn.status {
        TurnStatus::Completed => Failure::default(),
        TurnStatus::Failed => said.unwrap_or_else(|| Failure::new(ErrorCode::ExecutionError, "the turn failed")),
        TurnStatus::Interrupted => {
            let failure = said.unwrap_or_else(|| Failure::new(ErrorCode::Aborted, "interrupted"));
            Failure { is_error: false, error_code: Some(ErrorCode::Aborted.message_code()), ..failure }
        }
    }
}

fn denial(denied: &switchboard_event::Denied) -> Denial<'_> {
    Denial { tool_name: &denied.tool, tool_use_id: denied.item.as_deref(), input: denied.input.as_deref() }
}

/// The key that changed, if one did that is not told as a status.
fn subtype(info: &Info) -> Option<&'static str> {
    let changed = [
        (info.cwd.is_some(), "cwd"),
        (info.model.is_some(), "model"),
        (info.provider.is_some(), "provider"),
        (info.mode.is_some(), "mode"),
        (info.title.is_some(), "title"),
        (info.version.is_some(), "version"),
        (!info.tools.is_empty(), "tools"),
        (!info.commands.is_empty(), "commands"),
        (!info.modes.is_empty(), "modes"),
        (!info.models.is_empty(), "models"),
        (!info.options.is_empty(), "options"),
        (!info.mcp.is_empty(), "mcp"),
        (!info.agents.is_empty(), "agents"),
        (info.capabilities.is_some(), "capabilities"),
        (info.auth_methods.is_some(), "authMethods"),
    ];
    let mut keys = changed.into_iter().filter(|(changed, _)| *changed).map(|(_, key)| key);
    let first = keys.next()?;
    Some(if keys.next().is_some() { "several" } else { first })
}
