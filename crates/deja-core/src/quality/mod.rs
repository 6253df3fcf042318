//! How good a project's hits are: a sample of what was asked and what came near.
//!
//! The engine takes [samples](NewSample) of queries whose prompt came near an entry; a [`Reservoir`] holds those that
//! are not written yet, and the store keeps as many as the project's settings allow. Texts of prompts: never in logs or
//! metrics. Why so: `docs/adr/0053-samples.md`.

mod reservoir;
mod sample;

pub use reservoir::Reservoir;
pub use sample::{
    BANDS, Band, DEFAULT_SAMPLES, FORBIDDEN, MAX_SAMPLED_BYTES, Met, NewSample, Sample, SampleId,
};
