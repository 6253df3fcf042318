//! Single-flight: one upstream call for a prompt, and for paraphrases of it, however many callers wait.
//!
//! A flight is run by a task of its own. Callers only watch it, so a caller that hangs up changes nothing,
//! and a flight that panics is an error for its watchers, never a hang. Whoever asks for the same in a wire format reads the
//! answer along as it comes; whoever asks in other words waits until it is known to be one that may be stored.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use crate::cache::policy::NotStored;
use crate::cache::{Entry, Hit, Judge, ScopeKey, Verdict};
use crate::embedding::{Embedding, Similarity, Threshold};
use crate::engine::live::{Live, ReplayBuffer};
use crate::engine::search::Near;
use crate::engine::{CANDIDATES, Opinion, Query, QueryError};
use crate::money::NanoUsd;
use crate::provider::TokenUsage;

/// The longest prompt whose call may serve a paraphrase: longer ones take long to judge.
const JUDGED_BYTES: usize = 8 * 1024;

/// How a flight ended.
#[derive(Clone, Debug)]
pub(super) enum Completed {
    /// With a fresh answer.
    Answered(Arc<Fresh>),
    /// With an answer from the cache: stored meanwhile, or one that the project's model says to fit.
    Found(Hit, Option<Opinion>),
    /// With nothing that answers other queries, and why: each of them makes its own call.
    Unshared(QueryError),
    /// Without an answer. The opinion of the project's model is paid for all the same, and so is what came of an answer.
    Failed(QueryError, Option<Opinion>, Option<Arc<Fresh>>),
}

/// A fresh answer.
#[derive(Debug)]
pub(super) struct Fresh {
    /// The answer, as an entry even when it was not stored.
    pub entry: Arc<Entry>,
    /// What this call bought. It is the answer, unless another call's had been stored meanwhile.
    pub bought: Arc<Entry>,
    /// Whether it was stored, and if not, why.
    pub stored: Result<(), NotStored>,
    /// The tokens of the call, told or counted.
    pub usage: TokenUsage,
    /// What the call cost, where the price is known.
    pub spent: NanoUsd,
    /// The nearest entries, which did not answer.
    pub near: Near,
    /// How long the provider took.
    pub provider_time: Duration,
}

/// Whose flights a caller takes part in. After a flight that gave the caller no answer, its reach is narrower. So nobody waits
/// for more than two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Flights of the same prompt and of paraphrases.
    Similar,
    /// Flights of the same prompt to the same model that ask the provider at once, as this caller does from now on, and whose answer
    /// it may read along if it has a wire format.
    Same,
    /// The caller's own flight alone.
    Own,
}

impl Reach {
    /// The reach after a flight that gave the caller no answer.
    pub(super) const fn narrower(self) -> Self {
        match self {
            Self::Similar => Self::Same,
            Self::Same | Self::Own => Self::Own,
        }
    }
}

/// How far a flight is.
#[derive(Clone, Default)]
struct Progress {
    /// The answer on its way, if it is passed on as it comes.
    live: Option<Arc<ReplayBuffer>>,
    /// Whoever waits for the whole answer gets none.
    unshared: bool,
    ended: Option<Completed>,
}

impl Progress {
    /// Whether there is an answer to read along, or it is known that there will be none.
    fn has_begun(&self) -> bool {
        self.live.is_some() || self.ended.is_some()
    }
}

/// The callers who want the answer of a flight.
#[derive(Default)]
pub(super) struct Audience {
    seated: AtomicUsize,
    left: Notify,
    /// When a place was given up last.
    left_at: Mutex<Option<Instant>>,
}

impl Audience {
    /// One more place in the audience.
    pub(super) fn seat(self: Arc<Self>) -> Seat {
        self.seated.fetch_add(1, Ordering::SeqCst);
        Seat(self)
    }

    /// Whether nobody wants the answer any more.
    pub(super) fn is_gone(&self) -> bool {
        self.seated.load(Ordering::SeqCst) == 0
    }

    /// When a place was given up last.
    pub(super) fn left_at(&self) -> Option<Instant> {
        *self.left_at.lock()
    }

    /// Waits until nobody wants the answer any more.
    pub(super) async fn gone(&self) {
        while !self.is_gone() {
            self.left.notified().await;
        }
    }
}

/// A place in an audience, until it is dropped.
pub(super) struct Seat(Arc<Audience>);

impl Drop for Seat {
    fn drop(&mut self) {
        *self.0.left_at.lock() = Some(Instant::now());
        if self.0.seated.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.left.notify_one();
        }
    }
}

/// A caller's view of a flight.
pub(super) struct Watch {
    progress: watch::Receiver<Progress>,
    seat: Seat,
    /// Brings the answer to the caller that began the flight; `None` for all others.
    first: Option<mpsc::Receiver<Live>>,
}

/// The beginning of an answer, or the end of a flight without one.
pub(super) enum Begun {
    /// The answer is on its way; `None` if its beginning is gone.
    Live(Option<Box<Live>>),
    /// The flight ended before there was an answer to read along.
    Ended(Completed),
}

impl Watch {
    /// Waits for the end, or until it is known that whoever waits for the whole answer gets none.
    pub(super) async fn completed(mut self) -> Completed {
        let ended = self.progress.wait_for(|progress| progress.unshared || progress.ended.is_some()).await;
        match ended.ok().as_deref() {
            Some(Progress { unshared: true, ended: None, .. }) => Completed::Unshared(QueryError::Unfinished),
            progress => Self::end(progress),
        }
    }

    /// Waits until the answer is on its way, or for the end.
    pub(super) async fn begun(mut self) -> Begun {
        let begun = self.progress.wait_for(Progress::has_begun);
        match begun.await.ok().as_deref() {
            Some(Progress { live: Some(live), .. }) => {
                let live = match self.first {
                    Some(mut first) => first.try_recv().ok(),
                    None => live.join(self.seat),
                };
                Begun::Live(live.map(Box::new))
            }
            progress => Begun::Ended(Self::end(progress)),
        }
    }

    /// The end of the flight. Waiting for it takes no place in the audience: it does not say that anybody wants the answer.
    pub(super) fn unseated(&self) -> impl Future<Output = Completed> + Send + use<> {
        let mut progress = self.progress.clone();
        async move { Self::end(progress.wait_for(|progress| progress.ended.is_some()).await.ok().as_deref()) }
    }

    /// The end of the flight; `None` if its answer is passed on as it comes, which the call counts itself.
    pub(super) fn uncounted(&self) -> impl Future<Output = Option<Completed>> + Send + use<> {
        let mut progress = self.progress.clone();
        async move {
            let begun = progress.wait_for(Progress::has_begun).await.ok();
            match begun.as_deref() {
                Some(Progress { live: Some(_), .. }) => None,
                progress => Some(Self::end(progress)),
            }
        }
    }

    fn end(progress: Option<&Progress>) -> Completed {
        let ended = progress.and_then(|progress| progress.ended.clone());
        ended.unwrap_or_else(|| Completed::Failed(ended_early(), None, None))
    }
}

/// Why a flight gave nothing whose task ended without a word, as one that panics does.
pub(super) fn ended_early() -> QueryError {
    QueryError::Internal("the upstream task ended early".into())
}

/// How a caller takes part in a flight.
pub(super) enum Joined {
    /// The caller has to run the flight, and watches it as all others do.
    Leads(Leader, Watch),
    /// The caller waits for the flight of another query.
    Follows {
        watch: Watch,
        /// The query that began the flight.
        led: Arc<Query>,
        /// How similar its prompt is to the caller's; 1 is the same prompt.
        similarity: Similarity,
    },
}

struct Flight {
    query: Arc<Query>,
    vector: Option<Embedding>,
    reach: Reach,
    progress: watch::Receiver<Progress>,
    audience: Arc<Audience>,
}

impl Flight {
    fn follow(&self, similarity: Similarity) -> Joined {
        let seat = Arc::clone(&self.audience).seat();
        let watch = Watch { progress: self.progress.clone(), seat, first: None };
        Joined::Follows { watch, led: self.query.clone(), similarity }
    }

    fn is_open_to(&self, query: &Query, reach: Reach) -> bool {
        let same_prompt = self.query.asks_the_same(query);
        match reach {
            Reach::Similar => same_prompt,
            // In a wire format only who reads along gets an answer that is not stored, as may be this one again.
            Reach::Same => {
                same_prompt
                    && self.query.model == query.model
                    && self.reach != Reach::Similar
                    && (query.wire.is_none() || query.reads_along(&self.query))
            }
            Reach::Own => false,
        }
    }
}

/// All flights under way.
#[derive(Default)]
pub(super) struct Flights {
    by_scope: Mutex<HashMap<ScopeKey, Vec<Flight>>>,
}

impl Flights {
    /// Joins a flight of `scope` within `reach`: the flight of the same prompt, else that of the most similar prompt whose
    /// answer `judge` accepts. If there is none, starts one. Other callers do not wait while prompts are judged.
    pub(super) fn join(
        self: &Arc<Self>,
        scope: ScopeKey,
        query: &Arc<Query>,
        vector: Option<&Embedding>,
        judge: &Judge<'_>,
        reach: Reach,
    ) -> Joined {
        let mut judged = Judgements::default();
        loop {
            let near = match self.step(scope, query, vector, judge.threshold(), reach, &judged) {
                Step::Joined(joined) => return joined,
                Step::Judge(near) => near,
            };
            let bytes: usize = near.iter().map(|(led, _)| led.prompt.len()).sum();
            judged.taken = judge.reading(bytes, || {
                near.into_iter().find(|(led, similarity)| {
                    let answers = judge.may_read_on()
                        && judge.verdict(&led.prompt, *similarity, false) == Verdict::Semantic;
                    if !answers {
                        judged.refused.push(led.clone());
                    }
                    answers
                })
            });
        }
    }

    /// Takes part in a flight, by the judgements there are. Or says which flights are to be judged first: flights may have
    /// begun since the last judgement.
    fn step(
        self: &Arc<Self>,
        scope: ScopeKey,
        query: &Arc<Query>,
        vector: Option<&Embedding>,
        threshold: Threshold,
        reach: Reach,
        judged: &Judgements,
    ) -> Step {
        let mut by_scope = self.by_scope.lock();
        let flights = by_scope.entry(scope).or_default();
        if let Some(same) = flights.iter().find(|flight| flight.is_open_to(query, reach)) {
            return Step::Joined(same.follow(Similarity::ONE));
        }
        if let Some((led, similarity)) = &judged.taken
            && let Some(flight) = flights.iter().find(|flight| Arc::ptr_eq(&flight.query, led))
        {
            return Step::Joined(flight.follow(*similarity));
        }
        if reach == Reach::Similar && query.prompt.len() <= JUDGED_BYTES {
            let near = nearest(flights, vector, threshold, judged);
            if !near.is_empty() {
                return Step::Judge(near);
            }
        }
        let (leader, watch) = self.alone(scope);
        let (progress, audience) = (watch.progress.clone(), Arc::clone(&leader.audience));
        flights.push(Flight { query: query.clone(), vector: vector.cloned(), reach, progress, audience });
        Step::Joined(Joined::Leads(leader, watch))
    }

    /// A flight that nobody can join.
    pub(super) fn alone(self: &Arc<Self>, scope: ScopeKey) -> (Leader, Watch) {
        let (sender, progress) = watch::channel(Progress::default());
        let audience = Arc::<Audience>::default();
        let (first, comes) = mpsc::channel(1);
        let watch = Watch { progress, seat: Arc::clone(&audience).seat(), first: Some(comes) };
        (Leader { flights: Arc::clone(self), scope, sender, first, audience }, watch)
    }
}

/// The query that began a flight, and how similar its prompt is.
type Similar = (Arc<Query>, Similarity);

/// The judgements of the flights under way.
#[derive(Default)]
struct Judgements {
    /// The query whose answer fits.
    taken: Option<Similar>,
    /// The queries whose answers do not fit.
    refused: Vec<Arc<Query>>,
}

/// What a caller does next.
enum Step {
    Joined(Joined),
    Judge(Vec<Similar>),
}

/// The flights of the most similar prompts that are not judged yet; in all, as many as a search finds.
fn nearest(
    flights: &[Flight],
    vector: Option<&Embedding>,
    threshold: Threshold,
    judged: &Judgements,
) -> Vec<Similar> {
    let Some(vector) = vector else { return Vec::new() };
    let is_open = |flight: &&Flight| {
        flight.query.prompt.len() <= JUDGED_BYTES
            && !judged.refused.iter().any(|query| Arc::ptr_eq(query, &flight.query))
    };
    let similar = |flight: &Flight| {
        let similarity = flight.vector.as_ref()?.similarity(vector);
        threshold.reached_by(similarity).then(|| (flight.query.clone(), similarity))
    };
    let mut near: Vec<_> = flights.iter().filter(is_open).filter_map(similar).collect();
    near.sort_by(|a, b| b.1.get().total_cmp(&a.1.get()));
    near.truncate(CANDIDATES.get().saturating_sub(judged.refused.len()));
    near
}

/// The right and duty to end a flight. Dropping it ends the flight as failed.
pub(super) struct Leader {
    flights: Arc<Flights>,
    scope: ScopeKey,
    sender: watch::Sender<Progress>,
    first: mpsc::Sender<Live>,
    audience: Arc<Audience>,
}

impl Leader {
    /// The callers that want the answer.
    pub(super) fn audience(&self) -> &Audience {
        &self.audience
    }

    /// Lets everybody read along.
    pub(super) fn begin(&self, live: Arc<ReplayBuffer>) {
        // If the caller that began the flight is gone, its reader comes back and is dropped here.
        drop(self.first.try_send(live.first(Arc::clone(&self.audience).seat())));
        self.sender.send_modify(|progress| progress.live = Some(live));
    }

    /// Ends the flight. New callers no longer find it once its watchers know.
    pub(super) fn complete(self, completed: Completed) {
        self.leave();
        self.sender.send_modify(|progress| progress.ended = Some(completed));
    }

    /// Tells whoever waits for the whole answer that they get none, while others read it along. Nobody joins any more.
    pub(super) fn unshare(&self) {
        self.leave();
        self.sender.send_modify(|progress| progress.unshared = true);
    }

    /// Lets nobody join any more.
    pub(super) fn leave(&self) {
        self.leave_if(|| true);
    }

    /// Lets nobody join any more if nobody wants the answer, and says whether that is so. Later callers make calls of their
    /// own: they do not read along an answer that is given up.
    pub(super) fn abandon(&self) -> bool {
        self.leave_if(|| self.audience.is_gone())
    }

    /// Leaves if `wanted`, which is asked while nobody can join.
    fn leave_if(&self, wanted: impl FnOnce() -> bool) -> bool {
        let own = self.sender.subscribe();
        let mut by_scope = self.flights.by_scope.lock();
        if !wanted() {
            return false;
        }
        if let Some(flights) = by_scope.get_mut(&self.scope) {
            flights.retain(|flight| !flight.progress.same_channel(&own));
            if flights.is_empty() {
                by_scope.remove(&self.scope);
            }
        }
        true
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: ScopeKey = ScopeKey([1; 32]);

    fn query(prompt: &str) -> Arc<Query> {
        let (prompt, model, threshold) = (prompt.to_owned(), "m".to_owned(), Threshold::DEFAULT);
        Arc::new(Query { prompt, model, threshold, context: None, request: None, wire: None, room: None })
    }

    /// A step of a caller who asks `prompt`. All prompts have the same vector.
    fn step(flights: &Arc<Flights>, prompt: &str, judged: &Judgements) -> Step {
        let vector = Embedding::new([1.0]).unwrap();
        flights.step(SCOPE, &query(prompt), Some(&vector), Threshold::DEFAULT, Reach::Similar, judged)
    }

    fn begun(flights: &Arc<Flights>, prompt: &str, judged: &Judgements) -> (Leader, Watch) {
        match step(flights, prompt, judged) {
            Step::Joined(Joined::Leads(leader, watch)) => (leader, watch),
            _ => panic!("{prompt} has no flight of its own"),
        }
    }

    fn to_judge(flights: &Arc<Flights>, judged: &Judgements) -> Vec<Similar> {
        match step(flights, "asked", judged) {
            Step::Judge(near) => near,
            Step::Joined(_) => panic!("there is nothing to judge"),
        }
    }

    fn followed(flights: &Arc<Flights>, judged: &Judgements) -> String {
        match step(flights, "asked", judged) {
            Step::Joined(Joined::Follows { led, .. }) => led.prompt.clone(),
            _ => panic!("there is nobody to follow"),
        }
    }

    #[test]
    fn others_begin_flights_while_prompts_are_judged_and_those_count() {
        let flights = Arc::<Flights>::default();
        let _first = begun(&flights, "first", &Judgements::default());
        let near = to_judge(&flights, &Judgements::default());
        let refused: Vec<_> = near.into_iter().map(|(led, _)| led).collect();
        let judged = Judgements { taken: None, refused };
        // Another one began meanwhile: it is judged too, and only that.
        let second = begun(&flights, "second", &judged);
        let near = to_judge(&flights, &judged);
        assert_eq!(near.iter().map(|(led, _)| led.prompt.as_str()).collect::<Vec<_>>(), ["second"]);
        let judged = Judgements { taken: near.into_iter().next(), ..judged };
        assert_eq!(followed(&flights, &judged), "second");
        // The flight ended meanwhile.
        drop(second);
        let _own = begun(&flights, "asked", &judged);
        assert_eq!(followed(&flights, &judged), "asked");
    }

    #[test]
    fn as_many_are_judged_as_a_search_finds() {
        let flights = Arc::<Flights>::default();
        let mut judged = Judgements::default();
        let _led: Vec<_> = (0..CANDIDATES.get() + 2)
            .map(|n| {
                let led = begun(&flights, &format!("{n}"), &judged);
                let newest = flights.by_scope.lock()[&SCOPE].last().unwrap().query.clone();
                judged.refused.push(newest);
                led
            })
            .collect();
        let none = Judgements::default();
        let near = to_judge(&flights, &none);
        assert_eq!(near.len(), CANDIDATES.get());
        let refused = near.into_iter().map(|(led, _)| led).collect();
        begun(&flights, "asked", &Judgements { taken: None, refused });
    }
}
