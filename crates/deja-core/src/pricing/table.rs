//! The price table, and the reader of LiteLLM's price map.
//!
//! The map is other people's data and changes daily, so the reader takes what it understands and skips the
//! rest: unknown members, models that are not billed by the token, entries without a believable price.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::lookup::newest;
use super::{LongInputPrice, ModelPrice, PicoUsdPerToken, Rates};
use crate::clock::Timestamp;

/// Made by `scripts/prices.py`.
static COMPILED_IN: &[u8] = include_bytes!("../../data/prices.json");

/// Modes that are billed by tokens of text. Others may have a price per token that means something else.
const MODES: [&str; 3] = ["chat", "responses", "completion"];
/// The mode of models that answer with vectors, billed by the tokens of what they read.
const EMBEDDING: &str = "embedding";
/// Not models: an example with strings for numbers, and rules without prices.
const NO_MODELS: [&str; 2] = ["sample_spec", "fallback_generalizations"];
/// Describes a table made by `scripts/prices.py`.
const HEADER: &str = "_deja";

/// Prices by model id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceTable {
    pub(super) models: HashMap<Box<str>, ModelPrice>,
    /// Apart, since they can be asked for no answer.
    pub(super) embeddings: HashMap<Box<str>, ModelPrice>,
    pub(super) output_limits: HashMap<Box<str>, u32>,
    /// By an id without a date, the one with the newest date.
    pub(super) newest: HashMap<Box<str>, Box<str>>,
    revision: Option<Box<str>>,
    as_of: Option<Timestamp>,
    skipped: usize,
}

/// Why a price table is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceTableError {
    /// Not JSON.
    #[error("the price map is not JSON: {0}")]
    NotJson(String),
    /// JSON, but not an object.
    #[error("the price map is not a JSON object")]
    NotAnObject,
    /// An object without one model that has a price.
    #[error("the price map holds no model with a price per token")]
    Empty,
    /// It holds a price that is below zero or not finite.
    #[error("the price map has a price for '{0}' that is below zero or not finite")]
    Impossible(String),
    /// It lacks too many of the models that are known.
    #[error("the price map lacks {lost} of the {known} models known so far, more than a fifth")]
    LosesModels {
        /// Models that it does not have.
        lost: usize,
        /// Models that the table in force has.
        known: usize,
    },
}

impl PriceTable {
    /// The table that this version of deja was built with.
    pub fn compiled_in() -> Self {
        // A test proves that it can be read; if it could not, every price would be unknown.
        Self::parse(COMPILED_IN).unwrap_or_default()
    }

    /// Reads a price map in LiteLLM's format: the whole one as published, or one reduced to what is read here.
    ///
    /// An entry is taken if its mode is chat, responses or completion and it has a price for input and one for
    /// output; 0 is a price, an absent one is not. One whose mode is embedding needs none for output. Where there is no flat
    /// price, tiers by the length of the input may have it. Those of a provider's prompt cache need not be there. Prices are numbers, or strings that hold one. An entry with
    /// a price that cannot be true is skipped and counted; one below zero or not finite spoils the map.
    pub fn parse(json: &[u8]) -> Result<Self, PriceTableError> {
        let map: Value =
            serde_json::from_slice(json).map_err(|error| PriceTableError::NotJson(error.to_string()))?;
        let Value::Object(map) = map else { return Err(PriceTableError::NotAnObject) };
        let mut table = Self::default();
        for (name, entry) in &map {
            let Value::Object(entry) = entry else { continue };
            if name == HEADER {
                table.revision = entry.get("revision").and_then(Value::as_str).map(Into::into);
                table.as_of = entry.get("as_of").and_then(Value::as_i64).map(Timestamp::from_secs);
            } else if let Some(mode) = mode_by_token(name, entry) {
                if let Some(limit) = output_limit(entry) {
                    table.output_limits.insert(name.as_str().into(), limit);
                }
                match read_price(mode, entry) {
                    Ok(Some(price)) => {
                        let of = if mode == EMBEDDING { &mut table.embeddings } else { &mut table.models };
                        of.insert(name.as_str().into(), price);
                    }
                    Ok(None) => {}
                    Err(NoPrice::Unbelievable) => table.skipped += 1,
                    Err(NoPrice::Impossible) => return Err(PriceTableError::Impossible(name.clone())),
                }
            }
        }
        table.newest = newest(table.models.keys().chain(table.embeddings.keys()));
        if table.models.is_empty() { Err(PriceTableError::Empty) } else { Ok(table) }
    }

    /// Whether `new` may take this table's place: not if it lacks more than a fifth of these models, which is
    /// what a map cut short or of another format looks like.
    pub fn check_replacement(&self, new: &Self) -> Result<(), PriceTableError> {
        let lost = self.models.keys().filter(|name| !new.models.contains_key(*name)).count();
        let known = self.models.len();
        if lost * 5 > known { Err(PriceTableError::LosesModels { lost, known }) } else { Ok(()) }
    }

    /// The names that have a price, in no order; those of embedding models apart.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(|name| &**name)
    }

    /// Models with a price, embedding models apart.
    pub fn len(&self) -> usize {
        self.models.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// Entries left out because of a price that is none.
    pub const fn skipped(&self) -> usize {
        self.skipped
    }

    /// What the table says about its own age, if it does.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// When its prices were gathered, if it says: only the table compiled in does.
    pub const fn as_of(&self) -> Option<Timestamp> {
        self.as_of
    }
}

/// A member that should be a price and is not.
enum NoPrice {
    /// The price is below zero or not finite: nobody means that, so the map is damaged.
    Impossible,
    /// The price is no number, or too dear to be true: this entry of the map is mistaken.
    Unbelievable,
}

/// The mode of a model that is billed by the token.
fn mode_by_token<'a>(name: &str, entry: &'a Map<String, Value>) -> Option<&'a str> {
    let mode = entry.get("mode").and_then(Value::as_str)?;
    let is_one = !NO_MODELS.contains(&name) && (MODES.contains(&mode) || mode == EMBEDDING);
    is_one.then_some(mode)
}

/// The prices that an object has, as far as it has them.
#[derive(Clone, Copy, Default)]
struct Known {
    input: Option<PicoUsdPerToken>,
    output: Option<PicoUsdPerToken>,
    cache_read: Option<PicoUsdPerToken>,
    cache_write: Option<PicoUsdPerToken>,
    cache_write_1h: Option<PicoUsdPerToken>,
}

impl Known {
    /// With those of the members of `object` that end in `suffix`.
    fn with(self, object: &Map<String, Value>, suffix: &str) -> Result<Self, NoPrice> {
        let price = |name: &str| amount(object.get(&format!("{name}{suffix}")));
        // At 0 nothing is taken besides the input price.
        let write = |name: &str| Ok(price(name)?.filter(|price| price.0 > 0));
        Ok(Self {
            input: price("input_cost_per_token")?.or(self.input),
            output: price("output_cost_per_token")?.or(self.output),
            cache_read: price("cache_read_input_token_cost")?.or(self.cache_read),
            cache_write: write("cache_creation_input_token_cost")?.or(self.cache_write),
            cache_write_1h: write("cache_creation_input_token_cost_above_1hr")?.or(self.cache_write_1h),
        })
    }

    /// As the prices of calls with more input tokens than `tokens`; `None` if one is unknown that every call has.
    fn above(self, tokens: u64) -> Option<LongInputPrice> {
        let Self { input, output, cache_read, cache_write, cache_write_1h } = self;
        let rates = Rates { input: input?, output: output?, cache_read, cache_write, cache_write_1h };
        Some(LongInputPrice { tokens, rates })
    }
}

/// The price of an entry: flat, perhaps with others for long inputs, or else in tiers.
fn read_price(mode: &str, entry: &Map<String, Value>) -> Result<Option<ModelPrice>, NoPrice> {
    let none = (mode == EMBEDDING).then(PicoUsdPerToken::default);
    let flat = Known { output: none, ..Known::default() }.with(entry, "")?;
    let mut tiers: Vec<_> = flat.above(0).into_iter().collect();
    if tiers.is_empty() {
        for tier in entry.get("tiered_pricing").and_then(Value::as_array).into_iter().flatten() {
            let Some(tier) = read_tier(tier)? else { return Ok(None) };
            tiers.push(tier);
        }
    } else {
        let lengths: BTreeSet<u64> = entry.keys().filter_map(|member| long_input(member)).collect();
        for thousands in lengths {
            let long = flat.with(entry, &format!("_above_{thousands}k_tokens"))?;
            tiers.extend(thousands.checked_mul(1000).and_then(|tokens| long.above(tokens)));
        }
    }
    tiers.sort_by_key(|tier| tier.tokens);
    let mut tiers = tiers.into_iter();
    Ok(tiers.next().map(|LongInputPrice { rates, .. }| ModelPrice { rates, above: tiers.collect() }))
}

/// The prices of one of an entry's `tiered_pricing`, of inputs that are longer than its range begins.
fn read_tier(tier: &Value) -> Result<Option<LongInputPrice>, NoPrice> {
    let Some(members) = tier.as_object() else { return Ok(None) };
    let from = tier["range"][0].as_f64().filter(|from| (0.0..=1e12).contains(from));
    let known = Known::default().with(members, "")?;
    Ok(from.and_then(|from| known.above(from as u64)))
}

/// The most tokens that the model writes; the public map has it as an integer or a float.
fn output_limit(entry: &Map<String, Value>) -> Option<u32> {
    let tokens = entry.get("max_output_tokens")?.as_f64()?;
    (1.0..=1e7).contains(&tokens).then_some(tokens as u32)
}

/// The thousands of `input_cost_per_token_above_200k_tokens` and its like. Those of a service tier (`_priority`, ...) end in
/// another way and are not meant.
fn long_input(member: &str) -> Option<u64> {
    let (_, rest) = member.rsplit_once("_above_")?;
    rest.strip_suffix("k_tokens")?.parse().ok()
}

fn amount(value: Option<&Value>) -> Result<Option<PicoUsdPerToken>, NoPrice> {
    let dollars: Option<f64> = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    let dollars = dollars.ok_or(NoPrice::Unbelievable)?;
    if !(dollars.is_finite() && dollars >= 0.0) {
        return Err(NoPrice::Impossible);
    }
    PicoUsdPerToken::from_dollars_per_token(dollars).map(Some).ok_or(NoPrice::Unbelievable)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::provider::TokenUsage;

    fn table(json: &str) -> PriceTable {
        PriceTable::parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn the_compiled_in_table_is_whole() {
        let table = PriceTable::compiled_in();
        assert!(table.len() > 2000, "{}", table.len());
        assert!(table.revision().unwrap().contains("2026-11-21"));
        // 2026-11-21, 00:00 UTC.
        assert_eq!(table.as_of(), Some(Timestamp::from_secs(1_795_219_200)));
        assert!(!table.models.contains_key("sample_spec"));
    }

    #[test]
    fn what_is_no_price_is_skipped_and_what_is_absent_is_unknown() {
        let good =
            r#""good":{"mode":"chat","input_cost_per_token":"1e-6","output_cost_per_token":2e-6,"new":[1]}"#;
        for bad in ["2", "\"free\"", "[1]", "true"] {
            let table = table(&format!(
                r#"{{{good},"bad":{{"mode":"chat","input_cost_per_token":{bad},"output_cost_per_token":0}}}}"#
            ));
            assert_eq!((table.len(), table.skipped()), (1, 1), "{bad}");
        }
        let table = table(&format!(
            r#"{{{good},"half":{{"mode":"chat","input_cost_per_token":1e-6}},
               "null":{{"mode":"chat","input_cost_per_token":null,"output_cost_per_token":1e-6}},
               "embedding":{{"mode":"embedding","input_cost_per_token":1e-6,"output_cost_per_token":0}},
               "image":{{"mode":"image_generation","input_cost_per_token":1e-6,"output_cost_per_token":0}},
               "free":{{"mode":"chat","input_cost_per_token":0,"output_cost_per_token":0.0}},"text":"x"}}"#
        ));
        assert_eq!((table.len(), table.skipped()), (2, 0));
        assert_eq!(table.models["free"], ModelPrice::default());
        assert_eq!(table.models["good"].rates.input, PicoUsdPerToken(1_000_000));
        assert_eq!(table.embeddings["embedding"].rates.input, PicoUsdPerToken(1_000_000));
    }

    #[test]
    fn what_embeddings_cost_is_known_and_they_are_no_models_to_ask() {
        let table = table(
            r#"{"m":{"mode":"chat","input_cost_per_token":1e-6,"output_cost_per_token":1e-5},
                "text-embedding-9":{"mode":"embedding","input_cost_per_token":2e-8},
                "by-the-letter":{"mode":"embedding","input_cost_per_character":1e-8}}"#,
        );
        let (price, key) = table.find("openai", None, "text-embedding-9").unwrap();
        assert_eq!((price.cost(1_000_000, 0).as_nanos(), key), (20_000_000, "text-embedding-9"));
        assert_eq!(table.find("openai", None, "by-the-letter"), None);
        assert_eq!((table.models().collect::<Vec<_>>(), table.len()), (vec!["m"], 1));
    }

    #[test]
    fn a_price_that_nobody_means_spoils_the_map() {
        for bad in ["-1e-6", "\"-1e-6\"", "\"NaN\"", "\"inf\""] {
            let map = format!(
                r#"{{"good":{{"mode":"chat","input_cost_per_token":0,"output_cost_per_token":0}},
                     "bad":{{"mode":"chat","input_cost_per_token":0,"output_cost_per_token":{bad}}}}}"#
            );
            let refused = PriceTable::parse(map.as_bytes()).unwrap_err();
            assert_eq!(refused, PriceTableError::Impossible("bad".into()), "{bad}");
        }
    }

    #[test]
    fn long_inputs_have_their_own_price_for_the_whole_call() {
        let table = table(
            r#"{"m":{"mode":"chat","input_cost_per_token":1e-6,"output_cost_per_token":1e-5,
                "input_cost_per_token_above_200k_tokens":2e-6,"input_cost_per_token_above_128k_tokens":1.5e-6,
                "output_cost_per_token_above_200k_tokens":2e-5,
                "input_cost_per_token_above_200k_tokens_priority":9e-6}}"#,
        );
        let price = &table.models["m"];
        assert_eq!(price.above.iter().map(|tier| tier.tokens).collect::<Vec<_>>(), [128_000, 200_000]);
        assert_eq!(price.cost(128_000, 0).as_nanos(), 128_000_000);
        assert_eq!(price.cost(128_001, 1).as_nanos(), 192_001_500 + 10_000);
        assert_eq!(price.cost(300_000, 1).as_nanos(), 600_000_000 + 20_000);
    }

    #[test]
    fn tokens_of_a_providers_prompt_cache_have_their_own_price_where_it_is_known() {
        let table = table(
            r#"{"m":{"mode":"chat","input_cost_per_token":1e-6,"output_cost_per_token":1e-5,
                "cache_read_input_token_cost":1e-7,"cache_creation_input_token_cost":1.25e-6,
                "cache_creation_input_token_cost_above_1hr":2e-6,"cache_read_input_token_cost_priority":9e-6,
                "cache_read_input_token_cost_above_200k_tokens":2e-7},
                "list":{"mode":"chat","input_cost_per_token":1e-6,"output_cost_per_token":1e-5,
                "cache_creation_input_token_cost":0}}"#,
        );
        let usage = |input_total, cache_read, cache_write, cache_write_1h| TokenUsage {
            input_total,
            cache_read,
            cache_write,
            cache_write_1h,
            output_total: 1,
            reasoning: None,
        };
        for (usage, nanos) in [
            (usage(1_000, 0, 0, 0), 1_000_000),
            (usage(1_000, 900, 0, 0), 100_000 + 900 * 100),
            (usage(1_000, 0, 900, 0), 100_000 + 900 * 1_250),
            (usage(1_000, 100, 800, 300), 100_000 + 100 * 100 + 500 * 1_250 + 300 * 2_000),
            // Long inputs: only the price of reading is another one.
            (usage(200_001, 200_000, 1, 0), 200_000 * 200 + 1_250),
            // More than there is, as some servers report.
            (usage(10, 1_000, 1_000, 1_000), 10 * 100),
        ] {
            assert_eq!(table.models["m"].billed(&usage).as_nanos(), nanos + 10_000, "{usage:?}");
            let list = table.models["list"].billed(&usage);
            assert_eq!(list, table.models["list"].cost(usage.input_total, 1), "{usage:?}");
        }
        assert_eq!(
            table.models["m"].cost(1_000, 1).as_nanos(),
            1_010_000,
            "a list price knows no such tokens"
        );
    }

    #[test]
    fn a_model_without_a_flat_price_has_that_of_the_tier_of_its_input() {
        let table = table(
            r#"{"m":{"mode":"chat","tiered_pricing":[
                  {"range":[256000.0,1000000.0],"input_cost_per_token":1.2e-6,"output_cost_per_token":3.6e-6},
                  {"range":[0,256000.0],"input_cost_per_token":4e-7,"output_cost_per_token":1.2e-6,"new":1}]},
                "flat":{"mode":"chat","input_cost_per_token":1e-6,"output_cost_per_token":1e-6,
                  "tiered_pricing":[{"range":[0,1],"input_cost_per_token":9e-6,"output_cost_per_token":9e-6}]},
                "half":{"mode":"chat","tiered_pricing":[{"range":[0,1],"input_cost_per_token":9e-6}]},
                "no-range":{"mode":"chat","tiered_pricing":[{"input_cost_per_token":1e-6,"output_cost_per_token":1e-6}]},
                "no-tier":{"mode":"chat","tiered_pricing":[]},
                "odd":{"mode":"chat","tiered_pricing":[7]}}"#,
        );
        let cost = |input| table.models["m"].cost(input, 1).as_nanos();
        assert_eq!(cost(256_000), 256_000 * 400 + 1_200);
        assert_eq!(cost(256_001), 256_001 * 1_200 + 3_600);
        assert_eq!(cost(2_000_000), 2_000_000 * 1_200 + 3_600, "above the last tier it is the last");
        assert_eq!(table.models["flat"].cost(2, 0).as_nanos(), 2_000);
        assert_eq!(table.len(), 2, "the others have no price");
    }

    #[test]
    fn a_map_that_is_none_is_an_error() {
        assert!(matches!(PriceTable::parse(b"<html>"), Err(PriceTableError::NotJson(_))));
        assert_eq!(PriceTable::parse(b"[]"), Err(PriceTableError::NotAnObject));
        assert_eq!(PriceTable::parse(b"{}"), Err(PriceTableError::Empty));
        assert_eq!(PriceTable::parse(br#"{"m":{"mode":"chat"}}"#), Err(PriceTableError::Empty));
    }

    #[test]
    fn a_table_that_loses_a_fifth_is_refused() {
        let of = |range: std::ops::Range<usize>| PriceTable {
            models: range.map(|n| (n.to_string().into(), ModelPrice::default())).collect(),
            ..PriceTable::default()
        };
        assert_eq!(of(0..100).check_replacement(&of(20..100)), Ok(()));
        let error = PriceTableError::LosesModels { lost: 21, known: 100 };
        assert_eq!(of(0..100).check_replacement(&of(21..500)), Err(error));
        assert_eq!(PriceTable::default().check_replacement(&of(0..1)), Ok(()));
    }

    /// The whole map as upstream publishes it: the compiled-in models with all that we leave out of them, entries that
    /// are not billed by the token, and the two that are no models.
    fn as_published() -> Value {
        let mut map: Map<String, Value> = serde_json::from_slice(COMPILED_IN).unwrap();
        map.remove(HEADER);
        let more = json!({
            "litellm_provider": "openai", "max_input_tokens": 128_000, "max_tokens": 16_384.0, "supports_vision": true,
            "cache_read_input_token_cost_priority": 7.5e-8, "cache_read_input_token_cost_above_200k_tokens_priority": 1.5e-7,
            "input_cost_per_token_batches": 7.5e-8, "output_cost_per_token_above_200k_tokens_priority": 9e-6,
            "search_context_cost_per_query": {"search_context_size_low": 0.035}, "deprecation_date": "2026-10-01",
            "supported_endpoints": ["/v1/chat/completions"], "provider_specific_entry": {"us": 1.1}, "rpm": 2000,
            "tiered_pricing": [{"range": [0, 32_000.0], "input_cost_per_token": 1e-6}], "metadata": {"notes": "x"},
        });
        for entry in map.values_mut() {
            let entry = entry.as_object_mut().unwrap();
            for (name, value) in more.as_object().unwrap() {
                entry.entry(name).or_insert_with(|| value.clone());
            }
        }
        for (name, entry) in [
            (
                "sample_spec",
                json!({"mode": "one of: chat, embedding", "input_cost_per_token": 0.0,
                "output_cost_per_token": 0.0, "max_tokens": "LEGACY parameter"}),
            ),
            (
                "fallback_generalizations",
                json!({"rules": [{"name": "x", "pattern": "^claude-(?!3)", "model_info": {}}]}),
            ),
            (
                "text-embedding-3-small",
                json!({"mode": "embedding", "input_cost_per_token": 2e-8, "output_cost_per_token": 0.0}),
            ),
            ("1024-x-1024/dall-e-2", json!({"mode": "image_generation", "input_cost_per_pixel": 1.9e-8})),
            ("by-the-hour", json!({"mode": "chat", "input_cost_per_second": 0.01})),
            ("mistaken", json!({"mode": "chat", "input_cost_per_token": 1.5, "output_cost_per_token": 2.0})),
        ] {
            map.insert(name.to_owned(), entry);
        }
        Value::Object(map)
    }

    #[test]
    fn the_whole_map_as_published_can_be_read() {
        let shipped = PriceTable::compiled_in();
        let text = serde_json::to_string_pretty(&as_published()).unwrap();
        assert!(text.len() > 1_500_000, "upstream's has 1.7 MB: {}", text.len());
        let table = PriceTable::parse(text.as_bytes()).unwrap();
        assert_eq!(table.models, shipped.models, "what is added changes no price");
        assert_eq!(table.output_limits, shipped.output_limits);
        assert_eq!((table.revision(), table.as_of()), (None, None));
        assert_eq!(table.skipped(), shipped.skipped() + 1);
        shipped.check_replacement(&table).unwrap();
    }

    proptest! {
        #[test]
        fn no_input_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = PriceTable::parse(&bytes);
        }

        #[test]
        fn no_entry_makes_the_reader_panic(
            member in "(in|out)put_cost_per_token(_above_[0-9]{0,22}k?_tokens)?",
            value in "-?[0-9]{1,3}(\\.[0-9]{1,3})?(e-?[0-9]{1,2})?|null|\"[^\"\\\\]{0,4}\"|\\{\\}",
        ) {
            let json = format!(r#"{{"m":{{"mode":"chat","input_cost_per_token":1,"{member}":{value}}}}}"#);
            let _ = PriceTable::parse(json.as_bytes());
        }
    }
}
