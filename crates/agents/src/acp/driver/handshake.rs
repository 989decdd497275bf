//! From `initialize` to the first prompt: what the agent can do, logging in, opening the session, choosing the model.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_event::{ErrorCode, Fault};

use super::{
    approval_selectors::ApprovalStep,
    client::{Asked, Client},
    fields, servers,
    setup::Start,
};
use crate::{Effect, Effects, Json, Object, Timer, acp::errors};

/// Runs out when no more history comes.
pub const HISTORY: Timer = Timer("history");

/// How long an agent that tells its history late must be quiet. It writes without pause.
const QUIET: Duration = Duration::from_millis(250);

/// What the agent said that it can do.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own, as the protocol has them")]
pub struct Agent {
    /// It takes images.
    pub images: bool,
    load: bool,
    resume: bool,
    fork: bool,
    http: bool,
    sse: bool,
    /// How one can log in, for people.
    logins: Vec<String>,
}

impl Agent {
    fn read(result: &Object<'_>) -> Self {
        let can = result.object("agentCapabilities");
        let (session, mcp) = (can.object("sessionCapabilities"), can.object("mcpCapabilities"));
        Self {
            images: can.object("promptCapabilities").is_true("image"),
            load: can.is_true("loadSession"),
            resume: session.get("resume").is_some(),
            fork: session.get("fork").is_some(),
            http: mcp.is_true("http"),
            sse: mcp.is_true("sse"),
            logins: result.array("authMethods").into_iter().filter_map(|method| login(&method.object())).collect(),
        }
    }
}

/// A way to log in, as a person can take it.
fn login(method: &Object<'_>) -> Option<String> {
    let name = method.filled("name").or_else(|| method.filled("id"))?;
    let var = |var: Json<'_>| var.str().map(Into::into).or_else(|| var.object().filled("name"));
    let vars: Vec<String> = method.array("vars").into_iter().filter_map(var).collect();
    let set = Some(format!("{} in the environment", vars.join(", "))).filter(|_| !vars.is_empty());
    let how = set.or_else(|| method.filled("description")).filter(|how| *how != name);
    Some(how.map_or_else(|| name.clone(), |how| format!("{name} ({how})")))
}

impl Client {
    /// An answer of the time before the first prompt.
    pub(super) fn shaken(&mut self, what: Asked, answer: &Object<'_>, effects: &mut Effects) {
        let fault = answer.get("error").map(|error| errors::fault(&error.object()));
        let result = answer.object("result");
        match (what, fault) {
            (Asked::Initialize, None) => self.met(&result, effects),
            (Asked::Open(method), None) => self.opened(method, &result, effects),
            (Asked::Open(method), Some(fault)) => self.not_opened(method, fault, effects),
            (Asked::Approval, None) => self.approval_chosen(effects),
            (Asked::Approval, Some(fault)) => effects.give_up(refused_to_ask(&fault.message)),
            (Asked::Model, None) => effects.push(Effect::Ready),
            (_, Some(fault)) => effects.give_up(self.advised(fault)),
            (Asked::Prompt | Asked::Other, None) => {}
        }
    }

    fn met(&mut self, result: &Object<'_>, effects: &mut Effects) {
        if let Some(version) = result.u64("protocolVersion").filter(|version| *version != 1) {
            let said = format!("the agent speaks version {version} of ACP, and only version 1 is spoken here");
            return effects.give_up(Fault::new(ErrorCode::ProtocolError, said));
        }
        self.agent = Agent::read(result);
        if let Some(said) = servers::unreachable(&self.setup.servers, self.agent.http, self.agent.sse) {
            return effects.give_up(Fault::new(ErrorCode::ExecutionError, said));
        }
        self.open_session(effects);
    }

    /// Opens the session in the best way that the agent has: resuming tells no history, loading does.
    fn open_session(&mut self, effects: &mut Effects) {
        let (method, session) = match &self.setup.start {
            Start::New => ("session/new", None),
            Start::Resume(session) if self.agent.resume => ("session/resume", Some(session.clone())),
            Start::Resume(session) if self.agent.load => ("session/load", Some(session.clone())),
            Start::Fork(session) if self.agent.fork => ("session/fork", Some(session.clone())),
            Start::Resume(_) => return effects.give_up(unable("continue a session")),
            Start::Fork(_) => return effects.give_up(unable("continue a copy of a session")),
        };
        let id = self.number(Asked::Open(method));
        let expands = self.setup.habits.expands;
        let params = |servers: Vec<Value>| {
            let mut params = json!({ "cwd": self.setup.cwd, "mcpServers": servers });
            if let Some(session) = &session {
                params["sessionId"] = json!(session);
            }
            fields::request(id, method, &params)
        };
        let record = params(servers::list(&self.setup.servers, expands));
        let secret = self.setup.servers.values().any(|server| !server.env.is_empty() || !server.headers.is_empty());
        if secret {
            effects.send_masked(&record, &params(servers::masked(&self.setup.servers)));
        } else {
            effects.send(&record);
        }
        self.session = session.unwrap_or_default();
    }

    fn opened(&mut self, method: &str, result: &Object<'_>, effects: &mut Effects) {
        if let Some(session) = result.filled("sessionId") {
            self.session = session;
        }
        if self.session.is_empty() {
            let said = "the agent opened a session without saying its id";
            return effects.give_up(Fault::new(ErrorCode::ProtocolError, said));
        }
        if method == "session/load" && self.setup.habits.late_history {
            self.history = true;
            return;
        }
        self.set_up(effects);
    }

    /// No session. One that cannot be resumed may be loaded: Qwen Code 0.15.10 says that it can do both, and can do only
    /// that.
    fn not_opened(&mut self, method: &'static str, fault: Fault, effects: &mut Effects) {
        if method == "session/resume" && self.agent.load && fault.info.as_deref() == Some("-32601") {
            self.agent.resume = false;
            return self.open_session(effects);
        }
        effects.give_up(self.advised(fault));
    }

    /// The agent said something: more history may follow.
    pub(super) fn still_history(&self, effects: &mut Effects) {
        if self.history {
            effects.push(Effect::Arm(HISTORY, QUIET));
        }
    }

    /// The session is open: the agent is made to ask where it would not, then the model is chosen.
    pub(super) fn set_up(&mut self, effects: &mut Effects) {
        self.history = false;
        self.choose_approval(effects);
    }

    fn choose_approval(&mut self, effects: &mut Effects) {
        match self.offers.approvals.next_step(self.setup.approval) {
            ApprovalStep::Nothing => self.choose_model(effects),
            ApprovalStep::Choose(choice) if self.chosen_approvals.contains(&choice) => {
                effects.give_up(refused_to_ask("it stayed in its mode"));
            }
            ApprovalStep::Choose(choice) => {
                self.chosen_approvals.push(choice.clone());
                self.choose(Asked::Approval, choice, effects);
            }
            ApprovalStep::Impossible(mode) => {
                let said = format!(
                    "the agent starts in mode {mode:?}, which runs tools without asking, and offers no mode that asks\n\
                     hint: choose another mode in the agent's own settings, or the approval mode autoAll"
                );
                effects.give_up(Fault::new(ErrorCode::PermissionDenied, said));
            }
        }
    }

    /// The agent agreed. An answer to `session/set_mode` has no content; the others say what is set now.
    fn approval_chosen(&mut self, effects: &mut Effects) {
        if let Some(("session/set_mode", params)) = self.chosen_approvals.last()
            && let Some(mode) = params["modeId"].as_str()
        {
            self.offers.approvals.set_mode(mode.to_owned());
        }
        self.choose_approval(effects);
    }

    fn choose_model(&mut self, effects: &mut Effects) {
        let Some(model) = self.setup.model.take() else { return effects.push(Effect::Ready) };
        match self.offers.model(&model) {
            Ok(choice) => self.choose(Asked::Model, choice, effects),
            Err(unsupported) => effects.give_up(Fault::new(ErrorCode::ModelNotFound, unsupported.to_string())),
        }
    }

    /// What went wrong, with what can be done about it.
    fn advised(&self, fault: Fault) -> Fault {
        if fault.code != ErrorCode::ProviderAuth {
            return fault;
        }
        let ways = || match self.agent.logins.as_slice() {
            [] => "log in with the agent itself".to_owned(),
            ways => format!("log in with the agent itself: {}", ways.join(", ")),
        };
        let hint = self.setup.login.clone().unwrap_or_else(ways);
        Fault { message: format!("{}\nhint: {hint}", fault.message), ..fault }
    }
}

fn refused_to_ask(why: &str) -> Fault {
    let said = format!(
        "the agent could not be set to ask before it acts: {why}\n\
         hint: choose a mode that asks in the agent's own settings, or the approval mode autoAll"
    );
    Fault::new(ErrorCode::PermissionDenied, said)
}

fn unable(what: &str) -> Fault {
    Fault::new(ErrorCode::SessionNotFound, format!("the agent cannot {what}"))
}
