//! Fields with several names: `exec` writes snake_case, the app-server camelCase, and older documentation has further
//! names.

use std::borrow::Cow;

use crate::{JsonObject, JsonView};

/// Returns the first of these fields that is present.
pub fn first_field<'a>(fields: &JsonObject<'a>, names: &[&str]) -> Option<JsonView<'a>> {
    names.iter().find_map(|name| fields.get(name))
}

/// Returns the string in the first of these fields that is present.
pub fn first_str<'a>(fields: &JsonObject<'a>, names: &[&str]) -> Option<Cow<'a, str>> {
    first_field(fields, names)?.as_str()
}

pub fn first_string(fields: &JsonObject<'_>, names: &[&str]) -> Option<String> {
    first_str(fields, names).map(Cow::into_owned)
}

/// Joins the strings of an array with newlines; `None` if there are none.
pub fn join_lines(array: &[JsonView<'_>]) -> Option<String> {
    let texts: Vec<_> = array.iter().filter_map(|text| text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
