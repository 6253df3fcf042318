//! Evaluates the forest of decision trees in `data/trees.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::features::FEATURES;

#[derive(Deserialize)]
struct Forest {
    features: Vec<String>,
    trees: Vec<Tree>,
}

/// A node is `[feature, threshold, left, right]`: left when the value is at most the threshold; a negative
/// child is the leaf `-child - 1`.
#[derive(Deserialize)]
struct Tree {
    nodes: Vec<(u8, f32, i8, i8)>,
    leaves: Vec<f32>,
}

static FOREST: LazyLock<Vec<Tree>> = LazyLock::new(|| {
    let forest: Result<Forest, _> = serde_json::from_str(include_str!("../data/trees.json"));
    debug_assert!(
        forest.as_ref().is_ok_and(|f| f.features == FEATURES),
        "trees.json was made for other features"
    );
    forest.map_or_else(|_| Vec::new(), |forest| forest.trees)
});

/// The probability, by the training mix, that one answer serves both prompts.
pub(crate) fn score(features: &[f32; FEATURES.len()]) -> f32 {
    let sum: f32 = FOREST.iter().map(|tree| tree.leaf(features)).sum();
    1.0 / (1.0 + (-sum).exp())
}

impl Tree {
    fn leaf(&self, features: &[f32; FEATURES.len()]) -> f32 {
        let mut at = if self.nodes.is_empty() { -1i8 } else { 0 };
        while let Ok(node) = usize::try_from(at) {
            let Some((feature, threshold, left, right)) = self.nodes.get(node) else { return 0.0 };
            let goes_left = features.get(usize::from(*feature)).is_some_and(|value| value <= threshold);
            at = if goes_left { *left } else { *right };
        }
        usize::try_from(-1 - at).ok().and_then(|leaf| self.leaves.get(leaf)).copied().unwrap_or(0.0)
    }
}
