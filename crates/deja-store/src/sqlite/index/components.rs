//! The components of vectors: f16 as they are stored, or int8, half as large, with a bound of what that changes.

use half::f16;

use super::kernels::{self, Level};
use super::vector;

/// What an f32 sum of so many products may be off by, generously.
const ROUNDING: f32 = 1e-5;

/// The components of some vectors, one vector after the other.
pub(super) enum Components {
    /// The f16 bits.
    F16(Vec<u16>),
    /// Steps of a size that each vector has of its own (scalar quantisation).
    Int8(Vec<i8>),
}

/// What a dot product with the components of one vector says of the cosine.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// What makes a cosine of the dot product.
    pub(super) factor: f32,
    /// The length of what they lack of the stored vector, whose length is 1; 0 if they are the stored components.
    pub(super) lost: f32,
}

impl Reading {
    /// The least and the greatest cosine that the vector may have with a probe of length 1, from the dot product of both.
    ///
    /// The vector is what is kept and r, at a right angle to the vector. The cosine of what is kept differs from c, that of
    /// the vector, by the dot product of r and the probe. Only what of the probe is at a right angle to the vector counts
    /// for it, and that has length sqrt(1 - c²). So it is at most |r| sqrt(1 - c²) (Cauchy-Schwarz), which is solved for c.
    pub(super) fn bounds(self, dot: f32) -> (f32, f32) {
        let cosine = dot * self.factor;
        if self.lost == 0.0 {
            return (cosine, cosine);
        }
        let square = 1.0 + self.lost * self.lost;
        let width = self.lost * (square - cosine * cosine).max(0.0).sqrt();
        ((cosine - width) / square - ROUNDING, (cosine + width) / square + ROUNDING)
    }
}

impl Default for Components {
    fn default() -> Self {
        Self::F16(Vec::new())
    }
}

impl Components {
    pub(super) fn is_int8(&self) -> bool {
        matches!(self, Self::Int8(_))
    }

    /// Gives room for exactly `capacity` components.
    pub(super) fn resize(&mut self, capacity: usize) {
        match self {
            Self::F16(list) => for_exactly(list, capacity),
            Self::Int8(list) => for_exactly(list, capacity),
        }
    }

    /// The components of the vector at `at`.
    pub(super) fn of(&self, at: usize, dimension: usize) -> Self {
        let range = at * dimension..(at + 1) * dimension;
        match self {
            Self::F16(list) => Self::F16(list[range].to_vec()),
            Self::Int8(list) => Self::Int8(list[range].to_vec()),
        }
    }

    pub(super) fn truncate(&mut self, vectors: usize, dimension: usize) {
        match self {
            Self::F16(list) => list.truncate(vectors * dimension),
            Self::Int8(list) => list.truncate(vectors * dimension),
        }
    }

    /// Puts one vector at `at`, in place of another or behind the last, and says how it is read there. `reading` is how
    /// it is read where it comes from.
    pub(super) fn put(&mut self, at: usize, one: &Self, reading: Reading) -> Reading {
        match (self, one) {
            (Self::F16(list), Self::F16(one)) => put(list, at, one),
            (Self::Int8(list), Self::Int8(one)) => put(list, at, one),
            (Self::Int8(list), Self::F16(one)) => {
                let (steps, reading) = quantised(one, reading);
                put(list, at, &steps);
                return reading;
            }
            // An int8 vector has so few steps that f16 holds each exactly.
            (Self::F16(list), Self::Int8(_)) => {
                let steps: Vec<u16> =
                    one.to_f32().into_iter().map(|step| f16::from_f32(step).to_bits()).collect();
                put(list, at, &steps);
            }
        }
        reading
    }

    /// The values, at a length of their own.
    pub(super) fn to_f32(&self) -> Vec<f32> {
        match self {
            Self::F16(list) => vector::to_f32(list),
            Self::Int8(list) => list.iter().map(|step| f32::from(*step)).collect(),
        }
    }

    /// The dot product of the vector at `at` with `probe`.
    pub(super) fn dot(&self, level: Level, at: usize, probe: &[f32]) -> f32 {
        let range = at * probe.len()..(at + 1) * probe.len();
        match self {
            Self::F16(list) => kernels::dot(level, &list[range], probe),
            Self::Int8(list) => kernels::dot_int8(level, &list[range], probe),
        }
    }
}

/// The components in steps of about 1/127 of the largest one: of a step so long that what rounding takes away is at a
/// right angle to the vector (see [`Reading::bounds`]).
pub(super) fn quantised(stored: &[u16], reading: Reading) -> (Vec<i8>, Reading) {
    // Adding it leaves the nearest whole number in the lowest bits.
    const ROUND: f32 = 1.5 * (1 << 23) as f32;
    let mut values = vector::to_f32(stored);
    let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = 127.0 / largest;
    let steps: Vec<i8> = values.iter().map(|value| (value * scale + ROUND).to_bits() as i8).collect();
    let step = squares(&values) / kernels::dot_int8(kernels::level(), &steps, &values);
    for (value, steps) in values.iter_mut().zip(&steps) {
        *value -= f32::from(*steps) * step;
    }
    let lost = squares(&values).sqrt() * reading.factor * 1.001;
    (steps, Reading { factor: step * reading.factor, lost: reading.lost + lost })
}

/// The sum of the squares, in sums that do not wait for each other.
fn squares(values: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for values in values.chunks(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += value * value;
        }
    }
    sums.iter().sum()
}

/// Gives `list` room for exactly `capacity` items.
pub(super) fn for_exactly<T>(list: &mut Vec<T>, capacity: usize) {
    list.shrink_to(capacity);
    list.reserve_exact(capacity - list.len());
}

fn put<T: Copy>(list: &mut Vec<T>, at: usize, one: &[T]) {
    match list.get_mut(at * one.len()..(at + 1) * one.len()) {
        Some(place) => place.copy_from_slice(one),
        None => list.extend_from_slice(one),
    }
}

#[cfg(test)]
mod tests {
    use deja_core::embedding::Embedding;

    use super::super::vector::Vector;
    use super::*;
    use deja_core::random::split_mix;

    fn unit(random: &mut u64, dimension: usize) -> Vec<f32> {
        let values: Vec<f64> =
            (0..dimension).map(|_| (split_mix(random) >> 11) as f64 / 2f64.powi(52) - 1.0).collect();
        let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        values.iter().map(|value| (value / length) as f32).collect()
    }

    #[test]
    fn bounds_hold_the_cosine_of_the_stored_vector() {
        let random = &mut 7;
        for dimension in [1, 2, 63, 64, 65, 384, 1_536] {
            for round in 0..200_u16 {
                let (probe, other) = (unit(random, dimension), unit(random, dimension));
                let near = f32::from(round) / 20.0;
                let mixed: Vec<f32> = probe.iter().zip(&other).map(|(a, b)| a * near + b).collect();
                let Ok(embedding) = Embedding::new(mixed) else { continue };
                let stored = Vector::new(&embedding).unwrap();
                let cosine = kernels::dot(kernels::level(), &stored.stored, &probe) * stored.reading().factor;
                let (steps, reading) = quantised(&stored.stored, stored.reading());
                let int8 = Components::Int8(steps);
                let (least, most) = reading.bounds(int8.dot(kernels::level(), 0, &probe));
                assert!(least <= cosine && cosine <= most, "{cosine} is not in {least}..={most}");
                // Few are read: near the probe the bounds are narrow.
                let width = 2.0 * reading.lost * (1.0 - cosine * cosine).max(0.0).sqrt();
                assert!(reading.lost < 0.012 && most - least < width + 1e-4, "{dimension}: {least}..={most}");

                // Moved among f16 components and back it is read as before.
                let mut f16 = Components::default();
                let there = f16.put(0, &int8, reading);
                let mut back = Components::Int8(Vec::new());
                let back_again = back.put(0, &f16, there);
                let found = back_again.bounds(back.dot(kernels::level(), 0, &probe));
                assert!((found.0 - least).abs() < 1e-5 && (found.1 - most).abs() < 1e-5, "{found:?}");
                assert!(found.0 <= cosine && cosine <= found.1, "{cosine} is not in {found:?}");
            }
        }
    }
}
