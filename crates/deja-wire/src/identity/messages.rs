//! Anthropic's Messages.

use super::Options;
use super::document::{Kind, Value};
use super::openai::holds_address;
use super::place::{
    Place, bypass_if_given, content, end_user, exact, ignored_flag, ignored_if, json, list, number, object,
    object_if_any, text, texts, tools,
};
use super::reason::{
    HOSTED_TOOLS, MEDIA, REASONING, REMOTE_MEDIA, SERVER_STATE, TOOLS, UNEXPECTED_VALUE, UNKNOWN_MEMBER,
};
use super::turns::Layout;

pub(super) const LAYOUT: Layout = Layout {
    members,
    instructions: Some("system"),
    turns: "messages",
    content: "content",
    part: Some("text"),
    leading: &[],
    speakers: &["user", "assistant"],
    silent_user: false,
};

fn members(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "model" => Place::Kept,
        "messages" => Place::List(message),
        "system" => content(value, "text", instruction),
        "temperature" | "top_p" | "top_k" | "max_tokens" => number(value),
        "stop_sequences" => texts(value),
        "thinking" if is_effort(value) => Place::Kept,
        "thinking" => exact(value, REASONING),
        "output_config" => object(value, output),
        "output_format" => json(value, options),
        "tools" => list(value, tool, Place::Kept),
        "tool_choice" => tools(value, options),
        "mcp_servers" => list(value, |_, _| Place::Bypass(HOSTED_TOOLS), Place::Bypass(HOSTED_TOOLS)),
        "container" => bypass_if_given(value, HOSTED_TOOLS),
        // The provider keeps the turns under the id of its answer, and a next request names that id.
        "thread" => bypass_if_given(value, SERVER_STATE),
        "metadata" => object_if_any(value, metadata, options),
        "stream" => ignored_flag(value),
        "service_tier" => ignored_if(matches!(value.kind(), Kind::Text | Kind::Null)),
        "cache_control" => Place::Ignored,
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

/// Whether a value of `thinking` says only whether the model is to think, and no budget and not that its thoughts are to be shown: like
/// an effort, that changes how good an answer is, and not what it is about.
fn is_effort(value: Value<'_>) -> bool {
    value.get("type").is_some_and(|kind| kind.is_text("disabled") || kind.is_text("adaptive"))
        && value.members().all(|(name, value)| match &*name {
            "type" => true,
            "display" => value.is_null() || value.is_text("omitted"),
            _ => false,
        })
}

fn metadata(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "user_id" => end_user(value, options),
        _ => Place::Ignored,
    }
}

fn output(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "format" => json(value, options),
        "effort" => text(value),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn instruction(block: Value<'_>, _: &Options) -> Place {
    match block.get("type") {
        Some(kind) if kind.is_text("text") => Place::Object(text_block),
        _ => Place::Exact(UNEXPECTED_VALUE),
    }
}

fn message(_: Value<'_>, _: &Options) -> Place {
    Place::Object(|name, value, _| match name {
        "role" => text(value),
        "content" => content(value, "text", block),
        _ => Place::Exact(UNKNOWN_MEMBER),
    })
}

fn block(block: Value<'_>, _: &Options) -> Place {
    match block.get("type").and_then(Value::text).as_deref() {
        Some("text") => Place::Object(text_block),
        Some("image" | "document") => Place::Object(media),
        Some("tool_use" | "tool_result") => Place::Object(tool_block),
        Some("thinking" | "redacted_thinking") => Place::Exact(REASONING),
        Some("container_upload") => Place::Bypass(SERVER_STATE),
        Some(kind) if !names_sources(kind) && holds_address(block) => Place::Bypass(REMOTE_MEDIA),
        Some(_) => Place::Object(unknown_block),
        None => Place::Exact(UNEXPECTED_VALUE),
    }
}

fn text_block(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "type" | "text" => text(value),
        "cache_control" => Place::Ignored,
        // Answers have this member, and libraries send them back as they were.
        "citations" if value.is_null() => Place::Ignored,
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

fn media(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "source" => match value.get("type").and_then(Value::text).as_deref() {
            Some("url") => Place::Bypass(REMOTE_MEDIA),
            Some("content") => Place::Object(|name, value, _| match name {
                "content" => content(value, "text", block),
                _ => Place::Exact(MEDIA),
            }),
            _ => Place::Exact(MEDIA),
        },
        "cache_control" => Place::Ignored,
        _ => Place::Exact(MEDIA),
    }
}

fn tool_block(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "content" => content(value, "text", block),
        "cache_control" => Place::Ignored,
        _ => Place::Exact(TOOLS),
    }
}

/// Whether blocks of this type name addresses beside what came from there: `search_result`, calls of the provider's tools, and
/// what these gave.
fn names_sources(kind: &str) -> bool {
    kind == "search_result" || kind.ends_with("_tool_use") || kind.ends_with("_tool_result")
}

fn unknown_block(name: &str, _: Value<'_>, _: &Options) -> Place {
    if name == "cache_control" { Place::Ignored } else { Place::Exact(UNKNOWN_MEMBER) }
}

/// A tool: those of the application have no type, or one of these; any other is run by the provider.
fn tool(tool: Value<'_>, _: &Options) -> Place {
    const OF_THE_APPLICATION: [&str; 4] = ["bash_", "computer_", "memory_", "text_editor_"];
    let kind = tool.get("type").filter(|kind| !kind.is_null());
    let hosted = kind.is_some_and(|kind| {
        kind.text().is_none_or(|kind| {
            kind != "custom" && !OF_THE_APPLICATION.iter().any(|prefix| kind.starts_with(prefix))
        })
    });
    if hosted {
        return Place::Bypass(HOSTED_TOOLS);
    }
    Place::Object(|name, value, options| match name {
        "cache_control" => Place::Ignored,
        _ => tools(value, options),
    })
}
