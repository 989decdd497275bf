//! What Claude Code lets one choose: its models, and how each of them thinks. The reader keeps it to tell of it, the
//! driver to know what may be asked for.

use serde_json::{Value, json};
use switchboard_event::{Info, Model, Named, Selector, SelectorValue};

use super::system;
use crate::{Object, Unsupported};

/// How hard a model thinks, and how much it may think at most.
pub const EFFORT: &str = "reasoning_effort";
pub const BUDGET: &str = "max_thinking_tokens";

/// What a setting is when nobody has set it: what Claude Code's own settings say, or what is usual for the model.
pub const DEFAULT: &str = "default";

/// Claude Code takes any number; these are the usual ones.
const BUDGETS: &[(&str, &str)] =
    &[(DEFAULT, "Default"), ("0", "Off"), ("8000", "8,000"), ("16000", "16,000"), ("32000", "32,000")];

/// What can be chosen, and what is chosen.
#[derive(Default)]
pub struct Offers {
    told: bool,
    models: Vec<Offer>,
    commands: Vec<Named>,
    agents: Vec<Named>,
    model: Option<String>,
    effort: Option<String>,
    budget: Option<String>,
}

/// A model.
struct Offer {
    model: Model,
    /// What it is called by the API.
    real: Option<String>,
    efforts: Vec<String>,
    /// It decides by itself how much it thinks.
    adaptive: bool,
}

impl Offers {
    /// The answer to `initialize`.
    pub fn told(&mut self, payload: &Object<'_>) {
        self.told = true;
        self.models = payload.array("models").into_iter().filter_map(|model| offer(&model.object())).collect();
        let named = |list| payload.array(list).into_iter().filter_map(system::named).collect();
        (self.commands, self.agents) = (named("commands"), named("agents"));
    }

    /// The models and the commands, and what can be set.
    pub fn info(&self) -> Info {
        let models = self.models.iter().map(|offer| offer.model.clone()).collect();
        let (commands, agents) = (self.commands.clone(), self.agents.clone());
        Info { models, commands, agents, options: self.options(), ..Info::default() }
    }

    /// This model is used from now on.
    pub fn uses(&mut self, model: &str) {
        self.model = Some(model.to_owned());
    }

    /// The name of a model, where it only says which one is meant.
    pub fn real<'a>(&'a self, model: &'a str) -> Option<&'a str> {
        if model != DEFAULT {
            return Some(model);
        }
        self.models.iter().find(|offer| offer.model.id == DEFAULT)?.real.as_deref()
    }

    /// Commands by their names, with what is known about each.
    pub fn commands(&self, names: Vec<String>) -> Vec<Named> {
        described(&self.commands, names)
    }

    /// Subagents likewise.
    pub fn agents(&self, names: Vec<String>) -> Vec<Named> {
        described(&self.agents, names)
    }

    /// A setting has this value from now on.
    pub fn set(&mut self, id: &str, value: &str) {
        match id {
            EFFORT => self.effort = Some(value.to_owned()),
            BUDGET => self.budget = Some(value.to_owned()),
            _ => {}
        }
    }

    /// What can be set. Which efforts there are depends on the model.
    pub fn options(&self) -> Vec<Selector> {
        let efforts = self.current().map(|offer| offer.efforts.as_slice()).unwrap_or_default();
        let effort = (!efforts.is_empty()).then(|| self.effort(efforts));
        effort.into_iter().chain(self.told.then(|| self.budget())).collect()
    }

    fn effort(&self, efforts: &[String]) -> Selector {
        let levels = efforts.iter().map(|level| (level.as_str(), capital(level)));
        let value = |(id, name): (&str, String)| SelectorValue { id: id.to_owned(), name, description: None };
        let chosen = self.effort.clone().filter(|effort| efforts.contains(effort));
        Selector {
            id: EFFORT.to_owned(),
            name: "Reasoning effort".to_owned(),
            description: Some("How hard the model thinks".to_owned()),
            group: Some("model".to_owned()),
            value: chosen.unwrap_or_else(|| DEFAULT.to_owned()),
            values: std::iter::once((DEFAULT, capital(DEFAULT))).chain(levels).map(value).collect(),
        }
    }

    fn budget(&self) -> Selector {
        let adaptive = self.current().is_some_and(|offer| offer.adaptive);
        let hint = "thinks; this model decides itself how much";
        let value = |(id, name): &(&str, &str)| SelectorValue {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            description: (adaptive && !matches!(*id, DEFAULT | "0")).then(|| hint.to_owned()),
        };
        let chosen = self.budget.as_deref().unwrap_or(DEFAULT);
        let other = (!BUDGETS.iter().any(|(id, _)| *id == chosen)).then_some((chosen, chosen));
        Selector {
            id: BUDGET.to_owned(),
            name: "Thinking tokens".to_owned(),
            description: Some("How much the model may think before it answers".to_owned()),
            group: Some("model".to_owned()),
            value: chosen.to_owned(),
            values: BUDGETS.iter().chain(&other).map(value).collect(),
        }
    }

    /// The model that is used, as far as it is offered.
    fn current(&self) -> Option<&Offer> {
        let model = self.model.as_deref().unwrap_or(DEFAULT);
        // Where a conversation is resumed, `[1m]` may be missing (2.1.197).
        let plain = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
        let named = |offer: &&Offer| offer.model.id == model || offer.real.as_deref() == Some(model);
        let like = |offer: &&Offer| offer.real.as_deref().is_some_and(|real| plain(real) == plain(model));
        self.models.iter().find(named).or_else(|| self.models.iter().find(like))
    }

    /// The request that sets something. Claude Code takes anything, so it is checked here.
    pub fn request(&self, id: &str, value: &str) -> Result<Value, Unsupported> {
        let options = self.options();
        let Some(option) = options.iter().find(|option| option.id == id) else {
            let known: Vec<_> = options.iter().map(|option| option.id.as_str()).collect();
            return Err(Unsupported::new(format!("Claude Code has no setting `{id}`")).with_hint(
                match known.as_slice() {
                    [] => "it has none".to_owned(),
                    known => format!("with this model it has {}", known.join(", ")),
                },
            ));
        };
        let number = value.parse::<u32>().ok().filter(|_| id == BUDGET);
        if number.is_none() && !option.values.iter().any(|known| known.id == value) {
            let known: Vec<_> = option.values.iter().map(|known| known.id.as_str()).collect();
            return Err(Unsupported::new(format!("`{id}` cannot be `{value}`"))
                .with_hint(format!("one of {}", known.join(", "))));
        }
        Ok(match id {
            EFFORT => {
                let level = Some(value).filter(|value| *value != DEFAULT);
                json!({ "subtype": "apply_flag_settings", "settings": { "effortLevel": level } })
            }
            _ => json!({ "subtype": "set_max_thinking_tokens", "max_thinking_tokens": number }),
        })
    }
}

fn described(known: &[Named], names: Vec<String>) -> Vec<Named> {
    let find = |name: &String| known.iter().find(|known| known.name == *name).cloned();
    names.into_iter().map(|name| find(&name).unwrap_or_else(|| Named::new(name))).collect()
}

/// What a request of ours sets, and to what.
pub fn setting(subtype: &str, request: &Object<'_>) -> Option<(&'static str, String)> {
    let settings = request.object("settings");
    let (id, value) = match subtype {
        "apply_flag_settings" if settings.has("effortLevel") => (EFFORT, settings.get("effortLevel")),
        "set_max_thinking_tokens" => (BUDGET, request.get("max_thinking_tokens")),
        _ => return None,
    };
    Some((id, value.map_or_else(|| DEFAULT.to_owned(), |value| value.display().into_owned())))
}

fn offer(fields: &Object<'_>) -> Option<Offer> {
    let id = fields.filled("value")?;
    Some(Offer {
        real: fields.filled("resolvedModel"),
        efforts: fields.strings("supportedEffortLevels"),
        adaptive: fields.is_true("supportsAdaptiveThinking"),
        model: Model {
            name: fields.filled("displayName").unwrap_or_else(|| id.clone()),
            description: fields.filled("description"),
            default: id == DEFAULT,
            id,
        },
    })
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::{claude::AGENT, driver_tests::Wish};

    /// A conversation that has said hello.
    fn check(script: &str) {
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
        Wish::default().check(&AGENT, &format!("{hello}{script}"));
    }

    #[test]
    fn effort_and_budget_are_set_and_told() {
        check(
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
        check(
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
        check(
            r#"
            {"cmd":{"slash":["proactive","5m look"]}}
            > {"send":{"type":"user","message":{"content":"/proactive 5m look"}}}
            {"cmd":{"slash":["dance",""]}}
            > {"refused":"the agent has no command /dance"}
        "#,
        );
    }
}
