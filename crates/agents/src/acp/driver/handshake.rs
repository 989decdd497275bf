//! From `initialize` to the first prompt: capabilities, login, opening the session, selecting the model.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_event::{ErrorCode, Fault};

use super::{AcpDriver, AcpSessionStart, ClientRequestPurpose, client_messages, selectors::ApprovalStep};
use crate::{DriverEffect, DriverEffects, DriverTimer, JsonObject, JsonView, acp::errors};

/// Expires when no more history arrives.
pub const HISTORY_TIMER: DriverTimer = DriverTimer("history");

/// A pause of this length ends a history that arrives after the response.
const HISTORY_QUIET_PERIOD: Duration = Duration::from_millis(250);

/// The capabilities that the agent announced.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "mirrors the protocol's independent flags")]
pub struct AgentCapabilities {
    pub images: bool,
    load: bool,
    resume: bool,
    fork: bool,
    http: bool,
    sse: bool,
    /// Descriptions of the login methods.
    login_methods: Vec<String>,
}

impl AgentCapabilities {
    fn read(result: &JsonObject<'_>) -> Self {
        let capabilities = result.get_object("agentCapabilities");
        let (session, mcp) =
            (capabilities.get_object("sessionCapabilities"), capabilities.get_object("mcpCapabilities"));
        Self {
            images: capabilities.get_object("promptCapabilities").is_true("image"),
            load: capabilities.is_true("loadSession"),
            resume: session.get("resume").is_some(),
            fork: session.get("fork").is_some(),
            http: mcp.is_true("http"),
            sse: mcp.is_true("sse"),
            login_methods: result
                .get_array("authMethods")
                .into_iter()
                .filter_map(|method| describe_login_method(&method.as_object()))
                .collect(),
        }
    }
}

/// Describes a login method.
fn describe_login_method(method: &JsonObject<'_>) -> Option<String> {
    let name = method.get_non_empty("name").or_else(|| method.get_non_empty("id"))?;
    let var_name = |var: JsonView<'_>| var.as_str().map(Into::into).or_else(|| var.as_object().get_non_empty("name"));
    let vars: Vec<String> = method.get_array("vars").into_iter().filter_map(var_name).collect();
    let env_hint = Some(format!("{} in the environment", vars.join(", "))).filter(|_| !vars.is_empty());
    let details = env_hint.or_else(|| method.get_non_empty("description")).filter(|details| *details != name);
    Some(details.map_or_else(|| name.clone(), |details| format!("{name} ({details})")))
}

impl AcpDriver {
    /// Handles a response before the first prompt.
    pub(super) fn handle_opening_response(
        &mut self,
        purpose: ClientRequestPurpose,
        response: &JsonObject<'_>,
        effects: &mut DriverEffects,
    ) {
        let fault = response.get("error").map(|error| errors::fault(&error.as_object()));
        let result = response.get_object("result");
        match (purpose, fault) {
            (ClientRequestPurpose::Initialize, None) => self.handle_initialize_result(&result, effects),
            (ClientRequestPurpose::Open(method), None) => self.handle_open_result(method, &result, effects),
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
            let message = format!("the agent uses ACP version {version}; only version 1 is supported");
            return effects.give_up(Fault::new(ErrorCode::ProtocolError, message));
        }
        self.agent = AgentCapabilities::read(result);
        if let Some(message) =
            client_messages::unsupported_transport_error(&self.setup.servers, self.agent.http, self.agent.sse)
        {
            return effects.give_up(Fault::new(ErrorCode::ExecutionError, message));
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
        let id = self.register_request(ClientRequestPurpose::Open(method));
        let expands = self.setup.habits.expands;
        let params = |servers: Vec<Value>| {
            let mut params = json!({ "cwd": self.setup.cwd, "mcpServers": servers });
            if let Some(session) = &session {
                params["sessionId"] = json!(session);
            }
            client_messages::request(id, method, &params)
        };
        let record = params(client_messages::mcp_servers_json(&self.setup.servers, expands));
        let secret = self.setup.servers.values().any(|server| !server.env.is_empty() || !server.headers.is_empty());
        if secret {
            effects.send_masked_record(&record, &params(client_messages::masked_mcp_servers_json(&self.setup.servers)));
        } else {
            effects.send_record(&record);
        }
        self.session = session.unwrap_or_default();
    }

    fn handle_open_result(&mut self, method: &str, result: &JsonObject<'_>, effects: &mut DriverEffects) {
        if let Some(session) = result.get_non_empty("sessionId") {
            self.session = session;
        }
        if self.session.is_empty() {
            let message = format!("the agent's response to {method} contains no session ID");
            return effects.give_up(Fault::new(ErrorCode::ProtocolError, message));
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
            effects.push(DriverEffect::Arm(HISTORY_TIMER, HISTORY_QUIET_PERIOD));
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
            ApprovalStep::Select(choice) if self.chosen_approvals.contains(&choice) => {
                effects.give_up(cannot_ask_fault("it did not leave its current mode"));
            }
            ApprovalStep::Select(choice) => {
                self.chosen_approvals.push(choice.clone());
                self.choose(ClientRequestPurpose::Approval, choice, effects);
            }
            ApprovalStep::Unsatisfiable(mode) => {
                let message = format!(
                    "the agent starts in mode {mode:?}, which runs tools without approval, and has no mode that requires approval\n\
                     hint: choose another mode in the agent's own settings, or the approval mode autoAll"
                );
                effects.give_up(Fault::new(ErrorCode::PermissionDenied, message));
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
        match self.offers.select_model(&model) {
            Ok(choice) => self.choose(ClientRequestPurpose::Model, choice, effects),
            Err(unsupported) => effects.give_up(Fault::new(ErrorCode::ModelNotFound, unsupported.to_string())),
        }
    }

    /// Adds a hint about logging in to a fault.
    fn with_login_hint(&self, fault: Fault) -> Fault {
        if fault.code != ErrorCode::ProviderAuth {
            return fault;
        }
        let methods = || match self.agent.login_methods.as_slice() {
            [] => "log in with the agent itself".to_owned(),
            methods => format!("log in with the agent itself: {}", methods.join(", ")),
        };
        let hint = self.setup.login.clone().unwrap_or_else(methods);
        Fault { message: format!("{}\nhint: {hint}", fault.message), ..fault }
    }
}

fn cannot_ask_fault(why: &str) -> Fault {
    let message = format!(
        "the agent could not be switched to a mode that asks for approval: {why}\n\
         hint: choose a mode that asks in the agent's own settings, or the approval mode autoAll"
    );
    Fault::new(ErrorCode::PermissionDenied, message)
}

fn unsupported_fault(what: &str) -> Fault {
    Fault::new(ErrorCode::SessionNotFound, format!("the agent cannot {what}"))
}
