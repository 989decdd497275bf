//! The identity, the info and the end of sessions.

use serde_json::value::RawValue;
use switchboard_event::{
    Decider, EndReason, Event, EventBody, Fault, Id, Info, Resumed, SessionConfig, SessionEnded, SessionStarted,
    SessionUpdated, to_raw_json,
};

use super::{ConversationScope, RunRecorder};
use crate::StopCause;

/// The end of a session, as declared by the agent.
pub struct SessionEnding {
    pub reason: EndReason,
    /// The error, if it failed.
    pub error: Option<Fault>,
}

impl RunRecorder {
    /// Sets the agent's own id of the session. Only the first one counts: a record with another id belongs to a
    /// subagent.
    pub fn set_agent_session(&mut self, session: &str) {
        if self.agent_session.is_none() && !session.is_empty() {
            self.agent_session = Some(Id::from(session));
        }
    }

    /// Continues the session under another of the agent's own ids.
    pub fn replace_agent_session(&mut self, session: &str) {
        self.agent_session = Some(Id::from(session));
    }

    /// Returns the agent's own id of the session, once it is known.
    #[must_use]
    pub fn agent_session(&self) -> Option<&Id> {
        self.agent_session.as_ref()
    }

    /// Sets the session that this one continues. Must be called before its id is set.
    pub fn set_resumed_from(&mut self, from: Id) {
        self.start.resumed.get_or_insert(from);
    }

    /// Adjusts the settings to those that the agent reports. Must be called before any event is written.
    pub fn adjust_config(&mut self, adjust: impl FnOnce(&mut SessionConfig)) {
        adjust(&mut self.start.config);
    }

    pub(crate) fn set_product(&mut self, name: Option<&str>) {
        self.info.product = name.map(str::to_owned);
    }

    /// Updates the info about the session. Only changes are written.
    pub fn update_info(&mut self, info: Info) {
        if !self.started {
            merge_info(&mut self.info, info);
            self.ensure_started();
            return;
        }
        let news = changed_info(&self.info, &info);
        if to_raw_json(&news).get() != "{}" {
            merge_info(&mut self.info, info);
            self.write_event(None, EventBody::SessionUpdated(Box::new(SessionUpdated { info: news })));
        }
    }

    #[must_use]
    pub fn current_model(&self) -> Option<&str> {
        self.info.model.as_deref()
    }

    /// Returns the working directory, if known.
    #[must_use]
    pub fn working_directory(&self) -> Option<&str> {
        self.info.cwd.as_deref().or(self.start.config.working_directory.as_deref())
    }

    /// Makes a relative path absolute, if the working directory is known.
    #[must_use]
    pub fn absolute_path(&self, path: &str) -> String {
        match self.working_directory() {
            Some(cwd) if is_relative(path) => {
                format!("{}/{}", cwd.trim_end_matches('/'), path.trim_start_matches("./"))
            }
            _ => path.to_owned(),
        }
    }

    /// Ends the session on the agent's behalf: everything open is closed. The end event is written when the stream
    /// ends, since it must be the last one, unless the agent begins another turn after all.
    pub fn session_ending(&mut self, ending: SessionEnding) {
        self.ensure_started();
        self.close_all(&ending);
        self.declared = Some(ending);
    }

    pub(crate) fn ensure_started(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        self.began = self.tick;
        let body = SessionStarted {
            run: self.run,
            resumed: self.resumed_session(),
            agent_session: self.agent_session.clone(),
            config: self.session_config(),
            info: self.info.clone(),
        };
        self.push_event(None, ConversationScope::default(), EventBody::SessionStarted(Box::new(body)));
    }

    fn session_config(&self) -> SessionConfig {
        let mut config = self.start.config.clone();
        config.agent_type.get_or_insert_with(|| self.agent.to_string());
        config.model = config.model.take().or_else(|| self.info.model.clone());
        config.working_directory = config.working_directory.take().or_else(|| self.info.cwd.clone());
        config
    }

    /// Completes a start event that was not emitted yet with everything learned since.
    pub(crate) fn complete_start_event(&self, event: &mut Event) {
        if let EventBody::SessionStarted(started) = &mut event.body {
            started.agent_session.clone_from(&self.agent_session);
            started.resumed = self.resumed_session();
            // The status belongs to the time of the event.
            started.info = Info { status: started.info.status, ..self.info.clone() };
            started.config = self.session_config();
        }
    }

    /// Ends the session at the end of the stream, in the way that the records suggest.
    pub(crate) fn finish_session(&mut self) {
        self.ensure_started();
        // An agent that exits after its last turn has ended the session; in the middle of a turn, Switchboard ends it.
        let stopped = self.turn.is_some() || self.last_turn.is_none() || self.stopping.is_some();
        let (ending, by) = match self.declared.take() {
            Some(ending) => (ending, Decider::Agent),
            None => (self.derive_ending(), if stopped { Decider::Switchboard } else { Decider::Agent }),
        };
        self.close_all(&ending);
        self.end_session(ending, by);
    }

    fn derive_ending(&self) -> SessionEnding {
        use switchboard_event::{ErrorCode, TurnStatus};
        // In the middle of a turn, the error of an earlier one is not the cause.
        let own = self.last_error.clone().filter(|_| self.turn.is_none());
        let failed = |message: &str| SessionEnding {
            reason: EndReason::Failed,
            error: own
                .clone()
                .or_else(|| self.suspected.clone())
                .or_else(|| self.last_error.clone())
                .or_else(|| Some(Fault::new(ErrorCode::ProtocolError, message))),
        };
        match (self.stopping, self.turn.is_some(), self.last_turn) {
            (Some(StopCause::Timeout), ..) => SessionEnding {
                reason: EndReason::Timeout,
                error: Some(Fault::new(ErrorCode::Timeout, "the session took too long")),
            },
            (Some(StopCause::MaxTurns), ..) => SessionEnding {
                reason: EndReason::Failed,
                error: Some(Fault::new(ErrorCode::MaxTurns, "the limit of turns was reached")),
            },
            (Some(StopCause::Cancelled), true, _) => SessionEnding { reason: EndReason::Cancelled, error: None },
            (_, true, _) if self.interrupted => SessionEnding { reason: EndReason::Cancelled, error: None },
            (_, true, _) => failed("the stream ended in the middle of a turn"),
            (_, false, Some(TurnStatus::Completed)) => SessionEnding { reason: EndReason::Completed, error: None },
            (_, false, Some(TurnStatus::Interrupted)) => SessionEnding { reason: EndReason::Cancelled, error: None },
            (_, false, Some(TurnStatus::Failed)) => failed("the last turn failed"),
            (Some(StopCause::Cancelled), false, None) => SessionEnding { reason: EndReason::Cancelled, error: None },
            // An agent without work has completed it.
            (None, false, None) if self.closing => SessionEnding { reason: EndReason::Completed, error: None },
            (None, false, None) if self.interrupted => SessionEnding { reason: EndReason::Cancelled, error: None },
            (None, false, None) => failed("the stream ended before the agent did anything"),
        }
    }

    pub(super) fn end_session(&mut self, ending: SessionEnding, by: Decider) {
        let (exit_code, signal) = self.exit.unwrap_or_default();
        let body = SessionEnded {
            reason: ending.reason,
            error: ending.error,
            exit_code,
            signal,
            duration_ms: self.tick.millis_since(self.began).max(self.worked_ms),
            by,
        };
        self.push_event(None, ConversationScope::default(), EventBody::SessionEnded(Box::new(body)));
    }

    pub(crate) fn set_stop_cause(&mut self, why: StopCause) {
        self.stopping = Some(why);
    }

    pub(crate) fn set_closing(&mut self) {
        self.closing = true;
    }

    /// Sets the likely cause, if the run turns out to have failed.
    pub(crate) fn set_suspected_fault(&mut self, fault: Fault) {
        self.suspected = Some(fault);
    }

    pub(crate) fn set_exit_status(&mut self, code: Option<i32>, signal: Option<i32>) {
        self.exit = Some((code, signal));
    }

    /// Marks the turn as interrupted.
    pub fn mark_interrupted(&mut self) {
        self.interrupted = true;
    }

    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Returns the session that this one continues, if known.
    fn resumed_session(&self) -> Option<Resumed> {
        let from = self.start.resumed.clone()?;
        Some(Resumed { fork: self.agent_session.as_ref().is_some_and(|id| *id != from), from: Some(from) })
    }
}

/// Returns whether a path is certainly relative: an agent may expand `~` and variables, trim whitespace, or open the
/// path of a URI. Such paths stay unchanged, so that policies can judge them.
fn is_relative(path: &str) -> bool {
    let is_file_uri = path.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    let starts_plainly = path.chars().next().is_some_and(|c| !matches!(c, '/' | '~' | '$') && !c.is_whitespace());
    starts_plainly && !is_file_uri && !path.contains("://")
}

/// Returns the fields of `new` that differ from `known`.
fn changed_info(known: &Info, new: &Info) -> Info {
    macro_rules! changed {
        ($($field:ident),*) => { Info {
            $($field: if new.$field == known.$field { Default::default() } else { new.$field.clone() },)*
            capabilities: changed_raw(&new.capabilities, &known.capabilities),
            auth_methods: changed_raw(&new.auth_methods, &known.auth_methods),
        }};
    }
    changed!(
        cwd,
        project_hash,
        model,
        provider,
        mode,
        title,
        version,
        product,
        status,
        tools,
        commands,
        modes,
        models,
        options,
        mcp,
        agents,
        context
    )
}

fn changed_raw(new: &Option<Box<RawValue>>, known: &Option<Box<RawValue>>) -> Option<Box<RawValue>> {
    match (new, known) {
        (Some(new), Some(known)) if new.get() == known.get() => None,
        (new, _) => new.clone(),
    }
}

/// Merges new info; absent fields stay as they were.
fn merge_info(known: &mut Info, new: Info) {
    macro_rules! take {
        (options: $($o:ident),*; lists: $($l:ident),*) => {
            $(if new.$o.is_some() { known.$o = new.$o; })*
            $(if !new.$l.is_empty() { known.$l = new.$l; })*
        };
    }
    take!(options: cwd, project_hash, model, provider, mode, title, version, product, status, context, capabilities,
            auth_methods;
          lists: tools, commands, modes, models, options, mcp, agents);
}

#[cfg(test)]
mod tests {

    use super::is_relative;

    #[test]
    fn a_path_that_an_agent_may_expand_is_not_relative() {
        for path in ["a", "./a", "../a", "a/~", "a:b", "a$b"] {
            assert!(is_relative(path), "{path}");
        }
        for path in ["", "/a", "~", "~/a", "~ada/a", "$HOME/a", " a", "\ta", "file:///a", "FILE:/a", "http://a/b"] {
            assert!(!is_relative(path), "{path}");
        }
    }
}
