//! What a hit saved and what a miss cost.

use crate::cache::Entry;
use crate::engine::{Engine, Query};
use crate::money::NanoUsd;
use crate::pricing::{PriceOrigin, price_for};
use crate::project::Project;

/// Tokens of a call and what they cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Tokens of the prompt and its context.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Whether one of them was counted here instead of reported by the provider.
    pub estimated: bool,
    /// Where the price is from; `None` if it is unknown.
    pub price: Option<PriceOrigin>,
    /// The amount; 0 if the price is unknown.
    pub amount: NanoUsd,
}

impl Engine {
    /// What it would have cost to ask for `query`, now that `entry` answers it, at today's price of the asked
    /// model. With the very prompt of the entry its reported input tokens apply; for another prompt they are
    /// counted.
    pub(super) fn avoided(&self, project: &Project, query: &Query, entry: &Entry, same_prompt: bool) -> Cost {
        let answer = &entry.answer;
        let (input_tokens, estimated) = if same_prompt {
            (answer.input_tokens, answer.tokens_estimated)
        } else {
            let counted = self.count_input(query);
            (counted.0, counted.1 || answer.tokens_estimated)
        };
        self.cost(project, &query.model, entry, input_tokens, estimated)
    }

    /// What the call that wrote `entry` cost.
    pub(super) fn cost(
        &self,
        project: &Project,
        asked_model: &str,
        entry: &Entry,
        input_tokens: u64,
        estimated: bool,
    ) -> Cost {
        let answer = &entry.answer;
        let priced = price_for(
            &project.settings,
            &self.parts.prices.current(),
            &answer.provider,
            answer.served_model.as_deref(),
            asked_model,
        );
        let amount =
            priced.as_ref().map_or(NanoUsd::ZERO, |p| p.price.cost(input_tokens, answer.output_tokens));
        Cost {
            input_tokens,
            output_tokens: answer.output_tokens,
            estimated,
            price: priced.map(|p| p.origin),
            amount,
        }
    }

    /// Tokens of prompt and context, and whether the number is an estimate.
    pub(super) fn count_input(&self, query: &Query) -> (u64, bool) {
        let counted = self.parts.tokens.input(&query.model, query.context.as_deref(), &query.prompt);
        (counted.tokens, counted.estimated)
    }
}
