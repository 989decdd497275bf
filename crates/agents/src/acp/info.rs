//! What an agent offers: modes, models and other options, in all the forms that they have had in the protocol.

use switchboard_event::{ApprovalMode, Info, McpServer, Mode, Model, Named, Selector, SelectorValue};

use super::approval_policy::ApprovalPolicy;
use crate::{Json, Object};

/// `modes`, `models` and `configOptions` of an answer or an update.
pub fn offers(result: &Object<'_>) -> Info {
    let mut info = Info::default();
    modes(&result.object("modes"), &mut info);
    models(&result.object("models"), &mut info);
    for option in result.array("configOptions") {
        config_option(&option.object(), &mut info);
    }
    info
}

/// `{currentModeId, availableModes[]}`.
fn modes(modes: &Object<'_>, info: &mut Info) {
    info.mode = modes.filled("currentModeId");
    info.modes =
        modes.array("availableModes").into_iter().map(|mode| choice(&mode.object(), "id").into_mode()).collect();
}

/// `{currentModelId, availableModels[]}`: gone from the protocol since the middle of 2026, not from the agents.
fn models(models: &Object<'_>, info: &mut Info) {
    info.model = models.filled("currentModelId");
    let available = models.array("availableModels").into_iter();
    info.models = available.map(|model| choice(&model.object(), "modelId").into_model()).collect();
}

fn config_option(option: &Object<'_>, info: &mut Info) {
    let values = values(option);
    let value = option.get("currentValue").map(|value| value.display().into_owned()).unwrap_or_default();
    match option.str("category").as_deref() {
        Some("model") => {
            info.model = Some(value).filter(|value| !value.is_empty());
            info.models = values.into_iter().map(Choice::into_model).collect();
        }
        Some("mode") => {
            info.mode = Some(value).filter(|value| !value.is_empty());
            info.modes = values.into_iter().map(Choice::into_mode).collect();
        }
        category => info.options.push(Selector {
            id: option.string("id").unwrap_or_default(),
            name: option.filled("name").or_else(|| option.string("id")).unwrap_or_default(),
            description: option.filled("description"),
            group: category.map(str::to_owned),
            value,
            values: values.into_iter().map(Choice::into_value).collect(),
        }),
    }
}

/// The values of an option: a flat list, groups of lists, or yes and no.
fn values(option: &Object<'_>) -> Vec<Choice> {
    if option.is("type", "boolean") {
        let word = |id: &str, name: &str| Choice { id: id.to_owned(), name: name.to_owned(), description: None };
        return vec![word("true", "On"), word("false", "Off")];
    }
    let flat = |entry: Json<'_>| {
        let entry = entry.object();
        match entry.array("options") {
            group if group.is_empty() => vec![choice(&entry, "value")],
            group => group.into_iter().map(|inner| choice(&inner.object(), "value")).collect(),
        }
    };
    option.array("options").into_iter().flat_map(flat).collect()
}

/// One thing to choose, whatever it is.
struct Choice {
    id: String,
    name: String,
    description: Option<String>,
}

fn choice(fields: &Object<'_>, id: &str) -> Choice {
    let id = fields.string(id).unwrap_or_default();
    Choice { name: fields.filled("name").unwrap_or_else(|| id.clone()), id, description: fields.filled("description") }
}

impl Choice {
    fn into_mode(self) -> Mode {
        Mode { id: self.id, name: self.name, description: self.description }
    }

    fn into_model(self) -> Model {
        Model { id: self.id, name: self.name, description: self.description, default: false }
    }

    fn into_value(self) -> SelectorValue {
        SelectorValue { id: self.id, name: self.name, description: self.description }
    }
}

/// `availableCommands`.
pub fn commands(update: &Object<'_>) -> Vec<Named> {
    let named = |command: Json<'_>| {
        let command = command.object();
        Named { name: command.string("name").unwrap_or_default(), description: command.filled("description") }
    };
    update.array("availableCommands").into_iter().map(named).collect()
}

/// The MCP servers that a session is started with.
pub fn mcp_servers(params: &Object<'_>) -> Vec<McpServer> {
    let server = |server: Json<'_>| server.object().filled("name").map(|name| McpServer { name, status: None });
    params.array("mcpServers").into_iter().filter_map(server).collect()
}

/// What the mode in force lets the agent do without asking, where that is known.
pub fn approval(info: &Info) -> Option<ApprovalMode> {
    let id = info.mode.as_deref()?;
    let mode = info.modes.iter().find(|mode| mode.id == id);
    let (name, description) = mode.map_or(("", None), |mode| (mode.name.as_str(), mode.description.as_deref()));
    ApprovalPolicy::of_mode(id, name, description.unwrap_or_default()).approval_mode()
}

#[cfg(test)]
mod tests {
    use super::offers;
    use crate::Json;

    #[test]
    fn options_go_where_their_category_says_flat_or_in_groups() {
        let result = r#"{"configOptions":[
            {"id":"model","category":"model","type":"select","currentValue":"b","options":[
                {"group":"g","name":"G","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}]},
            {"id":"mode","category":"mode","type":"select","currentValue":"plan","options":[{"value":"plan","name":"Plan"}]},
            {"id":"fast","name":"Fast","type":"boolean","currentValue":true}]}"#;
        let info = offers(&Json::parse(result).unwrap().object());
        assert_eq!((info.model.as_deref(), info.mode.as_deref()), (Some("b"), Some("plan")));
        assert_eq!(info.models.iter().map(|m| m.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((info.options[0].value.as_str(), info.options[0].values.len()), ("true", 2));
    }
}
