//! Counting tokens. A context is counted once however many queries come with it, and a long text off the async threads.

use std::sync::Arc;

use deja_wire::{Mode, beside_question, passed_text};
use moka::sync::Cache;

use crate::cache::ScopeKey;
use crate::engine::Query;
use crate::engine::forward::reading;
use crate::provider::{TokenCount, TokenCounter};

/// Contexts whose count is remembered: some hundred bytes each.
const REMEMBERED: u64 = 10_000;
/// A text of up to so many bytes is counted in less time than another thread takes to begin, even at its worst.
const SHORT: usize = 1024;

pub(super) struct Tokens {
    counter: Arc<dyn TokenCounter>,
    /// By scope, which no two contexts share, and model, whose words the tokens are.
    contexts: Cache<(ScopeKey, String), TokenCount>,
}

impl Tokens {
    pub(super) fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, contexts: Cache::new(REMEMBERED) }
    }

    /// Tokens of the call that would ask `query`, which belongs to `scope`.
    pub(super) async fn input(&self, scope: ScopeKey, query: &Arc<Query>) -> TokenCount {
        let mut messages = Vec::with_capacity(3);
        messages.extend(self.context(scope, query).await);
        let asked = query.clone();
        let count = move |counter: &dyn TokenCounter| counter.text(&asked.model, &asked.prompt);
        if !query.prompt.is_empty() {
            messages.push(self.count(query.prompt.len(), count).await);
        }
        messages.extend(self.beside(query).await);
        self.counter.input(&query.model, &messages)
    }

    /// Tokens of a bare text, such as an answer, as the asked model sees them.
    pub(super) async fn text(&self, query: &Arc<Query>, text: String) -> TokenCount {
        let (length, asked) = (text.len(), query.clone());
        let count = move |counter: &dyn TokenCounter| counter.text(&asked.model, &text);
        self.count(length, count).await
    }

    /// Of what goes along with a question in a wire format: earlier turns and tools. Where there is no question, of all that goes
    /// to the model.
    async fn beside(&self, query: &Arc<Query>) -> Option<TokenCount> {
        let wired = query.wire.as_ref()?;
        let beside = match wired.mode {
            Mode::Semantic => beside_question,
            Mode::Bypass => passed_text,
            Mode::Exact => return None,
        };
        let (endpoint, body) = (wired.forward.endpoint, wired.forward.body.clone());
        let beside = reading(body, move |body| beside(endpoint, body)).await?;
        if beside.is_empty() { None } else { Some(self.text(query, beside).await) }
    }

    async fn context(&self, scope: ScopeKey, query: &Arc<Query>) -> Option<TokenCount> {
        let length = query.instructions().map(str::len).filter(|length| *length > 0)?;
        let key = (scope, query.model.clone());
        if let Some(known) = self.contexts.get(&key) {
            return Some(known);
        }
        let asked = query.clone();
        let count = move |counter: &dyn TokenCounter| {
            counter.text(&asked.model, asked.instructions().unwrap_or_default())
        };
        let counted = self.count(length, count).await;
        // An estimate may stand in for a count while the model's vocabulary loads.
        if !counted.estimated {
            self.contexts.insert(key, counted);
        }
        Some(counted)
    }

    async fn count(
        &self,
        length: usize,
        count: impl FnOnce(&dyn TokenCounter) -> TokenCount + Send + 'static,
    ) -> TokenCount {
        if length <= SHORT {
            return count(&*self.counter);
        }
        let counter = self.counter.clone();
        let counted = tokio::task::spawn_blocking(move || count(&*counter)).await;
        // A count that fails is no reason to lose an answer.
        counted.unwrap_or_else(|error| {
            tracing::error!(error = %error, "tokens could not be counted; they are estimated");
            TokenCount { tokens: length as u64 / 4, estimated: true }
        })
    }
}
