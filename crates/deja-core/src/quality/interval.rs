//! A share of a few trials, and how sure it is.

/// The 0.975 quantile of the normal distribution: an interval around it holds 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A share with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The share, 0 to 1.
    pub share: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// Labels that it is made from.
    pub labels: usize,
}

impl Estimate {
    /// The estimate for all others: from the share of right ones the share of wrong ones.
    #[must_use]
    pub(crate) fn of_the_rest(self) -> Self {
        Self { share: 1.0 - self.share, low: 1.0 - self.high, high: 1.0 - self.low, ..self }
    }

    /// The estimate for a whole, if this one is for a `part` of it and the rest has none.
    #[must_use]
    pub fn within(self, part: f64) -> Self {
        Self { share: self.share * part, low: self.low * part, high: self.high * part, ..self }
    }
}

/// The score interval of a share seen in `trials`, of which there may be a fraction (E. B. Wilson, "Probable inference,
/// the law of succession, and statistical inference", JASA 22, 1927). It is of use for few trials, and where all of
/// them or none succeeded.
pub(super) fn wilson(share: f64, trials: f64) -> (f64, f64) {
    if trials <= 0.0 {
        return (0.0, 1.0);
    }
    let (square, over) = (Z * Z / trials, 1.0 + Z * Z / trials);
    let centre = (share + square / 2.0) / over;
    let half = (share * (1.0 - share) * square + square * square / 4.0).sqrt() / over;
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// How many trials of equal weight say as much as trials of these weights (L. Kish, "Survey Sampling", 1965). Put into
/// Wilson's interval as N. Dean and M. Pagano do in "Evaluating confidence interval methods for binomial proportions in
/// clustered surveys", 2015.
pub(super) fn effective(weights: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) =
        weights.fold((0.0, 0.0), |(sum, squares), weight| (sum + weight, squares + weight * weight));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_literature() {
        // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
        for (right, trials, low, high) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let (from, until) = wilson(right / trials, trials);
            assert!((from - low).abs() < 5e-5 && (until - high).abs() < 5e-5, "{right}: {from} {until}");
        }
        assert_eq!(wilson(0.0, 0.0), (0.0, 1.0));
        let (low, high) = wilson(1.0, 30.0);
        assert!((low - 0.8865).abs() < 5e-5 && high > 1.0 - 1e-9);
    }

    #[test]
    fn weights_that_differ_count_for_fewer_trials() {
        assert!((effective([2.0; 30].into_iter()) - 30.0).abs() < 1e-9);
        // (3 + 1)^2 / (9 + 1).
        assert!((effective([3.0, 1.0].into_iter()) - 1.6).abs() < 1e-9);
        assert!(effective(std::iter::empty()).abs() < 1e-9);
    }

    #[test]
    fn the_rest_is_the_mirror_image() {
        let right = Estimate { share: 0.9, low: 0.8, high: 0.95, labels: 30 };
        let wrong = right.of_the_rest();
        assert!((wrong.share - 0.1).abs() < 1e-9 && (wrong.low - 0.05).abs() < 1e-9);
        assert!((wrong.within(0.5).high - 0.1).abs() < 1e-9);
    }
}
