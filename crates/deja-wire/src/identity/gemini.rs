//! Google's `generateContent`.

use std::borrow::Cow;

use super::Options;
use super::document::{Kind, Value};
use super::place::{
    Place, answers, bypass_if_given, bypass_if_true, exact, ignored_if, json, kept_if, list, number, object,
    object_if_any, text, texts, tools,
};
use super::reason::{
    HOSTED_TOOLS, MEDIA, OTHER_OUTPUT, REASONING, REMOTE_MEDIA, SAMPLING, SERVER_STATE, SEVERAL_ANSWERS,
    TOKEN_DATA, TOOLS, UNKNOWN_MEMBER,
};
use super::turns::Layout;

pub(super) const LAYOUT: Layout = Layout {
    members,
    instructions: Some("systemInstruction"),
    turns: "contents",
    content: "parts",
    part: None,
    leading: &[],
    speakers: &["user", "model"],
    silent_user: true,
};

/// A name as the SDKs spell it: Google takes `system_instruction` for `systemInstruction`.
fn camel(name: &str) -> Cow<'_, str> {
    if !name.contains('_') {
        return name.into();
    }
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel.into()
}

/// A member by the name that the SDKs spell, in either spelling.
pub(super) fn member<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    object.members().find(|(own, _)| camel(own) == name).map(|(_, value)| value)
}

fn members(name: &str, value: Value<'_>, options: &Options) -> Place {
    match &*camel(name) {
        "contents" => Place::List(|_, _| Place::Object(turn)),
        "systemInstruction" => object(value, turn),
        "generationConfig" => object_if_any(value, generation, options),
        "safetySettings" => list(value, |_, _| Place::Object(safety), Place::Ignored),
        "tools" => list(value, |_, _| Place::Object(tool), Place::Kept),
        "toolConfig" => tools(value, options),
        "cachedContent" => bypass_if_given(value, SERVER_STATE),
        "labels" => ignored_if(matches!(value.kind(), Kind::Object | Kind::Null)),
        "serviceTier" => ignored_if(matches!(value.kind(), Kind::Text | Kind::Null)),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn generation(name: &str, value: Value<'_>, options: &Options) -> Place {
    match &*camel(name) {
        "temperature" | "topP" | "topK" | "presencePenalty" | "frequencyPenalty" | "maxOutputTokens" => {
            number(value)
        }
        "stopSequences" => texts(value),
        "seed" => exact(value, SAMPLING),
        "thinkingConfig" => object_if_any(value, thinking, options),
        "responseMimeType" if value.is_text("text/plain") => Place::Kept,
        "responseMimeType" | "responseSchema" | "responseJsonSchema" => json(value, options),
        "candidateCount" => answers(value, SEVERAL_ANSWERS),
        "responseLogprobs" => bypass_if_true(value, TOKEN_DATA),
        "logprobs" => bypass_if_given(value, TOKEN_DATA),
        "responseModalities" if value.items().all(|item| item.is_text("TEXT")) => {
            kept_if(value.kind() == Kind::List, value)
        }
        "responseModalities" => Place::Bypass(OTHER_OUTPUT),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

/// How much the model is to think is kept, like an effort. That its thoughts are to be shown is more than that.
fn thinking(name: &str, value: Value<'_>, _: &Options) -> Place {
    match &*camel(name) {
        "thinkingBudget" => number(value),
        "thinkingLevel" => text(value),
        "includeThoughts" if value.scalar() == "false" => Place::Kept,
        _ => exact(value, REASONING),
    }
}

fn safety(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "category" | "threshold" => text(value),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn turn(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "role" => text(value),
        "parts" => Place::List(|_, _| Place::Object(part)),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn part(name: &str, value: Value<'_>, _: &Options) -> Place {
    match &*camel(name) {
        "text" => text(value),
        "inlineData" => Place::Exact(MEDIA),
        "fileData" => Place::Bypass(REMOTE_MEDIA),
        "functionCall" => Place::Exact(TOOLS),
        "functionResponse" => object(value, |name, _, _| match name {
            "parts" => Place::List(|_, _| Place::Object(part)),
            _ => Place::Exact(TOOLS),
        }),
        "thought" | "thoughtSignature" => Place::Exact(REASONING),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

/// A tool: functions are run by the application, all else by the provider.
fn tool(name: &str, value: Value<'_>, options: &Options) -> Place {
    match &*camel(name) {
        "functionDeclarations" => tools(value, options),
        _ => Place::Bypass(HOSTED_TOOLS),
    }
}
