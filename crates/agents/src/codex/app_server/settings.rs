//! What is known about the session: model, folder, version, and what else could be chosen.

use switchboard_event::{
    ApprovalMode, Info, McpServer, Mode, Named, SandboxMode, Selector, SelectorValue, SessionConfig, SessionStatus,
};

use super::super::{
    driver::COMMANDS,
    names,
    offers::{COLLABORATION, DEFAULT, Offers, PERSONALITIES, PERSONALITY},
};
use crate::Object;

/// How many MCP servers are remembered.
const LIMIT: usize = 256;

/// What the parts of a session's description are made from.
#[derive(Default)]
pub struct Settings {
    version: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    personality: Option<String>,
    mode: Option<String>,
    offers: Offers,
    modes: Vec<Mode>,
    /// It is us who speak to it, so that our commands can be given.
    ours: bool,
    mcp: Vec<McpServer>,
}

impl Settings {
    /// The answer to `initialize`: `NAME/VERSION (system) …`, and a name may have slashes. Older descriptions have
    /// the version and the capabilities as they are.
    pub fn server(&mut self, result: &Object<'_>) -> Info {
        let agent = result.str("userAgent").unwrap_or_default();
        let version = agent.split(" (").next().and_then(|name| name.rsplit_once('/')).map(|(_, version)| version);
        self.version = version.map(str::to_owned).or_else(|| result.filled("version"));
        let (version, capabilities) = (self.version.clone(), result.raw("capabilities"));
        Info { version, capabilities, commands: self.commands(), ..Info::default() }
    }

    /// `initialize`: who speaks to it.
    pub fn client(&mut self, params: &Object<'_>) {
        self.ours = params.object("clientInfo").is("name", "switchboard");
    }

    fn commands(&self) -> Vec<Named> {
        let named = |(name, description): &(&str, &str)| Named {
            name: (*name).to_owned(),
            description: Some((*description).to_owned()),
        };
        COMMANDS.iter().filter(|_| self.ours).map(named).collect()
    }

    /// The answer to `thread/start` and the like, a thread, or a thread's settings: they share their words.
    pub fn of(&mut self, fields: &Object<'_>) -> Info {
        let thread = fields.object("thread");
        let either = |names: &[&str]| names::string(fields, names).or_else(|| names::string(&thread, names));
        self.model = either(&["model"]).or(self.model.take());
        self.effort = either(&["reasoningEffort", "effort"]).or(self.effort.take());
        self.personality = either(&["personality"]).or(self.personality.take());
        self.mode = fields.object("collaborationMode").filled("mode").or(self.mode.take());
        Info {
            cwd: either(&["cwd"]),
            model: self.model.clone(),
            provider: either(&["modelProvider"]),
            mode: fields.object("collaborationMode").filled("mode"),
            title: either(&["name"]),
            // A thread names the version that made it, which need not be the one that runs.
            version: self.version.clone().or_else(|| either(&["cliVersion"])),
            status: status(&thread.object("status")).or_else(|| status(&fields.object("status"))),
            options: self.selectors(),
            ..Info::default()
        }
    }

    /// The answer to `model/list`.
    pub fn offers(&mut self, result: &Object<'_>, first_page: bool) -> Info {
        self.offers.add(result, first_page);
        Info { models: self.offers.shown(), options: self.selectors(), ..Info::default() }
    }

    /// The answer to `collaborationMode/list`.
    pub fn modes(&mut self, result: &Object<'_>) -> Info {
        let mode = |fields: Object<'_>| {
            let id = fields.filled("mode")?;
            Some(Mode { name: fields.filled("name").unwrap_or_else(|| id.clone()), id, description: None })
        };
        self.modes = result.array("data").into_iter().filter_map(|fields| mode(fields.object())).collect();
        let usual = self.modes.iter().any(|mode| mode.id == DEFAULT).then(|| DEFAULT.to_owned());
        let mode = self.mode.clone().or(usual);
        Info { mode, modes: self.modes.clone(), options: self.selectors(), ..Info::default() }
    }

    /// Another model took over.
    pub fn model(&mut self, model: String) -> Info {
        self.model = Some(model);
        Info { model: self.model.clone(), options: self.selectors(), ..Info::default() }
    }

    /// An MCP server starts, is ready, or failed.
    pub fn mcp(&mut self, params: &Object<'_>) -> Info {
        let server = McpServer { name: params.string("name").unwrap_or_default(), status: params.filled("status") };
        let room = self.mcp.len() < LIMIT;
        match self.mcp.iter_mut().find(|known| known.name == server.name) {
            Some(known) => *known = server,
            None if room => self.mcp.push(server),
            None => {}
        }
        Info { mcp: self.mcp.clone(), ..Info::default() }
    }

    /// What can be chosen with this model.
    fn selectors(&self) -> Vec<Selector> {
        let offer = self.offers.of(self.model.as_deref());
        let effort = offer.and_then(|offer| offer.selector(self.effort.as_deref()));
        let personality = offer.filter(|offer| offer.personality).map(|_| self.personality());
        let mode = (!self.modes.is_empty()).then(|| self.collaboration());
        effort.into_iter().chain(personality).chain(mode).collect()
    }

    fn personality(&self) -> Selector {
        // Until one is chosen, it is what the configuration says.
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

    fn collaboration(&self) -> Selector {
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

/// `{type: idle | active | systemError | notLoaded, activeFlags}`
pub fn status(fields: &Object<'_>) -> Option<SessionStatus> {
    match fields.str("type")?.as_ref() {
        "active" if !fields.array("activeFlags").is_empty() => Some(SessionStatus::RequiresAction),
        "active" => Some(SessionStatus::Running),
        "idle" | "systemError" => Some(SessionStatus::Idle),
        _ => None,
    }
}

/// The policies that a thread runs with, where the caller did not say how to run it.
pub fn policies(result: &Object<'_>, config: &mut SessionConfig) {
    config.approval_mode = config.approval_mode.or(match result.str("approvalPolicy").as_deref() {
        Some("untrusted") => Some(ApprovalMode::Ask),
        Some("on-request" | "on-failure") => Some(ApprovalMode::AskDangerous),
        Some("never") => Some(ApprovalMode::AutoAll),
        _ => None,
    });
    config.sandbox_mode = config.sandbox_mode.or(match result.object("sandbox").str("type").as_deref() {
        Some("readOnly") => Some(SandboxMode::ReadOnly),
        Some("workspaceWrite") => Some(SandboxMode::WorkspaceWrite),
        Some("dangerFullAccess") => Some(SandboxMode::FullAccess),
        Some("externalSandbox") => Some(SandboxMode::None),
        _ => None,
    });
}
