//! What a hit saved and what a miss cost.

use std::sync::Arc;

use crate::cache::{Entry, Hit, ScopeKey};
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
    /// What it would have cost to ask for `query`, now that `hit` answers it, at today's price of the asked model. With
    /// the very prompt of the entry its reported input tokens apply; for another prompt they are counted.
    pub(super) async fn avoided(
        &self,
        project: &Project,
        scope: ScopeKey,
        query: &Arc<Query>,
        hit: &Hit,
    ) -> Cost {
        let answer = &hit.entry().answer;
        let (input_tokens, estimated) = if hit.is_exact() {
            (answer.input_tokens, answer.tokens_estimated)
        } else {
            let counted = self.tokens.input(scope, query).await;
            (counted.tokens, counted.estimated || answer.tokens_estimated)
        };
        self.cost(project, &query.model, hit.entry(), input_tokens, estimated)
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
}
