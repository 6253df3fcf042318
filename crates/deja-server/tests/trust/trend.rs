//! How fast something grows that goes up and down by itself.

/// Equal parts of the time, of which each counts with its mean: values that are near in time go up and down together.
const PARTS: usize = 10;
/// The two-sided 95 % point of Student's t distribution with `PARTS - 2` degrees of freedom.
const T: f64 = 2.306;

/// A slope with its confidence interval of 95 %.
#[derive(Clone, Copy, Debug)]
pub struct Trend {
    pub slope: f64,
    /// Half of the interval's width.
    pub error: f64,
}

impl Trend {
    /// The least slope that is credible.
    pub fn at_least(self) -> f64 {
        self.slope - self.error
    }
}

/// The slope of the line with the least squares through `points`, which are ordered by their first number; none if a part
/// of the time has no point.
pub fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    let ((first, _), (last, _)) = (points.first()?, points.last()?);
    let part = |x: f64| (((x - first) / (last - first) * PARTS as f64) as usize).min(PARTS - 1);
    let means: Vec<(f64, f64)> = points.chunk_by(|a, b| part(a.0) == part(b.0)).map(mean).collect();
    if means.len() < PARTS {
        return None;
    }
    let (x, y) = mean(&means);
    let spread: f64 = means.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = means.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    let left: f64 = means.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    Some(Trend { slope, error: T * (left / (PARTS - 2) as f64 / spread).sqrt() })
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count))
}

#[cfg(test)]
mod tests {
    use super::trend;
    use crate::util::Random;

    /// Two hours, a point every ten seconds, that goes up and down by 8 within minutes.
    fn restless(slope: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Random::new(seed);
        let mut wave = 0.0;
        let point = |n: usize| {
            wave = wave * 0.98 + random.below(1000) as f64 / 1000.0 - 0.5;
            let hours = n as f64 / 360.0;
            (hours, 170.0 + slope * hours + wave)
        };
        (0..720).map(point).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_no_error() {
        let line: Vec<_> = (0..100).map(|n| (f64::from(n), 5.0 + 3.0 * f64::from(n))).collect();
        let found = trend(&line).unwrap();
        assert!((found.slope - 3.0).abs() < 1e-9 && found.error < 1e-6, "{found:?}");
        assert!(trend(&line[..5]).is_none());
        assert!(trend(&[]).is_none());
    }

    #[test]
    fn what_only_goes_up_and_down_does_not_grow() {
        let grows = |slope: f64| {
            (0..100).filter(|seed| trend(&restless(slope, *seed)).unwrap().at_least() > 1.0).count()
        };
        assert!(grows(0.0) < 5, "{}", grows(0.0));
        assert!(grows(8.0) > 95, "{}", grows(8.0));
    }
}
