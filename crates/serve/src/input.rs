//! What a request brings, taken apart: the body, the query, the path. Whatever is wrong with it is a problem document
//! that names the field.

use std::time::Duration;

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};

use switchboard_event::{ClientSettings, MisplacedSettings, SettingsError, SettingsForm, read_settings};

use crate::{Problem, Service};

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// The body, as JSON.
pub struct Json<T>(pub T);

/// A body that clients send.
pub trait RequestBody: DeserializeOwned + Send {
    /// What it may have.
    const FORM: SettingsForm;

    /// Takes settings that stood in it under other names. Returns the fields that were ignored, unless the body tells of
    /// them itself.
    ///
    /// # Errors
    /// If a setting contradicts another one.
    fn accept(&mut self, given: ClientSettings) -> Result<Vec<String>, SettingsError> {
        Ok(given.ignored)
    }
}

/// The form of a body that settings of a session do not belong to.
pub const fn no_settings(fields: &'static [&'static str]) -> SettingsForm {
    let settings = MisplacedSettings::Refused("settings of a session are set when it is started");
    SettingsForm { fields, has_config: false, settings }
}

/// The form of a body with settings in `config`.
pub const fn with_config(fields: &'static [&'static str]) -> SettingsForm {
    let settings = MisplacedSettings::Taken { approval: "config.approvalMode", sandbox: "config.sandboxMode" };
    SettingsForm { fields, has_config: true, settings }
}

impl<T: RequestBody> FromRequest<Service> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Service) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let detail = "the body must be JSON: send it with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail));
        }
        let session = session_of(request.uri().path()).map(str::to_owned);
        let body = tokio::time::timeout(PATIENCE, Bytes::from_request(request, service)).await;
        let late = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time");
        let (body, ignored) = parse_body(&body.map_err(late)??)?;
        if let Some(session) = session {
            service.remark_ignored(&session, &ignored).await;
        }
        Ok(Self(body))
    }
}

/// Returns the session that a path is about.
fn session_of(path: &str) -> Option<&str> {
    path.strip_prefix("/api/sessions/")?.split('/').next().filter(|id| !id.is_empty())
}

/// Reads what a client sent. Returns the fields that were ignored, too.
///
/// # Errors
/// If it is not what is wanted, or has a setting that can be neither taken nor ignored.
pub fn parse_body<T: RequestBody>(json: &[u8]) -> Result<(T, Vec<String>), Problem> {
    let Ok(text) = std::str::from_utf8(json) else { return Ok((parse(json)?, Vec::new())) };
    let bad = |error: SettingsError| Problem::bad_field(&error.field, &error.reason);
    let (text, given) = read_settings(text, &T::FORM).map_err(bad)?;
    let mut body: T = parse(text.as_bytes())?;
    let ignored = body.accept(given).map_err(bad)?;
    Ok((body, ignored))
}

/// Reads JSON that somebody sent.
///
/// # Errors
/// If it is none, or not what is wanted; the problem names the field.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Problem> {
    if json.trim_ascii_start().first().is_some_and(|first| *first != b'{')
        && serde_json::from_slice::<IgnoredAny>(json).is_ok()
    {
        return Err(Problem::bad_request("bad_field", "the body must be a JSON object"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        match cause.classify() {
            serde_json::error::Category::Data if path != "." => Problem::bad_field(&path, &cause.to_string()),
            serde_json::error::Category::Data => Problem::bad_request("bad_field", cause.to_string()),
            // What is JSON, but a number where a word should be.
            _ if path != "." && serde_json::from_slice::<IgnoredAny>(json).is_ok() => {
                Problem::bad_field(&path, "this is not one of the values it can have")
            }
            _ => Problem::bad_request("bad_json", format!("the body is not JSON: {cause}")),
        }
    })?;
    deserializer.end().map_err(|cause| Problem::bad_request("bad_json", format!("the body is not JSON: {cause}")))?;
    Ok(value)
}

/// `application/json`, or a type that is built on it.
fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// The query.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Service> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, service).await?;
        Ok(Self(query.0))
    }
}

/// What stands for the braces in the path.
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Service> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, service).await?;
        Ok(Self(path.0))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::parse;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Outer {
        inner: Vec<u8>,
    }

    #[test]
    fn a_problem_names_the_field() {
        for (json, code, detail) in [
            (r#"{"inner":[1,"x"]}"#, "bad_field", "inner[1]"),
            ("{}", "bad_field", "inner"),
            ("[]", "bad_field", ""),
            ("{nope", "bad_json", ""),
            ("", "bad_json", ""),
            (r#"{"inner":[]} x"#, "bad_json", ""),
        ] {
            let problem = parse::<Outer>(json.as_bytes()).unwrap_err();
            assert_eq!((problem.status, &*problem.code), (400, code), "{json}");
            assert!(problem.detail.contains(detail), "{json}: {}", problem.detail);
        }
    }
}
