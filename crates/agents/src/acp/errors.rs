//! Maps JSON-RPC errors of ACP agents to error codes.

use switchboard_event::{ErrorCode, Fault};

use crate::{JsonObject, JsonView};

const NO_MESSAGE: &str = "the agent failed without a message";

/// Parses `{code, message, data?}`.
pub fn fault(error: &JsonObject<'_>) -> Fault {
    let number = error.get("code").and_then(JsonView::as_i64);
    let data = error.get_object("data");
    // An agent that only forwards to a provider answers with the provider's HTTP status as its code.
    let status = number.and_then(|n| u16::try_from(n).ok()).filter(|status| (100..600).contains(status));
    let status = status.or_else(|| data.get_http_status("statusCode"));
    let message = message(error, &data);
    let name = data.get_non_empty("errorName");
    let code = named(name.as_deref())
        .or_else(|| said(&message))
        .or_else(|| status.map(ErrorCode::from_http_status))
        .unwrap_or_else(|| numbered(number));
    let info = name.or_else(|| number.map(|number| number.to_string()));
    Fault { info, ..Fault::new(code, message).with_status(status) }
}

/// Derives a fault from an error text.
pub fn explained(text: &str) -> Fault {
    let text = text.trim();
    let body = JsonView::parse(text).map(JsonView::as_object).unwrap_or_default();
    let error = body.get_object("error");
    let message =
        error.get_non_empty("message").or_else(|| body.get_non_empty("message")).unwrap_or_else(|| text.to_owned());
    let status = status_in(text).or_else(|| error.get_http_status("code"));
    let code = said(&message).or_else(|| status.map(ErrorCode::from_http_status)).unwrap_or(ErrorCode::ApiError);
    let message = if message.is_empty() { NO_MESSAGE.to_owned() } else { message };
    Fault {
        info: error.get_non_empty("code").or_else(|| error.get_non_empty("type")),
        ..Fault::new(code, message).with_status(status)
    }
}

/// Finds the status in `unexpected status 400 Bad Request: …` and `exceeded retry limit, last status: 429 Too Many
/// Requests`.
fn status_in(text: &str) -> Option<u16> {
    let (_, after) = text.split_once("status ").or_else(|| text.split_once("status: "))?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|status| (400..600).contains(status))
}

/// Returns the message for people: the provider's message if the error contains its whole response, or the details if
/// the message is generic.
fn message(error: &JsonObject<'_>, data: &JsonObject<'_>) -> String {
    let message = error.get_non_empty("message").unwrap_or_else(|| NO_MESSAGE.to_owned());
    let inner = JsonView::parse(&message).and_then(|body| {
        let body = body.as_object();
        body.get_object("error").get_non_empty("message").or_else(|| body.get_non_empty("message"))
    });
    let details =
        data.get_non_empty("details").or_else(|| data.get_non_empty("message")).filter(|_| message == "Internal error");
    inner.or(details).unwrap_or(message)
}

/// Maps the names that agents put into `data.errorName`.
fn named(name: Option<&str>) -> Option<ErrorCode> {
    Some(match name? {
        "ProviderAuthError" => ErrorCode::ProviderAuth,
        "MessageOutputLengthError" => ErrorCode::OutputLength,
        "ContextOverflowError" => ErrorCode::ContextOverflow,
        "MessageAbortedError" => ErrorCode::Aborted,
        "ContentFilterError" => ErrorCode::Refused,
        "APIError" => ErrorCode::ApiError,
        _ => return None,
    })
}

/// The protocol has no codes for a missing session and a context overflow, and providers report the latter with an
/// unspecific status.
fn said(message: &str) -> Option<ErrorCode> {
    const WORDS: [(&str, ErrorCode); 9] = [
        ("session not found", ErrorCode::SessionNotFound),
        ("invalid session identifier", ErrorCode::SessionNotFound),
        ("no previous sessions found", ErrorCode::SessionNotFound),
        ("input token count", ErrorCode::ContextOverflow),
        ("prompt is too long", ErrorCode::ContextOverflow),
        ("maximum context length", ErrorCode::ContextOverflow),
        ("context length exceeded", ErrorCode::ContextOverflow),
        ("context_length_exceeded", ErrorCode::ContextOverflow),
        ("context window", ErrorCode::ContextOverflow),
    ];
    let message = message.to_lowercase();
    WORDS.iter().find(|(words, _)| message.contains(words)).map(|(_, code)| *code)
}

fn numbered(number: Option<i64>) -> ErrorCode {
    match number {
        Some(-32000) => ErrorCode::ProviderAuth,
        Some(-32002) => ErrorCode::SessionNotFound,
        Some(-32800) => ErrorCode::Aborted,
        Some(-32700 | -32600 | -32601 | -32602) => ErrorCode::ProtocolError,
        _ => ErrorCode::ExecutionError,
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::ErrorCode;

    use super::fault;
    use crate::JsonView;

    fn check(error: &str, code: ErrorCode, message: &str) {
        let fault = fault(&JsonView::parse(error).unwrap().as_object());
        assert_eq!((fault.code, fault.message.as_str()), (code, message), "{error}");
    }

    #[test]
    fn codes_names_and_words() {
        check(
            r#"{"code":-32000,"message":"Authentication required"}"#,
            ErrorCode::ProviderAuth,
            "Authentication required",
        );
        check(r#"{"code":429,"message":"{\"error\":{\"message\":\"slow down\"}}"}"#, ErrorCode::RateLimit, "slow down");
        check(
            r#"{"code":-32603,"message":"Internal error","data":{"details":"disk full"}}"#,
            ErrorCode::ExecutionError,
            "disk full",
        );
        check(r#"{"code":-32603,"message":"boom","data":{"errorName":"APIError"}}"#, ErrorCode::ApiError, "boom");
        check(
            r#"{"code":-32602,"message":"Session not found: x"}"#,
            ErrorCode::SessionNotFound,
            "Session not found: x",
        );
        check(r#"{"code":-32601,"message":"nope"}"#, ErrorCode::ProtocolError, "nope");
        check("{}", ErrorCode::ExecutionError, "the agent failed without a message");
        let long = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
        let error = format!(r#"{{"code":400,"message":"{{\"error\":{{\"code\":400,\"message\":\"{long}\"}}}}"}}"#);
        check(&error, ErrorCode::ContextOverflow, long);
    }

    #[test]
    fn an_error_that_is_only_told() {
        let check = |text: &str, code, status, message: &str| {
            let fault = super::explained(text);
            assert_eq!((fault.code, fault.http_status, fault.message.as_str()), (code, status, message), "{text}");
        };
        let exceeded = "exceeded retry limit, last status: 429 Too Many Requests";
        check(&format!("{exceeded}\n\n"), ErrorCode::RateLimit, Some(429), exceeded);
        check(r#"{"error": {"message": "fake error 400"}}"#, ErrorCode::ApiError, None, "fake error 400");
        check("", ErrorCode::ApiError, None, super::NO_MESSAGE);
    }
}
