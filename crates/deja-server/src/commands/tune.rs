//! What `deja tune` shows: plain data, shares from 0 to 1, money in US dollars.

use deja_core::admin::AdminError;
use deja_core::admin::quality::Evidence;
use deja_core::embedding::Threshold;
use deja_core::quality::{Estimate, Point, Quality, Setting};
use deja_core::words::UnknownWord;
use serde::{Deserialize, Serialize};

use crate::format;

/// How good a project's hits are, and what other settings would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TuneView {
    pub project: String,
    /// Since when traffic is counted; `None` without samples.
    pub since: Option<jiff::Timestamp>,
    /// Requests that were answered in that time.
    pub answered: u64,
    pub samples: usize,
    /// Samples with a label.
    pub labels: usize,
    pub hit_rate: f64,
    /// Wrong ones among the hits; `None` without labels.
    pub wrong: Option<EstimateView>,
    /// The share of what came near that is not English, is code, or is long.
    pub by_proof_only: f64,
    /// What is in force.
    pub present: SettingView,
    /// What to apply; `None` while the labels show it of no setting.
    pub advised: Option<PointView>,
    pub curve: Vec<PointView>,
}

/// A share with its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct EstimateView {
    pub share: f64,
    pub low: f64,
    pub high: f64,
    pub labels: usize,
}

/// A threshold, and `off`, `standard`, `strict` or `thorough`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingView {
    pub threshold: f64,
    pub guard: String,
}

/// What a setting would have done with the traffic.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointView {
    #[serde(flatten)]
    pub setting: SettingView,
    pub hit_rate: f64,
    /// Right ones among the hits by meaning; `None` without labels.
    pub precision: Option<EstimateView>,
    pub saved_usd: f64,
}

impl From<Setting> for SettingView {
    fn from(setting: Setting) -> Self {
        Self { threshold: setting.threshold.get(), guard: setting.guard.as_str().into() }
    }
}

impl TryFrom<SettingView> for Setting {
    type Error = AdminError;

    fn try_from(view: SettingView) -> Result<Self, AdminError> {
        let wrong = || AdminError::Invalid("the threshold must be between 0 and 1".into());
        let threshold = Threshold::new(view.threshold).ok_or_else(wrong)?;
        let unknown = |word: UnknownWord| AdminError::Invalid(word.to_string());
        Ok(Self { threshold, guard: view.guard.parse().map_err(unknown)? })
    }
}

impl From<Estimate> for EstimateView {
    fn from(Estimate { share, low, high, labels }: Estimate) -> Self {
        Self { share, low, high, labels }
    }
}

impl From<&Point> for PointView {
    fn from(point: &Point) -> Self {
        Self {
            setting: point.setting.into(),
            hit_rate: point.hit_rate,
            precision: point.precision.map(Into::into),
            saved_usd: point.saved.as_dollars(),
        }
    }
}

impl From<Evidence> for TuneView {
    fn from(evidence: Evidence) -> Self {
        let quality: Quality = evidence.quality();
        Self {
            project: evidence.project.slug.to_string(),
            since: evidence.since.map(format::to_second),
            answered: evidence.traffic.answered(),
            samples: evidence.samples.len(),
            labels: evidence.labels(),
            hit_rate: quality.hit_rate,
            wrong: quality.wrong.map(Into::into),
            by_proof_only: quality.proof_only,
            present: evidence.present().into(),
            advised: quality.advised().map(Into::into),
            curve: quality.curve.iter().map(Into::into).collect(),
        }
    }
}
