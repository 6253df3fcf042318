//! Reading two prompts together, as the guard on "thorough" has them read, and a short memory of what came of it.
//!
//! The memory is keyed by project, as that of vectors is: whether a pair was read before must not show to another tenant, not even in
//! the time an answer takes.

use moka::sync::Cache;

use crate::block_in_place_if;
use crate::cache::{PairHash, PromptHash};
use crate::id::ProjectId;

/// About 2 MB.
const REMEMBERED: u64 = 16 * 1024;

/// Reads two prompts together.
pub trait ReadsPairs: Send + Sync {
    /// How sure the reader is that one answer serves both, as a logit: 0 is even. `None` for what it does not read, such as long
    /// texts. Takes a millisecond and more of the calling thread. The order of the two does not matter.
    fn same(&self, one: &str, other: &str) -> Option<f32>;
}

impl<F: Fn(&str, &str) -> Option<f32> + Send + Sync> ReadsPairs for F {
    fn same(&self, one: &str, other: &str) -> Option<f32> {
        self(one, other)
    }
}

/// A reader, and what it said of the latest pairs of each project.
pub struct Readings {
    reader: Box<dyn ReadsPairs>,
    recent: Cache<(ProjectId, PairHash), Option<f32>>,
}

impl Readings {
    /// Those of `reader`.
    pub fn new(reader: impl ReadsPairs + 'static) -> Self {
        Self { reader: Box::new(reader), recent: Cache::new(REMEMBERED) }
    }

    /// What the reader says of two prompts of `project`. Other requests go on while it reads.
    pub(crate) fn of(&self, project: ProjectId, one: &str, other: &str) -> Option<f32> {
        let pair = PairHash::of("", &PromptHash::of(one), &PromptHash::of(other));
        // Who waits for another one's reading of the pair lets others go on meanwhile, too.
        let read = || self.recent.get_with((project, pair), || self.reader.same(one, other));
        self.recent.get(&(project, pair)).unwrap_or_else(|| block_in_place_if(true, read))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn a_pair_is_read_once_a_project_in_either_order() {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let readings = Readings::new(move |one: &str, _: &str| {
            counted.fetch_add(1, Relaxed);
            (one != "long").then_some(1.5)
        });
        let [mine, other] = [1, 2].map(|n| ProjectId::from_bytes([n; 16]));
        for _ in 0..2 {
            assert_eq!(readings.of(mine, "a", "b"), Some(1.5));
            assert_eq!(readings.of(mine, "b", "a"), Some(1.5));
            assert_eq!(readings.of(mine, "long", "b"), None);
        }
        assert_eq!(count.load(Relaxed), 2);
        assert_eq!(readings.of(other, "a", "b"), Some(1.5));
        assert_eq!(count.load(Relaxed), 3, "nobody else's reading is taken");
    }
}
