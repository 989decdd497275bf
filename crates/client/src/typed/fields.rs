//! The fields of a message: each is taken by who knows it, and what nobody knows is left.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use switchboard_event::raw;

/// Fields by name.
#[derive(Default)]
pub struct Fields(pub BTreeMap<String, Box<RawValue>>);

impl Fields {
    /// Takes a field, if it is there and what it should be.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = serde_json::from_str(self.0.get(name)?.get()).ok()?;
        self.0.remove(name);
        Some(value)
    }

    /// Takes a field as it is.
    pub fn take_raw(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name)
    }
}

/// Fields on their way out, in order.
#[derive(Default)]
pub struct Written(pub Vec<(&'static str, Box<RawValue>)>);

impl Written {
    /// With a field.
    pub fn with(mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.push((name, raw(value)));
        self
    }

    /// With a field, if there is a value.
    pub fn with_some<T: Serialize>(self, name: &'static str, value: Option<&T>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}
