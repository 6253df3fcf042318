//! Isolation: whatever is asked in whatever order, nobody is ever answered with what belongs to another project,
//! model or context.

use std::collections::HashMap;

use serde_json::json;

use crate::util::tenant::Tenant;
use crate::util::{Random, Reaction, World};

const SEED: u64 = 0x7e4a_0001;
const THREADS: u64 = 3;
const QUERIES: usize = 1200;
const MODELS: [&str; 3] = ["gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash"];
const CONTEXTS: [Option<&str>; 6] =
    [None, Some(""), Some("shop"), Some("Shop"), Some("shop "), Some("You answer for another shop.")];
const SUBJECTS: [&str; 12] = [
    "my password", "my order", "a refund", "the invoice", "my account", "the newsletter", "the parcel",
    "my address", "the warranty", "a voucher", "the app", "my data",
];
const FRAMES: [&str; 5] = [
    "How do I change {}?", "How can I change {}?", "Where do I find {}?", "Delete {} please.",
    "Why is {} wrong?",
];

/// One answer and who got it.
struct Seen {
    /// The only answer of its kind: the provider numbers them.
    answer: String,
    /// Project, model and context that were asked.
    owner: (usize, &'static str, Option<&'static str>),
    hit: bool,
    threshold: f64,
    similarity: f64,
}

fn ask(tenants: &[Tenant<'_>], random: &mut Random) -> Seen {
    let project = random.below(tenants.len());
    let (model, context) = (random.pick(&MODELS), random.pick(&CONTEXTS));
    let threshold = random.pick(&[0.0, 0.0, 0.3, 0.7, 0.85, 0.95, 1.0]);
    let prompt = random.pick(&FRAMES).replace("{}", random.pick(&SUBJECTS));
    let mut query = json!({"prompt": prompt, "model": model, "similarity_threshold": threshold});
    if let Some(context) = context {
        query["context"] = json!(context);
    }
    let answer = tenants[project].ask(&query);
    Seen {
        answer: answer["response"].as_str().unwrap().to_owned(),
        owner: (project, model, context),
        hit: answer["cache_hit"] == true,
        threshold,
        similarity: answer["similarity_score"].as_f64().unwrap_or(f64::NAN),
    }
}

#[test]
fn nobody_is_answered_with_what_belongs_to_another() {
    let world = World::start();
    // Rules match by text, and every prompt has a space.
    world.provider.on(" ", Reaction::Numbered);
    let tenants = [world.tenant("canary-a"), world.tenant("canary-b")];
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let tenants = &tenants;
                scope.spawn(move || {
                    let mut random = Random::new(SEED + n);
                    (0..QUERIES).map(|_| ask(tenants, &mut random)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });

    let mut owners: HashMap<&str, (usize, &str, Option<&str>)> = HashMap::new();
    for seen in &seen {
        let owner = owners.entry(&seen.answer).or_insert(seen.owner);
        assert_eq!(*owner, seen.owner, "seed {SEED:#x}: {:?} went to two owners", seen.answer);
        // The provider saw this model and context when it wrote the answer.
        let (_, model, context) = seen.owner;
        let written_for = seen.answer.split_once(' ').unwrap().1;
        assert_eq!(written_for, format!("{model} {}", context.unwrap_or_default()), "seed {SEED:#x}");
        if seen.hit {
            assert!(
                seen.similarity as f32 >= seen.threshold as f32,
                "{} < {}",
                seen.similarity,
                seen.threshold
            );
        }
    }
    let hits = seen.iter().filter(|seen| seen.hit).count();
    assert!(hits > seen.len() / 4 && hits < seen.len(), "{hits} hits of {} show nothing", seen.len());
    let segments: std::collections::HashSet<_> = seen.iter().map(|seen| seen.owner).collect();
    assert_eq!(segments.len(), 2 * MODELS.len() * CONTEXTS.len(), "all of them were asked");
}
