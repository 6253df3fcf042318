//! The forward pass: embeddings, layers, pooling. One body, compiled once per instruction set.
//!
//! Rows of all texts lie one after another, unpadded, so short texts share the reading of the weights. Between
//! the products a row is bytes. Queries, keys and values are made one head at a time and used at once; the rest
//! of a layer runs over blocks of rows. So what is worked on stays in the second-level cache.

#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]

use std::ops::Range;

use bytemuck::Pod;

use super::attention::{self, Head};
use super::math::{self, Quantised};
use super::product::{Product, STRIP, Strip};
use super::vector::{LANES, Quantise, Vector};
use crate::image::{Image, Layer, Linear, Norm, PANEL, Pooling};

/// Rows per block of a linear layer.
const BLOCK: usize = 32;

/// Working memory, kept between texts so that the hot path does not allocate.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// `[rows][hidden]`: the token vectors.
    rows: Vec<f32>,
    /// The token vectors, quantised: queries, keys and values are made of them.
    inputs: Buffer,
    /// `[rows][hidden]`: output of the attention.
    context: Vec<f32>,
    head: Head,
    block: Block,
}

/// Working memory of one block of rows.
#[derive(Debug, Default)]
struct Block {
    narrow: Buffer,
    wide: Buffer,
    /// `[BLOCK][feed_forward]`.
    lines: Vec<f32>,
    /// `[BLOCK][STRIP][PANEL]`.
    sums: Vec<i32>,
}

/// Memory for quantised rows.
#[derive(Debug, Default)]
struct Buffer {
    /// `[rows][width]`: room for numbers of one, two or four bytes.
    values: Vec<u32>,
    scales: Vec<Quantised>,
}

/// Quantised rows, in groups of sixteen numbers.
struct Inputs<'a, I> {
    values: &'a mut [[I; LANES]],
    scales: &'a mut [Quantised],
}

/// Runs the encoder on `texts` (token ids) and appends one unnormalised vector per text to `out`.
///
/// Ids must lie within the vocabulary and texts within the window; the caller has checked both.
#[inline(always)]
pub(super) fn forward<V: Quantise<I>, I: Pod>(
    image: &Image,
    texts: &[&[u32]],
    scratch: &mut Scratch,
    out: &mut Vec<f32>,
    mut product: impl Product<I>,
) -> Option<()> {
    let config = image.config();
    let hidden = config.hidden;
    let mut spans = Vec::with_capacity(texts.len());
    let mut count = 0;
    for text in texts {
        spans.push(count..count + text.len());
        count += text.len();
    }
    scratch.reserve(count, hidden, config.feed_forward);
    embed::<V, I>(image, texts, scratch)?;
    for index in 0..config.layers {
        let layer = image.layer(index)?;
        attend::<V, I>(scratch, &layer.qkv, &spans, config.heads, &mut product);
        let blocks = scratch.rows.chunks_mut(BLOCK * hidden).zip(scratch.context.chunks_mut(BLOCK * hidden));
        for (block, (rows, context)) in blocks.enumerate() {
            let outputs = scratch.inputs.rows(block * BLOCK, rows.len() / hidden, hidden);
            mix_and_feed_forward::<V, I>(
                rows, context, outputs, &layer, config.epsilon, &mut scratch.block, &mut product,
            );
        }
    }
    for span in spans {
        pool(&scratch.rows[span.start * hidden..span.end * hidden], hidden, config.pooling, out);
    }
    Some(())
}

impl Scratch {
    fn reserve(&mut self, rows: usize, hidden: usize, feed_forward: usize) {
        self.rows.resize(rows * hidden, 0.0);
        self.inputs.reserve(rows, hidden);
        self.context.resize(rows * hidden, 0.0);
        self.block.narrow.reserve(BLOCK, hidden);
        self.block.wide.reserve(BLOCK, feed_forward);
        self.block.lines.resize(BLOCK * feed_forward, 0.0);
        self.block.sums.resize(BLOCK * STRIP * PANEL, 0);
    }
}

impl Buffer {
    fn reserve(&mut self, rows: usize, width: usize) {
        self.values.resize(rows * width, 0);
        self.scales.resize(rows, Quantised::default());
    }

    /// `count` rows of `width` from `first`.
    #[inline(always)]
    fn rows<I: Pod>(&mut self, first: usize, count: usize, width: usize) -> Inputs<'_, I> {
        let groups = width / LANES;
        let values = bytemuck::cast_slice_mut::<u32, I>(&mut self.values).as_chunks_mut().0;
        Inputs {
            values: &mut values[first * groups..(first + count) * groups],
            scales: &mut self.scales[first..first + count],
        }
    }
}

/// `$step` for all rows of a slice, four at a time and the rest one by one.
macro_rules! in_step {
    ($inputs:expr, $rows:expr, $width:expr, |$some:ident, $values:ident, $scales:ident, $count:ident| $step:expr) => {
        let groups = $width / LANES;
        let lines = $rows.chunks_mut(4 * $width).zip($inputs.values.chunks_mut(4 * groups));
        for (($some, $values), $scales) in lines.zip($inputs.scales.chunks_mut(4)) {
            if $scales.len() == 4 {
                const $count: usize = 4;
                $step;
                continue;
            }
            let lines = $some.chunks_mut($width).zip($values.chunks_mut(groups));
            for (($some, $values), $scales) in lines.zip($scales.chunks_mut(1)) {
                const $count: usize = 1;
                $step;
            }
        }
    };
}
impl<I: Pod> Inputs<'_, I> {
    /// Quantises `rows` of `width`.
    #[inline(always)]
    fn quantise<V: Quantise<I>>(&mut self, rows: &mut [f32], width: usize) {
        in_step!(self, rows, width, |rows, values, scales, R| math::quantise::<V, I, R>(
            rows, values, scales
        ));
    }

    /// Quantises `gelu` of `rows` of `width`, which take it.
    #[inline(always)]
    fn gelu<V: Quantise<I>>(&mut self, rows: &mut [f32], width: usize) {
        in_step!(self, rows, width, |rows, values, scales, R| {
            math::gelu_and_quantise::<V, I, R>(rows, values, scales);
        });
    }

    /// Normalises `rows` in place and quantises them.
    #[inline(always)]
    fn normalise<V: Quantise<I>>(&mut self, rows: &mut [f32], norm: Norm<'_>, epsilon: f32) {
        in_step!(self, rows, norm.gamma.len(), |rows, values, scales, R| {
            math::normalise_and_quantise::<V, I, R>(rows, norm, epsilon, values, scales);
        });
    }

    /// A linear layer over these rows, a strip at a time: `put` gets row, panel and sixteen outputs.
    #[inline(always)]
    fn multiply<V: Vector>(
        &self,
        linear: &Linear<'_>,
        strips: impl Iterator<Item = Strip>,
        sums: &mut [i32],
        product: &mut impl Product<I>,
        mut put: impl FnMut(usize, usize, V),
    ) {
        for strip in strips {
            let sums = &mut sums[..self.scales.len() * strip.count * PANEL];
            product(self.values, linear, strip, sums);
            let sums = sums.as_chunks::<PANEL>().0.chunks_exact(strip.count);
            for (row, (sums, scale)) in sums.zip(&*self.scales).enumerate() {
                for (panel, sums) in strip.panels().zip(sums) {
                    put(row, panel, math::dequantise(linear, panel, sums, *scale));
                }
            }
        }
    }
}

/// Word, position and segment vectors, summed and normalised.
#[inline(always)]
fn embed<V: Quantise<I>, I: Pod>(image: &Image, texts: &[&[u32]], scratch: &mut Scratch) -> Option<()> {
    let (hidden, tables) = (image.config().hidden, image.tables()?);
    let mut rows = scratch.rows.chunks_exact_mut(hidden);
    for text in texts {
        for ((id, position), row) in text.iter().zip(tables.positions.chunks_exact(hidden)).zip(&mut rows) {
            let id = *id as usize;
            let word = tables.words.get(id * hidden..(id + 1) * hidden)?;
            let scale = *tables.word_scale.get(id)?;
            for ((v, w), p) in row.iter_mut().zip(word).zip(position) {
                *v = f32::from(*w) * scale + p;
            }
        }
    }
    let mut inputs = scratch.inputs.rows::<I>(0, scratch.rows.len() / hidden, hidden);
    inputs.normalise::<V>(&mut scratch.rows, tables.norm, image.config().epsilon);
    Some(())
}

/// Attention of all texts, head by head: from the inputs to the context.
#[inline(always)]
fn attend<V: Vector, I: Pod>(
    scratch: &mut Scratch,
    qkv: &Linear<'_>,
    spans: &[Range<usize>],
    heads: usize,
    product: &mut impl Product<I>,
) {
    let (hidden, count) = (qkv.inputs, scratch.inputs.scales.len());
    let width = hidden / heads;
    scratch.head.reserve(count, width);
    for head in 0..heads {
        for first in (0..count).step_by(BLOCK) {
            let inputs = scratch.inputs.rows::<I>(first, BLOCK.min(count - first), hidden);
            let strips = Strip::of_head(head, width, hidden);
            inputs.multiply(qkv, strips, &mut scratch.block.sums, product, |row, panel, outputs: V| {
                outputs.store(scratch.head.outputs(
                    panel * PANEL / hidden,
                    first + row,
                    panel * PANEL % width,
                ));
            });
        }
        for span in spans {
            let context = &mut scratch.context[span.start * hidden..span.end * hidden];
            attention::attend::<V>(&mut scratch.head, span.start, context, hidden, head * width);
        }
    }
}

/// The rest of a layer for one block: attention output, residual, feed-forward part, residual.
#[inline(always)]
fn mix_and_feed_forward<V: Quantise<I>, I: Pod>(
    rows: &mut [f32],
    context: &mut [f32],
    mut outputs: Inputs<'_, I>,
    layer: &Layer<'_>,
    epsilon: f32,
    block: &mut Block,
    product: &mut impl Product<I>,
) {
    let (hidden, wide) = (layer.up.inputs, layer.up.outputs);
    let count = rows.len() / hidden;
    let Block { narrow, wide: bytes, lines, sums } = block;

    let mut inputs = narrow.rows::<I>(0, count, hidden);
    inputs.quantise::<V>(context, hidden);
    let (groups, _) = rows.as_chunks_mut();
    inputs.multiply(&layer.attention, Strip::all(hidden), sums, product, |row, panel, outputs: V| {
        add(&mut groups[row * hidden / LANES + panel], outputs);
    });
    inputs.normalise::<V>(rows, layer.attention_norm, epsilon);

    let (groups, _) = lines.as_chunks_mut();
    inputs.multiply(&layer.up, Strip::all(wide), sums, product, |row, panel, outputs: V| {
        outputs.store(&mut groups[row * wide / LANES + panel]);
    });
    let mut inputs = bytes.rows::<I>(0, count, wide);
    inputs.gelu::<V>(&mut lines[..count * wide], wide);

    let (groups, _) = rows.as_chunks_mut();
    inputs.multiply(&layer.down, Strip::all(hidden), sums, product, |row, panel, outputs: V| {
        add(&mut groups[row * hidden / LANES + panel], outputs);
    });
    outputs.normalise::<V>(rows, layer.output_norm, epsilon);
}

#[inline(always)]
fn add<V: Vector>(to: &mut [f32; LANES], values: V) {
    values.add(V::load(to)).store(to);
}

/// The vector of one text from those of its tokens, appended to `out`.
#[inline(always)]
fn pool(rows: &[f32], hidden: usize, pooling: Pooling, out: &mut Vec<f32>) {
    let start = out.len();
    out.extend_from_slice(&rows[..hidden]);
    if pooling == Pooling::Cls {
        return;
    }
    let pooled = &mut out[start..];
    for row in rows.chunks_exact(hidden).skip(1) {
        for (sum, v) in pooled.iter_mut().zip(row) {
            *sum += v;
        }
    }
    let count = (rows.len() / hidden) as f32;
    for v in pooled {
        *v /= count;
    }
}
