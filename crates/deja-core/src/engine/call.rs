//! What the leader of a flight does: see that nobody else asks, ask the provider, store, tell the watchers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use opentelemetry::context::FutureExt as _;

use crate::cache::policy::{NotStored, may_store};
use crate::cache::{Answer, Candidate, Entry, Hit, Inserted, NewEntry, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::{Embedding, Threshold};
use crate::engine::claim::{Claim, Turn};
use crate::engine::flight::{Completed, Fresh, Leader};
use crate::engine::search::Near;
use crate::engine::upstream::Upstream;
use crate::engine::{Engine, Opinion, Query, QueryError};
use crate::id::EntryId;
use crate::provider::{Completion, Endpoint, Provider, ProviderError, Route, TokenUsage};
use crate::store::{Admission, FlightKey, StoreError, Unanswered};

/// How long an answer with the provider's id of a response is served. OpenAI keeps responses for 30 days by default (its
/// guide on conversation state), xAI too (docs.x.ai, "Generate text"). Then a request that names the id fails.
const KEPT: Duration = Duration::from_hours(25 * 24);

/// A miss on its way to the provider. Owns all it needs: no caller has to stay.
#[derive(Clone)]
pub(super) struct Call {
    pub caller: Admission,
    pub query: Arc<Query>,
    /// When the request came.
    pub started: Instant,
    pub scope: Scope,
    pub prompt_hash: PromptHash,
    pub vector: Option<Embedding>,
    /// Tokens of the prompt and of the embedder's window, if the prompt is too long for a vector.
    pub too_long: Option<(u32, u32)>,
    pub route: Route,
    /// The nearest entries, which did not answer.
    pub near: Near,
    /// The entries that the project's model is still to be asked about.
    pub uncertain: Vec<Candidate>,
}

/// What can be read of an answer of which there is no record.
pub(super) struct Partial {
    pub completion: Completion,
    /// Why the answer is not stored.
    pub why: NotStored,
    /// If the text is that of a beginning alone, the bytes of that, and of all of the answer.
    pub beginning: Option<(usize, usize)>,
}

impl Partial {
    /// Of an answer that broke off, what it said.
    pub(super) const fn cut_off(completion: Completion) -> Self {
        Self { completion, why: NotStored::UnknownFinish, beginning: None }
    }
}

impl Call {
    /// When an answer that is stored `now` stops being served.
    fn expires(&self, now: Timestamp) -> Option<Timestamp> {
        let usual = self.caller.project.settings.expires(now);
        let wired = self.query.wire.as_ref();
        let ttl = wired.and_then(|wired| wired.control.ttl);
        let kept = wired.filter(|wired| wired.keeps_id()).map(|_| KEPT);
        usual.into_iter().chain([ttl, kept].into_iter().flatten().map(|ttl| now.plus(ttl))).min()
    }
}

impl Engine {
    /// Runs a flight to its end in a task of its own. `at_once` asks the provider even if another process asks too.
    pub(super) fn lead(&self, leader: Leader, call: Call, at_once: bool) {
        let engine = self.clone();
        let at_once = at_once || !call.query.is_shared();
        let flight = async move {
            let completed = if at_once {
                engine.ask_or_fail(&leader, &call, None).await
            } else {
                let completed = engine.ask_unless_answered(&leader, call).await;
                completed.unwrap_or_else(|error| Completed::Failed(error, None, None))
            };
            leader.complete(completed);
        };
        self.tasks.spawn(flight.with_current_context());
    }

    /// Asks the provider, unless the answer was stored since the caller looked, or another process that shares the
    /// store asks.
    async fn ask_unless_answered(&self, leader: &Leader, mut call: Call) -> Result<Completed, QueryError> {
        let Some(claims) = self.parts.store.claims() else {
            if let Some((hit, opinion)) = self.look_again(&mut call).await? {
                return Ok(Completed::Found(hit, opinion));
            }
            return Ok(self.settle_or_ask(leader, &mut call, None).await);
        };
        let flight =
            FlightKey { project: call.caller.project.id, scope: call.scope.key(), prompt: call.prompt_hash };
        let claimed = self.claim(claims, flight, &call.query, &call.scope);
        // Another process may take its time.
        let claimed = self.parts.cut.run_until_cancelled(claimed).await.ok_or(QueryError::Unfinished)?;
        let Some(turn) = call.query.or_open(claimed.map(Some))? else {
            return Ok(self.settle_or_ask(leader, &mut call, None).await);
        };
        match turn {
            Turn::Found(hit) => Ok(Completed::Found(hit, None)),
            Turn::Unanswered(Unanswered { model, failure: Some(error) }) if model == call.query.model => {
                Err(QueryError::Provider(error))
            }
            Turn::Unanswered(_) => Ok(Completed::Unshared(QueryError::Unfinished)),
            Turn::Unclaimed => {
                // It may have waited.
                self.renew(&mut call).await?;
                Ok(self.settle_or_ask(leader, &mut call, None).await)
            }
            Turn::Ours(claim) => {
                let work = async {
                    if claim.waited {
                        self.renew(&mut call).await?;
                    }
                    Ok(self.settle_or_ask(leader, &mut call, Some(&claim)).await)
                };
                let completed = claim.hold(work).await;
                if let Some(ended) = unanswered(&call, &completed) {
                    claim.release(&ended).await;
                }
                completed
            }
        }
    }

    /// Brings a call up to date that waited for another process.
    async fn renew(&self, call: &mut Call) -> Result<(), QueryError> {
        call.caller.providers = self.still_serves(&call.caller, &call.query).await?;
        call.route = self.route(&call.caller, &call.query).await?;
        Ok(())
    }

    /// A hit that was stored since the caller looked; without one, notes in `call` what is near.
    async fn look_again(&self, call: &mut Call) -> Result<Option<(Hit, Option<Opinion>)>, QueryError> {
        let (judge, query) = (self.judge_of(call), &call.query);
        let exact = self.exact(None, query, &call.scope, call.prompt_hash).await;
        if let Some(hit) = query.or_open(exact)? {
            return Ok(Some((hit, None)));
        }
        // Further down than a hit needs: analytics shows near misses, to choose a threshold by.
        let floor = judge.threshold().min(Threshold::NEAR);
        let vector = call.vector.as_ref();
        let found = self.nearest(query, &call.scope, vector, &judge, floor).await;
        let found = query.or_open(found)?;
        if let Some(hit) = found.hit {
            return Ok(Some((hit, found.near.opinion)));
        }
        (call.near, call.uncertain) = (found.near, found.uncertain);
        Ok(None)
    }

    /// Has the project's model decide where the guard is uncertain, and asks the provider if that gives no answer.
    async fn settle_or_ask(&self, leader: &Leader, call: &mut Call, claim: Option<&Claim<'_>>) -> Completed {
        let (hit, opinion) = self.second_opinion(call).await;
        call.near.opinion = opinion;
        match hit {
            Some(hit) => Completed::Found(hit, opinion),
            None => self.ask_or_fail(leader, call, claim).await,
        }
    }

    /// Asks the provider. What the project's model said before is paid for without an answer, too.
    async fn ask_or_fail(&self, leader: &Leader, call: &Call, claim: Option<&Claim<'_>>) -> Completed {
        let asked = self.ask(leader, call, claim).await;
        asked.unwrap_or_else(|error| Completed::Failed(error, call.near.opinion, None))
    }

    /// Asks the provider, and stores the answer if it may be stored, which ends the claim.
    async fn ask(
        &self,
        leader: &Leader,
        call: &Call,
        claim: Option<&Claim<'_>>,
    ) -> Result<Completed, QueryError> {
        if let Some(wired) = &call.query.wire {
            return self.forward(leader, call, wired, claim).await;
        }
        let provider = provider_of(call)?;
        let _slot = self.slots.one(call.caller.project.id).ok_or(QueryError::Overloaded)?;
        let query = &call.query;
        let mut upstream = Upstream::begin(provider.name(), Endpoint::Chat, &query.model);
        let asked = provider.complete(&query.model, query.context.as_deref(), &query.prompt);
        let asked = asked.with_context(upstream.context());
        let asked = self.unless_down(call.caller.project.id, provider, asked);
        let began = Instant::now();
        let asked = self.parts.cut.run_until_cancelled(asked).await.ok_or(QueryError::Unfinished)?;
        upstream.answered(asked.as_ref().map(|(completion, _)| completion));
        upstream.end();
        let (completion, timed) = match asked {
            Ok(answered) => answered,
            Err(mut error) => {
                let part = self.part_of(call, &mut error, began.elapsed()).await;
                if let Some(part) = &part {
                    upstream.bought(part);
                }
                return Ok(Completed::Failed(error.into(), call.near.opinion, part.map(Arc::new)));
            }
        };
        let provider_time = timed.end();

        let (verdict, told) = (may_store(&completion), completion.usage);
        let entry = self.entry_of(call, provider.name(), completion, None).await?;
        let fresh = self.fresh(call, claim, entry, told, verdict, provider_time).await;
        upstream.bought(&fresh);
        Ok(Completed::Answered(Arc::new(fresh)))
    }

    /// What came of an answer that ended in this error. The error goes on without it.
    async fn part_of(&self, call: &Call, error: &mut ProviderError, time: Duration) -> Option<Fresh> {
        let part = Partial::cut_off(*error.part.take()?.0);
        let verdict = Err(part.why);
        self.fresh_part(call, &error.provider, part, verdict, time).await
    }

    /// What came of an answer, with its cost.
    pub(super) async fn fresh_part(
        &self,
        call: &Call,
        provider: &str,
        Partial { completion, why, beginning }: Partial,
        verdict: Result<(), NotStored>,
        provider_time: Duration,
    ) -> Option<Fresh> {
        let told = completion.usage;
        let so_far = told.filter(|_| why == NotStored::UnknownFinish).map(|_| completion.written());
        let mut entry = self.entry_of(call, provider, completion, None).await.ok()?;
        let Answer { output_tokens, tokens_estimated, .. } = &mut entry.answer;
        if let Some((read, all)) = beginning.filter(|_| *tokens_estimated) {
            *output_tokens = output_tokens.saturating_mul(all as u64) / read.max(1) as u64;
        }
        if let Some(written) = so_far {
            // A count that is told before the end may be that of the first word alone, as Anthropic's is.
            let counted = self.tokens.text(&call.query, written).await;
            *output_tokens = counted.tokens.max(*output_tokens);
        }
        Some(self.fresh(call, None, entry, told, verdict, provider_time).await)
    }

    /// The answer of a call, with its cost. It is stored if the `verdict` allows that. `told` is what the provider said of the tokens.
    pub(super) async fn fresh(
        &self,
        call: &Call,
        claim: Option<&Claim<'_>>,
        entry: Entry,
        told: Option<TokenUsage>,
        verdict: Result<(), NotStored>,
        provider_time: Duration,
    ) -> Fresh {
        let bought = Arc::new(entry);
        let Answer { input_tokens, output_tokens, .. } = bought.answer;
        let told = told.unwrap_or_default();
        let usage = TokenUsage { input_total: input_tokens, output_total: output_tokens, ..told };
        let spent = self.spent(call, &bought, &usage);
        let (entry, stored) = match verdict {
            Ok(()) => self.keep(call, claim, Arc::clone(&bought)).await,
            Err(reason) => (Arc::clone(&bought), Err(reason)),
        };
        Fresh { entry, bought, stored, usage, spent, near: call.near, provider_time }
    }

    /// Stores the answer. An answer that cannot be stored is returned all the same: it is paid for.
    async fn keep(
        &self,
        call: &Call,
        claim: Option<&Claim<'_>>,
        entry: Arc<Entry>,
    ) -> (Arc<Entry>, Result<(), NotStored>) {
        let embedder = self.parts.embedder.id();
        let new = NewEntry {
            scope: call.scope.clone(),
            prompt_hash: call.prompt_hash,
            entry: Entry::clone(&entry),
            vectors: call.vector.iter().map(|vector| (embedder.clone(), vector.clone())).collect(),
            now: self.parts.clock.now(),
            replaces: call.query.wire.as_ref().is_some_and(|wired| wired.replaces()),
            purges: Some(call.caller.project.purges),
        };
        let inserted = match claim {
            Some(claim) => claim.store(new).await,
            None => self.parts.store.insert(new).await,
        };
        match inserted {
            Ok(Inserted::New) => (entry, Ok(())),
            Ok(Inserted::Twin(twin)) => (twin, Ok(())),
            Err(error) => {
                let project = call.caller.project.id;
                if matches!(error, StoreError::Conflict(_)) {
                    tracing::info!(project.id = %project, error = %error, "an answer was not stored");
                } else {
                    tracing::error!(project.id = %project, error = %error, "an answer could not be stored");
                }
                (entry, Err(NotStored::StoreUnavailable))
            }
        }
    }

    pub(super) async fn entry_of(
        &self,
        call: &Call,
        provider: &str,
        completion: Completion,
        record: Option<Bytes>,
    ) -> Result<Entry, QueryError> {
        let now = self.parts.clock.now();
        let (input_tokens, output_tokens, tokens_estimated) = if let Some(usage) = completion.usage {
            (usage.input_total, usage.output_total, false)
        } else {
            let input = self.tokens.input(call.scope.key(), &call.query).await;
            let output = self.tokens.text(&call.query, completion.written()).await;
            (input.tokens, output.tokens, true)
        };
        Ok(Entry {
            id: EntryId::generate(now, &*self.parts.entropy)
                .map_err(|error| QueryError::Internal(error.to_string()))?,
            prompt: call.query.prompt.clone(),
            model: call.query.model.clone(),
            answer: Answer {
                text: completion.text,
                provider: provider.to_owned(),
                served_model: completion.model,
                input_tokens,
                output_tokens,
                tokens_estimated,
                record,
            },
            created: now,
            expires: call.expires(now),
        })
    }
}

pub(super) fn provider_of(call: &Call) -> Result<&dyn Provider, QueryError> {
    match &call.route {
        Route::To(provider) => Ok(&**provider),
        Route::NoCredentials(keyless) => Err(QueryError::NoCredentials(keyless.clone())),
        Route::Unsupported => Err(QueryError::ModelNotSupported { model: call.query.model.clone() }),
    }
}

/// What to tell other processes of a flight that stored nothing.
fn unanswered(call: &Call, completed: &Result<Completed, QueryError>) -> Option<Unanswered> {
    let failure = match completed {
        Ok(Completed::Answered(fresh)) if fresh.stored.is_ok() => return None,
        Ok(Completed::Failed(QueryError::Provider(error), ..)) | Err(QueryError::Provider(error)) => {
            Some(error.clone())
        }
        _ => None,
    };
    Some(Unanswered { model: call.query.model.clone(), failure })
}
