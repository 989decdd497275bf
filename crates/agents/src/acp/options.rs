//! The modes, models and other options that an agent offers, in all formats that the protocol has had.

use switchboard_event::{ApprovalMode, Info, McpServer, Mode, Model, Named, Selector, SelectorValue};

use super::approval_policy::ApprovalPolicy;
use crate::{JsonObject, JsonView};

/// Parses `modes`, `models` and `configOptions` of a response or an update.
pub fn offers(result: &JsonObject<'_>) -> Info {
    let mut info = Info::default();
    modes(&result.get_object("modes"), &mut info);
    models(&result.get_object("models"), &mut info);
    for option in result.get_array("configOptions") {
        config_option(&option.as_object(), &mut info);
    }
    info
}

/// `{currentModeId, availableModes[]}`.
fn modes(modes: &JsonObject<'_>, info: &mut Info) {
    info.mode = modes.get_non_empty("currentModeId");
    info.modes =
        modes.get_array("availableModes").into_iter().map(|mode| choice(&mode.as_object(), "id").into_mode()).collect();
}

/// `{currentModelId, availableModels[]}`: removed from the protocol in the middle of 2026, but agents still send it.
fn models(models: &JsonObject<'_>, info: &mut Info) {
    info.model = models.get_non_empty("currentModelId");
    let available = models.get_array("availableModels").into_iter();
    info.models = available.map(|model| choice(&model.as_object(), "modelId").into_model()).collect();
}

fn config_option(option: &JsonObject<'_>, info: &mut Info) {
    let values = values(option);
    let value = option.get("currentValue").map(|value| value.display_text().into_owned()).unwrap_or_default();
    match option.get_str("category").as_deref() {
        Some("model") => {
            info.model = Some(value).filter(|value| !value.is_empty());
            info.models = values.into_iter().map(OfferedChoice::into_model).collect();
        }
        Some("mode") => {
            info.mode = Some(value).filter(|value| !value.is_empty());
            info.modes = values.into_iter().map(OfferedChoice::into_mode).collect();
        }
        category => info.options.push(Selector {
            id: option.get_string("id").unwrap_or_default(),
            name: option.get_non_empty("name").or_else(|| option.get_string("id")).unwrap_or_default(),
            description: option.get_non_empty("description"),
            group: category.map(str::to_owned),
            value,
            values: values.into_iter().map(OfferedChoice::into_value).collect(),
        }),
    }
}

/// Returns the values of an option: a flat list, groups of lists, or on and off.
fn values(option: &JsonObject<'_>) -> Vec<OfferedChoice> {
    if option.str_equals("type", "boolean") {
        let word = |id: &str, name: &str| OfferedChoice { id: id.to_owned(), name: name.to_owned(), description: None };
        return vec![word("true", "On"), word("false", "Off")];
    }
    let flat = |entry: JsonView<'_>| {
        let entry = entry.as_object();
        match entry.get_array("options") {
            group if group.is_empty() => vec![choice(&entry, "value")],
            group => group.into_iter().map(|inner| choice(&inner.as_object(), "value")).collect(),
        }
    };
    option.get_array("options").into_iter().flat_map(flat).collect()
}

/// A value of any kind of option.
struct OfferedChoice {
    id: String,
    name: String,
    description: Option<String>,
}

fn choice(fields: &JsonObject<'_>, id: &str) -> OfferedChoice {
    let id = fields.get_string(id).unwrap_or_default();
    OfferedChoice {
        name: fields.get_non_empty("name").unwrap_or_else(|| id.clone()),
        id,
        description: fields.get_non_empty("description"),
    }
}

impl OfferedChoice {
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
pub fn commands(update: &JsonObject<'_>) -> Vec<Named> {
    let named = |command: JsonView<'_>| {
        let command = command.as_object();
        Named {
            name: command.get_string("name").unwrap_or_default(),
            description: command.get_non_empty("description"),
        }
    };
    update.get_array("availableCommands").into_iter().map(named).collect()
}

/// Returns the MCP servers that a session is started with.
pub fn mcp_servers(params: &JsonObject<'_>) -> Vec<McpServer> {
    let server =
        |server: JsonView<'_>| server.as_object().get_non_empty("name").map(|name| McpServer { name, status: None });
    params.get_array("mcpServers").into_iter().filter_map(server).collect()
}

/// Returns the approval mode that the current mode amounts to, if known.
pub fn approval(info: &Info) -> Option<ApprovalMode> {
    let id = info.mode.as_deref()?;
    let mode = info.modes.iter().find(|mode| mode.id == id);
    let (name, description) = mode.map_or(("", None), |mode| (mode.name.as_str(), mode.description.as_deref()));
    ApprovalPolicy::of_mode(id, name, description.unwrap_or_default()).approval_mode()
}

#[cfg(test)]
mod tests {

    use super::offers;
    use crate::JsonView;

    #[test]
    fn options_go_where_their_category_says_flat_or_in_groups() {
        let result = r#"{"configOptions":[
            {"id":"model","category":"model","type":"select","currentValue":"b","options":[
                {"group":"g","name":"G","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}]},
            {"id":"mode","category":"mode","type":"select","currentValue":"plan","options":[{"value":"plan","name":"Plan"}]},
            {"id":"fast","name":"Fast","type":"boolean","currentValue":true}]}"#;
        let info = offers(&JsonView::parse(result).unwrap().as_object());
        assert_eq!((info.model.as_deref(), info.mode.as_deref()), (Some("b"), Some("plan")));
        assert_eq!(info.models.iter().map(|m| m.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((info.options[0].value.as_str(), info.options[0].values.len()), ("true", 2));
    }
}
