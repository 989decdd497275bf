//! `model/list` and `config/…`: what can be set, and what is set. Of a thread; else of what threads to come will have.

use std::{collections::BTreeMap, time::Duration};

use switchboard_agents::Agent;
use switchboard_dialects::harness::{
    ConfigListParams, ConfigListResult, ConfigMeta, ConfigReadResult, ConfigSetParams, HarnessRequestId,
    ModelListParams, ModelListResult, RpcError, SandboxSettings, code, result_response,
};
use switchboard_event::{Info, SessionConfig};
use tokio::time::{Instant, sleep, timeout};

use super::{
    connection::Connection,
    refusal::refusal,
    selectors::{Selectors, models},
};
use crate::conversation::Conversation;

/// How long an agent that is just starting may take to say what it offers.
const STARTING: Duration = Duration::from_secs(30);

/// How long an agent may take to say that something is as it was set, and how often we look.
const CONFIRMING: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_millis(10);

impl Connection {
    pub(super) async fn model_list(&self, id: &HarnessRequestId, params: &ModelListParams) -> Result<(), RpcError> {
        let (info, used) = match &params.thread_id {
            Some(thread) => {
                let conversation = self.conversation(thread).await?;
                let used = conversation.settings().await.map_err(refusal)?.model;
                (self.offers(&conversation, |info| info.models.is_empty()).await?, used)
            }
            None => (self.discover(self.agent(params.agent.as_deref())?).await?, None),
        };
        let mut data = models(&info, used.as_deref());
        let limit = params.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        data.truncate(limit);
        self.say(result_response(id, ModelListResult { data })).await;
        Ok(())
    }

    pub(super) async fn config_list(&self, id: &HarnessRequestId, params: &ConfigListParams) -> Result<(), RpcError> {
        let selectors = match &params.thread_id {
            Some(thread) => self.selectors(&self.conversation(thread).await?).await?,
            None => self.default_selectors(self.agent(params.agent.as_deref())?).await?,
        };
        self.say(result_response(id, ConfigListResult { options: selectors.shown() })).await;
        Ok(())
    }

    pub(super) async fn config_set(&self, id: &HarnessRequestId, params: &ConfigSetParams) -> Result<(), RpcError> {
        let selectors = match &params.thread_id {
            Some(thread) => self.set(&self.conversation(thread).await?, params).await?,
            None => {
                let agent = self.agent(params.agent.as_deref())?;
                self.default_selectors(agent).await?.check(&params.id, &params.value)?;
                self.defaults().entry(agent.name).or_default().insert(params.id.clone(), params.value.clone());
                self.default_selectors(agent).await?
            }
        };
        self.say(result_response(id, ConfigListResult { options: selectors.shown() })).await;
        Ok(())
    }

    /// Sets a selector of a thread, and waits until its agent says so.
    async fn set(&self, conversation: &Conversation, params: &ConfigSetParams) -> Result<Selectors, RpcError> {
        let chosen = BTreeMap::from([(params.id.clone(), params.value.clone())]);
        let changes = self.selectors(conversation).await?.changes(chosen)?;
        conversation.change(&changes).await.map_err(refusal)?;
        let late = Instant::now() + CONFIRMING;
        loop {
            let selectors = self.selectors(conversation).await?;
            if selectors.value(&params.id) == Some(&params.value) {
                return Ok(selectors);
            }
            if Instant::now() >= late {
                let text = format!("the agent did not say that `{}` is `{}` now", params.id, params.value);
                return Err(RpcError::new(code::INTERNAL_ERROR, text).with_data("not_confirmed", None));
            }
            sleep(BETWEEN).await;
        }
    }

    pub(super) async fn config_read(&self, id: &HarnessRequestId, params: &ConfigListParams) -> Result<(), RpcError> {
        let (agent, info, config, selectors) = match &params.thread_id {
            Some(thread) => {
                let conversation = self.conversation(thread).await?;
                let info = self.offers(&conversation, |info| info.models.is_empty()).await?;
                let config = conversation.settings().await.map_err(refusal)?;
                (conversation.agent(), info, config, self.selectors(&conversation).await?)
            }
            None => {
                let agent = self.agent(params.agent.as_deref())?;
                let info = self.discover(agent).await?;
                (agent, info, SessionConfig::default(), self.default_selectors(agent).await?)
            }
        };
        let answer = self.effective(agent, &info, &config, &selectors);
        self.say(result_response(id, answer)).await;
        Ok(())
    }

    fn effective<'a>(
        &'a self,
        agent: &'a Agent,
        info: &'a Info,
        config: &'a SessionConfig,
        selectors: &'a Selectors,
    ) -> ConfigReadResult<'a> {
        let default = || models(info, None).into_iter().find(|model| model.is_default).map(|model| model.id);
        let setup = self.service().setup();
        let approval_mode = config.approval_mode.unwrap_or(setup.approval);
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
            options: selectors.shown(),
            meta: ConfigMeta { agent: agent.name, approval_mode },
        }
    }

    /// A session of the log, whether or not it is open on this connection.
    async fn conversation(&self, thread: &str) -> Result<Conversation, RpcError> {
        let open = self.threads().get(thread).map(|thread| thread.conversation.clone());
        match open {
            Some(conversation) => Ok(conversation),
            None => self.service().take_up(thread).await.map_err(refusal),
        }
    }

    /// What the agent of a session said that it offers. One that has not said it yet is known to offer what it offers
    /// to others.
    async fn offers(&self, conversation: &Conversation, lacks: fn(&Info) -> bool) -> Result<Info, RpcError> {
        // Whoever is not ready by then has said nothing so far.
        drop(timeout(STARTING, conversation.ready()).await);
        let own = conversation.info().await.map_err(refusal)?;
        if !lacks(&own) {
            return Ok(own);
        }
        // One that cannot be asked apart from its session says no more than that.
        let mut info = self.discover(conversation.agent()).await.unwrap_or_default();
        info.apply_update(&own);
        Ok(info)
    }

    /// The selectors of a session, and what they are set to.
    pub(super) async fn selectors(&self, conversation: &Conversation) -> Result<Selectors, RpcError> {
        let lacks = |info: &Info| info.options.is_empty() && info.modes.is_empty();
        Ok(Selectors::of(&self.offers(conversation, lacks).await?))
    }

    /// What an agent offers to threads to come.
    pub(super) async fn discover(&self, agent: &Agent) -> Result<Info, RpcError> {
        self.service().discover(agent.name, None).await.map_err(refusal)
    }

    /// The selectors of threads to come.
    async fn default_selectors(&self, agent: &'static Agent) -> Result<Selectors, RpcError> {
        let info = self.discover(agent).await?;
        let values = self.defaults().get(agent.name).cloned().unwrap_or_default();
        Ok(Selectors::of(&info).with(&values))
    }
}
