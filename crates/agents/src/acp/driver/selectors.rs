//! The modes, models and configuration options that an ACP agent offers: the requests that select one, and the selections
//! that make the agent satisfy the session's approval mode.

use serde_json::{Value, json};
use switchboard_event::ApprovalMode;

use crate::{
    JsonObject, JsonView, UnsupportedOperation, acp::approval_policy::ApprovalPolicy, commands::SlashCommands,
};

/// The common ID of the option for the reasoning effort.
const EFFORT_OPTION: &str = "reasoning_effort";

/// The selectors about approvals, as last announced by the agent.
#[derive(Default)]
pub struct ApprovalSelectors {
    modes: Option<ApprovalSelector>,
    options: Vec<ApprovalSelector>,
}

struct ApprovalSelector {
    /// The configuration option; `None` for `session/set_mode`.
    option: Option<String>,
    is_boolean: bool,
    current: String,
    values: Vec<(String, ApprovalPolicy)>,
}

/// The next step before the first prompt.
#[derive(Debug)]
pub enum ApprovalStep {
    /// Nothing to do: the agent asks, or its policy is unknown.
    Nothing,
    /// A request to the agent.
    Select(SelectionRequest),
    /// The agent is in this mode, which does not ask, and offers none that does.
    Unsatisfiable(String),
}

impl ApprovalSelectors {
    /// Reads `modes`, `configOptions` and `currentModeId` of a response or an update.
    pub fn read(&mut self, fields: &JsonObject<'_>) {
        if fields.get("modes").is_some() {
            self.modes = Some(parse_modes(&fields.get_object("modes")));
        }
        if fields.get("configOptions").is_some() {
            let options = fields.get_array("configOptions").into_iter();
            self.options = options.filter_map(|option| parse_option(&option.as_object())).collect();
        }
        if let Some(current) = fields.get_non_empty("currentModeId") {
            self.set_mode(current);
        }
    }

    /// Stores a mode that the agent accepted.
    pub fn set_mode(&mut self, current: String) {
        if let Some(modes) = &mut self.modes {
            modes.current = current;
        }
    }

    /// Returns the next step towards satisfying the approval mode.
    pub fn next_step(&self, mode: ApprovalMode) -> ApprovalStep {
        // The protocol is replacing modes with options, so an agent may announce both.
        let is_not_replaced = |selector: &&ApprovalSelector| {
            selector.option.is_some() || !self.options.iter().any(|option| option.values == selector.values)
        };
        let selectors = self.modes.iter().chain(&self.options).filter(is_not_replaced);
        let mut steps = selectors.map(|selector| selector.next_step(mode));
        steps.find(|step| !matches!(step, ApprovalStep::Nothing)).unwrap_or(ApprovalStep::Nothing)
    }
}

impl ApprovalSelector {
    fn next_step(&self, mode: ApprovalMode) -> ApprovalStep {
        let current = self.values.iter().find(|(id, _)| *id == self.current);
        let current = current.map_or_else(|| ApprovalPolicy::of_mode(&self.current, "", ""), |(_, policy)| *policy);
        if current.satisfies(mode) {
            return ApprovalStep::Nothing;
        }
        let asking_value = self.values.iter().find(|(_, policy)| *policy == ApprovalPolicy::Asks);
        match asking_value {
            Some((id, _)) => ApprovalStep::Select(self.select(id)),
            // Modes that make no statement about approvals are left alone.
            None if current == ApprovalPolicy::Unknown => ApprovalStep::Nothing,
            None => ApprovalStep::Unsatisfiable(self.current.clone()),
        }
    }

    fn select(&self, value: &str) -> SelectionRequest {
        match &self.option {
            None => ("session/set_mode", json!({ "modeId": value })),
            Some(id) => set_config_option(id, self.is_boolean, value),
        }
    }
}

/// Builds the request that sets a configuration option.
fn set_config_option(id: &str, is_boolean: bool, value: &str) -> SelectionRequest {
    let params = if is_boolean {
        json!({ "configId": id, "type": "boolean", "value": value == "true" })
    } else {
        json!({ "configId": id, "value": value })
    };
    ("session/set_config_option", params)
}

fn parse_modes(modes: &JsonObject<'_>) -> ApprovalSelector {
    let values = modes.get_array("availableModes").into_iter().filter_map(|mode| parse_value(&mode.as_object(), "id"));
    ApprovalSelector {
        option: None,
        is_boolean: false,
        current: modes.get_non_empty("currentModeId").unwrap_or_default(),
        values: values.collect(),
    }
}

/// Parses an option of the category `mode`, or one whose ID, name or category mentions approvals.
fn parse_option(option: &JsonObject<'_>) -> Option<ApprovalSelector> {
    let id = option.get_non_empty("id")?;
    let labels = ["id", "name", "category"].map(|field| option.get_string(field).unwrap_or_default().to_lowercase());
    let about_approvals = |word: &String| word.contains("approv") || word.contains("permission");
    let is_boolean = option.str_equals("type", "boolean");
    let entries = option.get_array("options").into_iter().flat_map(|entry: JsonView<'_>| {
        match entry.as_object().get_array("options") {
            group if group.is_empty() => vec![entry],
            group => group,
        }
    });
    let mut values: Vec<_> = entries.filter_map(|value| parse_value(&value.as_object(), "value")).collect();
    let is_toggle =
        is_boolean || values.len() == 2 && ["on", "off"].iter().all(|id| values.iter().any(|(v, _)| v == id));
    if is_toggle {
        let whole = |field: &str| option.get_string(field).unwrap_or_default();
        let switched_on = ApprovalPolicy::of_mode(&id, &whole("name"), &whole("description"));
        if matches!(switched_on, ApprovalPolicy::Asks | ApprovalPolicy::ReadOnly | ApprovalPolicy::Unknown) {
            return None;
        }
        let (on, off) = if is_boolean { ("true", "false") } else { ("on", "off") };
        values = vec![(on.to_owned(), switched_on), (off.to_owned(), ApprovalPolicy::Asks)];
    } else if !option.str_equals("category", "mode") && !labels.iter().any(about_approvals) {
        return None;
    }
    let current = option.get("currentValue").map(|value| value.display_text().into_owned()).unwrap_or_default();
    Some(ApprovalSelector { option: Some(id), is_boolean, current, values })
}

fn parse_value(value: &JsonObject<'_>, id: &str) -> Option<(String, ApprovalPolicy)> {
    let id = value.get_non_empty(id)?;
    let word = |field: &str| value.get_string(field).unwrap_or_default();
    let policy = ApprovalPolicy::of_mode(&id, &word("name"), &word("description"));
    Some((id, policy))
}

/// The selectors that the agent announced.
#[derive(Default)]
pub struct AgentSelectors {
    options: Vec<AgentSelector>,
    modes: bool,
    models: bool,
    /// The announced slash commands.
    pub commands: SlashCommands,
    /// The selectors that control what the agent does without asking.
    pub approvals: ApprovalSelectors,
}

struct AgentSelector {
    id: String,
    category: Option<String>,
    is_boolean: bool,
}

/// A request: its method, and its parameters without the session.
pub type SelectionRequest = (&'static str, Value);

impl AgentSelectors {
    /// Reads the choices in a response or an update.
    pub fn observe_message(&mut self, fields: &JsonObject<'_>) {
        self.modes |= fields.get("modes").is_some();
        self.models |= fields.get("models").is_some();
        self.approvals.read(fields);
        if fields.get("availableCommands").is_some() {
            let names = fields.get_array("availableCommands").into_iter();
            self.commands.set_names(names.filter_map(|command| command.as_object().get_non_empty("name")));
        }
        if fields.get("configOptions").is_some() {
            let selector = |option: JsonView<'_>| {
                let option = option.as_object();
                Some(AgentSelector {
                    id: option.get_non_empty("id")?,
                    category: option.get_non_empty("category"),
                    is_boolean: option.str_equals("type", "boolean"),
                })
            };
            self.options = fields.get_array("configOptions").into_iter().filter_map(selector).collect();
        }
    }

    pub fn select_model(&self, model: &str) -> Result<SelectionRequest, UnsupportedOperation> {
        match self.find_by_category("model") {
            Some(selector) => Ok(selector.select(model)),
            // Removed from the protocol in the middle of 2026, but agents still use it.
            None if self.models => Ok(("session/set_model", json!({ "modelId": model }))),
            None => Err(UnsupportedOperation::new("the agent does not support selecting a model")
                .with_hint("choose the model in the agent's own settings")),
        }
    }

    pub fn select_mode(&self, mode: &str) -> Result<SelectionRequest, UnsupportedOperation> {
        match self.find_by_category("mode") {
            Some(selector) => Ok(selector.select(mode)),
            None if self.modes => Ok(("session/set_mode", json!({ "modeId": mode }))),
            None => Err(UnsupportedOperation::new("the agent offers no modes")),
        }
    }

    pub fn select_option(&self, id: &str, value: &str) -> Result<SelectionRequest, UnsupportedOperation> {
        let selector = self.options.iter().find(|selector| selector.id == id);
        // Agents have different names for this option, but the protocol has a category.
        let selector = selector.or_else(|| self.find_by_category("thought_level").filter(|_| id == EFFORT_OPTION));
        selector.map(|selector| selector.select(value)).ok_or_else(|| {
            let known: Vec<_> = self.options.iter().map(|selector| selector.id.as_str()).collect();
            UnsupportedOperation::new(format!("the agent has no option {id}")).with_hint(match known.as_slice() {
                [] => "the agent has no options".to_owned(),
                known => format!("available options: {}", known.join(", ")),
            })
        })
    }

    fn find_by_category(&self, category: &str) -> Option<&AgentSelector> {
        self.options.iter().find(|selector| selector.category.as_deref() == Some(category))
    }
}

impl AgentSelector {
    fn select(&self, value: &str) -> SelectionRequest {
        set_config_option(&self.id, self.is_boolean, value)
    }
}
