//! What is checked about a request before anything happens, and what it means.

use std::time::Duration;

use axum::http::StatusCode;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use switchboard_agents::{AGENTS, AgentPrompt, PromptImage};
use switchboard_event::SessionConfig;

use super::{ImageData, PromptRequest, SessionRequest};
use crate::Problem;

/// A prompt has at most so many characters.
const LONGEST_PROMPT: usize = 100_000;

/// A name has at most so many characters.
const LONGEST_NAME: usize = 1000;

/// Settings, and what goes with them to the agent, have at most so many bytes.
const LARGEST_SETTINGS: usize = 256 << 10;

/// The images of a prompt have together at most so many bytes.
const LARGEST_IMAGES: usize = 20 << 20;

/// The most turns that can be asked for.
pub const MOST_TURNS: u32 = 1000;

/// A limit of time is at most a month.
pub const LONGEST: f64 = 31.0 * 86_400.0;

impl SessionRequest {
    /// The agent that is wanted; empty if only the session to continue says so.
    ///
    /// # Errors
    /// If none is named, or two.
    pub fn agent(&self) -> Result<&str, Problem> {
        let inner = self.config.as_ref().and_then(|config| config.agent_type.as_deref());
        let mut named = [self.agent_type.as_deref(), self.agent_id.as_deref(), inner].into_iter().flatten();
        let Some(agent) = named.next() else {
            let known = self.session_id.as_ref().map(|_| "");
            return known.ok_or_else(|| Problem::bad_field("agentType", "which agent? GET /api/agents lists them"));
        };
        if named.any(|other| other != agent) {
            return Err(Problem::conflict("two_agents", "agentType: the request names two different agents"));
        }
        let known = AGENTS.iter().any(|known| known.name == agent);
        let unknown = || {
            Problem::bad_request("unknown_agent", format!("agentType: there is no agent `{agent}`"))
                .with_hint("GET /api/agents lists them")
        };
        if known { Ok(agent) } else { Err(unknown()) }
    }

    /// The settings, with what may stand beside them.
    ///
    /// # Errors
    /// If they make no sense.
    pub fn settings(&self) -> Result<SessionConfig, Problem> {
        let mut config = self.config.clone().unwrap_or_default();
        if self.project_id.is_some() {
            config.project_id.clone_from(&self.project_id);
        }
        check_settings(&config)?;
        Ok(config)
    }

    /// The prompt.
    ///
    /// # Errors
    /// If it is too long, or an image is none. Only a new session that stays open may have none.
    pub fn prompt(&self) -> Result<Option<AgentPrompt>, Problem> {
        let none = self.prompt.is_empty() && self.images.is_empty() && self.stay && self.session_id.is_none();
        if none { Ok(None) } else { prompt(&self.prompt, &self.images).map(Some) }
    }

    /// The rest of what can be wrong.
    ///
    /// # Errors
    /// If something is.
    pub fn check(&self) -> Result<(), Problem> {
        if self.command.iter().any(|word| word.contains('\0')) {
            return Err(Problem::bad_field("command", "a word cannot have a NUL character"));
        }
        let bad =
            |(name, value): (&String, &String)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if self.env.iter().any(bad) {
            return Err(Problem::bad_field("env", "a name cannot be empty or have `=`, and nothing a NUL character"));
        }
        let words = self.command.iter().chain(self.env.keys()).chain(self.env.values());
        if words.map(String::len).sum::<usize>() > LARGEST_SETTINGS {
            return Err(Problem::bad_field("env", "command and env have together at most 256 kB"));
        }
        if self.fork && self.session_id.is_none() {
            return Err(Problem::bad_field("fork", "only a session that is continued has a copy: give its sessionId"));
        }
        Ok(())
    }

    /// How long the session may take.
    ///
    /// # Errors
    /// If that is no time.
    pub fn timeout(&self) -> Result<Option<Duration>, Problem> {
        time("timeoutSeconds", self.timeout_seconds)
    }

    /// How long an approval may take.
    ///
    /// # Errors
    /// If that is no time.
    pub fn approval_timeout(&self) -> Result<Option<Duration>, Problem> {
        time("approvalTimeoutSeconds", self.approval_timeout_seconds)
    }
}

impl PromptRequest {
    /// The prompt.
    ///
    /// # Errors
    /// If it is too long, or an image is none.
    pub fn prompt(&self) -> Result<AgentPrompt, Problem> {
        prompt(&self.prompt, &self.images)
    }

    /// The settings that are to be different.
    ///
    /// # Errors
    /// If they make no sense.
    pub fn settings(&self) -> Result<SessionConfig, Problem> {
        let config = self.config.clone().unwrap_or_default();
        check_settings(&config)?;
        Ok(config)
    }
}

fn time(field: &str, seconds: Option<f64>) -> Result<Option<Duration>, Problem> {
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds > 0.0 && seconds <= LONGEST);
    // Less than the smallest unit of time is still some.
    let time = time.map(|time| time.max(Duration::from_millis(1)));
    time.map(Some).ok_or_else(|| Problem::bad_field(field, "a number of seconds above 0, at most a month"))
}

fn check_settings(config: &SessionConfig) -> Result<(), Problem> {
    if config.max_turns.is_some_and(|turns| !(1..=MOST_TURNS).contains(&turns)) {
        return Err(Problem::bad_field("config.maxTurns", "a number from 1 to 1000"));
    }
    if config.project_id.as_ref().is_some_and(|project| project.chars().count() > LONGEST_NAME) {
        return Err(Problem::bad_field("projectId", "at most 1000 characters"));
    }
    let size = serde_json::to_vec(config).map_or(0, |json| json.len());
    if size > LARGEST_SETTINGS {
        return Err(Problem::bad_field("config", "at most 256 kB of settings"));
    }
    Ok(())
}

fn prompt(text: &str, images: &[ImageData]) -> Result<AgentPrompt, Problem> {
    // Characters, not bytes; so many bytes are few enough in any script.
    let length = if text.len() <= LONGEST_PROMPT { text.len() } else { text.chars().count() };
    if length == 0 {
        return Err(Problem::bad_field("prompt", "it is empty"));
    }
    if length > LONGEST_PROMPT {
        return Err(Problem::bad_field("prompt", "it has more than 100,000 characters"));
    }
    let mut size = 0;
    for (place, image) in images.iter().enumerate() {
        size += checked(place, image)?;
    }
    if size > LARGEST_IMAGES {
        let detail = "images: together they have more than 20 MB";
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
    }
    let image =
        |image: &ImageData| PromptImage { media_type: image.media_type.clone(), data: image.data.clone(), path: None };
    Ok(AgentPrompt { text: text.to_owned(), images: images.iter().map(image).collect(), output_schema: None })
}

/// The size of an image that is one.
fn checked(place: usize, image: &ImageData) -> Result<usize, Problem> {
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte));
    if !image.media_type.strip_prefix("image/").is_some_and(|name| !name.is_empty() && plain(name)) {
        return Err(Problem::bad_field(&format!("images[{place}].mediaType"), "it is not image/…"));
    }
    let decoded = BASE64_STANDARD.decode(&image.data).ok().filter(|bytes| !bytes.is_empty());
    let bytes = decoded.ok_or_else(|| Problem::bad_field(&format!("images[{place}].data"), "it is not base64"))?;
    Ok(bytes.len())
}
