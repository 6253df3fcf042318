//! Vectors and entries that resemble what users ask, for a bench and a report.
//!
//! Questions come in topics, and in templates within a topic ("how do I reset my ... password"). A vector is
//! `0.25 common + 0.5 topic + 0.6 template + s noise`, each part a random unit vector and `s` drawn from
//! 0.15..0.8. So cosines are about 0.65 to 0.95 within a template, 0.3 to 0.5 within a topic and 0.05 to 0.1
//! between topics, as measured with all-MiniLM-L6-v2. Templates are drawn with the density of u^3: the most
//! frequent one has some percent of all entries.

use deja_core::cache::{Answer, Frame, NewEntry, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, ProjectId};
use deja_core::project::Project;
use deja_core::random::split_mix;
use deja_core::testing;

const DIMENSION: usize = 384;
pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

/// Numbers from a seed.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    fn uniform(&mut self) -> f32 {
        (split_mix(&mut self.0) >> 40) as f32 / 16_777_216.0
    }

    /// About normal: the sum of eight uniform bytes.
    fn unit(&mut self) -> Vec<f32> {
        let mut values: Vec<f32> = (0..DIMENSION)
            .map(|_| {
                split_mix(&mut self.0).to_le_bytes().iter().map(|byte| f32::from(*byte)).sum::<f32>() - 1020.0
            })
            .collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        for value in &mut values {
            *value /= norm;
        }
        values
    }
}

/// Templates to draw questions from.
pub(crate) struct Sentences {
    templates: Vec<Vec<f32>>,
}

impl Sentences {
    pub(crate) fn new(count: usize) -> Self {
        let mut noise = Noise(1);
        let common = noise.unit();
        let topics: Vec<_> = (0..100).map(|_| noise.unit()).collect();
        let templates = (0..count.div_ceil(50).max(20)).map(|number| {
            let own = noise.unit();
            let topic = &topics[number % topics.len()];
            (0..DIMENSION).map(|i| 0.25 * common[i] + 0.5 * topic[i] + 0.6 * own[i]).collect()
        });
        Self { templates: templates.collect() }
    }

    pub(crate) fn draw(&self, noise: &mut Noise) -> Embedding {
        let at = noise.uniform().powi(3) * self.templates.len() as f32;
        let strength = 0.15 + 0.65 * noise.uniform();
        let own = noise.unit();
        let template = &self.templates[(at as usize).min(self.templates.len() - 1)];
        let values: Vec<f32> = template.iter().zip(own).map(|(a, b)| a + strength * b).collect();
        Embedding::new(values).expect("it has a direction")
    }
}

pub(crate) fn embedder() -> EmbedderId {
    EmbedderId::new("synthetic")
}

pub(crate) fn scope() -> Scope {
    Scope::new(ProjectId::from_bytes([1; 16]), Frame::query(Some("m"), None))
}

pub(crate) fn project() -> Project {
    let mut project = testing::project(ProjectId::from_bytes([1; 16]), "bench", NOW);
    project.settings.max_entries = 1 << 40;
    project
}

fn prompt(number: u64) -> String {
    format!("Question number {number}: how do I change the address on my account before the next invoice?")
}

pub(crate) fn entry(number: u64, embedding: Embedding) -> NewEntry {
    let id = EntryId::from_bytes(u128::from(number).to_be_bytes());
    let mut entry = testing::entry(id, &prompt(number), NOW);
    entry.answer = Answer {
        text: "Open the settings, choose the account, and type the new address. ".repeat(8),
        input_tokens: 20,
        output_tokens: 120,
        ..entry.answer
    };
    NewEntry { vectors: vec![(embedder(), embedding)], ..testing::new_entry(scope(), entry) }
}
