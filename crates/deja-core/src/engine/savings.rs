//! What a hit saved and what a miss cost.

use std::sync::Arc;

use crate::cache::{Answer, Entry, Hit, ScopeKey};
use crate::engine::call::Call;
use crate::engine::{Engine, Query};
use crate::money::NanoUsd;
use crate::pricing::{PriceOrigin, Priced, price_for};
use crate::project::Project;
use crate::provider::{Route, TokenCount, TokenUsage};
use crate::store::Admission;

/// Tokens of a call and what they cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Tokens of the prompt and its context.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Whether deja counted some of the tokens, because the provider did not report them.
    pub estimated: bool,
    /// Where the price is from; `None` if it is unknown.
    pub price: Option<PriceOrigin>,
    /// The amount; 0 if the price is unknown.
    pub amount: NanoUsd,
}

impl Cost {
    fn of(answer: &Answer, input: TokenCount, priced: Option<Priced>) -> Self {
        let TokenCount { tokens: input_tokens, estimated } = input;
        let output_tokens = answer.output_tokens;
        let amount = priced.as_ref().map_or(NanoUsd::ZERO, |p| p.price.cost(input_tokens, output_tokens));
        Self { input_tokens, output_tokens, estimated, price: priced.map(|p| p.origin), amount }
    }
}

/// The input tokens of the call that wrote `answer`.
const fn reported(answer: &Answer) -> TokenCount {
    TokenCount { tokens: answer.input_tokens, estimated: answer.tokens_estimated }
}

impl Engine {
    /// The cost of asking the provider, which `hit` saves, at today's price of the asked model. For the entry's own prompt its
    /// reported input tokens apply; for another prompt they are counted. In a wire format a similar question comes with the
    /// same turns, tools and format as the entry's: the tokens of the question alone differ.
    pub(super) async fn avoided(
        &self,
        caller: &Admission,
        scope: ScopeKey,
        query: &Arc<Query>,
        hit: &Hit,
    ) -> Cost {
        let (project, entry) = (&caller.project, hit.entry());
        let answer = &entry.answer;
        let input = if hit.is_exact() {
            reported(answer)
        } else if query.wire.is_some() {
            let asked = self.tokens.text(query, query.prompt.clone()).await;
            let stored = self.tokens.text(query, entry.prompt.clone()).await;
            TokenCount {
                tokens: answer.input_tokens.saturating_sub(stored.tokens).saturating_add(asked.tokens),
                estimated: asked.estimated || stored.estimated || answer.tokens_estimated,
            }
        } else {
            let counted = self.tokens.input(scope, query).await;
            TokenCount { estimated: counted.estimated || answer.tokens_estimated, ..counted }
        };
        if entry.model == query.model {
            return self.cost(project, &query.model, answer, input);
        }
        // Another model wrote the answer. Its provider would not have been asked.
        let route = self.parts.providers.route(caller, &query.model, query.endpoint()).await;
        let provider = match &route {
            Ok(Route::To(provider)) => provider.name(),
            Ok(Route::NoCredentials(keyless)) => keyless.name(),
            Ok(Route::Unsupported) | Err(_) => &answer.provider,
        };
        let priced = price_for(&project.settings, &self.parts.prices.current(), provider, None, &query.model);
        Cost::of(answer, input, priced)
    }

    /// The list price of the call that wrote `answer`.
    pub(super) fn list_price(&self, project: &Project, asked_model: &str, answer: &Answer) -> Cost {
        self.cost(project, asked_model, answer, reported(answer))
    }

    fn cost(&self, project: &Project, asked_model: &str, answer: &Answer, input: TokenCount) -> Cost {
        Cost::of(answer, input, self.price(project, asked_model, answer))
    }

    /// The provider's price of the call that wrote `entry`, which had these tokens.
    pub(super) fn spent(&self, call: &Call, entry: &Entry, usage: &TokenUsage) -> NanoUsd {
        let priced = self.price(&call.caller.project, &call.query.model, &entry.answer);
        priced.map_or(NanoUsd::ZERO, |priced| priced.price.billed(usage))
    }

    fn price(&self, project: &Project, asked_model: &str, answer: &Answer) -> Option<Priced> {
        let served = answer.served_model.as_deref();
        price_for(&project.settings, &self.parts.prices.current(), &answer.provider, served, asked_model)
    }
}
