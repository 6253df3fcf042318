//! What the forward pass asks of an instruction set: integer sums of bytes, a strip of output channels at a time.

use std::ops::Range;

use super::vector::LANES;
use crate::image::{Linear, PANEL};

/// Most panels of a strip: those whose sums for eight rows fit the registers of AVX-512.
pub(super) const STRIP: usize = 3;

/// Panels whose sums are computed together: `first`, `first + stride`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strip {
    pub(super) first: usize,
    pub(super) stride: usize,
    pub(super) count: usize,
}

impl Strip {
    /// All panels of a layer with `outputs`.
    pub(super) fn all(outputs: usize) -> impl Iterator<Item = Self> {
        let panels = outputs / PANEL;
        (0..panels).step_by(STRIP).map(move |first| Self {
            first,
            stride: 1,
            count: STRIP.min(panels - first),
        })
    }

    /// What one head takes of queries, keys and values that lie side by side: a panel of each in every strip.
    pub(super) fn of_head(head: usize, width: usize, hidden: usize) -> impl Iterator<Item = Self> {
        let panels: Range<usize> = head * width / PANEL..(head + 1) * width / PANEL;
        panels.map(move |first| Self { first, stride: hidden / PANEL, count: STRIP })
    }

    /// The layer's number of the strip's panel `at`.
    pub(super) fn panel(self, at: usize) -> usize {
        self.first + at * self.stride
    }

    pub(super) fn panels(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| self.panel(at))
    }
}

/// `sums[row][panel of the strip][n] = sum_k(inputs[row][k] * weights[k][n])`, weights packed as in [`Linear`].
pub(super) trait Product<I>: FnMut(&[[I; LANES]], &Linear<'_>, Strip, &mut [i32]) {}
impl<I, F: FnMut(&[[I; LANES]], &Linear<'_>, Strip, &mut [i32])> Product<I> for F {}
