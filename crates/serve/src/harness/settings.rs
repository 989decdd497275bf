//! `model/list` and `config/…`: the settings of a thread, or the defaults of new threads.

use std::{collections::BTreeMap, time::Duration};

use switchboard_agents::Agent;
use switchboard_dialects::harness::{
    ConfigListParams, ConfigListResult, ConfigMeta, ConfigOption, ConfigReadResult, ConfigSetParams, HarnessRequestId,
    Model, ModelListParams, ModelListResult, RpcError, SandboxSettings, code, result_response, to_config_option,
    to_model,
};
use switchboard_event::{Info, Selector, SelectorValue, SessionConfig};
use tokio::time::{Instant, sleep, timeout};

use super::{connection::HarnessConnection, to_rpc_error};
use crate::conversation::{Conversation, SettingChanges};

/// How long a starting agent may take to report its settings.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an agent may take to confirm a setting, and the time between two checks.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);

const CONFIRM_INTERVAL: Duration = Duration::from_millis(10);

/// The selector that represents the agent's modes, unless the agent has one of that name.
const MODE_SELECTOR: &str = "mode";

/// Not a selector here, because models have their own list.
const MODEL_SELECTOR: &str = "model";

impl HarnessConnection {
    pub(super) async fn model_list(&self, id: &HarnessRequestId, params: &ModelListParams) -> Result<(), RpcError> {
        let (info, used) = match &params.thread_id {
            Some(thread) => {
                let conversation = self.conversation(thread).await?;
                let used = conversation.settings().await.map_err(to_rpc_error)?.model;
                (self.agent_info_of(&conversation, |info| info.models.is_empty()).await?, used)
            }
            None => (self.discover(self.agent(params.agent.as_deref())?).await?, None),
        };
        let mut data = list_models(&info, used.as_deref());
        let limit = params.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        data.truncate(limit);
        self.send(result_response(id, ModelListResult { data })).await;
        Ok(())
    }

    pub(super) async fn config_list(&self, id: &HarnessRequestId, params: &ConfigListParams) -> Result<(), RpcError> {
        let selectors = match &params.thread_id {
            Some(thread) => self.selectors(&self.conversation(thread).await?).await?,
            None => self.default_selectors(self.agent(params.agent.as_deref())?).await?,
        };
        self.send(result_response(id, ConfigListResult { options: selectors.to_config_options() })).await;
        Ok(())
    }

    pub(super) async fn config_set(&self, id: &HarnessRequestId, params: &ConfigSetParams) -> Result<(), RpcError> {
        let selectors = match &params.thread_id {
            Some(thread) => self.set_selector(&self.conversation(thread).await?, params).await?,
            None => {
                let agent = self.agent(params.agent.as_deref())?;
                self.default_selectors(agent).await?.check(&params.id, &params.value)?;
                self.defaults().entry(agent.name).or_default().insert(params.id.clone(), params.value.clone());
                self.default_selectors(agent).await?
            }
        };
        self.send(result_response(id, ConfigListResult { options: selectors.to_config_options() })).await;
        Ok(())
    }

    /// Sets a selector of a thread, and waits until the agent confirms it.
    async fn set_selector(
        &self,
        conversation: &Conversation,
        params: &ConfigSetParams,
    ) -> Result<AgentSelectors, RpcError> {
        let chosen = BTreeMap::from([(params.id.clone(), params.value.clone())]);
        let changes = self.selectors(conversation).await?.changes(chosen)?;
        conversation.change(&changes).await.map_err(to_rpc_error)?;
        let deadline = Instant::now() + CONFIRM_TIMEOUT;
        loop {
            let selectors = self.selectors(conversation).await?;
            if selectors.value(&params.id) == Some(&params.value) {
                return Ok(selectors);
            }
            if Instant::now() >= deadline {
                let text = format!("the agent did not confirm that `{}` is `{}`", params.id, params.value);
                return Err(RpcError::new(code::INTERNAL_ERROR, text).with_data("not_confirmed", None));
            }
            sleep(CONFIRM_INTERVAL).await;
        }
    }

    pub(super) async fn config_read(&self, id: &HarnessRequestId, params: &ConfigListParams) -> Result<(), RpcError> {
        let (agent, info, config, selectors) = match &params.thread_id {
            Some(thread) => {
                let conversation = self.conversation(thread).await?;
                let info = self.agent_info_of(&conversation, |info| info.models.is_empty()).await?;
                let config = conversation.settings().await.map_err(to_rpc_error)?;
                (conversation.agent(), info, config, self.selectors(&conversation).await?)
            }
            None => {
                let agent = self.agent(params.agent.as_deref())?;
                let info = self.discover(agent).await?;
                (agent, info, SessionConfig::default(), self.default_selectors(agent).await?)
            }
        };
        let result = self.effective_config(agent, &info, &config, &selectors);
        self.send(result_response(id, result)).await;
        Ok(())
    }

    fn effective_config<'a>(
        &'a self,
        agent: &'a Agent,
        info: &'a Info,
        config: &'a SessionConfig,
        selectors: &'a AgentSelectors,
    ) -> ConfigReadResult<'a> {
        let default = || list_models(info, None).into_iter().find(|model| model.is_default).map(|model| model.id);
        let setup = self.service().config();
        let approval_mode = config.approval_mode.unwrap_or(setup.approval_mode);
        let sandbox = SandboxSettings {
            mode: config.sandbox_mode.unwrap_or_default(),
            writable_roots: config.writable_roots.clone().unwrap_or_default(),
            network_access: config.network_access,
        };
        ConfigReadResult {
            model: config.model.as_deref().or(info.model.as_deref()).or_else(default).unwrap_or_default(),
            cwd: config.working_directory.as_deref().or(setup.cwd.to_str()).unwrap_or_default(),
            approval_policy: approval_mode.into(),
            sandbox_policy: sandbox.into(),
            options: selectors.to_config_options(),
            meta: ConfigMeta { agent: agent.name, approval_mode },
        }
    }

    /// Returns the conversation of a thread, whether or not it is open on this connection.
    async fn conversation(&self, thread: &str) -> Result<Conversation, RpcError> {
        let open = self.threads().get(thread).map(|thread| thread.conversation.clone());
        match open {
            Some(conversation) => Ok(conversation),
            None => self.service().find_conversation(thread).await.map_err(to_rpc_error),
        }
    }

    /// Returns what the agent of a session offers. If it has not reported that yet, uses what it offers in general.
    async fn agent_info_of(&self, conversation: &Conversation, lacks: fn(&Info) -> bool) -> Result<Info, RpcError> {
        // An agent that is not ready by then has reported nothing so far.
        drop(timeout(READY_TIMEOUT, conversation.wait_until_ready()).await);
        let own = conversation.info().await.map_err(to_rpc_error)?;
        if !lacks(&own) {
            return Ok(own);
        }
        // An agent that cannot be started separately offers no more than that.
        let mut info = self.discover(conversation.agent()).await.unwrap_or_default();
        info.apply_update(&own);
        Ok(info)
    }

    pub(super) async fn selectors(&self, conversation: &Conversation) -> Result<AgentSelectors, RpcError> {
        let lacks = |info: &Info| info.options.is_empty() && info.modes.is_empty();
        Ok(AgentSelectors::of(&self.agent_info_of(conversation, lacks).await?))
    }

    /// Returns what an agent offers to new threads.
    pub(super) async fn discover(&self, agent: &Agent) -> Result<Info, RpcError> {
        self.service().discover(agent.name, None).await.map_err(to_rpc_error)
    }

    /// Returns the selectors of new threads.
    async fn default_selectors(&self, agent: &'static Agent) -> Result<AgentSelectors, RpcError> {
        let info = self.discover(agent).await?;
        let values = self.defaults().get(agent.name).cloned().unwrap_or_default();
        Ok(AgentSelectors::of(&info).with(&values))
    }
}

/// The selectors of an agent, including one for its modes.
#[derive(Clone, Debug, Default)]
pub struct AgentSelectors {
    selectors: Vec<Selector>,
    /// Whether one of them represents the modes.
    has_modes: bool,
}

impl AgentSelectors {
    pub fn of(info: &Info) -> Self {
        let mut selectors: Vec<_> = info.options.iter().filter(|option| option.id != MODEL_SELECTOR).cloned().collect();
        let has_modes = !info.modes.is_empty() && !selectors.iter().any(|selector| selects_mode(selector, info));
        if has_modes {
            selectors.push(mode_selector(info));
        }
        Self { selectors, has_modes }
    }

    fn to_config_options(&self) -> Vec<ConfigOption<'_>> {
        self.selectors.iter().map(to_config_option).collect()
    }

    /// Replaces values.
    pub fn with(mut self, values: &BTreeMap<String, String>) -> Self {
        for selector in &mut self.selectors {
            if let Some(value) = values.get(&selector.id) {
                selector.value.clone_from(value);
            }
        }
        self
    }

    pub fn value(&self, id: &str) -> Option<&str> {
        self.selectors.iter().find(|selector| selector.id == id).map(|selector| selector.value.as_str())
    }

    /// Checks that a selector exists and has the value.
    pub fn check(&self, id: &str, value: &str) -> Result<(), RpcError> {
        let Some(selector) = self.selectors.iter().find(|selector| selector.id == id) else {
            let known = join_names(self.selectors.iter().map(|selector| &selector.id));
            let hint = match id.to_ascii_lowercase().replace(['_', '-'], "").as_str() {
                "approvalpolicy" | "approvalmode" => "; approvalPolicy is a parameter of thread/start and turn/start",
                "sandbox" | "sandboxpolicy" | "sandboxmode" => {
                    "; sandbox is a parameter of thread/start, sandboxPolicy of turn/start"
                }
                _ => "",
            };
            return Err(option_error(format!("config: unknown option `{id}`; known options: {known}{hint}")));
        };
        if selector.values.iter().any(|known| known.id == value) {
            return Ok(());
        }
        let known = join_names(selector.values.iter().map(|known| &known.id));
        Err(option_error(format!("config: invalid value `{value}` for `{id}`; valid values: {known}")))
    }

    pub fn changes(&self, mut chosen: BTreeMap<String, String>) -> Result<SettingChanges, RpcError> {
        chosen.iter().try_for_each(|(id, value)| self.check(id, value))?;
        let mode = if self.has_modes { chosen.remove(MODE_SELECTOR) } else { None };
        Ok(SettingChanges { mode, options: chosen, ..SettingChanges::default() })
    }
}

/// Returns whether a selector selects the mode, or has its name.
fn selects_mode(selector: &Selector, info: &Info) -> bool {
    let same = |value: &SelectorValue| info.modes.iter().any(|mode| mode.id == value.id);
    selector.id == MODE_SELECTOR || selector.values.len() == info.modes.len() && selector.values.iter().all(same)
}

fn option_error(message: String) -> RpcError {
    RpcError::bad_params(message).with_data("no_such_option", Some("config/list lists them".to_owned()))
}

fn join_names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let all = names.map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.is_empty() { "none".to_owned() } else { all }
}

fn mode_selector(info: &Info) -> Selector {
    let value = |mode: &switchboard_event::Mode| SelectorValue {
        id: mode.id.clone(),
        name: mode.name.clone(),
        description: mode.description.clone(),
    };
    Selector {
        id: MODE_SELECTOR.to_owned(),
        name: "Mode".to_owned(),
        description: Some("How the agent works".to_owned()),
        value: info.mode.clone().or_else(|| info.modes.first().map(|mode| mode.id.clone())).unwrap_or_default(),
        values: info.modes.iter().map(value).collect(),
        ..Selector::default()
    }
}

/// Returns the models, exactly one of them as the default: the agent's, else the one in use, else the first. An agent
/// that only reports the model in use offers that.
fn list_models<'a>(info: &'a Info, used: Option<&'a str>) -> Vec<Model<'a>> {
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
    fn modes_are_a_selector_and_models_are_not() {
        let selectors = AgentSelectors::of(&info());
        let options: Vec<_> = selectors.to_config_options().iter().map(|option| (option.id, option.value)).collect();
        assert_eq!(options, [("effort", "low"), ("mode", "act")]);
        let changes = selectors.changes(chosen(&[("effort", "high"), ("mode", "plan")])).unwrap();
        assert_eq!((changes.mode.as_deref(), changes.options), (Some("plan"), chosen(&[("effort", "high")])));
        // An agent's own selector for its modes replaces the added one.
        let same = Info { options: vec![selector("way", "act", &["act", "plan"])], ..info() };
        assert_eq!(
            AgentSelectors::of(&same).to_config_options().iter().map(|option| option.id).collect::<Vec<_>>(),
            ["way"]
        );
        // So does one named `mode`.
        let own = Info { options: vec![selector("mode", "x", &["x", "y"])], ..info() };
        let changes = AgentSelectors::of(&own).changes(chosen(&[("mode", "y")])).unwrap();
        assert_eq!((changes.mode, changes.options), (None, chosen(&[("mode", "y")])));
        // A selector with the same values is not duplicated.
        let own = Info { options: vec![selector("way", "act", &["act", "plan"])], ..info() };
        assert_eq!(
            AgentSelectors::of(&own).to_config_options().iter().map(|option| option.id).collect::<Vec<_>>(),
            ["way"]
        );
    }

    #[test]
    fn unknown_values_cannot_be_set() {
        let selectors = AgentSelectors::of(&info());
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
            let shown = list_models(&info, used);
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
