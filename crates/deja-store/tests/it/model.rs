//! Sequences of operations against the reference model: whatever is done, both stores say the same.

use std::num::NonZeroUsize;
use std::sync::Arc;

use deja_core::analytics::{EntryHits, UsageBatch};
use deja_core::api_key::ApiKey;
use deja_core::audit::AuditFilter;
use deja_core::cache::{Frame, Inserted, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::EmbedderId;
use deja_core::id::ProjectId;
use deja_core::store::{EntryColumn, EntryFilter, EntryOrder, NewLabel, Order, Projects, Store};
use deja_core::testing::{self, MemoryStore, change, change_at};
use proptest::prelude::*;

use crate::postgres::Database;
use crate::support::{NOW, entry, entry_id, near, project, project_id, store_in, vector, wrong};

#[derive(Clone, Debug)]
enum Step {
    Insert { scope: usize, prompt: u32, vector: Option<u32>, ttl: Option<i64> },
    KeepAtMost { project: u8, most: u64 },
    Exact { scope: usize, prompt: u32 },
    Nearest { scope: usize, vector: u32, threshold: f64 },
    Delete { entry: u32 },
    Purge { project: u8, model: Option<u8>, context: Option<u8> },
    Browse { project: u8, text: Option<u8>, order: EntryOrder, limit: usize, after: Option<u32> },
    MarkWrong { entry: u32, asked: u32 },
    Sweep,
    Record { entry: u32 },
    ReplaceVector { entry: u32, vector: Option<u32>, other_embedder: bool },
    CreateKey { key: u8 },
    RevokeKey { key: u8 },
    DeleteProject { project: u8 },
    Advance { seconds: i64 },
    Reopen,
}

const CONTEXTS: [Option<&str>; 3] = [None, Some(""), Some("c")];
const MODELS: [&str; 2] = ["m", "n"];

fn scopes() -> Vec<Scope> {
    let mut scopes = Vec::new();
    for project in [1, 2] {
        for model in MODELS {
            for context in CONTEXTS {
                scopes.push(Scope::new(project_id(project), Frame::query(Some(model), context)));
            }
        }
    }
    scopes
}

fn order() -> impl Strategy<Value = EntryOrder> {
    let by = prop_oneof![Just(EntryColumn::Created), Just(EntryColumn::LastUsed), Just(EntryColumn::Hits)];
    (by, any::<bool>()).prop_map(|(by, descends)| Order { by, descends })
}

fn step() -> impl Strategy<Value = Step> {
    let scope = || prop_oneof![3 => Just(0usize), 1 => 0usize..12];
    let vector = || prop_oneof![0u32..30, 100u32..110];
    prop_oneof![
        10 => (scope(), 0u32..40, prop::option::weighted(0.9, vector()), prop::option::of(1i64..40))
            .prop_map(|(scope, prompt, vector, ttl)| Step::Insert { scope, prompt, vector, ttl }),
        2 => (1u8..3, prop_oneof![1 => Just(1000u64), 1 => 1u64..12])
            .prop_map(|(project, most)| Step::KeepAtMost { project, most }),
        4 => (scope(), 0u32..40).prop_map(|(scope, prompt)| Step::Exact { scope, prompt }),
        8 => (scope(), vector(), prop_oneof![Just(0.0), Just(0.5), Just(0.75), Just(0.85), Just(0.95), Just(1.0)])
            .prop_map(|(scope, vector, threshold)| Step::Nearest { scope, vector, threshold }),
        3 => (0u32..60).prop_map(|entry| Step::Delete { entry }),
        1 => (1u8..3, prop::option::of(0u8..2), prop::option::of(0u8..3))
            .prop_map(|(project, model, context)| Step::Purge { project, model, context }),
        3 => (1u8..3, prop::option::of(0u8..10), order(), 1usize..8, prop::option::of(0u32..60))
            .prop_map(|(project, text, order, limit, after)| Step::Browse { project, text, order, limit, after }),
        2 => (0u32..60, vector()).prop_map(|(entry, asked)| Step::MarkWrong { entry, asked }),
        1 => Just(Step::Sweep),
        3 => (0u32..60).prop_map(|entry| Step::Record { entry }),
        2 => (0u32..60, prop::option::weighted(0.8, vector()), any::<bool>())
            .prop_map(|(entry, vector, other_embedder)| Step::ReplaceVector { entry, vector, other_embedder }),
        1 => (0u8..6).prop_map(|key| Step::CreateKey { key }),
        1 => (0u8..6).prop_map(|key| Step::RevokeKey { key }),
        1 => (1u8..3).prop_map(|project| Step::DeleteProject { project }),
        2 => (0i64..15).prop_map(|seconds| Step::Advance { seconds }),
        1 => Just(Step::Reopen),
    ]
}

fn key(number: u8) -> ApiKey {
    testing::key(number.into(), project_id(number % 2 + 1), NOW)
}

/// What a step is answered with, as text that two stores must agree on.
async fn play(store: &dyn Store, step: &Step, number: u32, now: Timestamp) -> String {
    let scopes = scopes();
    match step {
        Step::Insert { scope, prompt, vector: at, ttl } => {
            let mut new = entry(number, &scopes[*scope], &prompt.to_string());
            (new.entry.created, new.now) = (now, now);
            new.entry.expires = ttl.map(|ttl| Timestamp::from_secs(now.as_secs() + ttl));
            new.vectors = at.map(|at| (EmbedderId::new("e"), vector(at))).into_iter().collect();
            match store.insert(new).await {
                Ok(Inserted::New) => "new".to_owned(),
                Ok(Inserted::Twin(twin)) => format!("twin {twin:?}"),
                Err(error) => format!("{error}"),
            }
        }
        Step::KeepAtMost { project: number, most } => {
            let mut project = project(*number);
            project.settings.max_entries = *most;
            format!("{}", store.update_project(&project, &change()).await.unwrap())
        }
        Step::Exact { scope, prompt } => {
            let hash = PromptHash::of(&prompt.to_string());
            format!("{:?}", store.exact(&scopes[*scope], &hash, now).await.unwrap())
        }
        Step::Nearest { scope, vector: at, threshold } => {
            let found = near(store, &scopes[*scope], &vector(*at), *threshold, now).await;
            // Rounded: the two add up in different order. The order of equals is compared in the suite.
            let mut found: Vec<_> = found
                .iter()
                .map(|found| {
                    let text = &found.entry.answer.text;
                    format!("{:.4} {:?} {}", found.similarity.get(), text, found.forbidden)
                })
                .collect();
            found.sort();
            found.join(", ")
        }
        Step::Delete { entry } => {
            let mut deleted = Vec::new();
            for project in [1, 2] {
                deleted.push(store.delete(project_id(project), entry_id(*entry), &change()).await.unwrap());
            }
            format!("{deleted:?}")
        }
        Step::Purge { project, model, context } => {
            let filter = EntryFilter {
                model: model.map(|at| MODELS[usize::from(at)].to_owned()),
                context: context.map(|at| CONTEXTS[usize::from(at)].map(str::to_owned)),
                ..EntryFilter::default()
            };
            format!("{:?}", store.purge(project_id(*project), &filter, &change()).await.unwrap())
        }
        Step::Browse { project, text, order, limit, after } => {
            browse(store, project_id(*project), *text, *order, *limit, *after).await
        }
        Step::MarkWrong { entry, asked } => mark_wrong(store, *entry, *asked, now).await,
        Step::Sweep => format!("{:?}", store.sweep(now, NonZeroUsize::MAX).await.unwrap()),
        Step::Record { entry } => {
            let mut batch = UsageBatch::default();
            for project in [1, 2] {
                let hits = EntryHits { hits: 1, last_hit: now, ..EntryHits::default() };
                batch.entries.insert((project_id(project), entry_id(*entry)), hits);
            }
            format!("{:?}", store.record(&batch).await.is_ok())
        }
        Step::ReplaceVector { entry, vector: at, other_embedder } => {
            let by = EmbedderId::new(if *other_embedder { "f" } else { "e" });
            let vector = at.map(vector);
            let mut replaced = Vec::new();
            for project in [1, 2] {
                let project = project_id(project);
                replaced
                    .push(store.put_vector(project, entry_id(*entry), &by, vector.as_ref()).await.unwrap());
            }
            // A lease that is over at once, so that a restart, which forgets it, changes nothing.
            let stale = store.claim_stale(&by, None, now, now, NonZeroUsize::new(3).unwrap()).await.unwrap();
            format!("{replaced:?} {:?} {stale:?}", store.stale_count(None, &by, now).await.unwrap())
        }
        Step::CreateKey { key: number } => {
            format!("{:?}", store.create_key(&key(*number), &change()).await.is_ok())
        }
        Step::RevokeKey { key: number } => {
            let key = key(*number);
            let revoked = store.revoke_key(key.project, key.id, &change_at(now)).await.unwrap();
            format!("{revoked} {}", store.key_by_hash(&key.hash).await.unwrap().is_some())
        }
        Step::DeleteProject { project: number } => {
            let deleted = store.delete_project(project_id(*number), &change()).await.unwrap();
            store.create_project(&project(*number), &change()).await.unwrap();
            format!("{deleted}")
        }
        Step::Advance { .. } | Step::Reopen => String::new(),
    }
}

async fn browse(
    store: &dyn Store,
    project: ProjectId,
    text: Option<u8>,
    order: EntryOrder,
    limit: usize,
    after: Option<u32>,
) -> String {
    let filter = EntryFilter { text: text.map(|text| text.to_string()), ..EntryFilter::default() };
    let limit = NonZeroUsize::new(limit).unwrap();
    let seen = match after {
        Some(after) => store.entry(project, entry_id(after)).await.unwrap(),
        None => None,
    };
    let after = seen.map(|seen| order.cursor(&seen));
    format!(
        "{:?} {} {:?} {:?}",
        store.browse(project, &filter, order, after, limit).await.unwrap(),
        store.count_matching(project, &filter).await.unwrap(),
        store.contexts_of(project, NonZeroUsize::new(7).unwrap(), limit).await.unwrap(),
        store.models_of(project, NonZeroUsize::new(7).unwrap(), limit).await.unwrap(),
    )
}

async fn mark_wrong(store: &dyn Store, entry: u32, asked: u32, now: Timestamp) -> String {
    let (by, embedding, asked) = (EmbedderId::new("e"), vector(asked), format!("asked {asked}"));
    let label = NewLabel { vector: Some((&by, &embedding)), ..wrong(entry, &asked) };
    let mut marked = Vec::new();
    for project in [1, 2].map(project_id) {
        let done = store.label(project, label, &change_at(now)).await.unwrap();
        let kept = store.wrong_answers(project, None, NonZeroUsize::MAX).await.unwrap();
        marked.push((done, kept.into_iter().map(|wrong| wrong.matched).collect::<Vec<_>>()));
    }
    format!("{marked:?}")
}

/// Everything that can be read, as text.
async fn everything(store: &dyn Store, now: Timestamp) -> String {
    let mut text = String::new();
    for project in [1, 2] {
        text += &store.count(project_id(project)).await.unwrap().to_string();
        text.push(' ');
    }
    for scope in 0..12 {
        for prompt in 0..40 {
            text += &play(store, &Step::Exact { scope, prompt }, 0, now).await;
        }
        for at in [0, 10, 20, 100] {
            text += &play(store, &Step::Nearest { scope, vector: at, threshold: 0.4 }, 0, now).await;
        }
    }
    let rows = store.changes(&AuditFilter::default(), None, NonZeroUsize::MAX).await.unwrap();
    let changes: Vec<_> = rows.into_iter().map(|row| row.change).collect();
    let changes = format!("{changes:?}");
    text.push_str(&changes);
    for number in 0..6 {
        let admitted = store.key_by_hash(&key(number).hash).await.unwrap().map(|found| found.key.id);
        text.push_str(if admitted.is_some() { "admitted " } else { "refused " });
    }
    text
}

/// Plays the steps on the model and on a store, which `open` opens each time.
async fn compare(steps: &[Step], open: impl AsyncFn() -> Arc<dyn Store>) -> Result<(), TestCaseError> {
    let model = MemoryStore::new();
    let mut store = open().await;
    for number in [1, 2] {
        model.create_project(&project(number), &change()).await.unwrap();
        store.create_project(&project(number), &change()).await.unwrap();
    }
    let mut now = NOW;
    for (number, step) in (0u32..).zip(steps) {
        match step {
            Step::Advance { seconds } => now = Timestamp::from_secs(now.as_secs() + seconds),
            Step::Reopen => {
                store.close().await.unwrap();
                drop(store);
                store = open().await;
            }
            _ => {}
        }
        let expected = play(&*model, step, number, now).await;
        let got = play(&*store, step, number, now).await;
        prop_assert_eq!(got, expected, "step {}: {:?}", number, step);
    }
    prop_assert_eq!(everything(&*store, now).await, everything(&*model, now).await);
    store.close().await.unwrap();
    drop(store);
    let store = open().await;
    prop_assert_eq!(everything(&*store, now).await, everything(&*model, now).await);
    Ok(())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..120)
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() }
}

fn run(test: impl Future<Output = Result<(), TestCaseError>>) -> Result<(), TestCaseError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn any_sequence_gives_what_the_model_gives(steps in steps()) {
        run(async {
            let directory = tempfile::tempdir().unwrap();
            compare(&steps, async || store_in(directory.path()).await).await
        })?;
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn any_sequence_on_postgres_gives_what_the_model_gives(steps in steps()) {
        run(async {
            let database = Database::create().await;
            compare(&steps, async || database.store().await).await
        })?;
    }
}
