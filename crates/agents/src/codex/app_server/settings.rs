//! Session settings: model, working directory, version and available choices.

use switchboard_event::{
    ApprovalMode, Info, McpServer, Mode, Named, SandboxMode, Selector, SelectorValue, SessionConfig, SessionStatus,
};

use crate::{
    JsonObject,
    codex::{
        driver::SLASH_COMMANDS,
        first_string,
        offers::{COLLABORATION, CodexModelCatalog, DEFAULT, PERSONALITIES, PERSONALITY},
    },
};

const MAX_MCP_SERVERS: usize = 256;

/// Latest known settings of the session.
#[derive(Default)]
pub struct AppServerSettings {
    version: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    personality: Option<String>,
    mode: Option<String>,
    offers: CodexModelCatalog,
    modes: Vec<Mode>,
    /// The client is Switchboard, so its slash commands are available.
    ours: bool,
    mcp: Vec<McpServer>,
}

impl AppServerSettings {
    /// Applies the result of `initialize`: `NAME/VERSION (system) …`, where the name may contain slashes. Older
    /// documentation has the version and the capabilities as separate fields.
    pub fn apply_initialize_result(&mut self, result: &JsonObject<'_>) -> Info {
        let agent = result.get_str("userAgent").unwrap_or_default();
        let version = agent.split(" (").next().and_then(|name| name.rsplit_once('/')).map(|(_, version)| version);
        self.version = version.map(str::to_owned).or_else(|| result.get_non_empty("version"));
        let (version, capabilities) = (self.version.clone(), result.get_raw("capabilities"));
        Info { version, capabilities, commands: self.slash_commands(), ..Info::default() }
    }

    /// Applies the client info of `initialize`.
    pub fn apply_client_info(&mut self, params: &JsonObject<'_>) {
        self.ours = params.get_object("clientInfo").str_equals("name", "switchboard");
    }

    fn slash_commands(&self) -> Vec<Named> {
        let named = |(name, description): &(&str, &str)| Named {
            name: (*name).to_owned(),
            description: Some((*description).to_owned()),
        };
        SLASH_COMMANDS.iter().filter(|_| self.ours).map(named).collect()
    }

    /// Applies the result of `thread/start` and its siblings, a thread, or a thread's settings: they share their field
    /// names.
    pub fn apply_thread_settings(&mut self, fields: &JsonObject<'_>) -> Info {
        let thread = fields.get_object("thread");
        let either = |names: &[&str]| first_string(fields, names).or_else(|| first_string(&thread, names));
        self.model = either(&["model"]).or(self.model.take());
        self.effort = either(&["reasoningEffort", "effort"]).or(self.effort.take());
        self.personality = either(&["personality"]).or(self.personality.take());
        self.mode = fields.get_object("collaborationMode").get_non_empty("mode").or(self.mode.take());
        Info {
            cwd: either(&["cwd"]),
            model: self.model.clone(),
            provider: either(&["modelProvider"]),
            mode: fields.get_object("collaborationMode").get_non_empty("mode"),
            title: either(&["name"]),
            // A thread names the version that created it, which can differ from the running one.
            version: self.version.clone().or_else(|| either(&["cliVersion"])),
            status: parse_thread_status(&thread.get_object("status"))
                .or_else(|| parse_thread_status(&fields.get_object("status"))),
            options: self.build_selectors(),
            ..Info::default()
        }
    }

    /// Applies the result of `model/list`.
    pub fn apply_model_list(&mut self, result: &JsonObject<'_>, first_page: bool) -> Info {
        self.offers.add_page(result, first_page);
        Info { models: self.offers.visible_models(), options: self.build_selectors(), ..Info::default() }
    }

    /// Applies the result of `collaborationMode/list`.
    pub fn apply_mode_list(&mut self, result: &JsonObject<'_>) -> Info {
        let mode = |fields: JsonObject<'_>| {
            let id = fields.get_non_empty("mode")?;
            Some(Mode { name: fields.get_non_empty("name").unwrap_or_else(|| id.clone()), id, description: None })
        };
        self.modes = result.get_array("data").into_iter().filter_map(|fields| mode(fields.as_object())).collect();
        let usual = self.modes.iter().any(|mode| mode.id == DEFAULT).then(|| DEFAULT.to_owned());
        let mode = self.mode.clone().or(usual);
        Info { mode, modes: self.modes.clone(), options: self.build_selectors(), ..Info::default() }
    }

    pub fn set_model(&mut self, model: String) -> Info {
        self.model = Some(model);
        Info { model: self.model.clone(), options: self.build_selectors(), ..Info::default() }
    }

    /// Applies the startup status of an MCP server.
    pub fn update_mcp_server(&mut self, params: &JsonObject<'_>) -> Info {
        let server =
            McpServer { name: params.get_string("name").unwrap_or_default(), status: params.get_non_empty("status") };
        let room = self.mcp.len() < MAX_MCP_SERVERS;
        match self.mcp.iter_mut().find(|known| known.name == server.name) {
            Some(known) => *known = server,
            None if room => self.mcp.push(server),
            None => {}
        }
        Info { mcp: self.mcp.clone(), ..Info::default() }
    }

    /// Returns the selectors that are available with the current model.
    fn build_selectors(&self) -> Vec<Selector> {
        let offer = self.offers.find_model(self.model.as_deref());
        let effort = offer.and_then(|offer| offer.effort_selector(self.effort.as_deref()));
        let personality = offer.filter(|offer| offer.personality).map(|_| self.personality_selector());
        let mode = (!self.modes.is_empty()).then(|| self.collaboration_selector());
        effort.into_iter().chain(personality).chain(mode).collect()
    }

    fn personality_selector(&self) -> Selector {
        // Until one is chosen, the configuration decides.
        let unset = self.personality.is_none().then_some(DEFAULT);
        let values = unset.into_iter().chain(PERSONALITIES);
        Selector {
            id: PERSONALITY.to_owned(),
            name: "Personality".to_owned(),
            description: Some("How it speaks".to_owned()),
            group: None,
            value: self.personality.clone().unwrap_or_else(|| DEFAULT.to_owned()),
            values: values
                .map(|id| SelectorValue { id: id.to_owned(), name: id.to_owned(), description: None })
                .collect(),
        }
    }

    fn collaboration_selector(&self) -> Selector {
        let value = |mode: &Mode| SelectorValue { id: mode.id.clone(), name: mode.name.clone(), description: None };
        Selector {
            id: COLLABORATION.to_owned(),
            name: "Collaboration mode".to_owned(),
            description: Some("Whether it works or plans".to_owned()),
            group: None,
            value: self.mode.clone().unwrap_or_else(|| DEFAULT.to_owned()),
            values: self.modes.iter().map(value).collect(),
        }
    }
}

/// Parses `{type: idle | active | systemError | notLoaded, activeFlags}`.
pub fn parse_thread_status(fields: &JsonObject<'_>) -> Option<SessionStatus> {
    match fields.get_str("type")?.as_ref() {
        "active" if !fields.get_array("activeFlags").is_empty() => Some(SessionStatus::RequiresAction),
        "active" => Some(SessionStatus::Running),
        "idle" | "systemError" => Some(SessionStatus::Idle),
        _ => None,
    }
}

/// Applies the policies that the thread runs with, unless the caller has set them.
pub fn apply_policies(result: &JsonObject<'_>, config: &mut SessionConfig) {
    config.approval_mode = config.approval_mode.or(match result.get_str("approvalPolicy").as_deref() {
        Some("untrusted") => Some(ApprovalMode::Ask),
        Some("on-request" | "on-failure") => Some(ApprovalMode::AskDangerous),
        Some("never") => Some(ApprovalMode::AutoAll),
        _ => None,
    });
    config.sandbox_mode = config.sandbox_mode.or(match result.get_object("sandbox").get_str("type").as_deref() {
        Some("readOnly") => Some(SandboxMode::ReadOnly),
        Some("workspaceWrite") => Some(SandboxMode::WorkspaceWrite),
        Some("dangerFullAccess") => Some(SandboxMode::FullAccess),
        Some("externalSandbox") => Some(SandboxMode::None),
        _ => None,
    });
}
