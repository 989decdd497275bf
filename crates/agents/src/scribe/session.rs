//! Sessions: who they are, what is known about them, how they end.

use serde_json::value::RawValue;
use switchboard_event::{
    Body, Decider, EndReason, Event, Fault, Id, Info, Resumed, SessionConfig, SessionEnded, SessionStarted,
    SessionUpdated, raw,
};

use super::{Place, Scribe};
use crate::Why;

/// How a session ended, by the agent's own word.
pub struct Ending {
    /// How.
    pub reason: EndReason,
    /// Why, if it failed.
    pub error: Option<Fault>,
}

impl Scribe {
    /// The agent's own id of the session. Only the first counts: what has another id is a subagent's.
    pub fn identify(&mut self, session: &str) {
        if self.agent_session.is_none() && !session.is_empty() {
            self.agent_session = Some(Id::from(session));
        }
    }

    /// The session goes on under another of the agent's own ids.
    pub fn moved(&mut self, session: &str) {
        self.agent_session = Some(Id::from(session));
    }

    /// The agent's own id of the session, once it is known.
    #[must_use]
    pub fn session(&self) -> Option<&Id> {
        self.agent_session.as_ref()
    }

    /// The session continues another; to be said before its id is.
    pub fn resumed(&mut self, from: Id) {
        self.start.resumed.get_or_insert(from);
    }

    /// The settings that the agent says it runs with; to be said before anything else is written.
    pub fn config(&mut self, adjust: impl FnOnce(&mut SessionConfig)) {
        adjust(&mut self.start.config);
    }

    pub(crate) fn product(&mut self, name: Option<&str>) {
        self.info.product = name.map(str::to_owned);
    }

    /// What is known about the session now. Only what is new is written.
    pub fn info(&mut self, info: Info) {
        if !self.started {
            remember(&mut self.info, info);
            self.ensure_started();
            return;
        }
        let news = news(&self.info, &info);
        if raw(&news).get() != "{}" {
            remember(&mut self.info, info);
            self.write(None, Body::SessionUpdated(Box::new(SessionUpdated { info: news })));
        }
    }

    /// The model in use, as far as it is known.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.info.model.as_deref()
    }

    /// The folder the agent works in, as far as it is known.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        self.info.cwd.as_deref().or(self.start.config.working_directory.as_deref())
    }

    /// A relative path made absolute, where the directory is known.
    #[must_use]
    pub fn absolute(&self, path: &str) -> String {
        match self.cwd() {
            Some(cwd) if is_relative(path) => {
                format!("{}/{}", cwd.trim_end_matches('/'), path.trim_start_matches("./"))
            }
            _ => path.to_owned(),
        }
    }

    /// The session is over by the agent's own word: everything open is closed. The end itself is written when
    /// the stream ends, since it must be the last event, unless the agent begins another turn after all.
    pub fn session_ending(&mut self, ending: Ending) {
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
            resumed: self.continues(),
            agent_session: self.agent_session.clone(),
            config: self.settings(),
            info: self.info.clone(),
        };
        self.push(None, Place::default(), Body::SessionStarted(Box::new(body)));
    }

    fn settings(&self) -> SessionConfig {
        let mut config = self.start.config.clone();
        config.agent_type.get_or_insert_with(|| self.agent.to_string());
        config.model = config.model.take().or_else(|| self.info.model.clone());
        config.working_directory = config.working_directory.take().or_else(|| self.info.cwd.clone());
        config
    }

    /// A beginning that nobody has seen yet says all that was learned since it was written.
    pub(crate) fn complete_beginning(&self, event: &mut Event) {
        if let Body::SessionStarted(started) = &mut event.body {
            started.agent_session.clone_from(&self.agent_session);
            started.resumed = self.continues();
            // What it was doing is news of its own moment.
            started.info = Info { status: started.info.status, ..self.info.clone() };
            started.config = self.settings();
        }
    }

    /// The stream is over. Says how the session ended, from all that was seen.
    pub(crate) fn finish(&mut self) {
        self.ensure_started();
        // An agent that stops after its last turn ended has ended the session; in the middle of one, we do.
        let stopped = self.turn.is_some() || self.last_turn.is_none() || self.stopping.is_some();
        let (ending, by) = match self.declared.take() {
            Some(ending) => (ending, Decider::Agent),
            None => (self.ending(), if stopped { Decider::Switchboard } else { Decider::Agent }),
        };
        self.close_all(&ending);
        self.end_session(ending, by);
    }

    fn ending(&self) -> Ending {
        use switchboard_event::{ErrorCode, TurnStatus};
        // In the middle of a turn, what an earlier one failed of is no reason.
        let own = self.last_error.clone().filter(|_| self.turn.is_none());
        let failed = |message: &str| Ending {
            reason: EndReason::Failed,
            error: own
                .clone()
                .or_else(|| self.suspected.clone())
                .or_else(|| self.last_error.clone())
                .or_else(|| Some(Fault::new(ErrorCode::ProtocolError, message))),
        };
        match (self.stopping, self.turn.is_some(), self.last_turn) {
            (Some(Why::Timeout), ..) => Ending {
                reason: EndReason::Timeout,
                error: Some(Fault::new(ErrorCode::Timeout, "the session took too long")),
            },
            (Some(Why::MaxTurns), ..) => Ending {
                reason: EndReason::Failed,
                error: Some(Fault::new(ErrorCode::MaxTurns, "the limit of turns was reached")),
            },
            (Some(Why::Cancelled), true, _) => Ending { reason: EndReason::Cancelled, error: None },
            (_, true, _) if self.interrupted => Ending { reason: EndReason::Cancelled, error: None },
            (_, true, _) => failed("the stream ended in the middle of a turn"),
            (_, false, Some(TurnStatus::Completed)) => Ending { reason: EndReason::Completed, error: None },
            (_, false, Some(TurnStatus::Interrupted)) => Ending { reason: EndReason::Cancelled, error: None },
            (_, false, Some(TurnStatus::Failed)) => failed("the last turn failed"),
            (Some(Why::Cancelled), false, None) => Ending { reason: EndReason::Cancelled, error: None },
            // Who had nothing to do has done it.
            (None, false, None) if self.closing => Ending { reason: EndReason::Completed, error: None },
            (None, false, None) if self.interrupted => Ending { reason: EndReason::Cancelled, error: None },
            (None, false, None) => failed("the stream ended before the agent did anything"),
        }
    }

    pub(super) fn end_session(&mut self, ending: Ending, by: Decider) {
        let (exit_code, signal) = self.exit.unwrap_or_default();
        let body = SessionEnded {
            reason: ending.reason,
            error: ending.error,
            exit_code,
            signal,
            duration_ms: self.tick.millis_since(self.began).max(self.worked_ms),
            by,
        };
        self.push(None, Place::default(), Body::SessionEnded(Box::new(body)));
    }

    pub(crate) fn stopping(&mut self, why: Why) {
        self.stopping = Some(why);
    }

    pub(crate) fn closing(&mut self) {
        self.closing = true;
    }

    /// What went wrong, should it turn out that something did.
    pub(crate) fn suspect(&mut self, fault: Fault) {
        self.suspected = Some(fault);
    }

    pub(crate) fn exited(&mut self, code: Option<i32>, signal: Option<i32>) {
        self.exit = Some((code, signal));
    }

    /// The stream shows that somebody interrupted the turn.
    pub fn interrupted(&mut self) {
        self.interrupted = true;
    }

    /// Somebody interrupted the turn.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// What the session continues, as far as it is known.
    fn continues(&self) -> Option<Resumed> {
        let from = self.start.resumed.clone()?;
        Some(Resumed { fork: self.agent_session.as_ref().is_some_and(|id| *id != from), from: Some(from) })
    }
}

/// Whether a path is relative, and surely so: an agent may expand `~` and variables, remove blanks, or open the path in a
/// URI. Those stay as they are, so that they can be judged.
fn is_relative(path: &str) -> bool {
    let is_file_uri = path.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    let starts_plainly = path.chars().next().is_some_and(|c| !matches!(c, '/' | '~' | '$') && !c.is_whitespace());
    starts_plainly && !is_file_uri && !path.contains("://")
}

/// The fields of `new` that `known` does not have.
fn news(known: &Info, new: &Info) -> Info {
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

/// Takes over what is known; what is not said stays as it was.
fn remember(known: &mut Info, new: Info) {
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
