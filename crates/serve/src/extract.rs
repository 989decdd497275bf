//! Extractors for the body, the query and the path of a request. Errors are problem documents that name the field.

use std::time::Duration;

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use switchboard_event::{ClientSettings, MisplacedSettings, SettingsError, SettingsForm, read_settings};

use crate::{Problem, Service};

const BODY_TIMEOUT: Duration = Duration::from_secs(30);

pub struct JsonBody<T>(pub T);

/// The body of a request.
pub trait RequestBody: DeserializeOwned + Send {
    /// The fields that the body may have.
    const FORM: SettingsForm;

    /// Adds settings that were in the body under other names. Returns ignored fields, unless the body keeps them
    /// itself.
    fn accept(&mut self, given: ClientSettings) -> Result<Vec<String>, SettingsError> {
        Ok(given.ignored)
    }
}

/// Returns the form of a body without session settings.
pub const fn without_settings(fields: &'static [&'static str]) -> SettingsForm {
    let settings = MisplacedSettings::Refused("session settings can only be set when the session is started");
    SettingsForm { fields, has_config: false, settings }
}

/// Returns the form of a body with session settings in `config`.
pub const fn with_settings_in_config(fields: &'static [&'static str]) -> SettingsForm {
    let settings = MisplacedSettings::Taken { approval: "config.approvalMode", sandbox: "config.sandboxMode" };
    SettingsForm { fields, has_config: true, settings }
}

impl<T: RequestBody> FromRequest<Service> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Service) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let detail = "the body must be JSON, with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail));
        }
        let session = session_in_path(request.uri().path()).map(str::to_owned);
        let body = tokio::time::timeout(BODY_TIMEOUT, Bytes::from_request(request, service)).await;
        let timed_out = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time");
        let (body, ignored) = parse_body(&body.map_err(timed_out)??)?;
        if let Some(session) = session {
            service.report_ignored_fields(&session, &ignored).await;
        }
        Ok(Self(body))
    }
}

fn session_in_path(path: &str) -> Option<&str> {
    path.strip_prefix("/api/sessions/")?.split('/').next().filter(|id| !id.is_empty())
}

/// Parses a request body. Also returns ignored fields.
pub fn parse_body<T: RequestBody>(json: &[u8]) -> Result<(T, Vec<String>), Problem> {
    let Ok(text) = std::str::from_utf8(json) else { return Ok((parse_json(json)?, Vec::new())) };
    let bad = |error: SettingsError| Problem::bad_field(&error.field, &error.reason);
    let (text, given) = read_settings(text, &T::FORM).map_err(bad)?;
    let mut body: T = parse_json(text.as_bytes())?;
    let ignored = body.accept(given).map_err(bad)?;
    Ok((body, ignored))
}

/// Parses JSON; errors name the field.
pub fn parse_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, Problem> {
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
            // Valid JSON of the wrong type.
            _ if path != "." && serde_json::from_slice::<IgnoredAny>(json).is_ok() => {
                Problem::bad_field(&path, "invalid value")
            }
            _ => Problem::bad_request("bad_json", format!("the body is not JSON: {cause}")),
        }
    })?;
    deserializer.end().map_err(|cause| Problem::bad_request("bad_json", format!("the body is not JSON: {cause}")))?;
    Ok(value)
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Service> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, service).await?;
        Ok(Self(query.0))
    }
}

pub struct PathParams<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Service> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, service).await?;
        Ok(Self(path.0))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::parse_json;

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
            let problem = parse_json::<Outer>(json.as_bytes()).unwrap_err();
            assert_eq!((problem.status, &*problem.code), (400, code), "{json}");
            assert!(problem.detail.contains(detail), "{json}: {}", problem.detail);
        }
    }
}
