//! The fields of a message: known fields are taken out, unknown fields remain.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use switchboard_event::to_raw_json;

/// Fields by name.
#[derive(Default)]
pub struct JsonFields(pub BTreeMap<String, Box<RawValue>>);

impl JsonFields {
    /// Removes and returns a field if it exists and has the expected type.
    pub fn take_field<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = serde_json::from_str(self.0.get(name)?.get()).ok()?;
        self.0.remove(name);
        Some(value)
    }

    /// Removes and returns a field as verbatim JSON.
    pub fn take_raw(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name)
    }
}

/// Fields to write, in order.
#[derive(Default)]
pub struct JsonFieldsBuilder(pub Vec<(&'static str, Box<RawValue>)>);

impl JsonFieldsBuilder {
    /// Adds a field.
    pub fn with_field(mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.push((name, to_raw_json(value)));
        self
    }

    /// Adds a field if there is a value.
    pub fn with_some<T: Serialize>(self, name: &'static str, value: Option<&T>) -> Self {
        match value {
            Some(value) => self.with_field(name, value),
            None => self,
        }
    }
}
