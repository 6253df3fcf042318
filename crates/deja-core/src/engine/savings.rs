//! What a hit saved and what a miss cost.

use std::sync::Arc;

use crate::cache::{Answer, Entry, Hit, ScopeKey};
use crate::engine::{Engine, Query};
use crate::money::NanoUsd;
use crate::pricing::{PriceOrigin, Priced, price_for};
use crate::project::Project;
use crate::provider::Route;
use crate::store::Admission;

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

impl Cost {
    fn of(answer: &Answer, input_tokens: u64, estimated: bool, priced: Option<Priced>) -> Self {
        let output_tokens = answer.output_tokens;
        let amount = priced.as_ref().map_or(NanoUsd::ZERO, |p| p.price.cost(input_tokens, output_tokens));
        Self { input_tokens, output_tokens, estimated, price: priced.map(|p| p.origin), amount }
    }
}

impl Engine {
    /// What it would have cost to ask for `query`, now that `hit` answers it, at today's price of the asked model. With
    /// the very prompt of the entry its reported input tokens apply; for another prompt they are counted.
    pub(super) async fn avoided(
        &self,
        caller: &Admission,
        scope: ScopeKey,
        query: &Arc<Query>,
        hit: &Hit,
    ) -> Cost {
        let (project, entry) = (&caller.project, hit.entry());
        let answer = &entry.answer;
        let (input_tokens, estimated) = if hit.is_exact() {
            (answer.input_tokens, answer.tokens_estimated)
        } else {
            let counted = self.tokens.input(scope, query).await;
            (counted.tokens, counted.estimated || answer.tokens_estimated)
        };
        if entry.model == query.model {
            return self.cost(project, &query.model, entry, input_tokens, estimated);
        }
        // Another model wrote it, so its provider is not the one that would have been asked.
        let route = self.parts.providers.route(caller, &query.model, query.endpoint()).await;
        let provider = match &route {
            Ok(Route::To(provider)) => provider.name(),
            Ok(Route::NoCredentials { provider }) => provider,
            Ok(Route::Unsupported) | Err(_) => &answer.provider,
        };
        let priced = price_for(&project.settings, &self.parts.prices.current(), provider, None, &query.model);
        Cost::of(answer, input_tokens, estimated, priced)
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
        Cost::of(answer, input_tokens, estimated, priced)
    }
}
