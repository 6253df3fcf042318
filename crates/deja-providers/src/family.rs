//! Which built-in provider a model belongs to, and whether it thinks, told from its name alone.
//!
//! Where deja asks by itself only models that answer a prompt with text count: it reads nothing else. What an application asks
//! goes to the model's maker, who knows best what the model can do. Names are compared as given, without routing prefixes.

use deja_core::provider::Endpoint;

use crate::openai::is_responses_only;

/// The makers whose own API deja speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// OpenAI.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google, by the Gemini API.
    Google,
}

impl Family {
    /// The provider's name in responses, listings and prices.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
        }
    }
}

/// Parts of a name, between hyphens, that say that a model does not answer in text.
const NOT_TEXT: [&str; 10] = [
    "audio", "dialog", "embedding", "image", "live", "moderation", "realtime", "transcribe", "translate",
    "tts",
];

/// The family of `model`, or `None` if no built-in provider answers it in text.
pub fn family(model: &str) -> Option<Family> {
    let is_text = !model.split(['-', ':']).any(|part| NOT_TEXT.contains(&part));
    maker(model).filter(|_| is_text)
}

/// The family of `model`, whatever its answers are.
fn maker(model: &str) -> Option<Family> {
    if model.len() > 256 || model.chars().any(|c| c.is_control() || c.is_whitespace() || c == '/') {
        return None;
    }
    if is_openai(model) {
        return Some(Family::OpenAi);
    }
    // `claude-…@date` is Vertex AI's spelling; Anthropic does not know it.
    if model.starts_with("claude-") && !model.contains('@') {
        return Some(Family::Anthropic);
    }
    ["gemini-", "gemma-", "learnlm-"].iter().any(|p| model.starts_with(p)).then_some(Family::Google)
}

/// The family of `model` where an application asks at `endpoint`, or deja by itself. OpenAI has models that are asked for at
/// endpoints of their own.
pub(crate) fn family_at(model: &str, endpoint: Option<Endpoint>) -> Option<Family> {
    let begins = match endpoint {
        Some(Endpoint::Embeddings) => &["text-embedding-3-", "text-embedding-ada-"][..],
        Some(Endpoint::Completions) => &["gpt-3.5-turbo-instruct", "davinci-002", "babbage-002"],
        Some(_) => return maker(model),
        None => return family(model),
    };
    begins.iter().any(|begin| model.starts_with(begin)).then_some(Family::OpenAi)
}

fn is_openai(model: &str) -> bool {
    let base = model.strip_prefix("ft:").unwrap_or(model);
    if let Some(rest) = base.strip_prefix("gpt-") {
        // `gpt-oss-…` has open weights and is not on OpenAI's own API.
        let is_chat = rest.starts_with(|c: char| c.is_ascii_digit()) || rest.starts_with("audio");
        return is_chat && !rest.contains("instruct");
    }
    if let Some(rest) = base.strip_prefix('o') {
        let mut chars = rest.chars();
        let digit = chars.next().is_some_and(|c| ('1'..='9').contains(&c));
        return digit && matches!(chars.next(), None | Some('-' | ':'));
    }
    ["chatgpt-", "codex-", "computer-use-"].iter().any(|p| base.starts_with(p))
}

/// Whether a model, whoever serves it, is known to think before it answers unless it is told not to.
pub(crate) fn thinks(model: &str) -> bool {
    // Gateways put the maker before a name.
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    if name.starts_with("gemini-") {
        // All since Gemini 2.5 but for the lite ones. A name without a number stands for the newest.
        let old = ["gemini-1", "gemini-2.0"].iter().any(|old| name.starts_with(old));
        return !old && !name.contains("-lite");
    }
    let number =
        |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse::<u32>().ok());
    // GPT-5 and later, but for the chat models; `o1` and its kin.
    let generation = name.strip_prefix("gpt-").and_then(number).filter(|_| !name.contains("-chat"));
    let is_late = generation.is_some_and(|generation| generation >= 5);
    let is_o = name.strip_prefix('o').and_then(number).is_some();
    // Claude 5 and later, whatever stands between: `claude-sonnet-5`, `claude-opus-5-5`.
    let claude = name.strip_prefix("claude-").and_then(|rest| rest.split('-').find_map(number));
    let says_so =
        |part: &str| ["thinking", "reasoner", "r1"].iter().any(|word| part.eq_ignore_ascii_case(word));
    is_late
        || is_o
        || claude.is_some_and(|generation| (5..100).contains(&generation))
        || is_responses_only(name)
        || name.starts_with("gpt-oss")
        || name.split(['-', ':']).any(says_so)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_think_are_known_whoever_serves_them() {
        for model in [
            "o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.2-mini", "ft:o4-mini:acme", "gpt-5-pro",
            "gemini-2.5-flash", "gemini-3-pro-preview", "gemini-flash-latest", "openai/gpt-5-mini",
            "openrouter/openai/o3-mini", "openai/gpt-oss-120b", "gpt-oss:20b", "google/gemini-2.5-flash",
            "deepseek-ai/DeepSeek-R1", "deepseek-r1:7b", "deepseek-reasoner", "kimi-k2-thinking",
            "claude-sonnet-5", "anthropic/claude-opus-5-5", "claude-haiku-5-5-20260901", "claude-fable-5.1",
        ] {
            assert!(thinks(model), "{model}");
        }
        for model in [
            "gpt-4o-mini", "gpt-4.1-nano", "gpt-3.5-turbo", "gpt-5-chat-latest", "ft:gpt-4o-mini:acme::9x",
            "gemini-2.0-flash", "gemini-1.5-pro", "gemini-2.5-flash-lite", "gemma-3-27b-it",
            "openai/gpt-4o-mini", "olmo-2", "claude-haiku-4-5", "claude-3-5-haiku-20241022",
            "claude-sonnet-4-20250514", "llama-3.3-70b", "",
        ] {
            assert!(!thinks(model), "{model}");
        }
    }

    #[test]
    fn chat_models_find_their_family() {
        for model in [
            "gpt-4o-mini", "gpt-4o-2024-11-20", "gpt-3.5-turbo", "gpt-6.2-sol", "gpt-5.1-codex", "o1",
            "o3-mini", "o4-mini-deep-research", "chatgpt-4o-latest", "codex-mini-latest",
            "ft:gpt-4o-mini:acme::9x", "ft:o4-mini-2025-04-16:acme",
        ] {
            assert_eq!(family(model), Some(Family::OpenAi), "{model}");
        }
        for model in ["claude-haiku-4-5", "claude-3-haiku-20240307", "claude-opus-5-5"] {
            assert_eq!(family(model), Some(Family::Anthropic), "{model}");
        }
        for model in
            ["gemini-2.5-flash", "gemini-flash-latest", "gemma-3-27b-it", "learnlm-1.5-pro-experimental"]
        {
            assert_eq!(family(model), Some(Family::Google), "{model}");
        }
    }

    #[test]
    fn models_that_are_no_chat_models_have_endpoints_of_their_own() {
        let openai = Some(Family::OpenAi);
        assert_eq!(family_at("text-embedding-3-small", Some(Endpoint::Embeddings)), openai);
        assert_eq!(family_at("gpt-3.5-turbo-instruct", Some(Endpoint::Completions)), openai);
        assert_eq!(family_at("gpt-4o", Some(Endpoint::Chat)), openai);
        for (model, endpoint) in [
            ("text-embedding-3-small", Endpoint::Chat),
            ("text-embedding-004", Endpoint::Embeddings),
            ("gpt-4o", Endpoint::Embeddings),
            ("gpt-4o", Endpoint::Completions),
        ] {
            assert_eq!(family_at(model, Some(endpoint)), None, "{model}");
        }
    }

    #[test]
    fn models_with_sound_or_images_are_the_applications_to_ask() {
        let (openai, google) = (Family::OpenAi, Family::Google);
        for (model, endpoint, family) in [
            ("gpt-4o-audio-preview", Endpoint::Chat, openai),
            ("gpt-audio-mini", Endpoint::Chat, openai),
            ("gemini-2.5-flash-image", Endpoint::Gemini { stream: false }, google),
            ("gemini-2.5-flash-preview-tts", Endpoint::Gemini { stream: true }, google),
        ] {
            assert_eq!(family_at(model, Some(endpoint)), Some(family), "{model}");
            assert_eq!(family_at(model, None), None, "{model}");
        }
    }

    #[test]
    fn other_models_have_none() {
        for model in [
            "",
            "gpt-oss-120b",
            "gpt-audio",
            "gpt-realtime",
            "gpt-image-1",
            "gpt-4o-mini-tts",
            "gpt-4o-transcribe",
            "gpt-4o-audio-preview",
            "gpt-4o-realtime-preview",
            "text-embedding-3-small",
            "whisper-1",
            "tts-1",
            "dall-e-3",
            "omni-moderation-latest",
            "davinci-002",
            "gpt-3.5-turbo-instruct",
            "o0",
            "o10",
            "olmo",
            "gemini-embedding-001",
            "gemini-2.5-flash-image",
            "gemini-2.5-flash-preview-tts",
            "text-embedding-004",
            "gemini-2.5-flash-native-audio-latest",
            "claude-3-opus@20240229",
            "anthropic.claude-3-haiku",
            "gemini-x/../../y",
            "gemini- 2",
            "gemini-\n",
            "mistral-large",
            "llama3.2",
            "GPT-4o",
            "claude",
        ] {
            assert_eq!(family(model), None, "{model}");
        }
    }
}
