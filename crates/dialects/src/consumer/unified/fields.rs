//! A JSON object whose values are kept verbatim and parsed on access. A missing value or one of another type reads as
//! absent; access never fails.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

/// Verbatim JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VerbatimJson(pub Box<RawValue>);

impl Default for VerbatimJson {
    fn default() -> Self {
        Self::empty_object()
    }
}

impl PartialEq for VerbatimJson {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl VerbatimJson {
    /// Serializes a value; `null` if it cannot be serialized.
    pub fn from_value(value: &impl Serialize) -> Self {
        Self(to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Returns an empty object.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::from_value(&VerbatimFields::default())
    }

    /// Returns whether this is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.get().starts_with('{')
    }

    /// Parses the JSON; none if it is of another type.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl JsonSchema for VerbatimJson {
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

/// The fields of a JSON object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VerbatimFields(BTreeMap<String, VerbatimJson>);

impl VerbatimFields {
    /// Serializes a value to its fields; empty if it is not an object.
    pub fn from_value(value: &impl Serialize) -> Self {
        VerbatimJson::from_value(value).read().unwrap_or_default()
    }

    /// Returns a field verbatim.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&VerbatimJson> {
        self.0.get(name)
    }

    /// Parses a field; none if it is missing or of another type.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get(name)?.read()
    }

    /// Returns a text field.
    #[must_use]
    pub fn get_text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// Returns the first non-empty text field of several; clients use different names for the same field.
    #[must_use]
    pub fn first_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.get_text(name).filter(|text| !text.is_empty()))
    }

    /// Returns whether a field is `true`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.read(name).unwrap_or(false)
    }

    /// Returns the list entries of the given type; empty if the field is missing.
    #[must_use]
    pub fn get_list<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        let all: Vec<VerbatimJson> = self.read(name).unwrap_or_default();
        all.iter().filter_map(VerbatimJson::read).collect()
    }

    /// Sets a field.
    pub fn insert(&mut self, name: &str, value: VerbatimJson) {
        self.0.insert(name.to_owned(), value);
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns all fields with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &VerbatimJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns whether there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for VerbatimFields {
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
