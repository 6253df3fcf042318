//! What a threshold and a guard would have served, and how much of it was right. Pure functions.

use deja_core::cache::judge::other_meaning;
use deja_core::embedding::{Similarity, Threshold};
use deja_core::project::Guard;
use deja_guard::{LOWEST_THRESHOLD, Prompt};

/// A pair as the cache sees it.
pub(super) struct Compared {
    pub(super) a: Prompt,
    pub(super) b: Prompt,
    /// `None` if a prompt is longer than the embedder's window: it is never near anything.
    pub(super) similarity: Option<Similarity>,
    /// What the reader of pairs says of them.
    pub(super) logit: Option<f32>,
    /// Whether one answer serves both.
    pub(super) right: bool,
}

impl Compared {
    /// Whether a cache with this threshold and guard answers one prompt from the other.
    pub(super) fn served(&self, threshold: Threshold, guard: Guard) -> bool {
        self.similarity.is_some_and(|near| threshold.reached_by(near))
            && self.passes(threshold.get() as f32, guard)
    }

    fn passes(&self, threshold: f32, guard: Guard) -> bool {
        let Some(strictness) = guard.strictness() else { return true };
        let cosine = self.similarity.map_or(0.0, Similarity::get);
        let judged = deja_guard::judge(&self.a, &self.b, cosine, threshold, strictness);
        let is_other = || guard == Guard::Thorough && other_meaning(self.logit, judged.score).is_some();
        judged.refused.is_none() && !is_other()
    }

    /// The highest threshold at which the pair is served; what is served at none, or only where the guard is off,
    /// lies below 0, by its similarity. The guard grows stricter with the threshold, so it can be searched for.
    pub(super) fn rank(&self, guard: Guard) -> f32 {
        let Some(near) = self.similarity.map(Similarity::get) else { return -3.0 };
        if self.passes(near, guard) {
            return near;
        }
        if !self.passes(LOWEST_THRESHOLD, guard) {
            return near - 2.0;
        }
        let (mut low, mut high) = (LOWEST_THRESHOLD, near);
        while high - low > 1e-3 {
            let middle = f32::midpoint(low, high);
            *(if self.passes(middle, guard) { &mut low } else { &mut high }) = middle;
        }
        low
    }
}

/// Pairs counted by whether one answer serves both.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    pub(super) right: usize,
    pub(super) wrong: usize,
}

impl Counts {
    pub(super) fn of<'a>(pairs: impl Iterator<Item = &'a Compared>) -> Self {
        pairs.fold(Self::default(), |mut counts, pair| {
            *(if pair.right { &mut counts.right } else { &mut counts.wrong }) += 1;
            counts
        })
    }

    pub(super) fn all(self) -> usize {
        self.right + self.wrong
    }
}

/// `part` of `whole`; `None` of nothing.
pub(super) fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What is served from a place in the ranking on: one point for each rank that pairs have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) rank: f32,
    pub(super) recall: f64,
    pub(super) precision: f64,
    /// Share of the wrong pairs that is served.
    pub(super) wrong: f64,
}

/// The points of a ranking, the highest rank first. Empty without right pairs.
pub(super) fn curve(mut ranked: Vec<(f32, bool)>) -> Vec<Point> {
    ranked.sort_by(|x, y| y.0.total_cmp(&x.0));
    let right = ranked.iter().filter(|(_, right)| *right).count();
    let wrong = ranked.len() - right;
    if right == 0 {
        return Vec::new();
    }
    let mut served = Counts::default();
    let groups = ranked.chunk_by(|x, y| x.0.total_cmp(&y.0).is_eq());
    groups
        .map(|group| {
            served.right += group.iter().filter(|(_, right)| *right).count();
            served.wrong += group.iter().filter(|(_, right)| !*right).count();
            Point {
                rank: group[0].0,
                recall: served.right as f64 / right as f64,
                precision: served.right as f64 / served.all() as f64,
                wrong: share(served.wrong, wrong).unwrap_or(0.0),
            }
        })
        .collect()
}

/// The sum over the points of the recall each adds times its precision.
pub(super) fn average_precision(curve: &[Point]) -> Option<f64> {
    let mut before = 0.0;
    let sum = curve
        .iter()
        .map(|point| (point.recall - std::mem::replace(&mut before, point.recall)) * point.precision)
        .sum();
    (!curve.is_empty()).then_some(sum)
}

/// The most right pairs that can be served while at most this share of the wrong ones is.
pub(super) fn hits_at(curve: &[Point], wrong: f64) -> Option<f64> {
    let reached = curve.iter().filter(|point| point.wrong <= wrong).map(|point| point.recall);
    (!curve.is_empty()).then(|| reached.fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(a: &str, b: &str, similarity: f32, right: bool) -> Compared {
        let similarity = Some(Similarity::from_cosine(similarity));
        Compared { a: Prompt::read(a), b: Prompt::read(b), similarity, logit: None, right }
    }

    #[test]
    fn the_figures_of_a_known_ranking() {
        // The example of scikit-learn's average_precision_score: 0.83.
        let points = curve(vec![(0.1, false), (0.4, false), (0.35, true), (0.8, true)]);
        assert!((average_precision(&points).unwrap() - 5.0 / 6.0).abs() < 1e-9);
        assert_eq!(points.iter().map(|p| p.recall).collect::<Vec<_>>(), [0.5, 0.5, 1.0, 1.0]);
        assert_eq!(hits_at(&points, 0.01), Some(0.5));
        assert_eq!(hits_at(&points, 0.5), Some(1.0));
        assert_eq!(hits_at(&points, 1.0), Some(1.0));
    }

    #[test]
    fn equal_ranks_are_served_together() {
        let points = curve(vec![(0.9, true), (0.9, false), (0.8, true)]);
        assert_eq!(points.len(), 2);
        assert_eq!((points[0].recall, points[0].precision, points[0].wrong), (0.5, 0.5, 1.0));
        assert_eq!(hits_at(&points, 0.01), Some(0.0));
    }

    #[test]
    fn nothing_is_known_of_no_right_pairs() {
        let points = curve(vec![(0.9, false)]);
        assert_eq!((average_precision(&points), hits_at(&points, 0.01)), (None, None));
    }

    #[test]
    fn a_pair_is_served_up_to_its_rank() {
        let same = compared("How do I reset my router?", "how can I reset my router", 0.97, true);
        let other = compared("How do I enable 2FA?", "How do I disable 2FA?", 0.95, false);
        let far = compared("How do I reset my router?", "Which router is best?", 0.6, false);
        assert!((same.rank(Guard::Strict) - 0.97).abs() < 1e-6);
        assert!((other.rank(Guard::Off) - 0.95).abs() < 1e-6);
        assert!(other.rank(Guard::Standard) < 0.0);
        assert!((far.rank(Guard::Strict) - 0.6).abs() < 1e-6);
        let at = |value| Threshold::new(value).unwrap();
        assert!(same.served(at(0.97), Guard::Strict) && !same.served(at(0.98), Guard::Off));
        assert!(other.served(at(0.85), Guard::Off) && !other.served(at(0.85), Guard::Standard));
        assert!(other.served(at(0.7), Guard::Strict), "words are not compared below 0.75");
        let signs = compared("😀😀😀", "😁😁😁", 0.7, false);
        assert!(!signs.served(at(0.7), Guard::Standard) && signs.rank(Guard::Standard) < 0.0);
        let too_long = Compared { similarity: None, ..compared("a", "a", 1.0, true) };
        assert!(!too_long.served(Threshold::ZERO, Guard::Off) && too_long.rank(Guard::Off) < 0.0);
    }
}
