//! What OpenCode lets one choose: models, how hard each can think (its variants), commands. Its lists have the keys of
//! the providers in them, and much that nobody needs, so only a digest of each is read and kept.

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::{Model, Named, Selector, SelectorValue, raw};

use crate::{Json, Object, Unsupported};

/// How hard the model thinks.
pub const EFFORT: &str = "reasoning_effort";

/// What a model does if nobody says.
pub const DEFAULT: &str = "default";

/// What can be chosen, and what is chosen.
#[derive(Default)]
pub struct Offers {
    models: Vec<Offer>,
    /// The model of OpenCode's configuration.
    usual: Option<String>,
    model: Option<String>,
    variant: Option<String>,
}

struct Offer {
    model: Model,
    variants: Vec<String>,
}

impl Offers {
    /// The digest of `GET /config/providers`.
    pub fn providers(&mut self, body: &Object<'_>) {
        let provider = |provider: Json<'_>| {
            let provider = provider.object();
            let models = provider.object("models");
            models.iter().map(|(id, model)| offer(&provider, id, &model.object())).collect::<Vec<_>>()
        };
        self.models = body.array("providers").into_iter().flat_map(provider).collect();
    }

    /// The digest of `GET /config`: what is used where nothing was chosen.
    pub fn config(&mut self, body: &Object<'_>) {
        self.usual = body.filled("model");
        self.model = self.model.take().or_else(|| self.usual.clone());
    }

    /// All models.
    pub fn models(&self) -> Vec<Model> {
        let default = |model: &Model| Some(&model.id) == self.usual.as_ref();
        self.models.iter().map(|offer| Model { default: default(&offer.model), ..offer.model.clone() }).collect()
    }

    /// The model that is used, as far as it is known.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// This model is used from now on.
    pub fn uses(&mut self, model: Option<String>) {
        self.model = model.or(self.model.take());
    }

    /// The variant is this from now on.
    pub fn thinks(&mut self, variant: Option<String>) {
        self.variant = variant;
    }

    /// There is such a model, as far as it is known.
    pub fn check_model(&self, model: &str) -> Result<(), Unsupported> {
        if self.models.is_empty() || self.models.iter().any(|offer| offer.model.id == model) {
            return Ok(());
        }
        Err(Unsupported::new(format!("OpenCode has no model `{model}`")).with_hint("`opencode models` lists them"))
    }

    /// The model can think so, as far as it is known.
    pub fn check_variant(&self, variant: &str) -> Result<(), Unsupported> {
        let Some(offer) = self.current() else { return Ok(()) };
        if variant == DEFAULT || offer.variants.iter().any(|known| known == variant) {
            return Ok(());
        }
        let refused = Unsupported::new(format!("`{EFFORT}` cannot be `{variant}` with {}", offer.model.id));
        Err(match offer.variants.as_slice() {
            [] => refused.with_hint("this model has no such choice"),
            known => refused.with_hint(format!("one of {DEFAULT}, {}", known.join(", "))),
        })
    }

    /// The variant, if the model has it.
    pub fn variant(&self) -> Option<&str> {
        let known = |variant: &&String| self.current().is_none_or(|offer| offer.variants.contains(variant));
        self.variant.as_ref().filter(known).map(String::as_str)
    }

    /// What can be chosen with this model.
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

    fn current(&self) -> Option<&Offer> {
        self.models.iter().find(|offer| Some(&offer.model.id) == self.model.as_ref())
    }
}

fn offer(provider: &Object<'_>, id: &str, fields: &Object<'_>) -> Offer {
    let by = provider.string("id").unwrap_or_default();
    let model = Model {
        id: format!("{by}/{id}"),
        name: fields.filled("name").unwrap_or_else(|| id.to_owned()),
        description: provider.filled("name"),
        default: false,
    };
    Offer { model, variants: fields.strings("variants") }
}

/// A model with its provider, as it is chosen.
pub fn full(provider: Option<String>, model: Option<String>) -> Option<String> {
    match (provider, model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (_, model) => model,
    }
}

/// A model without its provider, as it is paid for.
pub fn bare(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, bare)| bare)
}

/// `GET /command`: the commands.
pub fn commands(body: Json<'_>) -> Vec<Named> {
    let named = |command: Json<'_>| {
        let command = command.object();
        Some(Named { name: command.filled("name")?, description: command.filled("description") })
    };
    body.array().into_iter().filter_map(named).collect()
}

/// Models by provider, without keys, prices and addresses.
pub fn providers_digest(body: &RawValue) -> Box<RawValue> {
    let provider = |provider: Json<'_>| {
        let fields = provider.object();
        let listed = fields.object("models");
        let models: Map<_, _> =
            listed.iter().map(|(id, model)| (id.to_owned(), model_digest(&model.object()))).collect();
        json!({ "id": fields.string("id"), "name": fields.string("name"), "models": models })
    };
    let fields = Json::of(body).object();
    raw(&json!({ "providers": fields.array("providers").into_iter().map(provider).collect::<Vec<_>>() }))
}

fn model_digest(fields: &Object<'_>) -> Value {
    let variants = fields.object("variants");
    let names: Vec<_> = variants.iter().map(|(name, _)| name).collect();
    json!({ "name": fields.string("name"), "variants": names })
}

/// The model that OpenCode uses if nobody says.
pub fn config_digest(body: &RawValue) -> Box<RawValue> {
    let fields = Json::of(body).object();
    raw(&json!({ "model": fields.string("model"), "default_agent": fields.string("default_agent") }))
}

/// Commands without their texts.
pub fn commands_digest(body: &RawValue) -> Box<RawValue> {
    raw(&commands(Json::of(body)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::RawValue};

    use super::{Offers, config_digest, providers_digest};
    use crate::Json;

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
        let mut offers = Offers::default();
        assert!(offers.check_model("x/y").is_ok() && offers.check_variant("huge").is_ok(), "nothing was told yet");
        offers.config(&Json::parse(r#"{"model":"p/a"}"#).unwrap().object());
        let body = providers_digest(&RawValue::from_string(PROVIDERS.to_owned()).unwrap());
        offers.providers(&Json::of(&body).object());
        assert!(offers.models()[0].default && offers.check_model("x/y").is_err());
        offers.thinks(Some("high".to_owned()));
        let values: Vec<_> = offers.options()[0].values.iter().map(|value| value.id.clone()).collect();
        assert_eq!(
            (offers.options()[0].value.as_str(), values.as_slice()),
            ("high", ["default", "low", "high"].map(str::to_owned).as_slice())
        );
        assert!(offers.check_variant("huge").is_err());
        offers.uses(Some("p/b".to_owned()));
        assert!(offers.options().is_empty() && offers.variant().is_none());
    }
}
