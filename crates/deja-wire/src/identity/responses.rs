//! OpenAI's Responses.

use sha2::{Digest as _, Sha256};

use super::chat::is_plain_text;
use super::document::{Kind, Sink as _, Value};
use super::openai;
use super::place::{
    Place, bypass_if_given, bypass_if_true, content, exact, ignored_if, json, kept_if, list, number, object,
    text,
};
use super::reason::{
    INCLUDE, MEDIA, OTHER_OUTPUT, REASONING, SERVER_STATE, STORED_RESPONSE, TOOLS, UNEXPECTED_VALUE,
    UNKNOWN_MEMBER,
};
use super::turns::Layout;
use super::{Malformed, Options};

pub(super) const LAYOUT: Layout = Layout {
    members,
    instructions: Some("instructions"),
    turns: "input",
    content: "content",
    part: Some("input_text"),
    leading: &["system", "developer"],
    speakers: &["system", "developer", "user", "assistant"],
    silent_user: false,
};

/// What the ids of responses begin with that deja gives out itself: the provider does not know them.
pub(crate) const OWN_ID: &str = "resp_deja_";

/// Members that the provider repeats in its answer, and others that share the answer are not to see.
pub(crate) const LABELS: [&str; 4] = ["metadata", "user", "safety_identifier", "prompt_cache_key"];

/// SHA-256 of the labels of a request that has any.
pub(super) fn labels(body: Value<'_>) -> Option<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut labelled = false;
    for label in LABELS {
        if let Some(value) = body.get(label).filter(|value| !value.is_null()) {
            labelled = true;
            hash.put(label);
            value.put(&mut hash);
        }
    }
    labelled.then(|| hash.finalize().into())
}

/// Refuses a request that continues a response which only deja knows.
pub(super) fn continues(body: Value<'_>) -> Result<(), Malformed> {
    const NAME: &str = "previous_response_id";
    if !body.get(NAME).and_then(Value::text).is_some_and(|id| id.starts_with(OWN_ID)) {
        return Ok(());
    }
    let why = "names an answer from deja's cache, which the provider does not know: send the turns again in `input`";
    Err(Malformed { code: Some("previous_response_not_found"), ..Malformed::member(NAME, why) })
}

/// Whether the provider is to keep the response, so that its id is good for a next request. It does so unless it is told not to.
pub(super) fn is_stored(body: Value<'_>) -> bool {
    body.get("store").is_none_or(Value::is_null)
}

fn members(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "input" if value.kind() == Kind::Text => Place::Turn("input_text"),
        "input" => Place::List(item),
        "instructions" | "truncation" => text(value),
        "max_output_tokens" => number(value),
        "text" => object(value, text_settings),
        "reasoning" => object(value, reasoning),
        "tools" => list(value, openai::tool, Place::Kept),
        "include" => list(value, |_, _| Place::Exact(INCLUDE), Place::Kept),
        "previous_response_id" | "conversation" | "prompt" => bypass_if_given(value, SERVER_STATE),
        "background" => bypass_if_true(value, SERVER_STATE),
        "store" if value.scalar() == "true" && !options.responses_stateless => Place::Exact(STORED_RESPONSE),
        "store" => kept_if(value.kind() == Kind::Flag, value),
        "modalities" | "audio" => bypass_if_given(value, OTHER_OUTPUT),
        _ => openai::members(name, value, options),
    }
}

fn text_settings(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "verbosity" => text(value),
        "format" if is_plain_text(value) => Place::Kept,
        "format" => json(value, options),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn reasoning(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "effort" => text(value),
        "summary" | "generate_summary" => exact(value, REASONING),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn item(item: Value<'_>, _: &Options) -> Place {
    match item.get("type").and_then(Value::text).as_deref() {
        None if item.get("role").is_none() && item.get("id").is_some() => Place::Bypass(SERVER_STATE),
        None | Some("message") => Place::Object(message),
        Some("item_reference") => Place::Bypass(SERVER_STATE),
        Some("function_call_output" | "custom_tool_call_output") => Place::Object(tool_output),
        Some("function_call" | "custom_tool_call") => Place::Exact(TOOLS),
        Some("reasoning") => Place::Exact(REASONING),
        Some(_) => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn message(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "type" => ignored_if(value.kind() == Kind::Text),
        "role" | "id" | "status" | "phase" => text(value),
        "content" => content(value, "input_text", part),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn tool_output(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "output" if value.kind() == Kind::List => Place::List(part),
        _ => Place::Exact(TOOLS),
    }
}

fn part(part: Value<'_>, _: &Options) -> Place {
    match part.get("type").and_then(Value::text).as_deref() {
        Some("input_text") => Place::Object(openai::text_part),
        Some("output_text") => Place::Object(said),
        Some("input_image") => file(part, "image_url"),
        Some("input_file") => file(part, "file_url"),
        Some("input_audio") => openai::unless_remote(part, MEDIA),
        Some(_) => openai::unless_remote(part, UNKNOWN_MEMBER),
        None => Place::Exact(UNEXPECTED_VALUE),
    }
}

/// A text of an answer. Libraries send it back as it was, with lists that say nothing.
fn said(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "annotations" | "logprobs" => list(value, |_, _| Place::Exact(UNKNOWN_MEMBER), Place::Ignored),
        _ => openai::text_part(name, value, options),
    }
}

/// A file: behind an address, or in the request or named by an id, which does not change.
fn file(part: Value<'_>, url: &str) -> Place {
    match part.get(url) {
        Some(url) if !url.is_null() => openai::media(Some(url)),
        _ => openai::unless_remote(part, MEDIA),
    }
}
