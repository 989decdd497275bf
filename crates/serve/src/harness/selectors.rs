//! The settings that an agent offers, as a client sees them: its selectors, its modes as one more, and its models.

use std::collections::BTreeMap;

use switchboard_dialects::harness::{ConfigOption, Model, RpcError, to_config_option, to_model};
use switchboard_event::{Info, Selector, SelectorValue};

use crate::conversation::Changes;

/// The selector that stands for the agent's modes, unless it has one of that name.
const MODE: &str = "mode";

/// What models are chosen by, which is no selector here: models have a list of their own.
const MODEL: &str = "model";

/// The settings that an agent offers.
#[derive(Clone, Debug, Default)]
pub struct Selectors {
    selectors: Vec<Selector>,
    /// One of them stands for the modes.
    has_modes: bool,
}

impl Selectors {
    /// What an agent says that it offers.
    pub fn of(info: &Info) -> Self {
        let mut selectors: Vec<_> = info.options.iter().filter(|option| option.id != MODEL).cloned().collect();
        let has_modes = !info.modes.is_empty() && !selectors.iter().any(|selector| is_of_modes(selector, info));
        if has_modes {
            selectors.push(modes(info));
        }
        Self { selectors, has_modes }
    }

    /// As the client sees them.
    pub fn shown(&self) -> Vec<ConfigOption<'_>> {
        self.selectors.iter().map(to_config_option).collect()
    }

    /// With other values.
    pub fn with(mut self, values: &BTreeMap<String, String>) -> Self {
        for selector in &mut self.selectors {
            if let Some(value) = values.get(&selector.id) {
                selector.value.clone_from(value);
            }
        }
        self
    }

    /// The value that one has.
    pub fn value(&self, id: &str) -> Option<&str> {
        self.selectors.iter().find(|selector| selector.id == id).map(|selector| selector.value.as_str())
    }

    /// There is such a selector, and it can have such a value.
    pub fn check(&self, id: &str, value: &str) -> Result<(), RpcError> {
        let Some(selector) = self.selectors.iter().find(|selector| selector.id == id) else {
            let known = names(self.selectors.iter().map(|selector| &selector.id));
            let elsewhere = match id.to_ascii_lowercase().replace(['_', '-'], "").as_str() {
                "approvalpolicy" | "approvalmode" => "; approvalPolicy is a parameter of thread/start and turn/start",
                "sandbox" | "sandboxpolicy" | "sandboxmode" => {
                    "; sandbox is a parameter of thread/start, sandboxPolicy of turn/start"
                }
                _ => "",
            };
            return Err(bad(format!("config: the agent has no option `{id}`; it has {known}{elsewhere}")));
        };
        if selector.values.iter().any(|known| known.id == value) {
            return Ok(());
        }
        let known = names(selector.values.iter().map(|known| &known.id));
        Err(bad(format!("config: `{id}` cannot be `{value}`; it can be {known}")))
    }

    /// Values as changes of a session.
    pub fn changes(&self, mut chosen: BTreeMap<String, String>) -> Result<Changes, RpcError> {
        chosen.iter().try_for_each(|(id, value)| self.check(id, value))?;
        let mode = if self.has_modes { chosen.remove(MODE) } else { None };
        Ok(Changes { mode, options: chosen, ..Changes::default() })
    }
}

/// A selector that chooses the mode, or has its name.
fn is_of_modes(selector: &Selector, info: &Info) -> bool {
    let same = |value: &SelectorValue| info.modes.iter().any(|mode| mode.id == value.id);
    selector.id == MODE || selector.values.len() == info.modes.len() && selector.values.iter().all(same)
}

fn bad(why: String) -> RpcError {
    RpcError::bad_params(why).with_data("no_such_option", Some("config/list lists them".to_owned()))
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let all = names.map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.is_empty() { "none".to_owned() } else { all }
}

fn modes(info: &Info) -> Selector {
    let value = |mode: &switchboard_event::Mode| SelectorValue {
        id: mode.id.clone(),
        name: mode.name.clone(),
        description: mode.description.clone(),
    };
    Selector {
        id: MODE.to_owned(),
        name: "Mode".to_owned(),
        description: Some("How the agent works".to_owned()),
        value: info.mode.clone().or_else(|| info.modes.first().map(|mode| mode.id.clone())).unwrap_or_default(),
        values: info.modes.iter().map(value).collect(),
        ..Selector::default()
    }
}

/// The models that can be set, exactly one of them as the default: the agent's, else the one in use, else the first. An
/// agent that only says which it uses offers that.
pub fn models<'a>(info: &'a Info, used: Option<&'a str>) -> Vec<Model<'a>> {
    let mut models: Vec<_> = info.models.iter().map(to_model).collect();
    let used = used.or(info.model.as_deref());
    if let (true, Some(id)) = (models.is_empty(), used) {
        models.push(Model { id, display_name: id, description: None, is_default: true });
    }
    let default = models.iter().position(|model| model.is_default);
    let default = default.or_else(|| models.iter().position(|model| Some(model.id) == used)).unwrap_or(0);
    models.iter_mut().enumerate().for_each(|(place, model)| model.is_default = place == default);
    models
}

#[cfg(test)]
mod tests {
    use switchboard_dialects::harness::code;
    use switchboard_event::{Mode, Model};

    use super::*;

    fn values(ids: &[&str]) -> Vec<SelectorValue> {
        ids.iter().map(|id| SelectorValue { id: (*id).to_owned(), ..SelectorValue::default() }).collect()
    }

    fn selector(id: &str, value: &str, ids: &[&str]) -> Selector {
        Selector { id: id.to_owned(), value: value.to_owned(), values: values(ids), ..Selector::default() }
    }

    fn info() -> Info {
        let mode = |id: &str| Mode { id: id.to_owned(), ..Mode::default() };
        Info {
            options: vec![selector("effort", "low", &["low", "high"]), selector("model", "a", &["a", "b"])],
            modes: vec![mode("plan"), mode("act")],
            mode: Some("act".to_owned()),
            ..Info::default()
        }
    }

    fn chosen(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(id, value)| ((*id).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn modes_are_a_selector_and_models_are_none() {
        let selectors = Selectors::of(&info());
        let shown: Vec<_> = selectors.shown().iter().map(|option| (option.id, option.value)).collect();
        assert_eq!(shown, [("effort", "low"), ("mode", "act")]);
        let changes = selectors.changes(chosen(&[("effort", "high"), ("mode", "plan")])).unwrap();
        assert_eq!((changes.mode.as_deref(), changes.options), (Some("plan"), chosen(&[("effort", "high")])));
        // An agent that has a selector for its modes means that.
        let same = Info { options: vec![selector("way", "act", &["act", "plan"])], ..info() };
        assert_eq!(Selectors::of(&same).shown().iter().map(|option| option.id).collect::<Vec<_>>(), ["way"]);
        // One of that name, too.
        let own = Info { options: vec![selector("mode", "x", &["x", "y"])], ..info() };
        let changes = Selectors::of(&own).changes(chosen(&[("mode", "y")])).unwrap();
        assert_eq!((changes.mode, changes.options), (None, chosen(&[("mode", "y")])));
        // One that chooses among the modes by another name is not shown twice.
        let own = Info { options: vec![selector("way", "act", &["act", "plan"])], ..info() };
        assert_eq!(Selectors::of(&own).shown().iter().map(|option| option.id).collect::<Vec<_>>(), ["way"]);
    }

    #[test]
    fn what_is_not_offered_cannot_be_set() {
        let selectors = Selectors::of(&info());
        for (id, value) in [("effort", "none"), ("taste", "sweet"), ("model", "b"), ("mode", "dream")] {
            assert_eq!(selectors.changes(chosen(&[(id, value)])).unwrap_err().code, code::INVALID_PARAMS, "{id}");
        }
    }

    #[test]
    fn exactly_one_model_is_the_default() {
        let model = |id: &str, default| Model { id: id.to_owned(), default, ..Model::default() };
        let defaults = |models: &[(&str, bool)], used: Option<&str>| {
            let models = models.iter().map(|(id, default)| model(id, *default)).collect();
            let info = Info { models, ..Info::default() };
            let shown = super::models(&info, used);
            shown.iter().filter(|model| model.is_default).map(|model| model.id.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(defaults(&[("a", false), ("b", true)], Some("a")), ["b"]);
        assert_eq!(defaults(&[("a", true), ("b", true)], None), ["a"]);
        assert_eq!(defaults(&[("a", false), ("b", false)], Some("b")), ["b"]);
        assert_eq!(defaults(&[("a", false), ("b", false)], None), ["a"]);
        assert_eq!(defaults(&[], Some("only")), ["only"]);
        assert!(defaults(&[], None).is_empty());
    }
}
