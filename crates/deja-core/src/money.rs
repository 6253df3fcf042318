//! Money: whole nano-dollars inside, a JSON number of dollars outside.

use serde::{Deserialize, Serialize};

/// An amount of US dollars in whole nano-dollars (1e-9 USD). Sums stop at the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NanoUsd(u64);

impl NanoUsd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `nanos` nano-dollars.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The amount in nano-dollars.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The same, to change it.
    pub(crate) fn nanos_mut(&mut self) -> &mut u64 {
        &mut self.0
    }

    /// The amount in dollars, for people and JSON.
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `dollars`, rounded to the nearest nano-dollar. `None` if that is no amount: below zero, not finite, or above a
    /// billion dollars.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        (0.0..=1e9).contains(&dollars).then(|| Self((dollars * 1e9).round() as u64))
    }

    /// The sum, or the maximum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left, or nothing.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
