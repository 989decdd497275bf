//! What is known about the session: model, folder, version, and what else could be chosen.

use switchboard_event::{
    ApprovalMode, Info, McpServer, Mode, Model, SandboxMode, Selector, SelectorValue, SessionConfig, SessionStatus,
};

use super::super::names;
use crate::{Json, Object};

/// How many MCP servers are remembered.
const LIMIT: usize = 256;

/// What the parts of a session's description are made from.
#[derive(Default)]
pub struct Settings {
    version: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    models: Vec<Offer>,
    mcp: Vec<McpServer>,
}

/// A model and how hard it can think.
struct Offer {
    model: Model,
    hidden: bool,
    efforts: Vec<SelectorValue>,
    usual: String,
}

impl Offer {
    fn has(&self, effort: &str) -> bool {
        self.efforts.iter().any(|offered| offered.id == effort)
    }
}

impl Settings {
    /// The answer to `initialize`: `NAME/VERSION (system) …`, and a name may have slashes. Older descriptions have
    /// the version and the capabilities as they are.
    pub fn server(&mut self, result: &Object<'_>) -> Info {
        let agent = result.str("userAgent").unwrap_or_default();
        let version = agent.split(" (").next().and_then(|name| name.rsplit_once('/')).map(|(_, version)| version);
        self.version = version.map(str::to_owned).or_else(|| result.filled("version"));
        Info { version: self.version.clone(), capabilities: result.raw("capabilities"), ..Info::default() }
    }

    /// The answer to `thread/start` and the like, a thread, or a thread's settings: they share their words.
    pub fn of(&mut self, fields: &Object<'_>) -> Info {
        let thread = fields.object("thread");
        let either = |names: &[&str]| names::string(fields, names).or_else(|| names::string(&thread, names));
        self.model = either(&["model"]).or(self.model.take());
        self.effort = either(&["reasoningEffort", "effort"]).or(self.effort.take());
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
        if first_page {
            self.models.clear();
        }
        for new in result.array("data").into_iter().map(|model| offer(&model.object())) {
            self.models.retain(|known| known.model.id != new.model.id);
            self.models.push(new);
        }
        let shown = self.models.iter().filter(|offer| !offer.hidden);
        Info { models: shown.map(|offer| offer.model.clone()).collect(), options: self.selectors(), ..Info::default() }
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

    /// How hard the model thinks, where the model is known.
    fn selectors(&self) -> Vec<Selector> {
        let current = self.models.iter().find(|offer| Some(&offer.model.id) == self.model.as_ref());
        let offer = current.or_else(|| self.models.iter().find(|offer| offer.model.default && self.model.is_none()));
        let selector = |offer: &Offer| Selector {
            id: "reasoning_effort".to_owned(),
            name: "Reasoning effort".to_owned(),
            description: None,
            group: None,
            value: self.effort.clone().filter(|effort| offer.has(effort)).unwrap_or_else(|| offer.usual.clone()),
            values: offer.efforts.clone(),
        };
        offer.filter(|offer| !offer.efforts.is_empty()).map(selector).into_iter().collect()
    }
}

/// The answer to `collaborationMode/list`.
pub fn modes(result: &Object<'_>) -> Info {
    let mode = |fields: Object<'_>| {
        let id = fields.filled("mode")?;
        Some(Mode { name: fields.filled("name").unwrap_or_else(|| id.clone()), id, description: None })
    };
    let modes = result.array("data").into_iter().filter_map(|fields| mode(fields.object()));
    Info { modes: modes.collect(), ..Info::default() }
}

fn offer(fields: &Object<'_>) -> Offer {
    let id = names::string(fields, &["model", "id"]).unwrap_or_default();
    let effort = |effort: Json<'_>| {
        let effort = effort.object();
        let id = effort.string("reasoningEffort").unwrap_or_default();
        SelectorValue { name: id.clone(), id, description: effort.filled("description") }
    };
    Offer {
        hidden: fields.is_true("hidden"),
        efforts: fields.array("supportedReasoningEfforts").into_iter().map(effort).collect(),
        usual: fields.string("defaultReasoningEffort").unwrap_or_default(),
        model: Model {
            name: fields.filled("displayName").unwrap_or_else(|| id.clone()),
            id,
            description: fields.filled("description"),
            default: fields.is_true("isDefault"),
        },
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
