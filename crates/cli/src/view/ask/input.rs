//! Another input in place of what the agent asked for: a command typed anew, or the whole input as JSON.

use serde_json::{Map, Value, value::RawValue};
use switchboard_event::{RequestOpened, to_raw_json};

use crate::view::clean;

/// The request has an input that can be another one.
pub fn can_change(request: &RequestOpened) -> bool {
    request.command.is_some() || fields(request).is_some()
}

/// What is to be typed.
pub fn wanted(request: &RequestOpened) -> String {
    match (&request.command, fields(request)) {
        (Some(_), _) => "type the command that may run instead; an empty line changes nothing".to_owned(),
        (None, Some(fields)) => {
            let now = clean::exact(&Value::Object(fields).to_string());
            format!("type the input as JSON; an empty line changes nothing. Now it is\n{now}")
        }
        (None, None) => String::new(),
    }
}

/// The input with what was typed.
pub fn changed(request: &RequestOpened, typed: &str) -> Result<Box<RawValue>, String> {
    let Some(command) = &request.command else {
        return match serde_json::from_str::<Map<String, Value>>(typed) {
            Ok(fields) => Ok(to_raw_json(&fields)),
            Err(error) => Err(format!("that is not a JSON object: {error}")),
        };
    };
    let mut fields = fields(request).unwrap_or_default();
    let is_it = |value: &Value| value.as_str() == Some(command.as_str());
    let name = fields.iter().find(|(_, value)| is_it(value)).map_or("command", |(name, _)| name.as_str()).to_owned();
    // A command that is given as words cannot be typed as one line.
    if fields.get(&name).is_some_and(|value| !value.is_string()) {
        return Err("this command cannot be changed here".to_owned());
    }
    fields.insert(name, Value::from(typed));
    Ok(to_raw_json(&fields))
}

fn fields(request: &RequestOpened) -> Option<Map<String, Value>> {
    serde_json::from_str(request.call.as_ref()?.input.as_ref()?.get()).ok()
}
