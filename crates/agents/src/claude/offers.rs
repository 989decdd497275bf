//! The settings that Claude Code offers: its models, and their thinking options. The reader reports them, and the
//! driver checks requests against them.

use serde_json::{Value, json};
use switchboard_event::{Info, Model, Named, Selector, SelectorValue};

use super::system;
use crate::{JsonObject, UnsupportedOperation};

/// The ids of the reasoning effort and of the thinking budget.
pub const EFFORT_OPTION_ID: &str = "reasoning_effort";

pub const THINKING_BUDGET_OPTION_ID: &str = "max_thinking_tokens";

/// The value of a setting that was not set: Claude Code's own settings or the model's default apply.
pub const DEFAULT: &str = "default";

/// Claude Code accepts any number; these are the usual ones.
const THINKING_BUDGETS: &[(&str, &str)] =
    &[(DEFAULT, "Default"), ("0", "Off"), ("8000", "8,000"), ("16000", "16,000"), ("32000", "32,000")];

/// The available settings and their current values.
#[derive(Default)]
pub struct ClaudeOptions {
    told: bool,
    models: Vec<ClaudeModel>,
    commands: Vec<Named>,
    agents: Vec<Named>,
    model: Option<String>,
    effort: Option<String>,
    budget: Option<String>,
}

struct ClaudeModel {
    model: Model,
    /// The name of the model in the API.
    real: Option<String>,
    efforts: Vec<String>,
    /// The model decides by itself how much it thinks.
    adaptive: bool,
}

impl ClaudeOptions {
    /// Applies the response to `initialize`.
    pub fn apply_initialize(&mut self, payload: &JsonObject<'_>) {
        self.told = true;
        self.models =
            payload.get_array("models").into_iter().filter_map(|model| parse_model(&model.as_object())).collect();
        let named = |list| payload.get_array(list).into_iter().filter_map(system::parse_named).collect();
        (self.commands, self.agents) = (named("commands"), named("agents"));
    }

    /// Returns the models, commands, agents and settings.
    pub fn session_info(&self) -> Info {
        let models = self.models.iter().map(|offer| offer.model.clone()).collect();
        let (commands, agents) = (self.commands.clone(), self.agents.clone());
        Info { models, commands, agents, options: self.option_selectors(), ..Info::default() }
    }

    pub fn set_model(&mut self, model: &str) {
        self.model = Some(model.to_owned());
    }

    /// Resolves the default model to its name, if known.
    pub fn resolve_model<'a>(&'a self, model: &'a str) -> Option<&'a str> {
        if model != DEFAULT {
            return Some(model);
        }
        self.models.iter().find(|offer| offer.model.id == DEFAULT)?.real.as_deref()
    }

    /// Adds the known descriptions to commands.
    pub fn describe_commands(&self, names: Vec<String>) -> Vec<Named> {
        with_descriptions(&self.commands, names)
    }

    /// Adds the known descriptions to subagents.
    pub fn describe_agents(&self, names: Vec<String>) -> Vec<Named> {
        with_descriptions(&self.agents, names)
    }

    pub fn set_option(&mut self, id: &str, value: &str) {
        match id {
            EFFORT_OPTION_ID => self.effort = Some(value.to_owned()),
            THINKING_BUDGET_OPTION_ID => self.budget = Some(value.to_owned()),
            _ => {}
        }
    }

    /// Returns the available settings. The effort levels depend on the model.
    pub fn option_selectors(&self) -> Vec<Selector> {
        let efforts = self.current_model().map(|offer| offer.efforts.as_slice()).unwrap_or_default();
        let effort = (!efforts.is_empty()).then(|| self.effort_selector(efforts));
        effort.into_iter().chain(self.told.then(|| self.budget_selector())).collect()
    }

    fn effort_selector(&self, efforts: &[String]) -> Selector {
        let levels = efforts.iter().map(|level| (level.as_str(), capitalize_word(level)));
        let value = |(id, name): (&str, String)| SelectorValue { id: id.to_owned(), name, description: None };
        let chosen = self.effort.clone().filter(|effort| efforts.contains(effort));
        Selector {
            id: EFFORT_OPTION_ID.to_owned(),
            name: "Reasoning effort".to_owned(),
            description: Some("How hard the model thinks".to_owned()),
            group: Some("model".to_owned()),
            value: chosen.unwrap_or_else(|| DEFAULT.to_owned()),
            values: std::iter::once((DEFAULT, capitalize_word(DEFAULT))).chain(levels).map(value).collect(),
        }
    }

    fn budget_selector(&self) -> Selector {
        let adaptive = self.current_model().is_some_and(|offer| offer.adaptive);
        let hint = "thinks; this model decides itself how much";
        let value = |(id, name): &(&str, &str)| SelectorValue {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            description: (adaptive && !matches!(*id, DEFAULT | "0")).then(|| hint.to_owned()),
        };
        let chosen = self.budget.as_deref().unwrap_or(DEFAULT);
        let other = (!THINKING_BUDGETS.iter().any(|(id, _)| *id == chosen)).then_some((chosen, chosen));
        Selector {
            id: THINKING_BUDGET_OPTION_ID.to_owned(),
            name: "Thinking tokens".to_owned(),
            description: Some("How much the model may think before it answers".to_owned()),
            group: Some("model".to_owned()),
            value: chosen.to_owned(),
            values: THINKING_BUDGETS.iter().chain(&other).map(value).collect(),
        }
    }

    /// Returns the current model, if it is among the offered ones.
    fn current_model(&self) -> Option<&ClaudeModel> {
        let model = self.model.as_deref().unwrap_or(DEFAULT);
        // In a resumed conversation, `[1m]` may be missing (2.1.197).
        let plain = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
        let named = |offer: &&ClaudeModel| offer.model.id == model || offer.real.as_deref() == Some(model);
        let like = |offer: &&ClaudeModel| offer.real.as_deref().is_some_and(|real| plain(real) == plain(model));
        self.models.iter().find(named).or_else(|| self.models.iter().find(like))
    }

    /// Builds the request for a setting. Claude Code accepts any value, so it is checked here.
    pub fn setting_request(&self, id: &str, value: &str) -> Result<Value, UnsupportedOperation> {
        let options = self.option_selectors();
        let Some(option) = options.iter().find(|option| option.id == id) else {
            let known: Vec<_> = options.iter().map(|option| option.id.as_str()).collect();
            return Err(UnsupportedOperation::new(format!("Claude Code has no setting `{id}`")).with_hint(match known
                .as_slice()
            {
                [] => "it has none".to_owned(),
                known => format!("with this model it has {}", known.join(", ")),
            }));
        };
        let number = value.parse::<u32>().ok().filter(|_| id == THINKING_BUDGET_OPTION_ID);
        if number.is_none() && !option.values.iter().any(|known| known.id == value) {
            let known: Vec<_> = option.values.iter().map(|known| known.id.as_str()).collect();
            return Err(UnsupportedOperation::new(format!("`{id}` cannot be `{value}`"))
                .with_hint(format!("one of {}", known.join(", "))));
        }
        Ok(match id {
            EFFORT_OPTION_ID => {
                let level = Some(value).filter(|value| *value != DEFAULT);
                json!({ "subtype": "apply_flag_settings", "settings": { "effortLevel": level } })
            }
            _ => json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": number }),
        })
    }
}

fn with_descriptions(known: &[Named], names: Vec<String>) -> Vec<Named> {
    let find = |name: &String| known.iter().find(|known| known.name == *name).cloned();
    names.into_iter().map(|name| find(&name).unwrap_or_else(|| Named::new(name))).collect()
}

/// Returns the setting that a sent request changes, and its value.
pub fn changed_setting(subtype: &str, request: &JsonObject<'_>) -> Option<(&'static str, String)> {
    let settings = request.get_object("settings");
    let (id, value) = match subtype {
        "apply_flag_settings" if settings.contains_key("effortLevel") => {
            (EFFORT_OPTION_ID, settings.get("effortLevel"))
        }
        "set_max_thinking_tokens" => (THINKING_BUDGET_OPTION_ID, request.get("max_thinking_tokens")),
        _ => return None,
    };
    Some((id, value.map_or_else(|| DEFAULT.to_owned(), |value| value.display_text().into_owned())))
}

fn parse_model(fields: &JsonObject<'_>) -> Option<ClaudeModel> {
    let id = fields.get_non_empty("value")?;
    Some(ClaudeModel {
        real: fields.get_non_empty("resolvedModel"),
        efforts: fields.get_strings("supportedEffortLevels"),
        adaptive: fields.is_true("supportsAdaptiveThinking"),
        model: Model {
            name: fields.get_non_empty("displayName").unwrap_or_else(|| id.clone()),
            description: fields.get_non_empty("description"),
            default: id == DEFAULT,
            id,
        },
    })
}

fn capitalize_word(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {

    use crate::{claude::AGENT, driver_tests::LaunchFixture};

    /// Runs a script after the handshake.
    fn check_after_handshake(script: &str) {
        let hello = r#"
            > {"send":{"request_id":"initialize"}}
            {"in":{"type":"control_response","response":{"subtype":"success","request_id":"initialize","response":{
                "commands":[{"name":"compact","description":"Makes it shorter"},{"name":"loop","aliases":["proactive"]}],
                "models":[
                    {"value":"default","resolvedModel":"claude-big[1m]","displayName":"Default","supportedEffortLevels":["low","high"],"supportsAdaptiveThinking":true},
                    {"value":"small","resolvedModel":"claude-small","displayName":"Small"}]}}}}
            > "ready"
        "#;
        let hello = hello.replace("\n                ", " ");
        LaunchFixture::default().check_script(&AGENT, &format!("{hello}{script}"));
    }

    #[test]
    fn effort_and_budget_are_set_and_told() {
        check_after_handshake(
            r#"
            {"cmd":{"set_option":["reasoning_effort","low"]}}
            > {"send":{"request":{"subtype":"apply_flag_settings","settings":{"effortLevel":"low"}}}}
            {"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-1"}}}
            {"cmd":{"set_option":["reasoning_effort","default"]}}
            > {"send":{"request":{"subtype":"apply_flag_settings","settings":{"effortLevel":null}}}}
            {"cmd":{"set_option":["max_thinking_tokens","8000"]}}
            > {"send":{"request":{"subtype":"set_max_thinking_tokens","max_thinking_tokens":8000}}}
            {"cmd":{"set_option":["max_thinking_tokens","default"]}}
            > {"send":{"request":{"subtype":"set_max_thinking_tokens","max_thinking_tokens":null}}}
            {"cmd":{"set_option":["reasoning_effort","huge"]}}
            > {"refused":"`reasoning_effort` cannot be `huge`"}
            # Another model thinks in another way.
            {"cmd":{"set_model":"small"}}
            > {"send":{"request":{"subtype":"set_model","model":"small"}}}
            {"cmd":{"set_option":["reasoning_effort","low"]}}
            > {"refused":"Claude Code has no setting `reasoning_effort`"}
        "#,
        );
    }

    #[test]
    fn what_is_refused_is_a_warning() {
        check_after_handshake(
            r#"
            {"in":{"type":"system","subtype":"init","session_id":"S","model":"claude-big","slash_commands":["compact"]}}
            > {"disarm":"settle"}
            = {"kind":"session.started","data":{"info":{"model":"claude-big","commands":[{"name":"compact","description":"Makes it shorter"}],"options":[{"id":"reasoning_effort","value":"default"},{"id":"max_thinking_tokens","value":"default"}]}}}
            {"cmd":{"set_option":["reasoning_effort","high"]}}
            > {"send":{"request_id":"switchboard-1"}}
            {"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-1"}}}
            = {"kind":"session.updated","data":{"info":{"options":[{"id":"reasoning_effort","value":"high"},{"id":"max_thinking_tokens"}]}}}
            {"cmd":{"set_option":["max_thinking_tokens","0"]}}
            > {"send":{"request_id":"switchboard-2"}}
            {"in":{"type":"control_response","response":{"subtype":"error","request_id":"switchboard-2","error":"not today"}}}
            = {"kind":"notice","data":{"topic":"warning","level":"warning","text":"not today"}}
            {"cmd":{"set_model":"default"}}
            > {"send":{"request_id":"switchboard-3"}}
            {"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-3"}}}
            = {"kind":"session.updated","data":{"info":{"model":"claude-big[1m]"}}}
        "#,
        );
    }

    #[test]
    fn a_command_is_a_prompt_if_there_is_one() {
        check_after_handshake(
            r#"
            {"cmd":{"slash":["proactive","5m look"]}}
            > {"send":{"type":"user","message":{"content":"/proactive 5m look"}}}
            {"cmd":{"slash":["dance",""]}}
            > {"refused":"the agent has no command /dance"}
        "#,
        );
    }
}
