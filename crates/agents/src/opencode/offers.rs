//! The choices that OpenCode offers: models, their variants (reasoning efforts) and slash commands. The lists include
//! the providers' API keys and much irrelevant data, so only a digest of each is read and stored.

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::{Model, Named, Selector, SelectorValue, to_raw_json};

use crate::{JsonObject, JsonView, UnsupportedOperation};

/// Id of the option that selects the reasoning effort.
pub const EFFORT: &str = "reasoning_effort";

/// The variant that stands for the model's default.
pub const DEFAULT: &str = "default";

/// The available models and the current selection.
#[derive(Default)]
pub struct OpenCodeOffers {
    models: Vec<OpenCodeModel>,
    /// The model in OpenCode's configuration.
    usual: Option<String>,
    model: Option<String>,
    variant: Option<String>,
}

struct OpenCodeModel {
    model: Model,
    variants: Vec<String>,
}

impl OpenCodeOffers {
    /// Applies the digest of `GET /config/providers`.
    pub fn providers(&mut self, body: &JsonObject<'_>) {
        let provider = |provider: JsonView<'_>| {
            let provider = provider.as_object();
            let models = provider.get_object("models");
            models.iter().map(|(id, model)| offer(&provider, id, &model.as_object())).collect::<Vec<_>>()
        };
        self.models = body.get_array("providers").into_iter().flat_map(provider).collect();
    }

    /// Applies the digest of `GET /config`: the defaults.
    pub fn config(&mut self, body: &JsonObject<'_>) {
        self.usual = body.get_non_empty("model");
        self.model = self.model.take().or_else(|| self.usual.clone());
    }

    pub fn models(&self) -> Vec<Model> {
        let default = |model: &Model| Some(&model.id) == self.usual.as_ref();
        self.models.iter().map(|offer| Model { default: default(&offer.model), ..offer.model.clone() }).collect()
    }

    /// Returns the current model, if known.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub fn set_current_model(&mut self, model: Option<String>) {
        self.model = model.or(self.model.take());
    }

    pub fn set_current_variant(&mut self, variant: Option<String>) {
        self.variant = variant;
    }

    /// Checks that the model exists. Passes as long as the models are unknown.
    pub fn check_model(&self, model: &str) -> Result<(), UnsupportedOperation> {
        if self.models.is_empty() || self.models.iter().any(|offer| offer.model.id == model) {
            return Ok(());
        }
        Err(UnsupportedOperation::new(format!("OpenCode has no model `{model}`"))
            .with_hint("`opencode models` lists them"))
    }

    /// Checks that the current model has the variant. Passes as long as the models are unknown.
    pub fn check_variant(&self, variant: &str) -> Result<(), UnsupportedOperation> {
        let Some(offer) = self.current() else { return Ok(()) };
        if variant == DEFAULT || offer.variants.iter().any(|known| known == variant) {
            return Ok(());
        }
        let refused = UnsupportedOperation::new(format!("`{EFFORT}` cannot be `{variant}` with {}", offer.model.id));
        Err(match offer.variants.as_slice() {
            [] => refused.with_hint("this model has no such choice"),
            known => refused.with_hint(format!("one of {DEFAULT}, {}", known.join(", "))),
        })
    }

    /// Returns the variant, if the current model has it.
    pub fn variant(&self) -> Option<&str> {
        let known = |variant: &&String| self.current().is_none_or(|offer| offer.variants.contains(variant));
        self.variant.as_ref().filter(known).map(String::as_str)
    }

    /// Returns the options that the current model offers.
    pub fn options(&self) -> Vec<Selector> {
        let variants = self.current().map(|offer| offer.variants.as_slice()).unwrap_or_default();
        let values = std::iter::once(DEFAULT).chain(variants.iter().map(String::as_str));
        let value = |id: &str| SelectorValue { id: id.to_owned(), name: id.to_owned(), description: None };
        let selector = || Selector {
            id: EFFORT.to_owned(),
            name: "Reasoning effort".to_owned(),
            description: Some("How hard the model thinks".to_owned()),
            group: Some("model".to_owned()),
            value: self.variant().unwrap_or(DEFAULT).to_owned(),
            values: values.map(value).collect(),
        };
        if variants.is_empty() { Vec::new() } else { vec![selector()] }
    }

    fn current(&self) -> Option<&OpenCodeModel> {
        self.models.iter().find(|offer| Some(&offer.model.id) == self.model.as_ref())
    }
}

fn offer(provider: &JsonObject<'_>, id: &str, fields: &JsonObject<'_>) -> OpenCodeModel {
    let by = provider.get_string("id").unwrap_or_default();
    let model = Model {
        id: format!("{by}/{id}"),
        name: fields.get_non_empty("name").unwrap_or_else(|| id.to_owned()),
        description: provider.get_non_empty("name"),
        default: false,
    };
    OpenCodeModel { model, variants: fields.get_strings("variants") }
}

/// Returns a model with its provider, the form used to select it.
pub fn full(provider: Option<String>, model: Option<String>) -> Option<String> {
    match (provider, model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (_, model) => model,
    }
}

/// Returns a model without its provider, the form used for pricing.
pub fn bare(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, bare)| bare)
}

/// Parses the response of `GET /command`.
pub fn commands(body: JsonView<'_>) -> Vec<Named> {
    let named = |command: JsonView<'_>| {
        let command = command.as_object();
        Some(Named { name: command.get_non_empty("name")?, description: command.get_non_empty("description") })
    };
    body.as_array().into_iter().filter_map(named).collect()
}

/// Keeps the models by provider, without keys, prices and URLs.
pub fn providers_digest(body: &RawValue) -> Box<RawValue> {
    let provider = |provider: JsonView<'_>| {
        let fields = provider.as_object();
        let listed = fields.get_object("models");
        let models: Map<_, _> =
            listed.iter().map(|(id, model)| (id.to_owned(), model_digest(&model.as_object()))).collect();
        json!({ "id": fields.get_string("id"), "name": fields.get_string("name"), "models": models })
    };
    let fields = JsonView::from_raw(body).as_object();
    to_raw_json(&json!({ "providers": fields.get_array("providers").into_iter().map(provider).collect::<Vec<_>>() }))
}

fn model_digest(fields: &JsonObject<'_>) -> Value {
    let variants = fields.get_object("variants");
    let names: Vec<_> = variants.iter().map(|(name, _)| name).collect();
    json!({ "name": fields.get_string("name"), "variants": names })
}

/// Keeps the default model and the default agent.
pub fn config_digest(body: &RawValue) -> Box<RawValue> {
    let fields = JsonView::from_raw(body).as_object();
    to_raw_json(&json!({ "model": fields.get_string("model"), "default_agent": fields.get_string("default_agent") }))
}

/// Keeps the commands without their texts.
pub fn commands_digest(body: &RawValue) -> Box<RawValue> {
    to_raw_json(&commands(JsonView::from_raw(body)))
}

#[cfg(test)]
mod tests {

    use serde_json::{Value, json, value::RawValue};

    use super::{OpenCodeOffers, config_digest, providers_digest};
    use crate::JsonView;

    const PROVIDERS: &str = r#"{"providers":[{"id":"p","name":"P","key":"secret","options":{"apiKey":"secret"},"models":{
        "a":{"id":"a","name":"A","variants":{"low":{"x":1},"high":{}},"headers":{"k":"secret"}},"b":{"name":"B","variants":{}}}}]}"#;

    #[test]
    fn keys_are_not_kept() {
        let body = RawValue::from_string(PROVIDERS.to_owned()).unwrap();
        let a = json!({ "name": "A", "variants": ["low", "high"] });
        let models = json!({ "a": a, "b": { "name": "B", "variants": [] } });
        let expected = json!({ "providers": [{ "id": "p", "name": "P", "models": models }] });
        assert_eq!(parsed(&providers_digest(&body)), expected);
        let config = r#"{"model":"p/a","provider":{"p":{"options":{"apiKey":"secret"}}}}"#;
        let kept = config_digest(&RawValue::from_string(config.to_owned()).unwrap());
        assert_eq!(parsed(&kept), json!({ "model": "p/a", "default_agent": null }));
    }

    fn parsed(kept: &RawValue) -> Value {
        serde_json::from_str(kept.get()).unwrap()
    }

    #[test]
    fn how_hard_a_model_can_think_depends_on_the_model() {
        let mut offers = OpenCodeOffers::default();
        assert!(offers.check_model("x/y").is_ok() && offers.check_variant("huge").is_ok(), "nothing was told yet");
        offers.config(&JsonView::parse(r#"{"model":"p/a"}"#).unwrap().as_object());
        let body = providers_digest(&RawValue::from_string(PROVIDERS.to_owned()).unwrap());
        offers.providers(&JsonView::from_raw(&body).as_object());
        assert!(offers.models()[0].default && offers.check_model("x/y").is_err());
        offers.set_current_variant(Some("high".to_owned()));
        let values: Vec<_> = offers.options()[0].values.iter().map(|value| value.id.clone()).collect();
        assert_eq!(
            (offers.options()[0].value.as_str(), values.as_slice()),
            ("high", ["default", "low", "high"].map(str::to_owned).as_slice())
        );
        assert!(offers.check_variant("huge").is_err());
        offers.set_current_model(Some("p/b".to_owned()));
        assert!(offers.options().is_empty() && offers.variant().is_none());
    }
}
