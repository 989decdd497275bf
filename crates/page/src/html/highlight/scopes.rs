//! From the many scopes of a syntax to our few classes.

use std::{collections::HashMap, sync::LazyLock};

use syntect::parsing::{Scope, ScopeStack};

/// Beginnings of scopes, the longer before the shorter, and the class of what is in them. Without a class the search
/// ends: code inside a string is no string.
const CLASSES: &[(&str, Option<&str>)] = &[
    ("comment", Some("hl-comment")),
    ("constant.numeric", Some("hl-number")),
    ("constant", Some("hl-constant")),
    ("entity.name.function", Some("hl-function")),
    ("entity.name.tag", Some("hl-tag")),
    ("entity.name.section", Some("hl-keyword")),
    ("entity.name.label", Some("hl-constant")),
    ("entity.name", Some("hl-type")),
    ("entity.other.attribute-name", Some("hl-attribute")),
    ("entity.other.inherited-class", Some("hl-type")),
    ("keyword.operator.word", Some("hl-keyword")),
    ("keyword.operator.logical.python", Some("hl-keyword")),
    ("keyword.operator", Some("hl-operator")),
    ("keyword", Some("hl-keyword")),
    ("markup.deleted", Some("hl-deleted")),
    ("markup.inserted", Some("hl-inserted")),
    ("markup.heading", Some("hl-keyword")),
    ("markup.raw", Some("hl-string")),
    ("meta.diff.header", Some("hl-comment")),
    ("meta.diff.range", Some("hl-comment")),
    ("meta.embedded", None),
    ("meta.interpolation", None),
    ("meta.mapping.key", Some("hl-attribute")),
    ("meta.structure.dictionary.key", Some("hl-attribute")),
    ("source", None),
    ("storage", Some("hl-keyword")),
    ("string", Some("hl-string")),
    ("support.constant", Some("hl-constant")),
    ("support.function", Some("hl-function")),
    ("support.macro", Some("hl-function")),
    ("support", Some("hl-type")),
    ("variable.annotation", Some("hl-attribute")),
    ("variable.function", Some("hl-function")),
    ("variable.language", Some("hl-keyword")),
    ("variable.parameter", Some("hl-variable")),
    ("variable.other.constant", Some("hl-constant")),
    ("variable.other.readwrite.assignment", Some("hl-variable")),
];

/// The same, as the syntaxes compare them, and the two whose order matters.
struct Known {
    classes: Vec<(Scope, Option<&'static str>)>,
    keys: Vec<Scope>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| Known {
    classes: CLASSES.iter().filter_map(|(scope, class)| Some((Scope::new(scope).ok()?, *class))).collect(),
    keys: ["meta.mapping.key", "meta.structure.dictionary.key"].iter().filter_map(|key| Scope::new(key).ok()).collect(),
});

/// What a scope says: it ends the search, with a class or without, or says nothing.
type Says = Option<Option<&'static str>>;

/// The classes of scopes, each looked up once.
#[derive(Default)]
pub(super) struct Classes(HashMap<Scope, Says>);

impl Classes {
    /// The class of what stands in these scopes: the innermost decides.
    pub(super) fn of(&mut self, stack: &ScopeStack) -> Option<&'static str> {
        let found = stack.as_slice().iter().rev().find_map(|scope| self.says(*scope)).flatten();
        // Keys of objects are strings, too, but that says less.
        let is_key = || stack.as_slice().iter().any(|scope| KNOWN.keys.iter().any(|key| key.is_prefix_of(*scope)));
        if found == Some("hl-string") && is_key() { Some("hl-attribute") } else { found }
    }

    fn says(&mut self, scope: Scope) -> Says {
        *self.0.entry(scope).or_insert_with(|| {
            KNOWN.classes.iter().find(|(known, _)| known.is_prefix_of(scope)).map(|(_, class)| *class)
        })
    }
}
