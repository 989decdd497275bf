//! JSON whose key order is preserved when merging: in OpenCode's configuration the last rule decides.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use switchboard_event::to_raw_json;

use super::jsonc;
use crate::JsonView;

/// Maximum depth of merged objects. Switchboard's additions are never nested deeper.
const DEEPEST: usize = 32;

/// An object with its key order, or any other value as written.
pub enum Tree {
    Object(Vec<(String, Tree)>),
    Leaf(Box<RawValue>),
}

impl Tree {
    pub fn new() -> Self {
        Self::Object(Vec::new())
    }

    /// Parses an object with comments, as users write it.
    pub fn read(text: &str) -> Option<Self> {
        let bare = jsonc::bare(text);
        JsonView::parse(&bare).filter(|json| json.is_object()).map(|json| Self::grow(json, DEEPEST))
    }

    fn grow(json: JsonView<'_>, depth: usize) -> Self {
        if depth == 0 || !json.is_object() {
            return Self::Leaf(json.to_raw());
        }
        let fields = json.as_object();
        Self::Object(fields.iter().map(|(key, value)| (key.to_owned(), Self::grow(value, depth - 1))).collect())
    }

    /// Merges another object. Keys in both take the other's value and keep their position.
    pub fn merge(&mut self, other: &impl Serialize) {
        let other = to_raw_json(other);
        self.graft(Self::grow(JsonView::from_raw(&other), DEEPEST));
    }

    fn graft(&mut self, other: Self) {
        match (self, other) {
            (Self::Object(fields), Self::Object(others)) => {
                for (key, value) in others {
                    match fields.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, known)) => known.graft(value),
                        None => fields.push((key, value)),
                    }
                }
            }
            (tree, other) => *tree = other,
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(fields) => serializer.collect_map(fields.iter().map(|(key, value)| (key, value))),
            Self::Leaf(raw) => raw.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {

    use serde_json::json;
    use switchboard_event::to_raw_json;

    use super::Tree;

    #[test]
    fn what_is_very_deep_is_kept() {
        let deep = format!("{}7{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        let mut tree = Tree::read(&deep).unwrap();
        tree.merge(&json!({ "b": 1 }));
        assert_eq!(to_raw_json(&tree).get(), format!("{},\"b\":1}}", deep.strip_suffix('}').unwrap()));
    }

    #[test]
    fn the_order_is_kept() {
        let mut tree = Tree::read(r#"{"z":1,"a":{"c":[1],"b":2},/* why */}"#).unwrap();
        tree.merge(&json!({ "a": { "b": { "x": 1 }, "a": 3 }, "0": true }));
        assert_eq!(to_raw_json(&tree).get(), r#"{"z":1,"a":{"c":[1],"b":{"x":1},"a":3},"0":true}"#);
        assert!(Tree::read("[]").is_none() && Tree::read("no").is_none());
    }
}
