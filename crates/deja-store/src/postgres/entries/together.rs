//! Searches that seek the very same at the same time. Of many clients that send one prompt, each searches before it knows that
//! a provider is asked already. One search serves all who came before it began. Nobody takes what a search found that began
//! before: feedback and deletions hold for the very next request.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroUsize;
use std::sync::Arc;

use deja_core::cache::{Candidate, PromptHash, Scope, ScopeKey};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding, Threshold};
use deja_core::store::{Probe, StoreError};
use parking_lot::Mutex;
use tokio::time::timeout;

use super::super::PostgresStore;
use super::super::fault::too_late;

/// The prompts that are searched for.
#[derive(Default)]
pub(in super::super) struct Together(Mutex<HashMap<Prompt, Sought>>);

type Prompt = (ScopeKey, PromptHash);

/// A group, and how many are in it.
type Sought = (Arc<Group>, usize);

/// Those who seek the same.
struct Group {
    embedder: EmbedderId,
    embedding: Embedding,
    threshold: Threshold,
    limit: NonZeroUsize,
    rounds: Rounds<Vec<Candidate>>,
}

/// One of a group, which goes with its last one.
struct Member<'a> {
    together: &'a Together,
    prompt: Prompt,
    group: Arc<Group>,
}

impl Together {
    /// Joins those who seek the same; `None` if others seek something else for the same prompt.
    fn join(&self, scope: &Scope, probe: &Probe<'_>) -> Option<Member<'_>> {
        let prompt = (scope.key(), probe.prompt);
        let mut groups = self.0.lock();
        let (group, members) = groups.entry(prompt).or_insert_with(|| {
            let group = Group {
                embedder: probe.embedder.clone(),
                embedding: probe.embedding.clone(),
                threshold: probe.threshold,
                limit: probe.limit,
                rounds: Rounds::default(),
            };
            (Arc::new(group), 0)
        });
        let is_same = group.embedder == *probe.embedder
            && group.embedding == *probe.embedding
            && (group.threshold, group.limit) == (probe.threshold, probe.limit);
        *members += usize::from(is_same);
        is_same.then(|| Member { together: self, prompt, group: Arc::clone(group) })
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if let Entry::Occupied(mut sought) = self.together.0.lock().entry(self.prompt) {
            sought.get_mut().1 -= 1;
            if sought.get().1 == 0 {
                sought.remove();
            }
        }
    }
}

/// See `Entries::nearest`.
pub(super) async fn nearest(
    store: &PostgresStore,
    scope: &Scope,
    probe: Probe<'_>,
    now: Timestamp,
) -> Result<Vec<Candidate>, StoreError> {
    let member = store.together.join(scope, &probe);
    let search = super::nearest::nearest(store, scope, probe, now);
    let Some(member) = member else { return search.await };
    // One that is under way, and the next.
    let patience = 2 * store.connections.patience();
    let found = timeout(patience, member.group.rounds.take(search)).await;
    let mut found = found.map_err(|_| too_late("an equal search"))??;
    let is_full = found.len() >= probe.limit.get();
    found.retain(|candidate| candidate.entry.is_live(now));
    if is_full && found.len() < probe.limit.get() {
        // Others stand behind those that have expired since.
        return super::nearest::nearest(store, scope, probe, now).await;
    }
    Ok(found)
}

/// Rounds of the same question, one after the other.
struct Rounds<T> {
    /// Whoever asks has it.
    turn: tokio::sync::Mutex<()>,
    answers: Mutex<Answers<T>>,
}

struct Answers<T> {
    begun: u64,
    /// Of the last round that had one, with its number.
    last: Option<(u64, T)>,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self { turn: tokio::sync::Mutex::default(), answers: Mutex::new(Answers { begun: 0, last: None }) }
    }
}

impl<T: Clone> Rounds<T> {
    /// The answer of a round that begins from now on: one that `asked` gives, unless somebody else asks sooner.
    async fn take<E>(&self, asked: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let before = self.answers.lock().begun;
        let _turn = self.turn.lock().await;
        let number = {
            let mut answers = self.answers.lock();
            if let Some((number, answer)) = &answers.last
                && *number > before
            {
                return Ok(answer.clone());
            }
            answers.begun += 1;
            answers.begun
        };
        let answer = asked.await?;
        self.answers.lock().last = Some((number, answer.clone()));
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn who_comes_while_one_asks_has_the_answer_of_the_next_round() {
        let (rounds, over) = (Rounds::default(), Notify::new());
        let mut first = Box::pin(rounds.take(async {
            over.notified().await;
            Ok::<_, ()>(1)
        }));
        assert!(poll!(&mut first).is_pending());
        let [mut gone, mut second, mut third] =
            [2, 3, 4].map(|own| Box::pin(rounds.take(async move { Ok::<_, ()>(own) })));
        for waiting in [&mut gone, &mut second, &mut third] {
            assert!(poll!(waiting).is_pending());
        }
        over.notify_one();
        assert_eq!(first.await, Ok(1));
        drop(gone);
        assert_eq!(second.await, Ok(3));
        assert_eq!(third.await, Ok(3), "it came before that round began");
        assert_eq!(rounds.take(async { Err::<i32, _>(()) }).await, Err(()), "no round has begun since");
    }
}
