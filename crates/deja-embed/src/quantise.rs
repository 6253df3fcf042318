//! f32 weights to the int8 image: symmetric, one scale per output channel, one per word.
//!
//! Used at load for a model directory and once, offline, for the built-in model, so both go the same way.

use crate::image::{Config, Image, PANEL, QUAD, Writer};

/// A linear layer as it comes from the file: `weight` is `[outputs][inputs]`.
pub(crate) struct Dense {
    /// Row-major, one row per output.
    pub(crate) weight: Vec<f32>,
    /// One per output.
    pub(crate) bias: Vec<f32>,
}

/// A layer normalisation.
pub(crate) struct NormWeights {
    /// Factor per component.
    pub(crate) gamma: Vec<f32>,
    /// Addend per component.
    pub(crate) beta: Vec<f32>,
}

/// One encoder layer at full precision.
pub(crate) struct LayerWeights {
    /// Query, key and value projections.
    pub(crate) qkv: [Dense; 3],
    /// Attention output projection.
    pub(crate) attention: Dense,
    /// Normalisation after the attention.
    pub(crate) attention_norm: NormWeights,
    /// Feed-forward, first half.
    pub(crate) up: Dense,
    /// Feed-forward, second half.
    pub(crate) down: Dense,
    /// Normalisation after the feed-forward part.
    pub(crate) output_norm: NormWeights,
}

/// The embedding tables at full precision.
pub(crate) struct TableWeights {
    /// `[vocabulary][hidden]`.
    pub(crate) words: Vec<f32>,
    /// `[at least window][hidden]`.
    pub(crate) positions: Vec<f32>,
    /// The vector of segment 0.
    pub(crate) segment: Vec<f32>,
    /// Normalisation of the sum.
    pub(crate) norm: NormWeights,
}

/// Builds the image. Lengths must fit `config`; the reader of the file has checked that.
pub(crate) fn image(
    config: &Config,
    tables: &TableWeights,
    layer: impl FnMut(usize) -> Result<LayerWeights, String>,
) -> Result<Image, String> {
    let mut out = Writer::new(config)?;
    let rows: Vec<(f32, Vec<i8>)> = tables.words.chunks_exact(config.hidden).map(row).collect();
    out.put(&rows.iter().flat_map(|(_, q)| q.iter().copied()).collect::<Vec<i8>>());
    out.put(&rows.iter().map(|(scale, _)| *scale).collect::<Vec<f32>>());
    let positions: Vec<f32> = tables
        .positions
        .chunks_exact(config.hidden)
        .take(config.window)
        .flat_map(|position| position.iter().zip(&tables.segment).map(|(p, s)| p + s))
        .collect();
    out.put(&positions);
    put_norm(&mut out, &tables.norm);
    put_layers(&mut out, config, layer)?;
    out.finish()
}

/// Builds an image that stands on another one: all but the layers beneath, and a head.
pub(crate) fn image_on_another(
    config: &Config,
    head: &Dense,
    layer: impl FnMut(usize) -> Result<LayerWeights, String>,
) -> Result<Image, String> {
    let mut out = Writer::new(config)?;
    put_layers(&mut out, config, layer)?;
    out.put(&head.weight);
    out.put(&head.bias);
    out.finish()
}

fn put_layers(
    out: &mut Writer,
    config: &Config,
    mut layer: impl FnMut(usize) -> Result<LayerWeights, String>,
) -> Result<(), String> {
    let query_factor = 1.0 / ((config.hidden / config.heads) as f32).sqrt();
    for index in config.beneath..config.layers {
        let mut weights = layer(index)?;
        // Attention divides its scores by the root of the head width; folded into the queries it costs nothing.
        let query = &mut weights.qkv[0];
        query.weight.iter_mut().chain(&mut query.bias).for_each(|v| *v *= query_factor);
        put_linear(out, &weights.qkv, config.hidden);
        put_linear(out, &[weights.attention], config.hidden);
        put_norm(out, &weights.attention_norm);
        put_linear(out, &[weights.up], config.hidden);
        put_linear(out, &[weights.down], config.feed_forward);
        put_norm(out, &weights.output_norm);
    }
    Ok(())
}

fn put_norm(out: &mut Writer, norm: &NormWeights) {
    out.put(&norm.gamma);
    out.put(&norm.beta);
}

/// Quantises and packs the layers in `parts` side by side.
fn put_linear(out: &mut Writer, parts: &[Dense], inputs: usize) {
    let rows: Vec<(f32, Vec<i8>)> =
        parts.iter().flat_map(|part| part.weight.chunks_exact(inputs)).map(row).collect();
    let mut packed = Vec::with_capacity(rows.len() * inputs);
    for panel in rows.chunks_exact(PANEL) {
        for at in (0..inputs).step_by(QUAD) {
            for (_, q) in panel {
                packed.extend_from_slice(&q[at..at + QUAD]);
            }
        }
    }
    let offset: Vec<f32> =
        rows.iter().map(|(scale, q)| scale * q.iter().map(|v| i32::from(*v)).sum::<i32>() as f32).collect();
    out.put(&packed);
    out.put(&rows.iter().map(|(scale, _)| *scale).collect::<Vec<f32>>());
    out.put(&offset);
    out.put(&parts.iter().flat_map(|part| part.bias.iter().copied()).collect::<Vec<f32>>());
}

/// One row as a scale and integers in -127..=127.
fn row(values: &[f32]) -> (f32, Vec<i8>) {
    let largest = values.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        return (0.0, vec![0; values.len()]);
    }
    let scale = largest / 127.0;
    (scale, values.iter().map(|v| (v / scale).round_ties_even().clamp(-127.0, 127.0) as i8).collect())
}
