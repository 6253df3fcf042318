//! What a model costs, and what an answer from the cache saved.

use serde::{Deserialize, Serialize};

use crate::money::NanoUsd;

/// The price of one token in pico-dollars (1e-12 USD): 1 USD per million tokens is 1,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PicoUsdPerToken(pub u64);

/// The price of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    /// Per input token.
    pub input: PicoUsdPerToken,
    /// Per output token.
    pub output: PicoUsdPerToken,
    /// Other prices for the whole call once the input is longer, shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<LongInputPrice>,
}

/// The prices of a call with more than so many input tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongInputPrice {
    /// The call has more input tokens than this.
    pub tokens: u64,
    /// Per input token.
    pub input: PicoUsdPerToken,
    /// Per output token.
    pub output: PicoUsdPerToken,
}

impl ModelPrice {
    /// The price of a call with these tokens, rounded to the nearest nano-dollar.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> NanoUsd {
        let long = self.above.iter().rev().find(|price| input_tokens > price.tokens);
        let (input, output) = long.map_or((self.input, self.output), |price| (price.input, price.output));
        let pico =
            u128::from(input_tokens) * u128::from(input.0) + u128::from(output_tokens) * u128::from(output.0);
        NanoUsd::from_nanos(u64::try_from((pico + 500) / 1000).unwrap_or(u64::MAX))
    }
}
