//! What keys, models and contexts are called in analytics, and the filters that offer them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use deja_core::analytics::{ContextKey, Dimension, OTHER_MODELS, Slice};
use deja_core::api_key::ApiKey;
use deja_core::id::KeyId;
use deja_core::project::Project;
use deja_core::store::Admission;

use super::analytics_query::Asked;
use super::error::ConsoleError;
use super::filter::Select;
use super::page::Visit;
use super::range::Counts;

/// Keys, models and contexts that a filter offers at most.
const OFFERED: usize = 200;
/// What is read: one more tells whether there are more than are offered.
const READ: NonZeroUsize = NonZeroUsize::new(OFFERED + 1).unwrap();

/// The names of a project's keys and of some contexts.
pub(super) struct Names {
    keys: Vec<ApiKey>,
    /// `None` for who may not read texts: they are told contexts apart by numbers.
    contexts: Option<BTreeMap<ContextKey, String>>,
}

impl Names {
    pub(super) async fn read(
        visit: &Visit,
        contexts: impl Iterator<Item = ContextKey>,
    ) -> Result<Self, ConsoleError> {
        let (store, seen) = (visit.store(), visit.seen()?);
        let keys = store.keys(seen.project.id).await?.into_iter().map(|(key, _)| key).collect();
        let contexts = Vec::from_iter(contexts.collect::<BTreeSet<_>>());
        let contexts =
            if seen.texts() { Some(store.context_labels(seen.project.id, &contexts).await?) } else { None };
        Ok(Self { keys, contexts })
    }

    /// What a slice is called that was told apart by this dimension.
    pub(super) fn of(&self, slice: &Slice, by: Dimension) -> String {
        let name = match by {
            Dimension::Key => slice.key.map(|key| self.key(key)),
            Dimension::Model => slice.model.as_deref().map(model_name),
            Dimension::Context => slice.context.map(|context| self.context(context)),
        };
        name.unwrap_or_default()
    }

    pub(super) fn key(&self, id: KeyId) -> String {
        match self.keys.iter().find(|key| key.id == id) {
            Some(key) => format!("{} ({}…)", key.name, key.shown),
            None if id == Admission::CONSOLE => "Console".into(),
            None => "(unknown key)".into(),
        }
    }

    pub(super) fn context(&self, context: ContextKey) -> String {
        match (context, &self.contexts) {
            (ContextKey::WITHOUT, _) => "(no context)".into(),
            (ContextKey::OTHER, _) => "(other contexts)".into(),
            (ContextKey(number), None) => format!("context {number:016x}"),
            (_, Some(labels)) => match labels.get(&context).map(String::as_str) {
                None => "(unknown context)".into(),
                Some("") => "(empty text)".into(),
                Some(label) => label.into(),
            },
        }
    }
}

pub(super) fn model_name(model: &str) -> String {
    match model {
        "" => "(none: refused before)".into(),
        OTHER_MODELS => "(other models)".into(),
        model => model.into(),
    }
}

/// What the filters offer: all names of the range, and the chosen names.
pub(super) struct Offered {
    keys: Vec<KeyId>,
    models: Vec<Arc<str>>,
    pub(super) contexts: Vec<ContextKey>,
    /// What to tell if not all names are offered.
    pub(super) note: Option<String>,
}

impl Offered {
    /// `filtered` are the counts of the filtered requests, by key, model and context. Without a filter these are all.
    pub(super) async fn read(
        visit: &Visit,
        project: &Project,
        asked: &Asked,
        filtered: [&Counts; 3],
    ) -> Result<Self, ConsoleError> {
        let all = Slice::default();
        if asked.slice == all {
            return Ok(Self::of(asked, filtered));
        }
        let by = |dimension| asked.span.counts(visit, project, &all, dimension, READ);
        let (keys, models) = (by(Dimension::Key).await?, by(Dimension::Model).await?);
        Ok(Self::of(asked, [&keys, &models, &by(Dimension::Context).await?]))
    }

    fn of(asked: &Asked, counts: [&Counts; 3]) -> Self {
        let more = counts.iter().any(|counts| counts.len() > OFFERED);
        let [keys, models, contexts] = counts;
        let keys = keys.iter().take(OFFERED).filter_map(|(slice, _)| slice.key);
        let models = models.iter().take(OFFERED).filter_map(|(slice, _)| slice.model.clone());
        let contexts = contexts.iter().take(OFFERED).filter_map(|(slice, _)| slice.context);
        Self {
            keys: with(keys, asked.slice.key),
            models: with(models.filter(|model| !model.is_empty()), asked.slice.model.clone()),
            contexts: with(contexts, asked.slice.context),
            note: more.then(|| {
                format!(
                    "The filters offer the {OFFERED} keys, models and contexts with most requests in this range."
                )
            }),
        }
    }

    pub(super) fn selects(&self, asked: &Asked, names: &Names) -> Vec<Select> {
        let keys = self.keys.iter().map(|key| (key.to_string(), names.key(*key)));
        let models = self.models.iter().map(|model| (model.to_string(), model_name(model)));
        let contexts = self.contexts.iter().map(|key| (key.0.to_string(), names.context(*key)));
        vec![
            Select::new("key", "Key", &asked.wanted.key, keys),
            Select::new("model", "Model", &asked.wanted.model, models),
            Select::new("context", "Context", &asked.wanted.context, contexts),
        ]
    }
}

/// `names`, and the chosen one.
fn with<T: PartialEq>(names: impl Iterator<Item = T>, chosen: Option<T>) -> Vec<T> {
    let mut names: Vec<T> = names.collect();
    names.extend(chosen.filter(|chosen| !names.contains(chosen)));
    names
}
