//! The agent's selectors that control what it does without asking: its modes, and options about approvals and
//! permissions. An agent that starts in a state that violates the session's approval mode is set to one that satisfies
//! it.

use serde_json::{Value, json};
use switchboard_event::ApprovalMode;

use crate::{
    JsonObject, JsonView, UnsupportedOperation, acp::approval_policy::ApprovalPolicy, commands::SlashCommands,
};

/// Id of the reasoning effort option, as other agents call it.
const EFFORT: &str = "reasoning_effort";

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
    /// Nothing to do: the agent asks, or makes no statement.
    Nothing,
    /// A request to the agent.
    Choose(SelectionRequest),
    /// The agent is in this mode, which does not ask, and offers none that does.
    Impossible(String),
}

impl ApprovalSelectors {
    /// Reads `modes`, `configOptions` and `currentModeId` of a response or an update.
    pub fn read(&mut self, fields: &JsonObject<'_>) {
        if fields.get("modes").is_some() {
            self.modes = Some(of_modes(&fields.get_object("modes")));
        }
        if fields.get("configOptions").is_some() {
            let options = fields.get_array("configOptions").into_iter();
            self.options = options.filter_map(|option| of_option(&option.as_object())).collect();
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
        let replaced = |selector: &&ApprovalSelector| {
            selector.option.is_some() || !self.options.iter().any(|option| option.values == selector.values)
        };
        let selectors = self.modes.iter().chain(&self.options).filter(replaced);
        let mut steps = selectors.map(|selector| selector.next_step(mode));
        steps.find(|step| !matches!(step, ApprovalStep::Nothing)).unwrap_or(ApprovalStep::Nothing)
    }
}

impl ApprovalSelector {
    fn next_step(&self, mode: ApprovalMode) -> ApprovalStep {
        let current = self.values.iter().find(|(id, _)| *id == self.current);
        let current = current.map_or_else(|| ApprovalPolicy::of_mode(&self.current, "", ""), |(_, policy)| *policy);
        if current.keeps(mode) {
            return ApprovalStep::Nothing;
        }
        let asking = self.values.iter().find(|(_, policy)| *policy == ApprovalPolicy::Asks);
        match asking {
            Some((id, _)) => ApprovalStep::Choose(self.choose(id)),
            // Modes that make no statement about approvals are left alone.
            None if current == ApprovalPolicy::Unknown => ApprovalStep::Nothing,
            None => ApprovalStep::Impossible(self.current.clone()),
        }
    }

    fn choose(&self, value: &str) -> SelectionRequest {
        match &self.option {
            None => ("session/set_mode", json!({ "modeId": value })),
            Some(id) if self.is_boolean => {
                ("session/set_config_option", json!({ "configId": id, "type": "boolean", "value": value == "true" }))
            }
            Some(id) => ("session/set_config_option", json!({ "configId": id, "value": value })),
        }
    }
}

fn of_modes(modes: &JsonObject<'_>) -> ApprovalSelector {
    let values = modes.get_array("availableModes").into_iter().filter_map(|mode| of_value(&mode.as_object(), "id"));
    ApprovalSelector {
        option: None,
        is_boolean: false,
        current: modes.get_non_empty("currentModeId").unwrap_or_default(),
        values: values.collect(),
    }
}

/// Parses an option of the category `mode`, or one whose words concern approvals.
fn of_option(option: &JsonObject<'_>) -> Option<ApprovalSelector> {
    let id = option.get_non_empty("id")?;
    let words = ["id", "name", "category"].map(|field| option.get_string(field).unwrap_or_default().to_lowercase());
    let about_approvals = |word: &String| word.contains("approv") || word.contains("permission");
    let is_boolean = option.str_equals("type", "boolean");
    let grouped = option.get_array("options").into_iter().flat_map(|entry: JsonView<'_>| {
        match entry.as_object().get_array("options") {
            group if group.is_empty() => vec![entry],
            group => group,
        }
    });
    let mut values: Vec<_> = grouped.filter_map(|value| of_value(&value.as_object(), "value")).collect();
    let is_switch =
        is_boolean || values.len() == 2 && ["on", "off"].iter().all(|id| values.iter().any(|(v, _)| v == id));
    if is_switch {
        let whole = |field: &str| option.get_string(field).unwrap_or_default();
        let switched_on = ApprovalPolicy::of_mode(&id, &whole("name"), &whole("description"));
        if matches!(switched_on, ApprovalPolicy::Asks | ApprovalPolicy::ReadOnly | ApprovalPolicy::Unknown) {
            return None;
        }
        let (on, off) = if is_boolean { ("true", "false") } else { ("on", "off") };
        values = vec![(on.to_owned(), switched_on), (off.to_owned(), ApprovalPolicy::Asks)];
    } else if !option.str_equals("category", "mode") && !words.iter().any(about_approvals) {
        return None;
    }
    let current = option.get("currentValue").map(|value| value.display_text().into_owned()).unwrap_or_default();
    Some(ApprovalSelector { option: Some(id), is_boolean, current, values })
}

fn of_value(value: &JsonObject<'_>, id: &str) -> Option<(String, ApprovalPolicy)> {
    let id = value.get_non_empty(id)?;
    let word = |field: &str| value.get_string(field).unwrap_or_default();
    let policy = ApprovalPolicy::of_mode(&id, &word("name"), &word("description"));
    Some((id, policy))
}

/// The choices offered in the session.
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
    yes_or_no: bool,
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
            let offer = |option: JsonView<'_>| {
                let option = option.as_object();
                Some(AgentSelector {
                    id: option.get_non_empty("id")?,
                    category: option.get_non_empty("category"),
                    yes_or_no: option.str_equals("type", "boolean"),
                })
            };
            self.options = fields.get_array("configOptions").into_iter().filter_map(offer).collect();
        }
    }

    pub fn model(&self, model: &str) -> Result<SelectionRequest, UnsupportedOperation> {
        match self.of_category("model") {
            Some(offer) => Ok(offer.choose(model)),
            // Removed from the protocol in the middle of 2026, but agents still use it.
            None if self.models => Ok(("session/set_model", json!({ "modelId": model }))),
            None => Err(UnsupportedOperation::new("the agent offers no choice of models")
                .with_hint("choose the model in the agent's own settings")),
        }
    }

    pub fn mode(&self, mode: &str) -> Result<SelectionRequest, UnsupportedOperation> {
        match self.of_category("mode") {
            Some(offer) => Ok(offer.choose(mode)),
            None if self.modes => Ok(("session/set_mode", json!({ "modeId": mode }))),
            None => Err(UnsupportedOperation::new("the agent offers no modes")),
        }
    }

    pub fn option(&self, id: &str, value: &str) -> Result<SelectionRequest, UnsupportedOperation> {
        let offer = self.options.iter().find(|offer| offer.id == id);
        // Agents have different names for this option, but the protocol has a category.
        let offer = offer.or_else(|| self.of_category("thought_level").filter(|_| id == EFFORT));
        offer.map(|offer| offer.choose(value)).ok_or_else(|| {
            let known: Vec<_> = self.options.iter().map(|offer| offer.id.as_str()).collect();
            UnsupportedOperation::new(format!("the agent has no option {id}")).with_hint(match known.as_slice() {
                [] => "it offers none".to_owned(),
                known => format!("it has {}", known.join(", ")),
            })
        })
    }

    fn of_category(&self, category: &str) -> Option<&AgentSelector> {
        self.options.iter().find(|offer| offer.category.as_deref() == Some(category))
    }
}

impl AgentSelector {
    fn choose(&self, value: &str) -> SelectionRequest {
        let params = if self.yes_or_no {
            json!({ "configId": self.id, "type": "boolean", "value": value == "true" })
        } else {
            json!({ "configId": self.id, "value": value })
        };
        ("session/set_config_option", params)
    }
}
