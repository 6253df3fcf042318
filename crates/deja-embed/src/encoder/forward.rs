//! The forward pass: embeddings, layers, pooling. One body, compiled once per instruction set.
//!
//! Rows of all texts lie one after another, unpadded. Linear layers run over blocks of rows small enough to
//! keep their intermediate results in the second-level cache.

#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]

use std::ops::Range;

use super::math::{self, Quantised};
use super::vector::{LANES, Vector};
use crate::image::{Image, Layer, Linear, Norm, Pooling};

/// Rows per block of a linear layer.
const BLOCK: usize = 64;
/// Queries handled at once in the attention.
const QUERIES: usize = 4;

/// Working memory, kept between texts so that the hot path does not allocate.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// `[rows][hidden]`: the token vectors.
    rows: Vec<f32>,
    /// `[rows][3 * hidden]`.
    qkv: Vec<f32>,
    /// `[rows][hidden]`: output of the attention.
    context: Vec<f32>,
    block: Block,
    head: Head,
}

/// Working memory of one block of rows.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    wide: Vec<u8>,
    sums: Vec<i32>,
    line: Vec<f32>,
    narrow_inputs: Vec<Quantised>,
    wide_inputs: Vec<Quantised>,
}

/// Working memory of one attention head.
#[derive(Debug, Default)]
struct Head {
    /// `[width][keys, padded]`.
    keys: Vec<f32>,
    /// `[keys][width]`.
    values: Vec<f32>,
    /// `[QUERIES][keys, padded]`.
    scores: Vec<f32>,
    /// `[width][QUERIES]`.
    queries: Vec<[f32; QUERIES]>,
}

/// Integer product: `sums[row][n] = sum_k(bytes[row][k] * weights[k][n])`, weights packed as in [`Linear`].
pub(super) trait Product: Fn(&[u8], &Linear<'_>, &mut [i32]) {}
impl<F: Fn(&[u8], &Linear<'_>, &mut [i32])> Product for F {}

/// Runs the encoder on `texts` (token ids) and appends one unnormalised vector per text to `out`.
///
/// Ids must lie within the vocabulary and texts within the window; the caller has checked both.
#[inline(always)]
pub(super) fn forward<V: Vector>(
    image: &Image,
    texts: &[&[u32]],
    scratch: &mut Scratch,
    out: &mut Vec<f32>,
    product: impl Product,
) -> Option<()> {
    let config = image.config();
    let hidden = config.hidden;
    embed::<V>(image, texts, &mut scratch.rows)?;
    let mut spans = Vec::with_capacity(texts.len());
    let mut end = 0;
    for text in texts {
        spans.push(end..end + text.len());
        end += text.len();
    }
    scratch.qkv.resize(end * 3 * hidden, 0.0);
    scratch.context.resize(end * hidden, 0.0);
    scratch.block.reserve(hidden, config.feed_forward);

    for index in 0..config.layers {
        let layer = image.layer(index)?;
        let rows = scratch.rows.chunks(BLOCK * hidden);
        for (rows, qkv) in rows.zip(scratch.qkv.chunks_mut(BLOCK * 3 * hidden)) {
            project::<V>(rows, qkv, &layer.qkv, &mut scratch.block, &product);
        }
        for span in &spans {
            for head in 0..config.heads {
                attend::<V>(
                    &scratch.qkv,
                    &mut scratch.context,
                    span,
                    head,
                    hidden,
                    config.heads,
                    &mut scratch.head,
                );
            }
        }
        let rows = scratch.rows.chunks_mut(BLOCK * hidden);
        for (rows, context) in rows.zip(scratch.context.chunks(BLOCK * hidden)) {
            mix_and_feed_forward::<V>(rows, context, &layer, config.epsilon, &mut scratch.block, &product);
        }
    }

    for span in spans {
        let rows = &scratch.rows[span.start * hidden..span.end * hidden];
        let start = out.len();
        out.extend_from_slice(&rows[..hidden]);
        if config.pooling == Pooling::Mean {
            let pooled = &mut out[start..];
            for row in rows.chunks_exact(hidden).skip(1) {
                for (sum, v) in pooled.iter_mut().zip(row) {
                    *sum += v;
                }
            }
            let count = span.len() as f32;
            for v in pooled {
                *v /= count;
            }
        }
    }
    Some(())
}

/// Word, position and segment vectors, summed and normalised.
#[inline(always)]
fn embed<V: Vector>(image: &Image, texts: &[&[u32]], rows: &mut Vec<f32>) -> Option<()> {
    let hidden = image.config().hidden;
    let tables = image.tables()?;
    rows.clear();
    for text in texts {
        for (id, position) in text.iter().zip(tables.positions.chunks_exact(hidden)) {
            let id = *id as usize;
            let word = tables.words.get(id * hidden..(id + 1) * hidden)?;
            let scale = *tables.word_scale.get(id)?;
            let start = rows.len();
            rows.extend(word.iter().zip(position).map(|(w, p)| f32::from(*w) * scale + p));
            math::normalise::<V>(&mut rows[start..], tables.norm, image.config().epsilon);
        }
    }
    Some(())
}

impl Block {
    #[inline(always)]
    fn reserve(&mut self, hidden: usize, feed_forward: usize) {
        self.bytes.resize(BLOCK * hidden, 0);
        self.wide.resize(BLOCK * feed_forward, 0);
        self.sums.resize(BLOCK * feed_forward.max(3 * hidden), 0);
        self.line.resize(feed_forward, 0.0);
        self.narrow_inputs.resize(BLOCK, Quantised::default());
        self.wide_inputs.resize(BLOCK, Quantised::default());
    }
}

/// Quantises each row of `rows` into `bytes`.
#[inline(always)]
fn quantise_rows<V: Vector>(rows: &[f32], width: usize, bytes: &mut [u8], inputs: &mut [Quantised]) {
    let rows = rows.chunks_exact(width).zip(bytes.chunks_exact_mut(width));
    for ((row, bytes), input) in rows.zip(inputs) {
        *input = math::quantise::<V>(row, bytes);
    }
}

/// Queries, keys and values of one block.
#[inline(always)]
fn project<V: Vector>(
    rows: &[f32],
    qkv: &mut [f32],
    linear: &Linear<'_>,
    block: &mut Block,
    product: &impl Product,
) {
    let (inputs, outputs) = (linear.inputs, linear.outputs);
    let count = rows.len() / inputs;
    quantise_rows::<V>(rows, inputs, &mut block.bytes, &mut block.narrow_inputs);
    let sums = &mut block.sums[..count * outputs];
    product(&block.bytes[..count * inputs], linear, sums);
    let lines = sums.chunks_exact(outputs).zip(qkv.chunks_exact_mut(outputs));
    for ((sums, line), input) in lines.zip(&block.narrow_inputs) {
        let (groups, _) = line.as_chunks_mut::<LANES>();
        math::dequantise::<V>(linear, sums, *input, |at, values| values.store(&mut groups[at]));
    }
}

/// The rest of a layer for one block: attention output, residual, feed-forward part, residual.
#[inline(always)]
fn mix_and_feed_forward<V: Vector>(
    rows: &mut [f32],
    context: &[f32],
    layer: &Layer<'_>,
    epsilon: f32,
    block: &mut Block,
    product: &impl Product,
) {
    let (hidden, wide) = (layer.up.inputs, layer.up.outputs);
    let count = rows.len() / hidden;

    quantise_rows::<V>(context, hidden, &mut block.bytes, &mut block.narrow_inputs);
    let sums = &mut block.sums[..count * hidden];
    product(&block.bytes[..count * hidden], &layer.attention, sums);
    add_and_normalise::<V>(rows, sums, &layer.attention, &block.narrow_inputs, layer.attention_norm, epsilon);

    quantise_rows::<V>(rows, hidden, &mut block.bytes, &mut block.narrow_inputs);
    let sums = &mut block.sums[..count * wide];
    product(&block.bytes[..count * hidden], &layer.up, sums);
    let lines = sums.chunks_exact(wide).zip(block.wide.chunks_exact_mut(wide));
    for (((sums, bytes), input), wide_input) in lines.zip(&block.narrow_inputs).zip(&mut block.wide_inputs) {
        let (groups, _) = block.line.as_chunks_mut::<LANES>();
        math::dequantise::<V>(&layer.up, sums, *input, |at, values| {
            math::gelu(values).store(&mut groups[at]);
        });
        *wide_input = math::quantise::<V>(&block.line, bytes);
    }

    let sums = &mut block.sums[..count * hidden];
    product(&block.wide[..count * wide], &layer.down, sums);
    add_and_normalise::<V>(rows, sums, &layer.down, &block.wide_inputs, layer.output_norm, epsilon);
}

#[inline(always)]
fn add_and_normalise<V: Vector>(
    rows: &mut [f32],
    sums: &[i32],
    linear: &Linear<'_>,
    inputs: &[Quantised],
    norm: Norm<'_>,
    epsilon: f32,
) {
    let width = linear.outputs;
    let lines = rows.chunks_exact_mut(width).zip(sums.chunks_exact(width));
    for ((row, sums), input) in lines.zip(inputs) {
        let (groups, _) = row.as_chunks_mut::<LANES>();
        math::dequantise::<V>(linear, sums, *input, |at, values| {
            values.add(V::load(&groups[at])).store(&mut groups[at]);
        });
        math::normalise::<V>(row, norm, epsilon);
    }
}

/// One head of one text, in f32.
#[inline(always)]
fn attend<V: Vector>(
    qkv: &[f32],
    context: &mut [f32],
    span: &Range<usize>,
    head: usize,
    hidden: usize,
    heads: usize,
    scratch: &mut Head,
) {
    let width = hidden / heads;
    let count = span.len();
    let stride = count.next_multiple_of(LANES);
    scratch.keys.clear();
    scratch.keys.resize(width * stride, 0.0);
    scratch.values.resize(count * width, 0.0);
    scratch.scores.resize(QUERIES * stride, 0.0);
    scratch.queries.resize(width, [0.0; QUERIES]);

    let rows = &qkv[span.start * 3 * hidden..span.end * 3 * hidden];
    let part = |row: &'_ [f32], which: usize| -> Range<usize> {
        debug_assert_eq!(row.len(), 3 * hidden);
        which * hidden + head * width..which * hidden + (head + 1) * width
    };
    for ((j, row), value) in
        rows.chunks_exact(3 * hidden).enumerate().zip(scratch.values.chunks_exact_mut(width))
    {
        value.copy_from_slice(&row[part(row, 2)]);
        for (key, v) in scratch.keys.chunks_exact_mut(stride).zip(&row[part(row, 1)]) {
            key[j] = *v;
        }
    }

    let context = &mut context[span.start * hidden..span.end * hidden];
    let blocks = rows.chunks(QUERIES * 3 * hidden).zip(context.chunks_mut(QUERIES * hidden));
    for (queries, out) in blocks {
        // A block at the end that is not full keeps stale queries in its unused places; nobody reads the result.
        for (r, row) in queries.chunks_exact(3 * hidden).enumerate() {
            for (query, v) in scratch.queries.iter_mut().zip(&row[part(row, 0)]) {
                query[r] = *v;
            }
        }
        let mut at = 0;
        while at + 2 * LANES <= stride {
            math::scores::<V, QUERIES, 2>(&scratch.queries, &scratch.keys, stride, at, &mut scratch.scores);
            at += 2 * LANES;
        }
        if at < stride {
            math::scores::<V, QUERIES, 1>(&scratch.queries, &scratch.keys, stride, at, &mut scratch.scores);
        }
        for row in scratch.scores.chunks_exact_mut(stride) {
            math::softmax::<V>(row, count);
        }
        let row = |r: usize| &scratch.scores[r * stride..r * stride + count];
        let weights = [row(0), row(1), row(2), row(3)];
        let mut at = 0;
        while at < width {
            let start = head * width + at;
            if at + 2 * LANES <= width {
                let sums = math::mix::<V, QUERIES, 2>(weights, &scratch.values, width, at);
                for (row, sums) in out.chunks_exact_mut(hidden).zip(&sums) {
                    row[start..start + 2 * LANES].copy_from_slice(sums.as_flattened());
                }
                at += 2 * LANES;
            } else {
                let sums = math::mix::<V, QUERIES, 1>(weights, &scratch.values, width, at);
                for (row, sums) in out.chunks_exact_mut(hidden).zip(&sums) {
                    row[start..start + LANES].copy_from_slice(sums.as_flattened());
                }
                at += LANES;
            }
        }
    }
}
