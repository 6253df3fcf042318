//! What a model costs, and what an answer from the cache saved.
//!
//! A [`PriceTable`] is read from a map in the format of LiteLLM ([`PriceTable::parse`]): the snapshot compiled
//! in, or a newer one. The [`PriceBook`] holds the table in force. [`price_for`] finds the price of a call, a
//! project's own prices first. A price that is not known is `None`, never 0 and never that of a neighbour.

mod book;
mod lookup;
mod table;

use serde::{Deserialize, Serialize};

pub use book::{PriceBook, PriceList, PriceOrigin, PriceSource, Priced, price_for};
pub use table::{PriceTable, PriceTableError};

use crate::money::NanoUsd;
use crate::provider::TokenUsage;

/// The price of one token in pico-dollars (1e-12 USD): 1 USD per million tokens is 1,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PicoUsdPerToken(pub u64);

/// The dearest price that is believed: 1,000 USD per million tokens. Public maps hold entries a thousand or a
/// million times too dear (a unit mistaken); the dearest true price so far is 600.
const MAX: f64 = 1e9;

impl PicoUsdPerToken {
    /// The price of `dollars` per token, rounded to the nearest pico-dollar. `None` if that is no price: below
    /// zero, not finite, or above 1,000 USD per million tokens.
    pub(crate) fn from_dollars_per_token(dollars: f64) -> Option<Self> {
        let pico = (dollars * 1e12).round();
        (dollars >= 0.0 && pico <= MAX).then_some(Self(pico as u64))
    }

    /// As [`PicoUsdPerToken::from_dollars_per_token`], for the unit that price lists use. `None` also for a price that would be
    /// rounded to none.
    pub(crate) fn from_dollars_per_million(dollars: f64) -> Option<Self> {
        let pico = (dollars * 1e6).round();
        (dollars == 0.0 || dollars > 0.0 && (1.0..=MAX).contains(&pico)).then_some(Self(pico as u64))
    }

    /// The price of a million tokens in dollars, for people.
    pub fn dollars_per_million(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// The prices of the tokens of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Per input token.
    pub input: PicoUsdPerToken,
    /// Per output token.
    pub output: PicoUsdPerToken,
    /// Per input token that the provider's own prompt cache gave, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<PicoUsdPerToken>,
    /// Per input token that was written to that cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<PicoUsdPerToken>,
    /// Per input token that was written to that cache for an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<PicoUsdPerToken>,
}

/// The price of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    /// The prices of the shortest inputs, or of all inputs if `above` is empty.
    #[serde(flatten)]
    pub rates: Rates,
    /// Other prices for the whole call once the input is longer, shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<LongInputPrice>,
}

/// The prices of a call with more than so many input tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongInputPrice {
    /// The call has more input tokens than this.
    pub tokens: u64,
    /// Its prices.
    #[serde(flatten)]
    pub rates: Rates,
}

impl ModelPrice {
    /// The price that is the same whatever the input, and whatever a prompt cache does.
    pub fn flat(input: PicoUsdPerToken, output: PicoUsdPerToken) -> Self {
        Self { rates: Rates { input, output, ..Rates::default() }, above: Vec::new() }
    }

    /// Whether every call is free.
    pub fn is_free(&self) -> bool {
        self.rates.input.0 == 0 && self.rates.output.0 == 0 && self.above.is_empty()
    }

    /// The list price of a call with these tokens, rounded to the nearest nano-dollar.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> NanoUsd {
        self.billed(&TokenUsage {
            input_total: input_tokens,
            output_total: output_tokens,
            ..TokenUsage::default()
        })
    }

    /// What a provider takes for a call with these tokens: for those that its prompt cache gave or took their own prices, where
    /// they are known.
    pub fn billed(&self, usage: &TokenUsage) -> NanoUsd {
        let long = self.above.iter().rev().find(|price| usage.input_total > price.tokens);
        let rates = long.map_or(&self.rates, |price| &price.rates);
        let read = usage.cache_read.min(usage.input_total);
        let written = usage.cache_write.min(usage.input_total - read);
        let for_an_hour = usage.cache_write_1h.min(written);
        let cache_write = rates.cache_write.unwrap_or(rates.input);
        let pico: u128 = [
            (usage.input_total - read - written, rates.input),
            (read, rates.cache_read.unwrap_or(rates.input)),
            (written - for_an_hour, cache_write),
            (for_an_hour, rates.cache_write_1h.unwrap_or(cache_write)),
            (usage.output_total, rates.output),
        ]
        .map(|(tokens, price)| u128::from(tokens) * u128::from(price.0))
        .iter()
        .sum();
        NanoUsd::from_nanos(u64::try_from((pico + 500) / 1000).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_per_million_tokens_is_one_of_a_token_or_none() {
        for (dollars, pico) in [(0.0, 0), (0.15, 150_000), (2.5, 2_500_000), (1_000.0, 1_000_000_000)] {
            let price = PicoUsdPerToken::from_dollars_per_million(dollars);
            assert_eq!(price, Some(PicoUsdPerToken(pico)));
            assert!((PicoUsdPerToken(pico).dollars_per_million() - dollars).abs() < f64::EPSILON);
        }
        for none in [-0.1, 1e-7, 1_000.1, f64::NAN, f64::INFINITY] {
            assert_eq!(PicoUsdPerToken::from_dollars_per_million(none), None, "{none}");
        }
    }

    #[test]
    fn a_model_is_free_if_all_its_prices_are_none() {
        let flat = |input, output| ModelPrice::flat(PicoUsdPerToken(input), PicoUsdPerToken(output));
        assert_eq!(flat(1_000, 2_000).cost(10, 100).as_nanos(), 10 + 200);
        for (price, free) in [(flat(0, 0), true), (flat(1, 0), false), (flat(0, 1), false)] {
            assert_eq!(price.is_free(), free, "{price:?}");
        }
        let long = LongInputPrice { tokens: 1, rates: flat(1, 1).rates };
        assert!(!ModelPrice { above: vec![long], ..flat(0, 0) }.is_free());
    }
}
