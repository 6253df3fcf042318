//! Labels and wrong answers of the reference store.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::entries::{rounded, similarity};
use super::{MemoryStore, State};
use crate::audit::Change;
use crate::cache::{Answered, Label, LabelSource, Labelled, Met, PromptHash, ShortLabel, WrongAnswer};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Similarity};
use crate::id::{EntryId, ProjectId};
use crate::store::{
    CLOCK_SKEW, Labels, NewLabel, Probe, QUARANTINE_FROM, QUARANTINE_WITHIN, Quarantined, StoreError,
    WrongAnswers,
};

/// A wrong answer, with the vector of what was asked.
pub(super) struct Wrong {
    pub(super) project: ProjectId,
    answer: WrongAnswer,
    vector: Option<(EmbedderId, Vec<f32>)>,
}

impl Wrong {
    fn pair(&self) -> (PromptHash, PromptHash) {
        (PromptHash::of(&self.answer.asked), PromptHash::of(&self.answer.matched))
    }

    fn is_of(&self, project: ProjectId, one: &str, other: &str) -> bool {
        let (asked, matched) = (&*self.answer.asked, &*self.answer.matched);
        self.project == project && ((asked, matched) == (one, other) || (asked, matched) == (other, one))
    }
}

impl State {
    pub(super) fn is_forbidden(
        &self,
        project: ProjectId,
        probe: &Probe<'_>,
        matched: &PromptHash,
        near: Similarity,
    ) -> bool {
        let forbids = |wrong: &Wrong| {
            let (asked, of) = wrong.pair();
            let nearer = |(by, vector): &(EmbedderId, Vec<f32>)| {
                by == probe.embedder
                    && vector.len() == probe.embedding.dimension()
                    && similarity(vector, probe.embedding) > near
            };
            (asked, of) == (probe.prompt, *matched)
                || (of, asked) == (probe.prompt, *matched)
                || of == *matched && wrong.vector.as_ref().is_some_and(nearer)
        };
        probe.prompt != *matched && self.wrong.iter().any(|wrong| wrong.project == project && forbids(wrong))
    }

    pub(super) fn forget_what_was_of_gone_entries(&mut self) {
        let entries = &self.entries;
        self.labels.retain(|(project, label)| entries.contains_key(&(*project, label.entry)));
        self.answered.retain(|_, answered| entries.contains_key(&(answered.project, answered.entry)));
        self.quarantine.retain(|place, _| entries.contains_key(place));
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// How many different prompts the entry answered wrongly from `since` on, as people said.
    fn wrongly_answered(&self, project: ProjectId, entry: EntryId, since: Timestamp) -> usize {
        let of_entry = self.labels.iter().filter(|(owner, label)| (*owner, label.entry) == (project, entry));
        let wrong = of_entry.map(|(_, label)| label).filter(|label| {
            label.source != LabelSource::Judge
                && (label.met, label.answers) == (Met::Served, false)
                && label.at > since
        });
        wrong.map(|label| &label.asked).collect::<BTreeSet<_>>().len()
    }
}

/// Removes up to `limit` that are not among the newest of their project, and says how many.
fn surplus<T, K: Ord>(
    all: &mut Vec<T>,
    project: impl Fn(&T) -> ProjectId,
    age: impl Fn(&T) -> K,
    newest: NonZeroUsize,
    limit: NonZeroUsize,
) -> usize {
    let rank =
        |one: &T| all.iter().filter(|other| project(other) == project(one) && age(other) > age(one)).count();
    let old: Vec<bool> = all.iter().map(|one| rank(one) >= newest.get()).collect();
    let mut old = old.into_iter();
    all.extract_if(.., |_| old.next() == Some(true)).take(limit.get()).count()
}

#[async_trait]
impl Labels for MemoryStore {
    async fn label(
        &self,
        project: ProjectId,
        new: NewLabel<'_>,
        change: &Change,
    ) -> Result<Option<Labelled>, StoreError> {
        let mut state = self.state();
        let Some(stored) = state.entries.get(&(project, new.entry)) else { return Ok(None) };
        let (matched, model) = (stored.entry.prompt.clone(), stored.entry.model.clone());
        let (at, source, similarity) = (change.at, new.source, new.similarity);
        state.labels.retain(|(owner, old)| {
            (*owner, old.entry, old.source, &*old.asked) != (project, new.entry, source, new.asked)
        });
        let number = state.next_number();
        let label = Label {
            number,
            at,
            source,
            asked: new.asked.to_owned(),
            entry: new.entry,
            matched: matched.clone(),
            similarity,
            met: new.met,
            answers: new.answers,
            note: new.note.map(str::to_owned),
        };
        state.labels.push((project, label));
        let forbids = !new.answers && new.met == Met::Served;
        if source == LabelSource::Judge || !(forbids || new.answers) {
            return Ok(Some(Labelled::Kept));
        }
        let same = |wrong: &mut Wrong| {
            let WrongAnswer { source: by, asked, matched: of, .. } = &wrong.answer;
            (wrong.project, *by, &**asked, of) == (project, source, new.asked, &matched)
        };
        let allowed = state.wrong.extract_if(.., same).count() > 0;
        if new.answers {
            state.note_if(allowed, change);
            return Ok(Some(if allowed { Labelled::Allowed } else { Labelled::Kept }));
        }
        let (asked, number) = (new.asked.to_owned(), state.next_number());
        let answer = WrongAnswer { number, at, source, asked, matched, similarity, model };
        let vector = new.vector.map(|(by, vector)| (by.clone(), rounded(vector)));
        state.wrong.push(Wrong { project, answer, vector });
        state.changes.push(change.clone());
        let wrongly = state.wrongly_answered(project, new.entry, at.minus(QUARANTINE_WITHIN));
        let place = (project, new.entry);
        if wrongly < QUARANTINE_FROM || state.quarantine.contains_key(&place) {
            return Ok(Some(Labelled::Forbidden));
        }
        state.quarantine.insert(place, at);
        state.changes.push(change.quarantining());
        Ok(Some(Labelled::Quarantined))
    }

    async fn labels(
        &self,
        project: ProjectId,
        since: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<Label>, StoreError> {
        let state = self.state();
        let mut labels: Vec<_> = state.labels.iter().filter(|(owner, _)| *owner == project).collect();
        labels.retain(|(_, label)| label.at >= since);
        labels.sort_by_key(|(_, label)| Reverse(label.number));
        Ok(labels.into_iter().take(limit.get()).map(|(_, label)| label.clone()).collect())
    }

    async fn short_labels(
        &self,
        project: ProjectId,
        limit: NonZeroUsize,
    ) -> Result<Vec<ShortLabel>, StoreError> {
        let labels = self.labels(project, Timestamp::from_nanos(i64::MIN), limit).await?;
        let short = |Label { asked, entry, source, answers, .. }: Label| ShortLabel {
            asked: PromptHash::of(&asked),
            entry,
            source,
            answers,
        };
        Ok(labels.into_iter().map(short).collect())
    }

    async fn keep_answered(&self, answered: &[Answered]) -> Result<(), StoreError> {
        let mut state = self.state();
        for one in answered {
            if state.entries.contains_key(&(one.project, one.entry)) {
                state.answered.insert((one.project, one.request.clone()), one.clone());
            }
        }
        Ok(())
    }

    async fn answered(&self, project: ProjectId, request: &str) -> Result<Option<Answered>, StoreError> {
        Ok(self.state().answered.get(&(project, request.to_owned())).cloned())
    }

    async fn sweep_labels(
        &self,
        now: Timestamp,
        newest: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<u64, StoreError> {
        let mut state = self.state();
        for one in state.answered.values_mut().filter(|one| one.at > now.plus(CLOCK_SKEW)) {
            one.at = now;
        }
        let mut gone = surplus(&mut state.labels, |(id, _)| *id, |(_, label)| label.number, newest, limit);
        gone += surplus(&mut state.wrong, |wrong| wrong.project, |wrong| wrong.answer.number, newest, limit);
        let mut answered: Vec<_> = std::mem::take(&mut state.answered).into_iter().collect();
        let age = |(_, one): &((ProjectId, String), Answered)| (one.at, one.request.clone());
        gone += surplus(&mut answered, |((id, _), _)| *id, age, newest, limit);
        state.answered = answered.into_iter().collect();
        Ok(gone as u64)
    }
}

#[async_trait]
impl WrongAnswers for MemoryStore {
    async fn is_forbidden(
        &self,
        project: ProjectId,
        probe: Probe<'_>,
        matched: &PromptHash,
        similarity: Similarity,
    ) -> Result<bool, StoreError> {
        Ok(self.state().is_forbidden(project, &probe, matched, similarity))
    }

    async fn wrong_answers(
        &self,
        project: ProjectId,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError> {
        let state = self.state();
        let of_project = state.wrong.iter().rev().filter(|wrong| wrong.project == project);
        let older = of_project.map(|wrong| &wrong.answer);
        let older = older.filter(|wrong| before.is_none_or(|before| wrong.number < before));
        Ok(older.take(limit.get()).cloned().collect())
    }

    async fn allow(&self, project: ProjectId, number: u64, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let found =
            state.wrong.iter().find(|wrong| (wrong.project, wrong.answer.number) == (project, number));
        let Some((asked, matched)) =
            found.map(|wrong| (wrong.answer.asked.clone(), wrong.answer.matched.clone()))
        else {
            return Ok(false);
        };
        state.wrong.retain(|wrong| !wrong.is_of(project, &asked, &matched));
        state.labels.retain(|(owner, label)| {
            let pair = (&label.asked, &label.matched);
            let of_pair = pair == (&asked, &matched) || pair == (&matched, &asked);
            *owner != project
                || !of_pair
                || label.source == LabelSource::Judge
                || (label.met, label.answers) != (Met::Served, false)
        });
        Ok(state.note_if(true, change))
    }

    async fn quarantine(
        &self,
        project: ProjectId,
        limit: NonZeroUsize,
    ) -> Result<Vec<Quarantined>, StoreError> {
        let state = self.state();
        let of_project = state.quarantine.iter().filter(|((owner, _), _)| *owner == project);
        let mut all: Vec<_> =
            of_project.map(|((_, entry), since)| Quarantined { entry: *entry, since: *since }).collect();
        all.sort_by_key(|one| Reverse((one.since, one.entry)));
        all.truncate(limit.get());
        Ok(all)
    }

    async fn quarantined(&self, project: ProjectId, entry: EntryId) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.state().quarantine.get(&(project, entry)).copied())
    }

    async fn end_quarantine(
        &self,
        project: ProjectId,
        entry: EntryId,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let found = state.quarantine.remove(&(project, entry)).is_some();
        Ok(state.note_if(found, change))
    }
}
