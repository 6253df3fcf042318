//! Chat completions of OpenAI, and of the many that speak the same.

use super::Options;
use super::document::{Kind, Value};
use super::openai;
use super::place::{
    Place, answers, bypass_if_given, bypass_if_true, content, exact, ignored_if, json, kept_if, list, number,
    object, text, texts, tools,
};
use super::reason::{
    HOSTED_TOOLS, MEDIA, OTHER_OUTPUT, SAMPLING, SERVER_STATE, SEVERAL_ANSWERS, TOKEN_DATA, TOOLS,
    UNEXPECTED_VALUE, UNKNOWN_MEMBER,
};
use super::turns::Layout;

pub(super) const LAYOUT: Layout = Layout {
    members,
    instructions: None,
    turns: "messages",
    content: "content",
    part: Some("text"),
    leading: &["system", "developer"],
    speakers: &["system", "developer", "user", "assistant"],
    silent_user: false,
};

fn members(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "messages" => Place::List(message),
        // The last three are of vLLM, SGLang and others whose models are one's own.
        "presence_penalty"
        | "frequency_penalty"
        | "max_tokens"
        | "max_completion_tokens"
        | "top_k"
        | "min_p"
        | "repetition_penalty" => number(value),
        "chat_template_kwargs" => object(value, |_, value, _| {
            kept_if(matches!(value.kind(), Kind::Flag | Kind::Number | Kind::Text), value)
        }),
        "stop" if value.kind() == Kind::Text => Place::Kept,
        "stop" => texts(value),
        "verbosity" | "reasoning_effort" => text(value),
        "seed" | "logit_bias" => exact(value, SAMPLING),
        "response_format" if is_plain_text(value) => Place::Kept,
        "response_format" => json(value, options),
        "tools" => list(value, openai::tool, Place::Kept),
        "functions" | "function_call" => tools(value, options),
        "web_search_options" => bypass_if_given(value, HOSTED_TOOLS),
        "n" => answers(value, SEVERAL_ANSWERS),
        "logprobs" => bypass_if_true(value, TOKEN_DATA),
        "modalities" if value.items().all(|item| item.is_text("text")) => {
            kept_if(value.kind() == Kind::List, value)
        }
        "modalities" => Place::Bypass(OTHER_OUTPUT),
        "audio" => bypass_if_given(value, OTHER_OUTPUT),
        "store" => bypass_if_true(value, SERVER_STATE),
        "prediction" => ignored_if(matches!(value.kind(), Kind::Object | Kind::Null)),
        _ => openai::members(name, value, options),
    }
}

/// `{"type":"text"}`: the answer as it is without asking for a format.
pub(super) fn is_plain_text(format: Value<'_>) -> bool {
    format.members().count() == 1 && format.get("type").is_some_and(|kind| kind.is_text("text"))
}

fn message(_: Value<'_>, _: &Options) -> Place {
    Place::Object(|name, value, _| match name {
        "role" if matches!(value.text().as_deref(), Some("tool" | "function")) => Place::Exact(TOOLS),
        "role" | "refusal" => text(value),
        "content" => content(value, "text", part),
        "tool_calls" | "tool_call_id" | "function_call" => exact(value, TOOLS),
        // Libraries send an answer back as it was, with members that say nothing.
        "annotations" => list(value, |_, _| Place::Exact(UNKNOWN_MEMBER), Place::Kept),
        "audio" => exact(value, MEDIA),
        _ => Place::Exact(UNKNOWN_MEMBER),
    })
}

fn part(part: Value<'_>, _: &Options) -> Place {
    match part.get("type").and_then(Value::text).as_deref() {
        Some("text") => Place::Object(openai::text_part),
        Some("input_audio" | "file") => openai::unless_remote(part, MEDIA),
        // Other providers have video_url and audio_url beside image_url.
        Some(kind) if kind.ends_with("_url") => {
            let media = part.get(kind);
            openai::media(media.and_then(|media| media.get("url")).or(media))
        }
        Some(_) => openai::unless_remote(part, UNKNOWN_MEMBER),
        None => Place::Exact(UNEXPECTED_VALUE),
    }
}
