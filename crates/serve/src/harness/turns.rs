//! `turn/start` and `turn/interrupt`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use switchboard_agents::AgentPrompt;
use switchboard_client::{FollowUpRequest, ImageData};
use switchboard_dialects::harness::{
    EmptyResult, HarnessRequestId, RpcError, SandboxSettings, TurnInterruptParams, TurnStartParams, UserInput, code,
    result_response,
};
use switchboard_engine::paths::{LocateError, LocatedFile};
use switchboard_event::SessionConfig;
use switchboard_store::SessionPhase;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

use super::{
    connection::HarnessConnection,
    open_thread::{OpenThread, PendingTurnStart},
    to_rpc_error,
};
use crate::{Service, conversation::SettingChanges, requests::PromptRequest};

/// How long to wait for the next turn after one that was in progress already.
const NEXT_TURN_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_IMAGE_BYTES: u64 = 20 << 20;

async fn sleep_until_optional(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Another client's turn started at the same moment, and the agent added the prompt to it.
fn prompt_joined_turn() -> RpcError {
    RpcError::new(
        code::TURN_IN_PROGRESS,
        "another client started a turn at the same moment, and the prompt was added to it",
    )
}

/// Converts settings to changes of a thread, with those that the request has under other names.
pub fn to_setting_changes(mut config: SessionConfig, given: &SessionConfig) -> Result<SettingChanges, RpcError> {
    config.add_given(given).map_err(|error| RpcError::bad_params(error.to_string()))?;
    SettingChanges::try_from(config)
        .map_err(|field| RpcError::bad_params(format!("{field}: can only be set when a thread is started")))
}

impl HarnessConnection {
    pub(super) async fn turn_start(
        &self,
        id: &HarnessRequestId,
        mut params: TurnStartParams,
        given: SessionConfig,
    ) -> Result<(), RpcError> {
        let thread = self.thread(&params.thread_id)?;
        let prompt = build_prompt(self.service(), std::mem::take(&mut params.input)).await?;
        if self.is_busy(&thread).await? {
            let text = format!("a turn of thread {} is in progress", params.thread_id);
            return Err(RpcError::new(code::TURN_IN_PROGRESS, text));
        }
        let changes = self.changes(&thread, params, &given).await?;
        self.send_prompt(id, &thread, prompt, &changes).await
    }

    /// Returns whether a turn is in progress, whether or not the client was sent its start.
    async fn is_busy(&self, thread: &OpenThread) -> Result<bool, RpcError> {
        if thread.turn().is_some() || thread.conversation.is_in_turn() {
            return Ok(true);
        }
        let id = thread.conversation.id();
        if self.service().engine().session(id).is_some() {
            return Ok(false);
        }
        let stored = self.service().session_record(id).await.map_err(to_rpc_error)?;
        Ok(matches!(stored.state, SessionPhase::Running | SessionPhase::Waiting)
            && stored.owner != self.service().config().owner)
    }

    async fn changes(
        &self,
        thread: &OpenThread,
        params: TurnStartParams,
        given: &SessionConfig,
    ) -> Result<SettingChanges, RpcError> {
        let chosen = params.config.unwrap_or_default();
        let chosen = if chosen.is_empty() {
            SettingChanges::default()
        } else {
            self.selectors(&thread.conversation).await?.changes(chosen)?
        };
        let sandbox = params.sandbox_policy.map(SandboxSettings::from);
        let own = SessionConfig {
            model: params.model,
            mode: chosen.mode,
            options: chosen.options,
            working_directory: params.cwd,
            approval_mode: params.approval_policy.map(Into::into),
            sandbox_mode: sandbox.as_ref().map(|sandbox| sandbox.mode),
            writable_roots: sandbox.as_ref().map(|sandbox| sandbox.writable_roots.clone()),
            network_access: sandbox.and_then(|sandbox| sandbox.network_access),
            ..SessionConfig::default()
        };
        to_setting_changes(own, given)
    }

    /// Sends the prompt and waits for its turn, whose first message answers the request.
    async fn send_prompt(
        &self,
        id: &HarnessRequestId,
        thread: &Arc<OpenThread>,
        prompt: AgentPrompt,
        changes: &SettingChanges,
    ) -> Result<(), RpcError> {
        let (answered, mut started) = oneshot::channel();
        thread.expect_turn(PendingTurnStart { id: id.clone(), answered });
        let mut ends = thread.ended_counts();
        if let Err(problem) = thread.conversation.prompt(prompt, changes).await {
            return if thread.stop_expecting_turn() { Err(to_rpc_error(problem)) } else { Ok(()) };
        }
        let (before, mut deadline) = (ends.borrow().turns, None);
        loop {
            let now = *ends.borrow_and_update();
            if let Some(error) = self.end_error(thread, now.runs).await? {
                return if thread.stop_expecting_turn() { Err(error) } else { Ok(()) };
            }
            if now.turns > before {
                deadline.get_or_insert(Instant::now() + NEXT_TURN_TIMEOUT);
            }
            tokio::select! {
                // Either way, the request needs no further answer.
                _ = &mut started => return Ok(()),
                _ = ends.changed() => {}
                () = self.outbox().wait_until_closed() => return Ok(()),
                () = sleep_until_optional(deadline), if !thread.conversation.is_in_turn() => {
                    return if thread.stop_expecting_turn() { Err(prompt_joined_turn()) } else { Ok(()) };
                }
            }
        }
    }

    /// Returns why no turn will start, if the session has ended and all its messages were sent.
    async fn end_error(&self, thread: &OpenThread, ends: u32) -> Result<Option<RpcError>, RpcError> {
        let stored = self.service().session_record(thread.conversation.id()).await.map_err(to_rpc_error)?;
        if !stored.state.is_final() || ends < stored.runs {
            return Ok(None);
        }
        let fault = stored.parse_end().ok().flatten().and_then(|end| end.error);
        let why = fault.map_or_else(|| "the agent ended before the turn started".to_owned(), |fault| fault.message);
        Ok(Some(RpcError::new(code::INTERNAL_ERROR, why).with_data("ended", None)))
    }

    /// Waits until the end of a session that has ended was sent.
    pub(super) async fn wait_until_end_sent(&self, thread: &OpenThread) {
        let mut ends = thread.ended_counts();
        loop {
            let ended = *ends.borrow_and_update();
            // A session that was deleted has no end to wait for.
            if !matches!(self.end_error(thread, ended.runs).await, Ok(None)) || ends.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) async fn turn_interrupt(
        &self,
        id: &HarnessRequestId,
        params: &TurnInterruptParams,
    ) -> Result<(), RpcError> {
        let thread = self.thread(&params.thread_id)?;
        if thread.turn().as_ref() != Some(&params.turn_id) {
            let text = format!("turn {} of thread {} is not running", params.turn_id, params.thread_id);
            return Err(RpcError::new(code::NOT_RUNNING, text));
        }
        match thread.conversation.interrupt().await {
            Ok(()) => {}
            Err(problem) if problem.code == "ended" => {
                return Err(RpcError::new(code::NOT_RUNNING, String::from(problem.detail)));
            }
            Err(problem) => return Err(to_rpc_error(problem)),
        }
        self.send(result_response(id, EmptyResult {})).await;
        Ok(())
    }
}

const IMAGE_TYPES: [(&str, &str); 5] =
    [("png", "image/png"), ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp")];

/// Builds a prompt. Texts are joined with blank lines.
pub async fn build_prompt(service: &Service, input: Vec<UserInput>) -> Result<AgentPrompt, RpcError> {
    let (mut texts, mut images, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    for (index, item) in input.into_iter().enumerate() {
        let bad = |message: &str| RpcError::bad_params(format!("input[{index}]: {message}"));
        match item {
            UserInput::Text { text } => texts.push(text),
            UserInput::Image { url } => {
                images.push(parse_data_url(&url).map_err(bad)?);
                paths.push(None);
            }
            UserInput::LocalImage { path } => {
                let (image, path) = read_image_file(service, &path).await.map_err(|message| bad(&message))?;
                images.push(image);
                paths.push(Some(path));
            }
        }
    }
    let texts: Vec<_> = texts.iter().map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    if texts.is_empty() {
        return Err(RpcError::bad_params("input: must have text"));
    }
    let request =
        PromptRequest::from(FollowUpRequest { prompt: texts.join("\n\n"), images, ..FollowUpRequest::default() });
    let mut prompt = request.prompt().map_err(to_rpc_error)?;
    prompt.images.iter_mut().zip(paths).for_each(|(image, path)| image.path = path);
    Ok(prompt)
}

/// Parses an image in a `data:` URL. Nothing is fetched from other URLs.
fn parse_data_url(url: &str) -> Result<ImageData, &'static str> {
    let Some(rest) = url.strip_prefix("data:") else {
        return Err("url: must be a data: URL; nothing is fetched from the network");
    };
    let (kind, data) = rest.split_once(',').ok_or("url: a data: URL needs a comma before the data")?;
    let media_type = kind.strip_suffix(";base64").ok_or("url: the data must be base64")?;
    let media_type = media_type.split(';').next().unwrap_or_default();
    Ok(ImageData { media_type: media_type.to_owned(), data: data.to_owned() })
}

/// Reads an image file, which must be where sessions may work. Also returns its real path.
async fn read_image_file(service: &Service, path: &str) -> Result<(ImageData, PathBuf), String> {
    let path = PathBuf::from(path);
    if !path.is_absolute() {
        return Err("path: must be absolute".to_owned());
    }
    let roots = service.config().roots.clone();
    let read = tokio::task::spawn_blocking(move || {
        let cannot_read = |error: &dyn std::fmt::Display| format!("path: {} cannot be read: {error}", path.display());
        let file = LocatedFile::open_beneath(&path, &roots).map_err(|error| match error {
            // Does not disclose whether a path outside the roots exists.
            LocateError::Io(_) if !roots.is_empty() => cannot_read(&LocateError::Outside),
            error => cannot_read(&error),
        })?;
        let real = file.path().to_owned();
        let media_type = image_media_type(&real)?;
        let bytes = file.read(MAX_IMAGE_BYTES).map_err(|error| cannot_read(&error))?;
        Ok((ImageData { media_type, data: BASE64_STANDARD.encode(bytes) }, real))
    });
    read.await.unwrap_or_else(|_| Err("path: cannot be read".to_owned()))
}

fn image_media_type(path: &Path) -> Result<String, String> {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    let kind = IMAGE_TYPES.iter().find(|(known, _)| *known == end).map(|(_, kind)| (*kind).to_owned());
    kind.ok_or_else(|| "path: not a png, jpeg, gif or webp file".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse_data_url;

    #[test]
    fn images_can_be_data_urls() {
        let image = parse_data_url("data:image/png;base64,AAAA").unwrap();
        assert_eq!((image.media_type.as_str(), image.data.as_str()), ("image/png", "AAAA"));
        assert_eq!(parse_data_url("data:image/svg+xml;charset=utf-8;base64,AAAA").unwrap().media_type, "image/svg+xml");
        for (wrong, error) in [
            ("https://example.org/a.png", "fetched"),
            ("data:image/png;base64", "comma"),
            ("data:image/png,x", "base64"),
        ] {
            assert!(parse_data_url(wrong).unwrap_err().contains(error), "{wrong}");
        }
    }
}
