//! Attention of one head of one text, in f32.

#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]

use super::math;
use super::vector::{LANES, Vector};

/// Working memory of one head.
#[derive(Debug, Default)]
pub(super) struct Head {
    width: usize,
    /// Queries, keys and values, each `[rows][width]`.
    parts: [Vec<f32>; 3],
    /// The keys of one text, `[width][keys, padded]`.
    turned: Vec<f32>,
    /// `[QUERIES][keys, padded]`.
    scores: Vec<f32>,
}

impl Head {
    /// Room for `rows`, and for the queries that the last block of a text lacks.
    pub(super) fn reserve(&mut self, rows: usize, width: usize) {
        self.width = width;
        for part in &mut self.parts {
            part.resize((rows + MOST_QUERIES) * width, 0.0);
        }
    }

    /// Where sixteen outputs of queries (0), keys (1) or values (2) go.
    #[inline(always)]
    pub(super) fn outputs(&mut self, part: usize, row: usize, at: usize) -> &mut [f32; LANES] {
        &mut self.parts[part].as_chunks_mut().0[(row * self.width + at) / LANES]
    }
}

/// The largest [`Vector::QUERIES`].
const MOST_QUERIES: usize = 8;

/// Keys and values of one text.
struct Text<'a> {
    width: usize,
    stride: usize,
    /// `[width][stride]`.
    keys: &'a [f32],
    /// `[keys][width]`.
    values: &'a [f32],
}

/// Attention of the text whose rows start at `start`: `width` components of each row of `context`, from `at`.
#[inline(always)]
pub(super) fn attend<V: Vector>(
    head: &mut Head,
    start: usize,
    context: &mut [f32],
    hidden: usize,
    at: usize,
) {
    let (width, count) = (head.width, context.len() / hidden);
    let stride = count.next_multiple_of(LANES);
    head.turned.resize(width * stride, 0.0);
    head.scores.resize(V::QUERIES * stride, 0.0);
    let rows = start * width..(start + count) * width;
    turn(&head.parts[1][rows.clone()], width, stride, &mut head.turned);
    let text = Text { width, stride, keys: &head.turned, values: &head.parts[2][rows.clone()] };
    let mut queries = &head.parts[0][rows.start..];
    for out in context.chunks_mut(V::QUERIES * hidden) {
        let out = (out, hidden, at);
        // A block that is not full reads queries beyond the text; nobody reads their results.
        match out.0.len() / hidden {
            5.. if V::QUERIES >= 8 => block::<V, 8>(queries, &text, &mut head.scores, out),
            3.. if V::QUERIES >= 4 => block::<V, 4>(queries, &text, &mut head.scores, out),
            _ => block::<V, 2>(queries, &text, &mut head.scores, out),
        }
        queries = &queries[(V::QUERIES * width).min(queries.len())..];
    }
}

/// `[keys][width]` to `[width][stride]`. What pads the rows is never read as a score.
#[inline(always)]
fn turn(keys: &[f32], width: usize, stride: usize, turned: &mut [f32]) {
    for (j, key) in keys.chunks_exact(width).enumerate() {
        for (row, v) in turned.chunks_exact_mut(stride).zip(key) {
            row[j] = *v;
        }
    }
}

/// `R` queries; `out` has as many rows of the context as are real.
#[inline(always)]
fn block<V: Vector, const R: usize>(
    queries: &[f32],
    text: &Text<'_>,
    scores: &mut [f32],
    (out, hidden, start): (&mut [f32], usize, usize),
) {
    let Text { width, stride, keys, values } = *text;
    let queries: [&[f32]; R] = std::array::from_fn(|r| &queries[r * width..(r + 1) * width]);
    let mut at = 0;
    while V::WIDE && at + 2 * LANES <= stride {
        math::scores::<V, R, 2>(queries, keys, stride, at, scores);
        at += 2 * LANES;
    }
    while at < stride {
        math::scores::<V, R, 1>(queries, keys, stride, at, scores);
        at += LANES;
    }
    let count = values.len() / width;
    math::softmax::<V, R>(&mut scores[..R * stride], count);
    let weights: [&[f32]; R] = std::array::from_fn(|r| &scores[r * stride..r * stride + count]);
    let mut at = 0;
    while at < width {
        if V::WIDE && at + 2 * LANES <= width {
            let sums = math::mix::<V, R, 2>(weights, values, width, at);
            put(out, hidden, start + at, sums);
            at += 2 * LANES;
        } else {
            let sums = math::mix::<V, R, 1>(weights, values, width, at);
            put(out, hidden, start + at, sums);
            at += LANES;
        }
    }
}

#[inline(always)]
fn put<V: Vector, const R: usize, const C: usize>(
    out: &mut [f32],
    hidden: usize,
    at: usize,
    sums: [[V; C]; R],
) {
    for (row, sums) in out.chunks_exact_mut(hidden).zip(sums) {
        for (group, sum) in row[at..at + C * LANES].as_chunks_mut().0.iter_mut().zip(sums) {
            sum.store(group);
        }
    }
}
