//! Requests to the user: permissions and forms.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::ToolUpdate;

/// May the agent do this?
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permission<'a> {
    /// The session.
    pub session_id: &'a str,
    /// What it would do.
    pub tool_call: ToolUpdate<'a>,
    /// The answers to choose from.
    pub options: Vec<PermissionOption<'a>>,
}

/// One answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption<'a> {
    /// What is sent back.
    pub option_id: Cow<'a, str>,
    /// What is shown.
    pub name: Cow<'a, str>,
    /// What it means.
    pub kind: OptionKind,
}

/// What an answer means.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and the like from now on.
    AllowAlways,
    /// No.
    RejectOnce,
}

/// A form for the user to fill in.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Elicitation<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The tool call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    /// It is a form.
    pub mode: Form,
    /// What it is about.
    pub message: Cow<'a, str>,
    /// Its fields.
    pub requested_schema: Fields<'a>,
}

/// How the user is asked.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// With a form.
    Form,
}

/// The fields of a form.
#[derive(Serialize, JsonSchema)]
pub struct Fields<'a> {
    /// It is an object.
    #[serde(rename = "type")]
    pub kind: Object,
    /// The fields by name.
    pub properties: BTreeMap<String, Property<'a>>,
    /// Those that must be filled in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<&'a str>,
}

/// What all fields together are.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Object {
    /// An object.
    Object,
}

/// A field of a form.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Property<'a> {
    /// One value or several.
    #[serde(rename = "type")]
    pub kind: PropertyType,
    /// A word or two above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// The values to choose one from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<EnumOption<'a>>,
    /// The values to choose several from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Items<'a>>,
}

/// One value or several.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PropertyType {
    /// One.
    String,
    /// Several.
    Array,
}

/// The values to choose several from.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Items<'a> {
    /// The values.
    pub any_of: Vec<EnumOption<'a>>,
}

/// A value to choose.
#[derive(Serialize, JsonSchema)]
pub struct EnumOption<'a> {
    /// What is sent back.
    #[serde(rename = "const")]
    pub value: &'a str,
    /// What is shown.
    pub title: &'a str,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
}
