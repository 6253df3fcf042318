//! The vectors of one scope: what a search scans.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deja_core::clock::Timestamp;
use deja_core::embedding::Threshold;
use parking_lot::{RwLock, RwLockReadGuard};

use super::chunk::{Chunk, FULL, Piece};
use super::components::Components;
use super::kernels::{self, Level};
use super::sieve::Sieve;
use super::sketch::Sketcher;
use super::top::Top;
use super::vector::{self, Vector, similarity};
use super::{Near, Row, Slot};

/// Vectors of one dimension. Places are numbered through all chunks; only the last chunk is not full.
pub(super) struct Partition {
    sketcher: Arc<Sketcher>,
    /// With so many full chunks all of them are quantised.
    f16_chunks: usize,
    chunks: RwLock<Vec<Chunk>>,
    /// How many vectors there are, so that an async thread that asks waits for no lock.
    len: AtomicUsize,
}

/// What is searched for in a partition.
#[derive(Clone)]
pub(in crate::sqlite) struct Search {
    pub(in crate::sqlite) probe: Box<[f32]>,
    pub(in crate::sqlite) threshold: Threshold,
    pub(in crate::sqlite) limit: NonZeroUsize,
    pub(in crate::sqlite) now: Timestamp,
}

impl Partition {
    /// An empty partition. Beyond `int8_from` vectors, rounded to whole chunks, it keeps int8 components.
    pub(super) fn new(sketcher: Arc<Sketcher>, int8_from: usize) -> Self {
        let (f16_chunks, chunks) = ((int8_from / FULL).max(1), RwLock::new(Vec::new()));
        Self { sketcher, f16_chunks, chunks, len: AtomicUsize::new(0) }
    }

    /// Adds a vector and says at which place.
    pub(super) fn push(&self, slot: Slot, vector: Vector) -> u32 {
        // Before the lock: it takes longer than all else.
        let is_sketched = self.chunks.read().last().is_some_and(Chunk::has_sketches);
        let sketch = is_sketched.then(|| self.sketcher.sketch(&vector::to_f32(&vector.stored)));
        let piece = Piece { slot, vector: Components::F16(vector.stored.into_vec()), sketch };
        let mut chunks = self.chunks.write();
        if chunks.last().is_none_or(|last| last.len() == FULL) {
            chunks.reserve_exact(1);
            chunks.push(Chunk::default());
        }
        if chunks.len() > self.f16_chunks {
            quantise_one(&mut chunks, self.sketcher.dimension());
        }
        self.len.fetch_add(1, Ordering::Relaxed);
        let full = (chunks.len() - 1) * FULL;
        chunks.last_mut().map_or(0, |last| {
            last.push(piece, &self.sketcher);
            (full + last.len() - 1) as u32
        })
    }

    /// Takes the vector at `place` out by putting the last one there; says which row moved, and whether the
    /// partition is empty now.
    pub(super) fn remove(&self, place: u32) -> (Option<Row>, bool) {
        let mut chunks = self.chunks.write();
        let Some(last) = chunks.last_mut().and_then(|chunk| chunk.pop(&self.sketcher)) else {
            return (None, true);
        };
        self.len.fetch_sub(1, Ordering::Relaxed);
        if chunks.last().is_some_and(|chunk| chunk.len() == 0) {
            chunks.pop();
        }
        let (chunk, at) = (place as usize / FULL, place as usize % FULL);
        let moved = chunks.get_mut(chunk).filter(|chunk| at < chunk.len()).map(|chunk| {
            chunk.put(at, &last, &self.sketcher);
            last.slot.row
        });
        (moved, chunks.is_empty())
    }

    /// How much work `search` is, in vectors scanned exactly; a sketch costs about a twentieth.
    pub(super) fn cost(&self, search: &Search) -> usize {
        let vectors = self.len.load(Ordering::Relaxed);
        if self.is_filtered(search) { vectors / 20 } else { vectors }
    }

    /// Whether sketches leave most vectors out.
    pub(super) fn is_filtered(&self, search: &Search) -> bool {
        self.sketcher.helps(search.threshold.get())
    }

    /// For each search the live vectors that may be among the best that reach its threshold. Sketches are read from
    /// memory once for all searches.
    ///
    /// The lock is lent to waiting writers between chunks. Chunks are scanned last to first: an entry only
    /// ever moves from the last place to an earlier one, so it may be met twice, which [`Top`] notices, and
    /// is never missed.
    pub(super) fn nearest(&self, searches: &[&Search]) -> Vec<Vec<Near>> {
        let mut near = Vec::new();
        let mut chunks = self.chunks.read();
        let has_sketches = chunks.first().is_some_and(Chunk::has_sketches);
        let sketcher = has_sketches.then_some(&*self.sketcher);
        let mut looks: Vec<_> = searches.iter().map(|search| Look::new(search, sketcher)).collect();
        let mut next = chunks.len();
        loop {
            next = next.min(chunks.len());
            let Some(index) = next.checked_sub(1) else { break };
            next = index;
            // Only the first look prefetches the next chunk: then it is there for all.
            let mut ahead = index.checked_sub(1).map(|ahead| &chunks[ahead]);
            for look in &mut looks {
                look.at(&chunks[index], ahead.take(), &mut near);
            }
            RwLockReadGuard::bump(&mut chunks);
        }
        drop(chunks);
        looks.into_iter().map(|look| look.top.into_near()).collect()
    }
}

/// Quantises the first full chunk that is not. Searches wait for one chunk with each vector that comes, and never for all
/// chunks of the scope. Meanwhile some chunks have int8 and some f16: a search reads each as it is.
fn quantise_one(chunks: &mut [Chunk], dimension: usize) {
    let Some((_, full)) = chunks.split_last_mut() else { return };
    if full.last().is_some_and(|last| !last.is_int8()) {
        full[full.partition_point(Chunk::is_int8)].quantise(dimension);
    }
}

/// A search on its way through the chunks.
struct Look<'a> {
    search: &'a Search,
    level: Level,
    /// `None` if all vectors are scored.
    sieve: Option<Sieve>,
    top: Top,
}

impl<'a> Look<'a> {
    fn new(search: &'a Search, sketcher: Option<&Sketcher>) -> Self {
        let sieve = sketcher.and_then(|sketcher| sketcher.sieve(&search.probe, search.threshold.get()));
        Self { search, level: kernels::level(), sieve, top: Top::new(search.limit) }
    }

    /// Takes what is near in `chunk`. `ahead` comes next; `near` is room to work in.
    fn at(&mut self, chunk: &Chunk, ahead: Option<&Chunk>, near: &mut Vec<u16>) {
        near.clear();
        match &self.sieve {
            Some(sieve) if chunk.has_sketches() => chunk.within(sieve, ahead, near),
            _ => near.extend(0..chunk.len() as u16),
        }
        for at in near {
            self.offer(chunk, usize::from(*at));
        }
        // With all places taken only what is at least as near as the worst of them matters.
        if let (Some(sieve), Some(floor)) = (&mut self.sieve, self.top.floor()) {
            sieve.tighten(f64::from(floor.get()));
        }
    }

    fn offer(&mut self, chunk: &Chunk, at: usize) {
        let (least, most) = chunk.cosine(self.level, at, &self.search.probe);
        let (least, most) = (similarity(least), similarity(most));
        let Slot { id, row, expires, .. } = chunk.slots()[at];
        if self.search.threshold.reached_by(most) && self.search.now.as_nanos() < expires {
            self.top.offer(Near { least, most, id, row });
        }
    }
}

#[cfg(test)]
mod tests {
    use deja_core::embedding::Embedding;
    use deja_core::id::EntryId;

    use super::super::{Found, Target, settled};
    use super::*;
    use deja_core::random::split_mix;

    const NOW: Timestamp = Timestamp::from_secs(1);
    const DIMENSION: usize = 384;

    fn direction(random: &mut u64) -> Vec<f64> {
        (0..DIMENSION).map(|_| (split_mix(random) >> 11) as f64 / 2f64.powi(52) - 1.0).collect()
    }

    /// What has this cosine with `base`, in any direction from it.
    fn at(base: &[f64], cosine: f64, random: &mut u64) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (length, other) = (dot(base, base).sqrt(), direction(random));
        let along = dot(base, &other) / (length * length);
        let across: Vec<f64> = base.iter().zip(other).map(|(a, b)| b - along * a).collect();
        let (sine, width) = ((1.0 - cosine * cosine).sqrt(), dot(&across, &across).sqrt());
        base.iter().zip(across).map(|(a, b)| cosine * a / length + sine * b / width).collect()
    }

    fn embedding(values: &[f64]) -> Embedding {
        Embedding::new(values.iter().map(|value| *value as f32).collect::<Vec<_>>()).unwrap()
    }

    /// Holds a search of `vectors`, in the order of their ids, against a scan of all of them.
    fn check(name: &str, vectors: &[Vec<f64>], probe: &[f64]) {
        let partition = Partition::new(Arc::new(Sketcher::new(DIMENSION)), 0);
        let probe = embedding(probe);
        let (mut all, mut similarities) = (Vec::new(), Vec::new());
        for (row, vector) in (0..).zip(vectors) {
            let vector = Vector::new(&embedding(vector)).unwrap();
            let id = EntryId::from_bytes(u128::try_from(row).unwrap().to_be_bytes());
            all.push(Found { similarity: vector.similarity(probe.as_slice()), id, row });
            similarities.push(vector.similarity(probe.as_slice()));
            let slot = Slot { id, row, expires: i64::MAX, reading: vector.reading() };
            partition.push(slot, vector);
        }
        all.sort_by(|a, b| b.similarity.partial_cmp(&a.similarity).unwrap().then(a.id.cmp(&b.id)));
        for (threshold, limit) in [0.0, 0.5, 0.75, 0.85, 0.95, 1.0]
            .into_iter()
            .flat_map(|threshold| [(threshold, 1), (threshold, 5), (threshold, 100)])
        {
            let threshold = Threshold::new(threshold).unwrap();
            let expected = all.iter().filter(|found| threshold.reached_by(found.similarity)).take(limit);
            let limit = NonZeroUsize::new(limit).unwrap();
            let search = Search { probe: probe.as_slice().into(), threshold, limit, now: NOW };
            let expected: Vec<Found> = expected.copied().collect();
            // Beside another search, which changes nothing.
            let other = Search { probe: embedding(&vectors[0]).as_slice().into(), ..search.clone() };
            let near = partition.nearest(&[&search, &other]).swap_remove(0);
            let whole = |near: &Near| usize::try_from(near.row).unwrap() >= vectors.len() / FULL * FULL;
            assert!(
                near.iter().all(|near| near.is_settled() == whole(near)) || vectors.len() <= FULL,
                "{name}"
            );
            let stored = |row: Row| similarities[usize::try_from(row).unwrap()];
            for near in &near {
                assert!((near.least..=near.most).contains(&stored(near.row)), "{name}: {near:?}");
            }
            let found = settled(near, threshold, limit, |row| Ok::<_, ()>(Some(stored(row))));
            assert_eq!(found, Ok(expected), "{name} at {threshold:?}, {limit}");
        }
    }

    #[test]
    fn removals_leave_what_a_scan_of_the_rest_finds() {
        let random = &mut 5;
        let probe = direction(random);
        let partition = Partition::new(Arc::new(Sketcher::new(DIMENSION)), 0);
        let search = Search {
            probe: embedding(&probe).as_slice().into(),
            threshold: Threshold::new(0.85).unwrap(),
            limit: NonZeroUsize::new(5).unwrap(),
            now: NOW,
        };
        // What is stored by row, and which row is where.
        let (mut similarities, mut rows) = (Vec::new(), Vec::new());
        let push = |similarities: &mut Vec<_>, rows: &mut Vec<Row>, random: &mut u64| {
            let cosine = (split_mix(random) % 1_000) as f64 / 1_000.0;
            let vector = Vector::new(&embedding(&at(&probe, cosine, random))).unwrap();
            let row = similarities.len() as Row;
            similarities.push(vector.similarity(&search.probe));
            let id = EntryId::from_bytes((row as u128).to_be_bytes());
            let slot = Slot { id, row, expires: i64::MAX, reading: vector.reading() };
            assert_eq!(partition.push(slot, vector) as usize, rows.len());
            rows.push(row);
        };
        for goal in [3 * FULL + 10, 2 * FULL - 5, 2 * FULL + 300, 70, 0] {
            while rows.len() < goal {
                push(&mut similarities, &mut rows, random);
            }
            while rows.len() > goal {
                let place = split_mix(random) as usize % rows.len();
                let (moved, is_empty) = partition.remove(place as u32);
                rows.swap_remove(place);
                assert_eq!((moved, is_empty), (rows.get(place).copied(), rows.is_empty()));
            }
            let near = partition.nearest(&[&search]).swap_remove(0);
            let stored = |row: Row| similarities[usize::try_from(row).unwrap()];
            let found = settled(near, search.threshold, search.limit, |row| Ok::<_, ()>(Some(stored(row))));
            let found: Vec<_> = found.unwrap().iter().map(|found| (found.similarity, found.row)).collect();
            let mut expected: Vec<_> = rows.iter().map(|row| (stored(*row), *row)).collect();
            expected.retain(|(similarity, _)| search.threshold.reached_by(*similarity));
            expected.sort_by(|a, b| b.0.get().total_cmp(&a.0.get()).then(a.1.cmp(&b.1)));
            expected.truncate(5);
            assert_eq!(found, expected, "{goal} vectors");
            assert_eq!(partition.cost(&search), rows.len() / 20);
        }
    }

    #[test]
    fn a_scope_that_grows_large_is_quantised_chunk_by_chunk() {
        let random = &mut 11;
        let probe = direction(random);
        let partition = Partition::new(Arc::new(Sketcher::new(DIMENSION)), 3 * FULL);
        let search = Search {
            probe: embedding(&probe).as_slice().into(),
            threshold: Threshold::new(0.85).unwrap(),
            limit: NonZeroUsize::new(5).unwrap(),
            now: NOW,
        };
        let mut all = Vec::new();
        let mut push = |all: &mut Vec<_>| {
            let cosine = (split_mix(random) % 1_000) as f64 / 1_000.0;
            let vector = Vector::new(&embedding(&at(&probe, cosine, random))).unwrap();
            let row = all.len() as Row;
            all.push(vector.similarity(&search.probe));
            let id = EntryId::from_bytes((row as u128).to_be_bytes());
            partition.push(Slot { id, row, expires: i64::MAX, reading: vector.reading() }, vector);
        };
        for _ in 0..3 * FULL {
            push(&mut all);
        }
        for quantised in [1, 2, 3, 3] {
            push(&mut all);
            let int8 = partition.chunks.read().iter().filter(|chunk| chunk.is_int8()).count();
            assert_eq!(int8, quantised);
            let near = partition.nearest(&[&search]).swap_remove(0);
            let stored = |row: Row| all[usize::try_from(row).unwrap()];
            let found = settled(near, search.threshold, search.limit, |row| Ok::<_, ()>(Some(stored(row))));
            let found: Vec<_> = found.unwrap().iter().map(|found| found.similarity.get()).collect();
            let mut expected: Vec<_> = all.iter().map(|similarity| similarity.get()).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(found, expected[..5], "{quantised} chunks are quantised");
        }
    }

    #[test]
    fn whether_a_search_is_long_is_known_while_the_chunks_are_changed() {
        let target = Target(Arc::new(Partition::new(Arc::new(Sketcher::new(DIMENSION)), 0)));
        let probe = embedding(&direction(&mut 7)).as_slice().into();
        let (threshold, limit) = (Threshold::new(0.85).unwrap(), NonZeroUsize::MIN);
        let search = Search { probe, threshold, limit, now: NOW };
        std::thread::scope(|threads| {
            let changed = target.0.chunks.write();
            let (tell, told) = std::sync::mpsc::channel();
            let (target, search) = (&target, &search);
            threads.spawn(move || tell.send(target.is_long(search)));
            let told = told.recv_timeout(std::time::Duration::from_secs(20));
            drop(changed);
            assert_eq!(told, Ok(false));
        });
    }

    #[test]
    fn a_search_finds_what_a_scan_of_all_finds() {
        let random = &mut 3;
        for round in 0..20 {
            let probe = direction(random);
            let near = |cosine: f64, count: usize, random: &mut u64| -> Vec<Vec<f64>> {
                (0..count).map(|_| at(&probe, cosine, random)).collect()
            };
            let spread = |low: f64, high: f64, random: &mut u64| -> Vec<Vec<f64>> {
                (0..2_500).map(|i| at(&probe, low + (high - low) * f64::from(i) / 2_500.0, random)).collect()
            };
            check("all cosines", &spread(-0.2, 1.0, random), &probe);
            for threshold in [0.5, 0.75, 0.85, 0.95] {
                check("just above a threshold", &near(threshold + 1e-5, 1_500, random), &probe);
                check("around a threshold", &spread(threshold - 1e-3, threshold + 1e-3, random), &probe);
            }
            // Templates: all as near to each other as to the probe, and one of them nearer.
            let mut templates = near(0.84, 2_000, random);
            templates.extend(near(0.97, 1, random));
            check("templates", &templates, &probe);
            // The same vector again and again, and its neighbours.
            let twin = at(&probe, 0.9, random);
            let mut twins = vec![twin.clone(); 1_200];
            twins.extend((0..300).map(|_| at(&twin, 0.999, random)));
            check("twins", &twins, &probe);
            check("the probe itself", &vec![probe.clone(); 100 + round], &probe);
        }
    }
}
