//! What a failed call means: one table for the errors of all providers, since compatible servers, gateways and
//! proxies mix their shapes.

use std::time::Duration;

use deja_core::provider::{Completion, FailureClass, ProviderError, Redacted};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::http::{ReadError, chain};
use crate::ssrf::{ForbiddenName, UrlError};
use crate::wait::{should_retry, wait_in_details, wait_in_headers};

/// Longest message read and longest message kept, in characters. The key is taken out in between: cut first, half
/// of it could stay at the end.
const MAX_READ: usize = 4000;
const MAX_MESSAGE: usize = 300;
const MAX_CODE: usize = 80;

/// What hyper calls an error while it sends a request. It has no other name for it.
const WRITING: &str = "error writing a body to connection";

/// A call that gave no answer.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: ProviderError,
    /// Whether deja makes the call again. A call that timed out or lost its connection is not made again: it may have been billed.
    pub(crate) again: bool,
}

impl Failure {
    /// A failure after which the call is not made again.
    fn new(provider: &str, class: FailureClass, message: &str) -> Self {
        let message: String = message.chars().take(MAX_READ).collect();
        Self { error: ProviderError::new(provider, class, message), again: false }
    }

    pub(crate) fn bad_response(provider: &str, message: &str) -> Self {
        Self::new(provider, FailureClass::BadResponse, message)
    }

    pub(crate) fn invalid_request(provider: &str, message: &str) -> Self {
        Self::new(provider, FailureClass::InvalidRequest, message)
    }

    pub(crate) fn interrupted(provider: &str, message: &str) -> Self {
        Self::new(provider, FailureClass::StreamInterrupted, message)
    }

    pub(crate) fn timeout(provider: &str) -> Self {
        Self::new(provider, FailureClass::Timeout, "no answer in time")
    }

    pub(crate) fn forbidden(provider: &str, error: &UrlError) -> Self {
        Self::new(provider, FailureClass::Forbidden, &error.to_string())
    }

    /// Sending failed before an answer came.
    pub(crate) fn send(provider: &str, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let message = chain(&error);
        if find::<ForbiddenName>(&error).is_some() {
            return Self::new(provider, FailureClass::Forbidden, &message);
        }
        // A connection that took too long is both: nothing was sent.
        if error.is_timeout() && !error.is_connect() {
            return Self::new(provider, FailureClass::Timeout, &message);
        }
        let broke = find::<hyper::Error>(&error);
        if broke.is_some_and(hyper::Error::is_parse) {
            return Self::bad_response(provider, &message);
        }
        if broke.is_some_and(|error| error.to_string() == WRITING) {
            // A server that refuses a long request answers, and closes what it has not read. The answer may be lost by that.
            return Self::new(provider, FailureClass::RequestInterrupted, &message);
        }
        // Without a connection nothing was sent. A connection that broke later may have carried the whole request: the provider
        // may be at work on it, and would be paid twice.
        let unsent = error.is_connect() || broke.is_some_and(hyper::Error::is_canceled);
        Self { again: unsent, ..Self::new(provider, FailureClass::Connection, &message) }
    }

    /// Reading an answer failed.
    pub(crate) fn read(provider: &str, error: &ReadError) -> Self {
        match error {
            ReadError::Idle => Self::timeout(provider),
            ReadError::TooLarge => Self::bad_response(provider, "the answer is larger than the limit"),
            ReadError::Packed(error) => {
                Self::bad_response(provider, &format!("the answer cannot be unpacked: {error}"))
            }
            // The provider has answered: another call would be paid, too.
            ReadError::NoRoom => {
                Self::new(provider, FailureClass::NoRoom, "too many bytes of answers are under way")
            }
            ReadError::Broken(error) => Self::new(provider, FailureClass::Connection, &chain(error)),
        }
    }

    /// An answer that says that the call failed: by its status, by its body, or both.
    pub(crate) fn answered(provider: &str, status: u16, headers: &HeaderMap, body: Option<&Value>) -> Self {
        let said = body.map(Said::read).unwrap_or_default();
        let class = said.class(status);
        let quota = class == FailureClass::Quota;
        let usual = match class {
            FailureClass::RateLimit | FailureClass::Overloaded | FailureClass::Server => true,
            FailureClass::Timeout => status == 408,
            _ => false,
        };
        let message =
            if said.message.is_empty() { format!("HTTP status {status}") } else { said.message.clone() };
        let mut failure = Self::new(provider, class, &message);
        failure.again = !quota && !said.daily && should_retry(headers).unwrap_or(usual);
        failure.error.code = said.code;
        failure.error.retry_after = wait_in_headers(headers).or(said.wait);
        failure
    }

    /// The same failure where part of the answer had come already: never made again.
    pub(crate) fn midway(mut self) -> Self {
        self.again = false;
        self
    }

    /// The same failure, with what came of the answer.
    pub(crate) fn with(mut self, part: Option<Box<Completion>>) -> Self {
        self.error.part = part.map(Redacted);
        self
    }

    /// The error as callers see it: short, and without the key, should the server have quoted it.
    pub(crate) fn into_error(self, key: Option<&SecretString>) -> ProviderError {
        let mut error = self.error;
        if let Some(key) = key.map(|key| key.expose_secret().trim()).filter(|key| key.len() >= 4) {
            error.message = error.message.replace(key, "[key]");
            error.code = error.code.map(|code| code.replace(key, "[key]"));
        }
        let short = |text: &str, limit| text.chars().take(limit).collect::<String>();
        error.message = short(&error.message, MAX_MESSAGE);
        error.code = error.code.map(|code| short(&code, MAX_CODE));
        error
    }
}

fn find<'a, T: std::error::Error + 'static>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// What an error body says.
#[derive(Debug, Default)]
struct Said {
    /// The provider's code as the log shows it.
    code: Option<String>,
    /// All short words that may tell the class: code, type, status, reason.
    words: Vec<String>,
    message: String,
    wait: Option<Duration>,
    /// A limit per day: asking again in a moment is no use.
    daily: bool,
}

impl Said {
    fn read(body: &Value) -> Self {
        // Google's compatible endpoint wraps the object in an array of one.
        let body = body.as_array().and_then(|items| items.first()).unwrap_or(body);
        // vLLM's old releases and Mistral have no wrapper, FastAPI servers only `detail`.
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let word = |name: &str| match error.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let status = error.get("status").and_then(Value::as_str).map(str::to_owned);
        let kind = error.get("type").and_then(Value::as_str).map(str::to_owned);
        let anthropic = body.get("type").and_then(Value::as_str) == Some("error");
        let code = if anthropic { kind.clone() } else { status.clone().or_else(|| word("code")) };
        let mut words: Vec<String> =
            [code.clone(), word("code"), status, kind].into_iter().flatten().collect();
        let inner = error.pointer("/innererror/code").and_then(Value::as_str);
        words.extend(inner.map(str::to_owned));
        // OpenRouter's, with 403.
        words.extend(error.pointer("/metadata/flagged_input").map(|_| "content_filter".to_owned()));
        let details = error.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        words.extend(details.iter().filter_map(|d| d.get("reason")?.as_str().map(str::to_owned)));
        let daily =
            details.iter().filter_map(|d| d.get("violations")?.as_array()).flatten().any(|violation| {
                violation.get("quotaId").and_then(Value::as_str).is_some_and(|id| id.contains("PerDay"))
            });
        let message = error.as_str().map(str::to_owned).or_else(|| word("message")).or_else(|| detail(body));
        Self { code, words, message: message.unwrap_or_default(), wait: wait_in_details(error), daily }
    }

    fn class(&self, status: u16) -> FailureClass {
        // An error inside a 200 often carries the real status as its code.
        let inner = self.words.iter().filter_map(|w| w.parse::<u16>().ok()).find(|n| (400..600).contains(n));
        let status = if (200..300).contains(&status) { inner.unwrap_or(status) } else { status };
        let message = self.message.to_lowercase();
        let word = |words: &[&str]| self.words.iter().any(|w| words.contains(&w.as_str()));
        let said = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
        // llama.cpp says with 500 that a text is too long to embed.
        let refused = matches!(status, 200 | 400 | 403 | 413 | 422 | 500);
        // A 400 may quote the prompt anywhere. Anthropic begins its own with these words.
        let broke = match status {
            400 => message.strip_prefix("your ").unwrap_or(&message).starts_with(CREDIT),
            403 | 429 => said(&QUOTA_MESSAGES),
            _ => status == 402,
        };

        if broke || word(&QUOTA) {
            FailureClass::Quota
        } else if word(&["content_filter", "ResponsibleAIPolicyViolation", "content_policy_violation"]) {
            FailureClass::ContentFilter
        } else if word(&["context_length_exceeded"]) || (refused && said(&CONTEXT_MESSAGES)) {
            FailureClass::ContextLength
        } else if matches!(status, 401 | 403) || word(&AUTH) {
            FailureClass::Auth
        } else if status == 404 || word(&["model_not_found", "not_found_error", "NOT_FOUND"]) {
            FailureClass::NotFound
        } else if status == 429 || word(&["rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"]) {
            FailureClass::RateLimit
        } else if matches!(status, 503 | 529) || word(&OVERLOADED) {
            FailureClass::Overloaded
        } else if status == 408 {
            FailureClass::Timeout
        } else if status >= 500 || status == 409 {
            FailureClass::Server
        } else if status >= 400 || word(&["invalid_request_error", "INVALID_ARGUMENT"]) {
            FailureClass::InvalidRequest
        } else if status >= 300 {
            FailureClass::BadResponse
        } else {
            FailureClass::Server
        }
    }
}

const QUOTA: [&str; 7] = [
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "billing_error",
    "billing_hard_limit_reached",
];
const CREDIT: &str = "credit balance is too low";
const QUOTA_MESSAGES: [&str; 3] = [CREDIT, "spend limit", "spending limit"];
const CONTEXT_MESSAGES: [&str; 10] = [
    "context length",
    "context window",
    "prompt is too long",
    "input is too long",
    "maximum input length",
    "exceeds the maximum number of tokens",
    "exceed context limit",
    "input length exceeds",
    "inputs` must have less than",
    "too large to process",
];
const AUTH: [&str; 6] = [
    "invalid_api_key", "API_KEY_INVALID", "authentication_error", "permission_error", "PERMISSION_DENIED",
    "UNAUTHENTICATED",
];
const OVERLOADED: [&str; 5] = [
    "server_is_overloaded", "overloaded_error", "UNAVAILABLE", "unavailable_error",
    "service_unavailable_error",
];

/// FastAPI's `detail`: a text, or a list of what is wrong with which member.
fn detail(body: &Value) -> Option<String> {
    match body.get("detail")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(|item| item.get("msg")?.as_str()).collect();
            Some(texts.join("; "))
        }
        _ => None,
    }
}
