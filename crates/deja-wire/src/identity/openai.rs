//! What chat completions and Responses have in common.

use super::Options;
use super::document::{Kind, Value};
use super::place::{Place, bypass_if_given, end_user, exact, ignored_flag, ignored_if, number, text, tools};
use super::reason::{
    HOSTED_TOOLS, MEDIA, REMOTE_MEDIA, SAFETY, TOKEN_DATA, UNEXPECTED_VALUE, UNKNOWN_MEMBER,
};

/// The members that both have and that mean the same in both.
pub(super) fn members(name: &str, value: Value<'_>, options: &Options) -> Place {
    match name {
        "model" => Place::Kept,
        "temperature" | "top_p" => number(value),
        "top_logprobs" if value.scalar() == "0" => Place::Kept,
        "top_logprobs" => bypass_if_given(value, TOKEN_DATA),
        "tool_choice" | "parallel_tool_calls" => tools(value, options),
        "moderation" => exact(value, SAFETY),
        "user" | "safety_identifier" => end_user(value, options),
        "metadata" | "stream_options" => ignored_if(matches!(value.kind(), Kind::Object | Kind::Null)),
        "stream" => ignored_flag(value),
        "service_tier" => ignored_if(matches!(value.kind(), Kind::Text | Kind::Null)),
        _ if name.starts_with("prompt_cache_") => Place::Ignored,
        _ if looks_up(name) && !is_off(value) => Place::Bypass(HOSTED_TOOLS),
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

/// Whether a member that is not known has the provider look something up or run something, as told by its name: `enable_search`
/// of Qwen, `search_parameters` of xAI, `plugins` of OpenRouter, `data_sources` of Azure, `connectors` of Cohere.
fn looks_up(name: &str) -> bool {
    const WORDS: [&str; 3] = ["browse", "retriev", "search"];
    const NAMES: [&str; 6] =
        ["connectors", "data_sources", "datasources", "enable_code_interpreter", "mcp_servers", "plugins"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word)) || NAMES.contains(&&*name)
}

/// Whether a value switches its member off.
fn is_off(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::List => value.items().next().is_none(),
        _ => matches!(value.scalar(), "false" | "null"),
    }
}

/// A tool: functions and custom tools are run by the application, any other by the provider.
pub(super) fn tool(tool: Value<'_>, options: &Options) -> Place {
    match tool.get("type").and_then(Value::text).as_deref() {
        Some("function" | "custom") => tools(tool, options),
        _ => Place::Bypass(HOSTED_TOOLS),
    }
}

/// A part that is text.
pub(super) fn text_part(name: &str, value: Value<'_>, _: &Options) -> Place {
    match name {
        "type" | "text" => text(value),
        // OpenAI's mark of what its prompt cache keeps, and Anthropic's, which OpenRouter and LiteLLM take too.
        "prompt_cache_breakpoint" | "cache_control" => Place::Ignored,
        _ => Place::Exact(UNKNOWN_MEMBER),
    }
}

/// Media: in the request itself as a `data:` URL, or elsewhere.
pub(super) fn media(url: Option<Value<'_>>) -> Place {
    match url.and_then(Value::text) {
        Some(url) if url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) => {
            Place::Exact(MEDIA)
        }
        Some(_) => Place::Bypass(REMOTE_MEDIA),
        None => Place::Exact(UNEXPECTED_VALUE),
    }
}

/// A part that is not looked into for anything but addresses. Compatible servers take them for the data, for an id, and in
/// parts of their own: what is behind one can change.
pub(super) fn unless_remote(part: Value<'_>, reason: &'static str) -> Place {
    if holds_address(part) { Place::Bypass(REMOTE_MEDIA) } else { Place::Exact(reason) }
}

/// Whether some text in it is an address, such as `https://` and `gs://`, and not a `data:` URL.
pub(super) fn holds_address(value: Value<'_>) -> bool {
    let is_address = |text: &str| {
        let text = text.trim_start();
        let scheme = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
        scheme.is_some_and(|end| {
            end > 0 && text[end..].starts_with("://") && !text[..end].eq_ignore_ascii_case("data")
        })
    };
    value.text().is_some_and(|text| is_address(&text))
        || value.items().any(holds_address)
        || value.members().any(|(_, member)| holds_address(member))
}

/// Whether a model looks things up in the web by itself, as told by its name: `gpt-4o-search-preview`, `o3-deep-research`,
/// `sonar-pro`, `anything:online`.
pub(super) fn searches(model: &str) -> bool {
    let mut words = model.split(|letter: char| !letter.is_ascii_alphanumeric());
    !model.starts_with("ft:")
        && (words.any(|word| matches!(word, "search" | "sonar" | "online"))
            || model.contains("deep-research"))
}
