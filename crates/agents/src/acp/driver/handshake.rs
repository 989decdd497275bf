//! From `initialize` to the first prompt: capabilities, login, opening the session, selecting the model.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_event::{ErrorCode, Fault};

use super::{AcpDriver, AcpSessionStart, ClientRequestPurpose, client_messages, selectors::ApprovalStep};
use crate::{DriverEffect, DriverEffects, DriverTimer, JsonObject, JsonView, acp::errors};

/// Expires when no more history arrives.
pub const HISTORY: DriverTimer = DriverTimer("history");

/// Silence that marks the end of a late history. The agent writes it without pause.
const QUIET: Duration = Duration::from_millis(250);

/// The capabilities that the agent announced.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own, as the protocol has them")]
pub struct AgentCapabilities {
    pub images: bool,
    load: bool,
    resume: bool,
    fork: bool,
    http: bool,
    sse: bool,
    /// Descriptions of the login methods, for people.
    logins: Vec<String>,
}

impl AgentCapabilities {
    fn read(result: &JsonObject<'_>) -> Self {
        let can = result.get_object("agentCapabilities");
        let (session, mcp) = (can.get_object("sessionCapabilities"), can.get_object("mcpCapabilities"));
        Self {
            images: can.get_object("promptCapabilities").is_true("image"),
            load: can.is_true("loadSession"),
            resume: session.get("resume").is_some(),
            fork: session.get("fork").is_some(),
            http: mcp.is_true("http"),
            sse: mcp.is_true("sse"),
            logins: result
                .get_array("authMethods")
                .into_iter()
                .filter_map(|method| login(&method.as_object()))
                .collect(),
        }
    }
}

/// Describes a login method for people.
fn login(method: &JsonObject<'_>) -> Option<String> {
    let name = method.get_non_empty("name").or_else(|| method.get_non_empty("id"))?;
    let var = |var: JsonView<'_>| var.as_str().map(Into::into).or_else(|| var.as_object().get_non_empty("name"));
    let vars: Vec<String> = method.get_array("vars").into_iter().filter_map(var).collect();
    let set = Some(format!("{} in the environment", vars.join(", "))).filter(|_| !vars.is_empty());
    let how = set.or_else(|| method.get_non_empty("description")).filter(|how| *how != name);
    Some(how.map_or_else(|| name.clone(), |how| format!("{name} ({how})")))
}

impl AcpDriver {
    /// Handles a response before the first prompt.
    pub(super) fn handle_opening_response(
        &mut self,
        what: ClientRequestPurpose,
        answer: &JsonObject<'_>,
        effects: &mut DriverEffects,
    ) {
        let fault = answer.get("error").map(|error| errors::fault(&error.as_object()));
        let result = answer.get_object("result");
        match (what, fault) {
            (ClientRequestPurpose::Initialize, None) => self.handle_initialize_result(&result, effects),
            (ClientRequestPurpose::Open(method), None) => self.opened(method, &result, effects),
            (ClientRequestPurpose::Open(method), Some(fault)) => self.handle_open_failure(method, fault, effects),
            (ClientRequestPurpose::Approval, None) => self.handle_approval_selected(effects),
            (ClientRequestPurpose::Approval, Some(fault)) => effects.give_up(cannot_ask_fault(&fault.message)),
            (ClientRequestPurpose::Model, None) => effects.push(DriverEffect::Ready),
            (_, Some(fault)) => effects.give_up(self.with_login_hint(fault)),
            (ClientRequestPurpose::Prompt | ClientRequestPurpose::Other, None) => {}
        }
    }

    fn handle_initialize_result(&mut self, result: &JsonObject<'_>, effects: &mut DriverEffects) {
        if let Some(version) = result.get_u64("protocolVersion").filter(|version| *version != 1) {
            let said = format!("the agent speaks version {version} of ACP, and only version 1 is spoken here");
            return effects.give_up(Fault::new(ErrorCode::ProtocolError, said));
        }
        self.agent = AgentCapabilities::read(result);
        if let Some(said) = client_messages::unreachable(&self.setup.servers, self.agent.http, self.agent.sse) {
            return effects.give_up(Fault::new(ErrorCode::ExecutionError, said));
        }
        self.open_session(effects);
    }

    /// Opens the session in the best way that the agent supports: resuming replays no history, loading does.
    fn open_session(&mut self, effects: &mut DriverEffects) {
        let (method, session) = match &self.setup.start {
            AcpSessionStart::New => ("session/new", None),
            AcpSessionStart::Resume(session) if self.agent.resume => ("session/resume", Some(session.clone())),
            AcpSessionStart::Resume(session) if self.agent.load => ("session/load", Some(session.clone())),
            AcpSessionStart::Fork(session) if self.agent.fork => ("session/fork", Some(session.clone())),
            AcpSessionStart::Resume(_) => return effects.give_up(unsupported_fault("continue a session")),
            AcpSessionStart::Fork(_) => return effects.give_up(unsupported_fault("continue a copy of a session")),
        };
        let id = self.number(ClientRequestPurpose::Open(method));
        let expands = self.setup.habits.expands;
        let params = |servers: Vec<Value>| {
            let mut params = json!({ "cwd": self.setup.cwd, "mcpServers": servers });
            if let Some(session) = &session {
                params["sessionId"] = json!(session);
            }
            client_messages::request(id, method, &params)
        };
        let record = params(client_messages::list(&self.setup.servers, expands));
        let secret = self.setup.servers.values().any(|server| !server.env.is_empty() || !server.headers.is_empty());
        if secret {
            effects.send_masked_record(&record, &params(client_messages::masked(&self.setup.servers)));
        } else {
            effects.send_record(&record);
        }
        self.session = session.unwrap_or_default();
    }

    fn opened(&mut self, method: &str, result: &JsonObject<'_>, effects: &mut DriverEffects) {
        if let Some(session) = result.get_non_empty("sessionId") {
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

    /// Handles a failure to open the session. A session that cannot be resumed may be loaded: Qwen Code 0.15.10
    /// announces both and implements only loading.
    fn handle_open_failure(&mut self, method: &'static str, fault: Fault, effects: &mut DriverEffects) {
        if method == "session/resume" && self.agent.load && fault.info.as_deref() == Some("-32601") {
            self.agent.resume = false;
            return self.open_session(effects);
        }
        effects.give_up(self.with_login_hint(fault));
    }

    /// Waits for more history after a message of the agent.
    pub(super) fn wait_for_history(&self, effects: &mut DriverEffects) {
        if self.history {
            effects.push(DriverEffect::Arm(HISTORY, QUIET));
        }
    }

    /// Sets up the open session: makes the agent ask if necessary, then selects the model.
    pub(super) fn set_up(&mut self, effects: &mut DriverEffects) {
        self.history = false;
        self.choose_approval(effects);
    }

    fn choose_approval(&mut self, effects: &mut DriverEffects) {
        match self.offers.approvals.next_step(self.setup.approval) {
            ApprovalStep::Nothing => self.choose_model(effects),
            ApprovalStep::Choose(choice) if self.chosen_approvals.contains(&choice) => {
                effects.give_up(cannot_ask_fault("it stayed in its mode"));
            }
            ApprovalStep::Choose(choice) => {
                self.chosen_approvals.push(choice.clone());
                self.choose(ClientRequestPurpose::Approval, choice, effects);
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

    /// Handles an accepted approval selection. The response to `session/set_mode` is empty; the others contain the new
    /// state.
    fn handle_approval_selected(&mut self, effects: &mut DriverEffects) {
        if let Some(("session/set_mode", params)) = self.chosen_approvals.last()
            && let Some(mode) = params["modeId"].as_str()
        {
            self.offers.approvals.set_mode(mode.to_owned());
        }
        self.choose_approval(effects);
    }

    fn choose_model(&mut self, effects: &mut DriverEffects) {
        let Some(model) = self.setup.model.take() else { return effects.push(DriverEffect::Ready) };
        match self.offers.model(&model) {
            Ok(choice) => self.choose(ClientRequestPurpose::Model, choice, effects),
            Err(unsupported) => effects.give_up(Fault::new(ErrorCode::ModelNotFound, unsupported.to_string())),
        }
    }

    /// Adds a hint about logging in to a fault.
    fn with_login_hint(&self, fault: Fault) -> Fault {
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

fn cannot_ask_fault(why: &str) -> Fault {
    let said = format!(
        "the agent could not be set to ask before it acts: {why}\n\
         hint: choose a mode that asks in the agent's own settings, or the approval mode autoAll"
    );
    Fault::new(ErrorCode::PermissionDenied, said)
}

fn unsupported_fault(what: &str) -> Fault {
    Fault::new(ErrorCode::SessionNotFound, format!("the agent cannot {what}"))
}
