//! What is answered: hits, misses, expiry, prices.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deja_core::cache::{Entry, Frame, NewEntry, Scope};
use deja_core::embedding::Threshold;
use deja_core::engine::{NotAllowed, Query, QueryError, Source};
use deja_core::pricing::{ModelPrice, PicoUsdPerToken, PriceOrigin};
use deja_core::project::ProjectSettings;
use deja_core::provider::Completion;
use deja_core::store::Entries;
use deja_core::testing::{change, new_entry};

use crate::util::{Bench, complete, is_miss, query, unguarded};

#[tokio::test]
async fn a_miss_then_the_same_prompt_then_a_paraphrase_then_another() {
    let bench = Bench::new().await;
    assert!(is_miss(&bench.ask("reset|1").await));
    assert_eq!(bench.ask("reset|1").await.source, Source::Exact);
    let Source::Semantic(similarity) = bench.ask("reset|2").await.source else { panic!("no semantic hit") };
    assert!((0.9..1.0).contains(&similarity.get()), "{similarity:?}");
    assert!(is_miss(&bench.ask("weather").await));
    assert_eq!(bench.provider.count(), 2);
}

#[tokio::test]
async fn the_same_prompt_needs_no_embedding() {
    let bench = Bench::new().await;
    bench.ask("reset|1").await;
    let before = bench.embedder.calls.load(Ordering::SeqCst);
    assert_eq!(bench.ask("reset|1").await.trace.embedding, Duration::ZERO);
    assert_eq!(bench.embedder.calls.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn what_answers_is_found_behind_many_that_ask_something_else() {
    let bench = Bench::with(ProjectSettings::default(), 1_000).await;
    let mut entries = Vec::new();
    for day in 1..=30 {
        entries.push(bench.ask(&format!("|Which trains run on day {day}?")).await.entry.id);
    }
    assert_eq!(bench.provider.count(), 30, "each asks something else");
    for (day, entry) in (1..).zip(entries) {
        let reply = bench.ask(&format!("|Please, which trains run on day {day}?")).await;
        assert_eq!((reply.is_hit(), reply.entry.id), (true, entry), "day {day}");
    }
}

#[tokio::test]
async fn what_answers_is_found_behind_many_of_which_a_model_would_be_asked() {
    let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
    let bench = Bench::with(settings, 1_000).await;
    // The model's questions are a JSON list of two prompts.
    bench
        .provider
        .script(|prompt| async move { Ok(complete(if prompt.starts_with('[') { "no" } else { "answer" })) });
    let faces: Vec<char> = ('\u{1F600}'..'\u{1F61E}').collect();
    let mut entries = Vec::new();
    for face in &faces {
        entries.push(bench.ask(&format!("|What does {face} mean?")).await.entry.id);
    }
    for (face, entry) in faces.iter().zip(entries) {
        let asked = format!("|Please, what does {face} mean?");
        let wanted = query(&asked);
        let preview = bench.engine.preview(&bench.caller.project, &wanted, NonZeroUsize::MIN);
        assert_eq!(preview.await.unwrap().hit.map(|hit| hit.entry().id), Some(entry), "{face}");
        let reply = bench.ask(&asked).await;
        assert_eq!((reply.is_hit(), reply.entry.id), (true, entry), "{face}");
    }
}

#[tokio::test]
async fn an_expired_entry_is_a_miss_for_the_same_prompt_and_for_paraphrases() {
    let settings = ProjectSettings { ttl_seconds: Some(60), ..unguarded() };
    let bench = Bench::with(settings, 10).await;
    bench.ask("reset|1").await;
    bench.clock.advance(Duration::from_secs(59));
    assert!(bench.ask("reset|1").await.is_hit());
    assert!(bench.ask("reset|2").await.is_hit());
    bench.clock.advance(Duration::from_secs(1));
    assert!(is_miss(&bench.ask("reset|2").await));
    assert!(bench.ask("reset|1").await.is_hit(), "the fresh answer to the paraphrase");
    assert_eq!(bench.provider.count(), 2);
}

#[tokio::test]
async fn an_expired_entry_is_replaced_by_a_fresh_one() {
    let settings = ProjectSettings { ttl_seconds: Some(60), ..unguarded() };
    let bench = Bench::with(settings, 10).await;
    bench.provider.script(|_| async { Ok(complete("old")) });
    let old = bench.ask("reset|1").await.entry.id;
    bench.clock.advance(Duration::from_secs(61));
    bench.provider.script(|_| async { Ok(complete("new")) });
    assert_eq!(bench.ask("reset|1").await.entry.answer.text, "new");
    let hit = bench.ask("reset|1").await;
    assert_eq!((hit.source, hit.entry.answer.text.as_str()), (Source::Exact, "new"));
    assert_ne!(hit.entry.id, old);
}

#[tokio::test]
async fn without_a_time_to_live_entries_stay() {
    let settings = ProjectSettings { ttl_seconds: None, ..unguarded() };
    let bench = Bench::with(settings, 10).await;
    bench.ask("reset|1").await;
    bench.clock.advance(Duration::from_hours(100 * 365 * 24));
    assert!(bench.ask("reset|1").await.is_hit());
}

#[tokio::test]
async fn a_prompt_too_long_to_embed_matches_itself_only() {
    let bench = Bench::new().await;
    let first = bench.ask("long|1").await;
    assert!(is_miss(&first));
    assert_eq!(first.trace.too_long, Some((999, 512)));
    assert_eq!(bench.ask("long|1").await.source, Source::Exact);
    let zero = Query { threshold: Threshold::new(0.0).unwrap(), ..query("long|2") };
    assert!(is_miss(&bench.try_ask(zero).await.unwrap()));
}

#[tokio::test]
async fn what_a_hit_saved_is_todays_price_of_the_asked_model() {
    let bench = Bench::new().await;
    let miss = bench.ask("reset my password|1").await;
    // 100 tokens at 1 USD and 10 at 2 USD per million: 120,000 nano-dollars.
    assert_eq!((miss.cost.amount.as_nanos(), miss.saved().as_nanos()), (120_000, 0));
    let exact = bench.ask("reset my password|1").await;
    assert_eq!(exact.saved().as_nanos(), 120_000);
    assert!(!exact.cost.estimated);
    // Three words of its own and two tokens around the call, instead of the 100 tokens of the other prompt.
    let semantic = bench.ask("reset my password|2").await;
    assert_eq!(semantic.saved().as_nanos(), 25_000);
    assert!(semantic.cost.estimated);
    assert_eq!(semantic.cost.price, Some(PriceOrigin::Table));
}

#[tokio::test]
async fn tokens_of_the_context_count_among_the_input() {
    let bench = Bench::new().await;
    let with = |prompt: &str| Query { context: Some("four words of context".into()), ..query(prompt) };
    bench.try_ask(with("reset my password|1")).await.unwrap();
    let hit = bench.try_ask(with("reset my password|2")).await.unwrap();
    assert_eq!((hit.is_hit(), hit.cost.input_tokens), (true, 9));
}

#[tokio::test]
async fn models_share_answers_only_where_the_project_says_so() {
    let dear = || Query { model: "dear".into(), ..query("reset|1") };
    let apart = Bench::new().await;
    apart.ask("reset|1").await;
    assert!(is_miss(&apart.try_ask(dear()).await.unwrap()));

    let settings = ProjectSettings { share_models: true, ..unguarded() };
    let together = Bench::with(settings, 10).await;
    together.ask("reset|1").await;
    let hit = together.try_ask(dear()).await.unwrap();
    assert_eq!(hit.source, Source::Exact);
    assert_eq!(
        hit.saved().as_nanos(),
        1_200_000,
        "the asked model's price, not that of the model that answered"
    );
}

#[tokio::test]
async fn another_models_answer_saves_what_the_asked_one_costs_at_its_own_provider() {
    let own = |price| ModelPrice::flat(PicoUsdPerToken(price), PicoUsdPerToken(0));
    let prices = [("gone/m-x", 1), ("fake/m-x", 5_000_000), ("fake/bare", 7_000_000)];
    let prices = prices.map(|(key, price)| (key.into(), own(price))).into();
    let bench = Bench::with(ProjectSettings { share_models: true, prices, ..unguarded() }, 10).await;
    bench.provider.script(|_| async { Ok(Completion { model: Some("dear".into()), ..complete("answer") }) });
    // Its provider was taken away since.
    let mut entry = Entry::clone(&bench.ask("reset|1").await.entry);
    entry.answer.provider = "gone".into();
    let scope = Scope::new(bench.caller.project.id, Frame::query(None, None));
    let new = NewEntry { replaces: true, ..new_entry(scope, entry) };
    bench.store.insert(new).await.unwrap();
    for (model, saved, price) in [
        ("m-x", 500_000, Some(PriceOrigin::Override)),
        // No credentials, and nobody that serves it.
        ("bare", 700_000, Some(PriceOrigin::Override)),
        ("unsupported", 0, None),
        // What was served says nothing of another model.
        ("nobody-knows", 0, None),
        ("cheap", 120_000, Some(PriceOrigin::Table)),
    ] {
        let hit = bench.try_ask(Query { model: model.into(), ..query("reset|1") }).await.unwrap();
        assert_eq!((hit.source, &*hit.entry.answer.provider), (Source::Exact, "gone"));
        assert_eq!((hit.saved().as_nanos(), hit.cost.price), (saved, price), "{model}");
    }
}

#[tokio::test]
async fn a_projects_own_price_wins_and_an_unknown_one_saves_nothing() {
    let mut settings = ProjectSettings::default();
    let own = ModelPrice::flat(PicoUsdPerToken(5_000_000), PicoUsdPerToken(0));
    settings.prices.insert("cheap".into(), own);
    let bench = Bench::with(settings, 10).await;
    bench.ask("reset|1").await;
    let hit = bench.ask("reset|1").await;
    assert_eq!((hit.saved().as_nanos(), hit.cost.price), (500_000, Some(PriceOrigin::Override)));

    let unknown = || Query { model: "nobody-knows".into(), ..query("reset|1") };
    bench.try_ask(unknown()).await.unwrap();
    let hit = bench.try_ask(unknown()).await.unwrap();
    assert_eq!((hit.is_hit(), hit.saved().as_nanos(), hit.cost.price), (true, 0, None));
}

#[tokio::test]
async fn usage_that_the_provider_does_not_report_is_counted() {
    let bench = Bench::new().await;
    bench.provider.script(|_| async {
        let mut completion = complete("three words here");
        completion.usage = None;
        Ok(completion)
    });
    let miss = bench.ask("two words").await;
    assert_eq!((miss.cost.input_tokens, miss.cost.output_tokens), (4, 3));
    assert!(miss.entry.answer.tokens_estimated);
    assert!(bench.ask("two words").await.cost.estimated);
}

#[tokio::test]
async fn who_may_not_ask_costs_nothing() {
    let mut bench = Bench::new().await;
    let suspended = deja_core::project::Project { suspended: true, ..(*bench.caller.project).clone() };
    let restricted =
        deja_core::api_key::ApiKey { models: Some(vec!["dear".into()]), ..(*bench.caller.key).clone() };
    let plain = bench.caller.clone();
    for (caller, cause) in [
        (deja_core::store::Admission { project: suspended.into(), ..plain.clone() }, NotAllowed::Suspended),
        (deja_core::store::Admission { key: restricted.into(), ..plain.clone() }, NotAllowed::Model),
    ] {
        bench.caller = caller;
        let refused = bench.try_ask(query("reset|1")).await;
        assert!(matches!(refused, Err(QueryError::Forbidden(why)) if why == cause), "{refused:?}");
    }
    assert_eq!(bench.embedder.calls.load(Ordering::SeqCst), 0);
    bench.caller = plain;
    // It may have been supported when an answer was bought, so its entries are looked through.
    let unsupported = Query { model: "unsupported".into(), ..query("reset|1") };
    let refused = bench.try_ask(unsupported).await;
    assert!(matches!(refused, Err(QueryError::ModelNotSupported { model }) if model == "unsupported"));
    assert_eq!(bench.provider.count(), 0);
}

#[tokio::test]
async fn a_pair_that_was_wrong_never_meets_again() {
    let bench = Bench::new().await;
    let (bob, project) = (bench.ask("wire|5000 to Bob").await.entry, bench.caller.project.id);
    assert!(bench.ask("wire|9000 to Bob").await.is_hit(), "the fault to report");
    bench.found_wrong(bob.id, "wire|9000 to Bob").await;
    let other = bench.ask("wire|9000 to Bob").await;
    assert!(is_miss(&other));
    for (prompt, id) in [("wire|5000 to Bob", bob.id), ("wire|9000 to Bob", other.entry.id)] {
        let reply = bench.ask(prompt).await;
        assert_eq!((reply.source, reply.entry.id), (Source::Exact, id), "each answers its own prompt");
    }
    // Neither answers the other, the next best does.
    bench.store.delete(project, other.entry.id, &change()).await.unwrap();
    let third = bench.ask("wire|7000 to Bob").await;
    assert_eq!(third.entry.id, bob.id);
    bench.found_wrong(bob.id, "wire|7000 to Bob").await;
    let third = bench.ask("wire|7000 to Bob").await.entry.id;
    assert_eq!(bench.ask("wire|9000 to Bob").await.entry.id, third);
    assert_eq!(bench.provider.count(), 3);
}

#[tokio::test]
async fn a_context_is_counted_once_however_many_queries_come_with_it() {
    let bench = Bench::new().await;
    let context = "a word ".repeat(1000);
    let model = "dear".to_owned();
    let with = |prompt: &str| Query { context: Some(context.clone()), model: model.clone(), ..query(prompt) };
    bench.try_ask(with("reset my password|1")).await.unwrap();
    for n in 2..5 {
        let hit = bench.try_ask(with(&format!("reset my password|{n}"))).await.unwrap();
        assert_eq!((hit.is_hit(), hit.cost.input_tokens), (true, 2000 + 3 + 2));
    }
    let counted = bench.tokens.counted.lock().unwrap();
    assert_eq!(counted.iter().filter(|text| **text == context).count(), 1);
    assert_eq!(counted.len(), 4);
}
