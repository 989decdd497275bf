//! Maps OpenCode's errors to error codes: `{"name","data":{"message",…}}`, and `{"type","message"}` in newer events.

use switchboard_event::{ErrorCode, Fault};

use crate::{JsonObject, JsonView};

pub fn fault(error: JsonView<'_>) -> Fault {
    let fields = error.as_object();
    let data = if fields.contains_key("data") { fields.get_object("data") } else { error.as_object() };
    let name = fields.get_non_empty("name").or_else(|| fields.get_non_empty("type"));
    let message = data.get_non_empty("message").or_else(|| error.as_str().map(|text| text.into_owned()));
    let status = data.get_http_status("statusCode");
    let code = match name.as_deref() {
        Some("ProviderAuthError" | "ConfigRemoteAuthError") => ErrorCode::ProviderAuth,
        Some("MessageAbortedError") => ErrorCode::Aborted,
        Some("MessageOutputLengthError") => ErrorCode::OutputLength,
        Some("ContextOverflowError") => ErrorCode::ContextOverflow,
        Some("ContentFilterError") => ErrorCode::Refused,
        Some("StructuredOutputError") => ErrorCode::ExecutionError,
        Some("ProviderModelNotFoundError") => ErrorCode::ModelNotFound,
        Some("APIError") => api(status, &data),
        _ => status.map_or_else(|| by_words(message.as_deref().unwrap_or_default()), ErrorCode::from_http_status),
    };
    let message = message.map_or_else(|| silent(code).to_owned(), without_trace);
    let retryable = data.get("isRetryable").and_then(JsonView::as_bool);
    Fault { info: name, retryable, ..Fault::new(code, message).with_status(status) }
}

/// Returns the fault of a request that OpenCode retries. OpenCode reports only a message.
pub fn retried(message: &str) -> Fault {
    let code = match by_words(message) {
        ErrorCode::Unknown => ErrorCode::ApiError,
        code => code,
    };
    Fault { retryable: Some(true), ..Fault::new(code, message) }
}

fn api(status: Option<u16>, data: &JsonObject<'_>) -> ErrorCode {
    let body = data.get_str("responseBody").unwrap_or_default();
    if body.contains("insufficient_quota") || body.contains("UsageLimitError") {
        return ErrorCode::Quota;
    }
    let guessed = || match by_words(&data.get_str("message").unwrap_or_default()) {
        ErrorCode::Unknown => ErrorCode::ApiError,
        code => code,
    };
    status.map_or_else(guessed, ErrorCode::from_http_status)
}

/// Removes the stack trace, which is not useful to people.
fn without_trace(message: String) -> String {
    message.split_once("\n    at ").map(|(message, _)| message.to_owned()).unwrap_or(message)
}

/// Derives the code from the message of an error without a name or a status.
fn by_words(message: &str) -> ErrorCode {
    const WORDS: &[(&str, ErrorCode)] = &[
        ("rate limit", ErrorCode::RateLimit),
        ("rate_limit", ErrorCode::RateLimit),
        ("too many requests", ErrorCode::RateLimit),
        ("429", ErrorCode::RateLimit),
        ("overloaded", ErrorCode::RateLimit),
        ("usage exceeded", ErrorCode::Quota),
        ("model not found", ErrorCode::ModelNotFound),
        ("session not found", ErrorCode::SessionNotFound),
        ("unable to connect", ErrorCode::ConnectionFailed),
        ("fetch failed", ErrorCode::ConnectionFailed),
        ("econn", ErrorCode::ConnectionFailed),
        ("enotfound", ErrorCode::ConnectionFailed),
        ("socket", ErrorCode::ConnectionFailed),
        ("timed out", ErrorCode::Timeout),
        ("timeout", ErrorCode::Timeout),
        ("aborted", ErrorCode::Aborted),
        ("interrupted", ErrorCode::Aborted),
    ];
    let message = message.to_ascii_lowercase();
    WORDS.iter().find(|(word, _)| message.contains(word)).map_or(ErrorCode::Unknown, |(_, code)| *code)
}

/// Returns the message for an error that has none.
fn silent(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::OutputLength => "the reply reached its length limit",
        ErrorCode::Aborted => "aborted",
        _ => "OpenCode failed without a message",
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::ErrorCode;

    use super::{fault, retried};
    use crate::JsonView;

    fn check(error: &str, code: ErrorCode, message: &str, status: Option<u16>) {
        let fault = fault(JsonView::parse(error).unwrap());
        assert_eq!((fault.code, fault.message.as_str(), fault.http_status), (code, message, status), "{error}");
    }

    #[test]
    fn names_have_codes() {
        for (name, code) in [
            ("ProviderAuthError", ErrorCode::ProviderAuth),
            ("MessageAbortedError", ErrorCode::Aborted),
            ("ContextOverflowError", ErrorCode::ContextOverflow),
            ("ContentFilterError", ErrorCode::Refused),
            ("StructuredOutputError", ErrorCode::ExecutionError),
            ("UnknownError", ErrorCode::Unknown),
            ("NewError", ErrorCode::Unknown),
        ] {
            check(&format!(r#"{{"name":"{name}","data":{{"message":"m"}}}}"#), code, "m", None);
        }
        let length = ErrorCode::OutputLength;
        check(r#"{"name":"MessageOutputLengthError","data":{}}"#, length, "the reply reached its length limit", None);
    }

    #[test]
    fn a_status_tells_more_than_the_name() {
        for (status, code) in [
            (400, ErrorCode::ApiError),
            (401, ErrorCode::ProviderAuth),
            (404, ErrorCode::ModelNotFound),
            (429, ErrorCode::RateLimit),
            (500, ErrorCode::ApiError),
        ] {
            let error = format!(r#"{{"name":"APIError","data":{{"message":"m","statusCode":{status}}}}}"#);
            check(&error, code, "m", Some(status));
        }
    }

    #[test]
    fn words_help_where_there_is_no_more() {
        check(
            r#"{"type":"unknown","message":"Unable to connect"}"#,
            ErrorCode::ConnectionFailed,
            "Unable to connect",
            None,
        );
        check(
            r#"{"name":"UnknownError","data":{"message":"Model not found: x/y"}}"#,
            ErrorCode::ModelNotFound,
            "Model not found: x/y",
            None,
        );
        check(r#""plain""#, ErrorCode::Unknown, "plain", None);
        check("7", ErrorCode::Unknown, "OpenCode failed without a message", None);
        assert_eq!(retried("fake error 429").code, ErrorCode::RateLimit);
        assert_eq!(retried("no words").code, ErrorCode::ApiError);
    }
}
