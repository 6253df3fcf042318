//! Errors in the shape that a format's clients read.
//!
//! Sources: OpenAI's OpenAPI description 2.3.0, Anthropic's and Google's API references, and what the clients of 2026-11
//! make of each shape.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::Wire;

/// The kind of an error, in terms that all formats share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No key, or a wrong one.
    Unauthenticated,
    /// The key may not do this.
    Forbidden,
    /// The request cannot be understood.
    Invalid,
    /// No such model or path.
    NotFound,
    /// The path is right, the method is not.
    Method,
    /// The body is larger than the limit.
    TooLarge,
    /// The body is compressed, or not JSON by its header.
    Unsupported,
    /// Too many requests of this caller.
    RateLimited,
    /// deja's account at the provider has no credit left.
    Quota,
    /// deja itself has no room.
    Overloaded,
    /// The provider cannot be reached, or its answer cannot be used.
    Unreachable,
    /// The provider did not answer in time.
    Late,
    /// Only a stored answer was wanted, and there is none.
    NotCached,
    /// deja broke.
    Internal,
}

impl ErrorKind {
    /// The HTTP status.
    pub const fn status(self, wire: Wire) -> u16 {
        match (self, wire) {
            (Self::Overloaded, Wire::Messages) => 529,
            (Self::Unreachable, Wire::Messages) | (Self::Internal, _) => 500,
            (Self::Overloaded, _) | (Self::Unreachable, Wire::Gemini) => 503,
            (Self::Unreachable, _) => 502,
            (Self::Unauthenticated, _) => 401,
            (Self::Forbidden, _) => 403,
            (Self::Invalid, _) => 400,
            (Self::NotFound, _) => 404,
            (Self::Method, _) => 405,
            (Self::TooLarge, _) => 413,
            (Self::Unsupported, _) => 415,
            (Self::RateLimited | Self::Quota, _) => 429,
            (Self::Late | Self::NotCached, _) => 504,
        }
    }

    /// OpenAI's `type` and the `code` that is used where there is none more exact.
    const fn openai(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Unauthenticated => ("invalid_request_error", Some("invalid_api_key")),
            Self::Forbidden => ("invalid_request_error", Some("model_not_allowed")),
            Self::Invalid => ("invalid_request_error", None),
            Self::NotFound => ("invalid_request_error", Some("model_not_found")),
            Self::Method => ("invalid_request_error", Some("method_not_allowed")),
            Self::TooLarge => ("invalid_request_error", Some("request_too_large")),
            Self::Unsupported => ("invalid_request_error", Some("unsupported_media_type")),
            Self::RateLimited => ("requests", Some("rate_limit_exceeded")),
            Self::Quota => ("insufficient_quota", Some("insufficient_quota")),
            Self::Overloaded => ("service_unavailable_error", Some("server_is_overloaded")),
            Self::Unreachable => ("server_error", Some("provider_connection")),
            Self::Late => ("server_error", Some("provider_timeout")),
            Self::NotCached => ("invalid_request_error", Some("not_cached")),
            Self::Internal => ("server_error", Some("internal_error")),
        }
    }

    /// Anthropic's `error.type`.
    const fn anthropic(self) -> &'static str {
        match self {
            Self::Unauthenticated => "authentication_error",
            Self::Forbidden => "permission_error",
            Self::Invalid | Self::Method | Self::Unsupported => "invalid_request_error",
            Self::NotFound => "not_found_error",
            Self::TooLarge => "request_too_large",
            Self::RateLimited | Self::Quota => "rate_limit_error",
            Self::Overloaded => "overloaded_error",
            Self::Late | Self::NotCached => "timeout_error",
            Self::Unreachable | Self::Internal => "api_error",
        }
    }

    /// Google's `error.status`.
    const fn google(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "PERMISSION_DENIED",
            Self::Invalid | Self::TooLarge | Self::Method | Self::Unsupported => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::RateLimited | Self::Quota => "RESOURCE_EXHAUSTED",
            Self::Overloaded | Self::Unreachable => "UNAVAILABLE",
            Self::Late | Self::NotCached => "DEADLINE_EXCEEDED",
            Self::Internal => "INTERNAL",
        }
    }
}

/// An error as the body of an answer. `code` is more exact than what `kind` says by itself, such as `provider_auth`, and
/// `param` the member of the request that is wrong; formats without a place for them leave them out.
pub fn error_body(
    wire: Wire,
    kind: ErrorKind,
    message: &str,
    code: Option<&str>,
    param: Option<&str>,
) -> Bytes {
    let body = match wire {
        Wire::Chat | Wire::Responses => json!({"error": openai(kind, message, code, param)}),
        Wire::Messages => anthropic(kind, message),
        Wire::Gemini => google(kind, message),
    };
    body.to_string().into()
}

/// What is sent when an answer breaks off behind its first byte; after it the body ends with an error of the transport.
/// Clients need both: after a clean end some take half an answer for a whole one, and without the event none knows why.
/// `sequence` is the number of the event, which only Responses has ([`next_sequence`]).
pub fn interruption(wire: Wire, code: &str, message: &str, sequence: u64) -> Bytes {
    let error = openai(ErrorKind::Unreachable, message, Some(code), None);
    let (event, data) = match wire {
        Wire::Chat => ("", json!({"error": error})),
        // openai-python raises only if there is an `error` object; openai-node's helper reads the members beside it.
        Wire::Responses => (
            "event: error\n",
            json!({"type": "error", "code": code, "message": message, "param": null, "sequence_number": sequence, "error": error}),
        ),
        Wire::Messages => ("event: error\n", anthropic(ErrorKind::Unreachable, message)),
        Wire::Gemini => {
            // Google's library for Go looks for an error only where no `data:` is before it, and takes an answer that breaks off
            // for a whole one. Readers of events pass that over and read the second one.
            let error = google(ErrorKind::Unreachable, message);
            return format!("\n\n{error}\n\ndata: {error}\n\n").into();
        }
    };
    // The blank line ends an event that the break cut in two.
    format!("\n\n{event}data: {data}\n\n").into()
}

/// The number of the event that follows those in `sent`, the end of a stream of Responses.
pub fn next_sequence(sent: &[u8]) -> u64 {
    const NAME: &[u8] = b"\"sequence_number\":";
    let Some(at) = sent.windows(NAME.len()).rposition(|window| window == NAME) else { return 0 };
    let digits = sent[at + NAME.len()..].trim_ascii_start();
    let digits = &digits[..digits.iter().take_while(|byte| byte.is_ascii_digit()).count()];
    let last = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
    last.map_or(0, |last| last.saturating_add(1))
}

fn openai(kind: ErrorKind, message: &str, code: Option<&str>, param: Option<&str>) -> Value {
    let (name, usual) = kind.openai();
    json!({"message": message, "type": name, "param": param, "code": code.or(usual)})
}

fn anthropic(kind: ErrorKind, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind.anthropic(), "message": message}})
}

fn google(kind: ErrorKind, message: &str) -> Value {
    json!({"error": {"code": kind.status(Wire::Gemini), "message": message, "status": kind.google()}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorKind::*;

    fn parsed(body: &[u8]) -> Value {
        serde_json::from_slice(body).unwrap()
    }

    #[test]
    fn every_error_has_the_shape_and_status_of_its_format() {
        let rows = [
            (
                Unauthenticated, 401, "invalid_request_error", "invalid_api_key", 401,
                "authentication_error", 401, "UNAUTHENTICATED",
            ),
            (
                Forbidden, 403, "invalid_request_error", "model_not_allowed", 403, "permission_error", 403,
                "PERMISSION_DENIED",
            ),
            (
                NotFound, 404, "invalid_request_error", "model_not_found", 404, "not_found_error", 404,
                "NOT_FOUND",
            ),
            (
                TooLarge, 413, "invalid_request_error", "request_too_large", 413, "request_too_large", 413,
                "INVALID_ARGUMENT",
            ),
            (
                RateLimited, 429, "requests", "rate_limit_exceeded", 429, "rate_limit_error", 429,
                "RESOURCE_EXHAUSTED",
            ),
            (
                Quota, 429, "insufficient_quota", "insufficient_quota", 429, "rate_limit_error", 429,
                "RESOURCE_EXHAUSTED",
            ),
            (
                Overloaded, 503, "service_unavailable_error", "server_is_overloaded", 529,
                "overloaded_error", 503, "UNAVAILABLE",
            ),
            (Unreachable, 502, "server_error", "provider_connection", 500, "api_error", 503, "UNAVAILABLE"),
            (Late, 504, "server_error", "provider_timeout", 504, "timeout_error", 504, "DEADLINE_EXCEEDED"),
        ];
        for (kind, openai, name, code, anthropic, anthropic_name, google, status) in rows {
            for wire in [Wire::Chat, Wire::Responses] {
                assert_eq!(kind.status(wire), openai, "{kind:?}");
                let error = json!({"message": "No.", "type": name, "param": null, "code": code});
                assert_eq!(parsed(&error_body(wire, kind, "No.", None, None)), json!({"error": error}));
            }
            assert_eq!(kind.status(Wire::Messages), anthropic, "{kind:?}");
            assert_eq!(
                parsed(&error_body(Wire::Messages, kind, "No.", None, None)),
                json!({"type": "error", "error": {"type": anthropic_name, "message": "No."}})
            );
            assert_eq!(kind.status(Wire::Gemini), google, "{kind:?}");
            assert_eq!(
                parsed(&error_body(Wire::Gemini, kind, "No.", None, None)),
                json!({"error": {"code": google, "message": "No.", "status": status}})
            );
        }
    }

    #[test]
    fn a_code_and_a_parameter_are_named_where_the_format_has_a_place_for_them() {
        let body = parsed(&error_body(Wire::Chat, Invalid, "Bad.", None, Some("messages")));
        assert_eq!(body["error"]["param"], "messages");
        assert_eq!(body["error"]["code"], Value::Null);
        let body = parsed(&error_body(Wire::Responses, Unreachable, "Key.", Some("provider_auth"), None));
        assert_eq!(body["error"]["code"], "provider_auth");
    }

    #[test]
    fn a_break_is_an_event_of_its_own_in_every_format() {
        for wire in Wire::ALL {
            let event = interruption(
                wire,
                "provider_stream_interrupted",
                "The provider's \"answer\" broke off.\n",
                7,
            );
            let text = std::str::from_utf8(&event).unwrap();
            let lines: Vec<&str> =
                text.strip_prefix("\n\n").unwrap().strip_suffix("\n\n").unwrap().lines().collect();
            let data = lines.last().unwrap().strip_prefix("data: ").unwrap();
            match wire {
                Wire::Chat => assert_eq!(lines, [lines[0]]),
                Wire::Responses | Wire::Messages => assert_eq!(lines, ["event: error", lines[1]]),
                Wire::Gemini => assert_eq!(lines, [data, "", lines[2]], "first without `data:`"),
            }
            let data = parsed(data.as_bytes());
            assert_eq!(data["error"]["message"], "The provider's \"answer\" broke off.\n", "{wire:?}");
            assert!(crate::is_error(&data));
            match wire {
                Wire::Chat => assert_eq!(data["error"]["code"], "provider_stream_interrupted"),
                Wire::Responses => {
                    assert_eq!((&data["sequence_number"], &data["type"]), (&json!(7), &json!("error")));
                    assert_eq!(data["code"], "provider_stream_interrupted");
                }
                Wire::Messages => assert_eq!(data["error"]["type"], "api_error"),
                Wire::Gemini => assert_eq!(data["error"]["status"], "UNAVAILABLE"),
            }
        }
    }

    #[test]
    fn events_are_counted_on() {
        assert_eq!(next_sequence(b""), 0);
        assert_eq!(next_sequence(br#"data: {"sequence_number":3}"#), 4);
        assert_eq!(next_sequence(br#"{"sequence_number": 11,"x":1} {"sequence_number": 12, "delta"#), 13);
        assert_eq!(next_sequence(br#"{"sequence_number":99999999999999999999999}"#), 0);
    }
}
