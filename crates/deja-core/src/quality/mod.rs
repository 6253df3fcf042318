//! How good a project's hits are: a sample of what was asked and what came near, and what can be said from it.
//!
//! The engine takes [samples](NewSample) of queries whose prompt came near an entry; a [`Reservoir`] holds those that
//! are not written yet, and the store keeps as many as the project's settings allow. Texts of prompts: never in logs or
//! metrics. Why so: `docs/adr/0053-samples.md`.

mod curve;
mod interval;
mod reservoir;
mod sample;

pub use curve::{ADVISED_PRECISION, Judged, Point, Quality, Setting, Traffic, to_label};
pub use interval::Estimate;
pub use reservoir::Reservoir;
pub use sample::{
    BANDS, Band, DEFAULT_SAMPLES, FORBIDDEN, MAX_CONTEXT_BYTES, MAX_MATCHED_BYTES, MAX_SAMPLED_BYTES,
    NewSample, Sample, SampleId, SamplePlace,
};
