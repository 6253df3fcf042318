//! What a flight does: look once more, ask the provider, store, tell the watchers.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::policy::{NotStored, may_store};
use crate::cache::{Answer, Entry, Inserted, Judge, NewEntry, PromptHash, Scope};
use crate::embedding::{Embedding, Threshold};
use crate::engine::flight::{Landed, Outcome, Pilot};
use crate::engine::query::Found;
use crate::engine::{Engine, Query, QueryError};
use crate::id::EntryId;
use crate::project::Project;
use crate::provider::{Completion, Route};

/// A miss on its way to the provider. Owns all it needs: no caller has to stay.
pub(super) struct Miss {
    pub project: Arc<Project>,
    pub query: Arc<Query>,
    pub scope: Scope,
    pub prompt_hash: PromptHash,
    pub vector: Option<Embedding>,
    pub route: Route,
}

impl Engine {
    /// Runs a flight to its end in a task of its own.
    pub(super) fn take_off(&self, pilot: Pilot, miss: Miss) {
        let engine = self.clone();
        self.tasks.spawn(async move {
            let outcome = match engine.fly(&miss).await {
                Ok(outcome) => outcome,
                Err(error) => Outcome::Failed(error),
            };
            pilot.land(outcome);
        });
    }

    /// Asks the provider, unless another process that shares the store does.
    async fn fly(&self, miss: &Miss) -> Result<Outcome, QueryError> {
        let Some(claims) = self.parts.store.claims() else { return self.ask(miss).await };
        let Some(claim) = self.claim(claims, miss).await? else { return Ok(Outcome::LookAgain) };
        let outcome = claim.hold(self.ask(miss)).await;
        claim.end().await;
        outcome
    }

    async fn ask(&self, miss: &Miss) -> Result<Outcome, QueryError> {
        // Between the caller's search and this moment another flight may have landed with the answer.
        let found = self.search_again(miss).await?;
        if found.hit.is_some() {
            return Ok(Outcome::LookAgain);
        }
        let provider = match &miss.route {
            Route::To(provider) => provider,
            Route::NoCredentials { provider } => return Err(QueryError::NoCredentials { provider }),
            Route::Unsupported => {
                return Err(QueryError::ModelNotSupported { model: miss.query.model.clone() });
            }
        };
        let Ok(_slot) = self.upstream_slots.clone().try_acquire_owned() else {
            return Err(QueryError::Overloaded);
        };
        let called = Instant::now();
        let query = &miss.query;
        let completion = provider.complete(&query.model, query.context.as_deref(), &query.prompt).await?;
        let provider_time = called.elapsed();

        let verdict = may_store(&completion);
        let entry = Arc::new(self.entry_of(miss, provider.name(), completion)?);
        let spent = self.cost(&miss.project, &query.model, &entry, entry.answer.input_tokens, false).amount;
        let (entry, stored) = match verdict {
            Ok(()) => self.keep(miss, entry).await,
            Err(reason) => (entry, Err(reason)),
        };
        Ok(Outcome::Landed(Arc::new(Landed { entry, stored, spent, near_miss: found.best, provider_time })))
    }

    /// Looks for the answer once more, and for what comes near: analytics shows it to choose a threshold by.
    pub(super) async fn search_again(&self, miss: &Miss) -> Result<Found, QueryError> {
        let query = &miss.query;
        let judge = Judge::new(&query.prompt, query.threshold, &miss.project.settings);
        let floor = judge.threshold().min(Threshold::NEAR);
        self.search(&miss.scope, miss.prompt_hash, miss.vector.as_ref(), judge, floor).await
    }

    /// Stores the answer. One that cannot be stored is paid for all the same, so it is still returned.
    async fn keep(&self, miss: &Miss, entry: Arc<Entry>) -> (Arc<Entry>, Result<(), NotStored>) {
        let embedder = self.parts.embedder.id();
        let new = NewEntry {
            scope: miss.scope.clone(),
            prompt_hash: miss.prompt_hash,
            entry: Entry::clone(&entry),
            vector: miss.vector.clone().map(|vector| (embedder.clone(), vector)),
            max_entries: miss.project.settings.max_entries,
        };
        match self.parts.store.insert(new).await {
            Ok(Inserted::New) => (entry, Ok(())),
            Ok(Inserted::Twin(twin)) => (twin, Ok(())),
            Err(error) => {
                tracing::error!(project.id = %miss.project.id, error = %error, "an answer could not be stored");
                (entry, Err(NotStored::StoreUnavailable))
            }
        }
    }

    fn entry_of(&self, miss: &Miss, provider: &str, completion: Completion) -> Result<Entry, QueryError> {
        let now = self.parts.clock.now();
        let (input_tokens, output_tokens, tokens_estimated) = if let Some(usage) = completion.usage {
            (usage.input_total, usage.output_total, false)
        } else {
            let output = self.parts.tokens.text(&miss.query.model, &completion.text).tokens;
            (self.count_input(&miss.query).0, output, true)
        };
        Ok(Entry {
            id: EntryId::generate(now, &*self.parts.entropy)
                .map_err(|error| QueryError::Internal(error.to_string()))?,
            prompt: miss.query.prompt.clone(),
            model: miss.query.model.clone(),
            answer: Answer {
                text: completion.text,
                provider: provider.to_owned(),
                served_model: completion.model,
                input_tokens,
                output_tokens,
                tokens_estimated,
            },
            created: now,
            expires: miss.project.settings.expires(now),
        })
    }
}
