//! An object whose values are kept as they are written, and read when they are wanted. What is missing or of another
//! type is not there; nothing fails.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

/// Any JSON, verbatim.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub Box<RawValue>);

impl Default for Json {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Json {
    /// JSON of something that can be written as JSON; `null` of what cannot.
    pub fn of(value: &impl Serialize) -> Self {
        Self(to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// An object without fields.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(&Fields::default())
    }

    /// It is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.get().starts_with('{')
    }

    /// As the type that is wanted, if it is of that type.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// An object, field by field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(BTreeMap<String, Json>);

impl Fields {
    /// The object that something is written as; without fields if it is none.
    pub fn of(value: &impl Serialize) -> Self {
        Json::of(value).read().unwrap_or_default()
    }

    /// A field, as it is.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// A field as the type that is wanted.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get(name)?.read()
    }

    /// A field that is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// The first of several fields that is text, and not empty: other clients have other names for the same.
    #[must_use]
    pub fn first_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name).filter(|text| !text.is_empty()))
    }

    /// A field that is `true`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.read(name).unwrap_or(false)
    }

    /// A list, without those of another type; empty where there is none.
    #[must_use]
    pub fn list<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        let all: Vec<Json> = self.read(name).unwrap_or_default();
        all.iter().filter_map(Json::read).collect()
    }

    /// Sets a field.
    pub fn set(&mut self, name: &str, value: Json) {
        self.0.insert(name.to_owned(), value);
    }

    /// Takes a field out.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// All fields by their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for Fields {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Fields".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}
