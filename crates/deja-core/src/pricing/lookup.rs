//! Finding a model in the price table: which ids may stand for a model, in order.
//!
//! Only forms that name the same model are tried: a provider prefix, a path before the name, a date or
//! version at its end, the base of a fine-tune. An id without a date, or with `-latest`, may be an alias: it
//! stands for the same id with the newest date. What begins alike is not the same model: `gpt-4o` is no price
//! for `gpt-4o-foo`.

use std::collections::HashMap;
use std::iter;

use super::{ModelPrice, PriceTable};

impl PriceTable {
    /// The price of a call to `provider` that asked for `requested` and was answered by `served`, and the key
    /// it was found under. The asked model rules; the served one counts only if the asked one is unknown.
    ///
    /// `provider` is `openai`, `anthropic`, `google`, or the name of a project's own provider.
    pub fn find(&self, provider: &str, served: Option<&str>, requested: &str) -> Option<(&ModelPrice, &str)> {
        self.find_model(provider, requested).or_else(|| self.find_model(provider, served?))
    }

    /// The price of `model` at `provider`, and the key it was found under.
    pub fn find_model(&self, provider: &str, model: &str) -> Option<(&ModelPrice, &str)> {
        self.find_in(&self.models, provider, model)
            .or_else(|| self.find_in(&self.embeddings, provider, model))
    }

    /// The most tokens that `model` at `provider` writes in one answer.
    pub fn output_limit(&self, provider: &str, model: &str) -> Option<u32> {
        self.find_in(&self.output_limits, provider, model).map(|(limit, _)| *limit)
    }

    /// What `map` has for `model` at `provider`, and the key it was found under.
    fn find_in<'a, T>(
        &self,
        map: &'a HashMap<Box<str>, T>,
        provider: &str,
        model: &str,
    ) -> Option<(&'a T, &'a str)> {
        let exact = |key: &str| map.get_key_value(key).map(|(key, found)| (found, key.as_ref()));
        let dated = |base: &str| exact(self.newest.get(base)?);
        // Most models are found as they are: the other names are made only for the rest.
        find_name(exact, provider, model)
            .or_else(|| names(model).into_iter().skip(1).find_map(|name| find_name(exact, provider, name)))
            .or_else(|| aliases(model).find_map(|name| find_name(dated, provider, name)))
    }
}

/// What is `under` the keys that `name` may have at `provider`, best first.
fn find_name<T>(under: impl Fn(&str) -> Option<T>, provider: &str, name: &str) -> Option<T> {
    match provider {
        "openai" | "anthropic" => under(name).or_else(|| under(&format!("{provider}/{name}"))),
        // A bare `gemini-*` is the price at Vertex AI; the Gemini API has entries of its own.
        "google" => under(&format!("gemini/{name}")).or_else(|| under(name)),
        own => under(&format!("{own}/{name}")).or_else(|| under(name)),
    }
}

/// The names that `model` may go by, best first: as is, without what stands before it, without date or
/// version, the base of a fine-tune.
fn names(model: &str) -> Vec<&str> {
    if let Some(rest) = model.strip_prefix("ft:") {
        // `ft:base:organisation:name:id` is priced as `ft:base`, which is dearer than `base`.
        let base = &model[..3 + rest.find(':').unwrap_or(rest.len())];
        let mut names = vec![model, base];
        names.extend(without_version(base));
        return names;
    }
    let mut names: Vec<_> = paths(model).collect();
    for at in 0..names.len() {
        names.extend(without_version(names[at]));
    }
    names
}

/// `model` as is, and without one and more of the parts before its name.
fn paths(model: &str) -> impl Iterator<Item = &str> {
    iter::successors(Some(model), |path| Some(path.split_once('/')?.1))
}

/// The ids without a date for which `model` may be an alias, best first.
fn aliases(model: &str) -> impl Iterator<Item = &str> {
    paths(model).flat_map(|name| iter::once(name).chain(name.strip_suffix("-latest")))
}

/// Of the ids that end in a date, the newest for each id without it.
pub(super) fn newest<'a>(ids: impl Iterator<Item = &'a Box<str>>) -> HashMap<Box<str>, Box<str>> {
    let mut newest = HashMap::<&str, (u32, &str)>::new();
    for id in ids {
        if let Some((base, date)) = dated(id) {
            let known = newest.entry(base).or_insert((date, id));
            *known = (*known).max((date, id));
        }
    }
    newest.into_iter().map(|(base, (_, id))| (base.into(), id.into())).collect()
}

/// An id without its date, and the date, if it has a year: without one, nobody can tell which is newer.
fn dated(id: &str) -> Option<(&str, u32)> {
    let base = without_version(id)?;
    let version = id[base.len()..].strip_prefix('-')?;
    let digits = version.replace('-', "");
    let number: u32 = digits.parse().ok()?;
    match (digits.len(), version.len()) {
        (8, 8 | 10) => Some((base, number)),
        // -MM-YYYY
        (6, 7) => Some((base, number % 10_000 * 10_000 + number / 10_000 * 100)),
        _ => None,
    }
}

/// `name` without the date or version at its end, if it ends in one.
fn without_version(name: &str) -> Option<&str> {
    if let Some((base, version)) = name.rsplit_once('@') {
        return (version == "default" || is_digits(version, 8)).then_some(base);
    }
    if let Some((base, version)) = name.rsplit_once("-v")
        && let Some((major, minor)) = version.split_once(':')
        && !major.is_empty()
        && [major, minor].iter().all(|digits| is_digits(digits, digits.len()))
    {
        return Some(without_version(base).unwrap_or(base));
    }
    let (base, last) = name.rsplit_once('-')?;
    if base.is_empty() {
        return None;
    }
    match last.len() {
        6 if last == "latest" => Some(base),
        8 if is_digits(last, 8) => Some(base),
        // -MMDD: months keep `mistral-large-2407` (year and month) a model of its own.
        4 if is_month(last.get(..2)?) && is_day(last.get(2..)?) => Some(base),
        // -001
        3 if is_digits(last, 3) && last.starts_with('0') => Some(base),
        // -YYYY-MM-DD and -MM-DD
        2 if is_day(last) => {
            let (base, month) = base.rsplit_once('-')?;
            let (before, year) = base.rsplit_once('-')?;
            let dated = is_month(month) && is_digits(year, 4);
            dated.then_some(before).or_else(|| (is_month(month) && year == "preview").then_some(base))
        }
        // -preview-MM-YYYY
        4 if last.starts_with("20") => {
            let (base, month) = base.rsplit_once('-')?;
            (is_digits(last, 4) && is_month(month) && base.ends_with("-preview")).then_some(base)
        }
        _ => None,
    }
}

fn is_digits(text: &str, length: usize) -> bool {
    text.len() == length && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_month(text: &str) -> bool {
    is_digits(text, 2) && ("01"..="12").contains(&text)
}

fn is_day(text: &str) -> bool {
    is_digits(text, 2) && ("01"..="31").contains(&text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::provider::TokenUsage;

    /// (provider, asked model, key, dollars per million input tokens, output tokens)
    const KNOWN: &[(&str, &str, &str, f64, f64)] = &[
        ("openai", "gpt-4o-mini", "gpt-4o-mini", 0.15, 0.60),
        ("openai", "gpt-4o", "gpt-4o", 2.50, 10.0),
        ("openai", "gpt-4o-2024-11-20", "gpt-4o-2024-11-20", 2.50, 10.0),
        ("openai", "gpt-4o-2031-12-24", "gpt-4o", 2.50, 10.0),
        ("openai", "gpt-5.4", "gpt-5.4", 2.50, 15.0),
        ("openai", "gpt-4o-latest", "gpt-4o", 2.50, 10.0),
        ("openai", "gpt-5.6-terra", "gpt-5.6-terra", 2.00, 12.0),
        ("openai", "gpt-6.2-sol", "gpt-6.2-sol", 2.00, 10.0),
        ("openai", "ft:gpt-4o-mini-2024-07-18:acme::9x", "ft:gpt-4o-mini-2024-07-18", 0.30, 1.20),
        ("openai", "ft:gpt-3.5-turbo-0914:acme:a:b", "ft:gpt-3.5-turbo", 3.0, 6.0),
        ("anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5", 3.0, 15.0),
        ("anthropic", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5", 3.0, 15.0),
        ("anthropic", "claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001", 1.0, 5.0),
        ("anthropic", "claude-opus-5-5-20261224", "claude-opus-5-5", 4.0, 20.0),
        ("anthropic", "claude-haiku-5-5", "claude-haiku-5-5", 0.10, 0.50),
        ("anthropic", "claude-3-opus", "claude-3-opus-20240229", 15.0, 75.0),
        ("anthropic", "claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219", 3.0, 15.0),
        ("our-proxy", "anthropic/claude-opus-4", "claude-opus-4-20250514", 15.0, 75.0),
        ("google", "gemini-2.5-flash-preview", "gemini/gemini-2.5-flash-preview-09-2025", 0.30, 2.50),
        ("google", "gemini-2.5-pro", "gemini/gemini-2.5-pro", 1.25, 10.0),
        ("google", "models/gemini-2.5-flash", "gemini/gemini-2.5-flash", 0.30, 2.50),
        ("google", "gemini-2.5-flash-007", "gemini/gemini-2.5-flash", 0.30, 2.50),
        ("groq", "llama-3.3-70b-versatile", "groq/llama-3.3-70b-versatile", 0.59, 0.79),
        ("groq", "openai/gpt-oss-120b", "groq/openai/gpt-oss-120b", 0.15, 0.60),
        ("openai", "text-embedding-3-small", "text-embedding-3-small", 0.02, 0.0),
        ("dashscope", "qwen-flash", "dashscope/qwen-flash", 0.05, 0.40),
        ("our-proxy", "openai/gpt-4o-mini", "gpt-4o-mini", 0.15, 0.60),
        ("deepseek", "deepseek-chat", "deepseek/deepseek-chat", 0.28, 0.42),
    ];

    #[test]
    fn known_models_have_their_published_price() {
        let table = PriceTable::compiled_in();
        for &(provider, model, key, input, output) in KNOWN {
            let (price, found) = table.find(provider, None, model).unwrap_or_else(|| panic!("{model}"));
            assert_eq!(found, key, "{provider} {model}");
            let prices = [price.rates.input, price.rates.output].map(|p| p.0);
            assert_eq!(prices, [input, output].map(|dollars| (dollars * 1e6) as u64), "{model}");
        }
    }

    #[test]
    fn long_inputs_cost_what_is_published() {
        let table = PriceTable::compiled_in();
        let nanos = |provider, model, input, output| {
            table.find(provider, None, model).unwrap().0.cost(input, output).as_nanos()
        };
        assert_eq!(nanos("google", "gemini-2.5-pro", 200_000, 1_000), 260_000_000);
        assert_eq!(nanos("google", "gemini-2.5-pro", 400_000, 1_000), 1_015_000_000);
        assert_eq!(nanos("openai", "gpt-5.4", 272_000, 1_000), 695_000_000);
        assert_eq!(nanos("openai", "gpt-5.4", 300_000, 1_000), 1_522_500_000);
        assert_eq!(nanos("anthropic", "claude-haiku-5-5", 200_000, 1_000), 102_500_000);
        assert_eq!(nanos("dashscope", "qwen-flash", 300_000, 1_000), 77_000_000);
    }

    #[test]
    fn a_providers_prompt_cache_costs_what_is_published() {
        let table = PriceTable::compiled_in();
        let usage =
            TokenUsage { input_total: 3_000, cache_read: 1_000, cache_write: 1_000, ..TokenUsage::default() };
        for (provider, model, dollars) in [
            ("openai", "gpt-4o-mini", 0.15 + 0.15 + 0.075),
            ("anthropic", "claude-sonnet-4-5", 3.0 + 3.75 + 0.3),
            ("google", "gemini-2.5-flash", 0.3 + 0.3 + 0.03),
            ("deepseek", "deepseek-chat", 0.28 + 0.28 + 0.028),
        ] {
            let billed = table.find(provider, None, model).unwrap().0.billed(&usage);
            assert_eq!(billed.as_nanos(), (dollars * 1e6_f64).round() as u64, "{model}");
        }
    }

    #[test]
    fn output_limits_are_those_published() {
        let table = PriceTable::compiled_in();
        for (provider, model, limit) in [
            ("anthropic", "claude-haiku-4-5", Some(64_000)),
            ("anthropic", "claude-sonnet-5", Some(128_000)),
            ("anthropic", "claude-opus-4-1-20250805", Some(32_000)),
            ("acme", "claude-3-haiku-20240307", Some(4096)),
            ("anthropic", "claude-unheard-of", None),
        ] {
            assert_eq!(table.output_limit(provider, model), limit, "{model}");
        }
        let parse = |limit: &str| {
            let map = format!(
                r#"{{"m":{{"mode":"chat","input_cost_per_token":0,"output_cost_per_token":0,"max_output_tokens":{limit}}}}}"#
            );
            PriceTable::parse(map.as_bytes()).unwrap().output_limit("openai", "m")
        };
        assert_eq!(parse("8192.0"), Some(8192));
        for odd in ["0", "-1", "null", "\"LEGACY\"", "1e99", "[1]"] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn nothing_is_guessed() {
        let table = PriceTable::compiled_in();
        for model in [
            "gpt-4o-foo", "gpt-4", "gpt-4o-", "gpt", "", "-", "/", "ft:", "ft::", "gpt-4o-2024-13-20",
            "gpt-4o-20241", "ft:gpt-4o-unknown:a::b", "gpt-4o@tomorrow", "gpt-4o-mini-2407", "GPT-4o",
            // What has a date already is no alias, and a date without a year is neither new nor old.
            "claude-3-opus-20990101", "gpt-4-32k", "claude-3-5-sonnet-latest",
        ] {
            let found = table.find("openai", None, model);
            assert_eq!(
                found.map(|(_, key)| key),
                table.models.contains_key(model).then_some(model),
                "{model}"
            );
        }
    }

    #[test]
    fn the_asked_model_rules_and_the_served_one_steps_in() {
        let table = PriceTable::compiled_in();
        let key = |served, asked| table.find("openai", served, asked).map(|(_, key)| key);
        assert_eq!(key(Some("gpt-4o-2024-05-13"), "gpt-4o"), Some("gpt-4o"));
        assert_eq!(key(Some("gpt-4o-2024-11-20"), "our-alias"), Some("gpt-4o-2024-11-20"));
        assert_eq!(key(Some("unheard-of"), "our-alias"), None);
    }

    #[test]
    fn an_alias_stands_for_the_newest_date() {
        let map = |ids: &[&str]| {
            let price = |id| {
                format!(r#""{id}":{{"mode":"chat","input_cost_per_token":0,"output_cost_per_token":0}}"#)
            };
            let ids: Vec<_> = ids.iter().map(price).collect();
            PriceTable::parse(format!("{{{}}}", ids.join(",")).as_bytes()).unwrap()
        };
        let table = map(&[
            "a-2024-05-13", "a-20250101", "a-2024-11-20", "b-preview-12-2025", "b-preview-02-2026", "c-0613",
            "c-1106", "d-preview-05-20", "e@20250101", "f-20240101-v1:0", "own/g-20240101", "g-20250101",
        ]);
        for (model, key) in [
            ("a", Some("a-20250101")),
            ("a-latest", Some("a-20250101")),
            ("x/a", Some("a-20250101")),
            ("b-preview", Some("b-preview-02-2026")),
            ("g", Some("own/g-20240101")),
            ("a-2023-01-01", None),
            ("a-preview", None),
            ("b", None),
            ("c", None),
            ("d-preview", None),
            ("e", None),
            ("f", None),
        ] {
            assert_eq!(table.find_model("own", model).map(|(_, key)| key), key, "{model}");
        }
    }

    #[test]
    fn versions_are_known_by_their_form() {
        for (name, base) in [
            ("gpt-4-0613", Some("gpt-4")),
            ("claude-3-haiku-20240307", Some("claude-3-haiku")),
            ("claude-sonnet-4-5@default", Some("claude-sonnet-4-5")),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some("us.anthropic.claude-sonnet-4-5")),
            ("gemini-2.5-flash-preview-09-2025", Some("gemini-2.5-flash-preview")),
            ("gemini-2.5-flash-preview-05-20", Some("gemini-2.5-flash-preview")),
            ("mistral-large-latest", Some("mistral-large")),
            ("mistral-large-2407", None),
            ("claude-opus-4-5", None),
            // The end is as long as a version and is none: this is another model, with a price of its own.
            ("command-medium", None),
            ("mistral-instruct", None),
            ("llama-3.1-405", None),
            ("gpt-4-0632", None),
            ("gpt-4-1299", None),
            ("gpt-4o-2024-05-32", None),
            ("gpt-4o-12345-05-20", None),
            ("gemini-2.5-flash-lite-05-20", None),
            ("gemini-2.5-flash-preview-13-20", None),
            ("gemini-2.5-flash-preview-13-2025", None),
            ("gemini-2.5-flash-preview-09-1999", None),
            ("gemini-2.5-flash-lite-09-2025", None),
            ("llama-3.3-70b", None),
            ("é-1", None),
        ] {
            assert_eq!(without_version(name), base, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_name_makes_the_search_panic(provider in "\\PC{0,8}", model in "(ft:)?[\\PC/@:-]{0,40}") {
            let table = PriceTable::default();
            prop_assert!(table.find(&provider, Some(&model), &model).is_none());
        }
    }
}
