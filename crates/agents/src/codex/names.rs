//! One field, several names: `exec` writes snake_case, the app-server camelCase, and older descriptions have words
//! of their own.

use std::borrow::Cow;

use crate::{Json, Object};

/// The first of these fields that is there.
pub fn get<'a>(fields: &Object<'a>, names: &[&str]) -> Option<Json<'a>> {
    names.iter().find_map(|name| fields.get(name))
}

/// The text of the first of these fields that is there.
pub fn text<'a>(fields: &Object<'a>, names: &[&str]) -> Option<Cow<'a, str>> {
    get(fields, names)?.str()
}

/// The text of the first of these fields that is there, to keep.
pub fn string(fields: &Object<'_>, names: &[&str]) -> Option<String> {
    text(fields, names).map(Cow::into_owned)
}

/// The texts of an array, one under the other; nothing if there are none.
pub fn lines(array: &[Json<'_>]) -> Option<String> {
    let texts: Vec<_> = array.iter().filter_map(|text| text.str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
