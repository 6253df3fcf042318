//! What an answer says about asking again: whether, and after which wait.

use std::time::{Duration, SystemTime};

use deja_core::clock::{Clock, SystemClock};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// The wait that the answer's headers ask for.
pub(crate) fn wait_in_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()).and_then(millis) {
        return Some(wait);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return millis(seconds * 1000.0);
    }
    // The difference to the answer's own date holds even where the two clocks disagree.
    let until = httpdate::parse_http_date(value).ok()?;
    let now = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    let now = now.unwrap_or_else(|| {
        let nanos = u64::try_from(SystemClock.now().as_nanos()).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)
    });
    Some(until.duration_since(now).unwrap_or_default())
}

/// What `x-should-retry` says, if it is there.
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()?.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The wait in the details of a Google error: `RetryInfo.retryDelay`, such as `"36s"` or `"1.5s"`.
pub(crate) fn wait_in_details(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    millis(delay.strip_suffix('s')?.parse::<f64>().ok()? * 1000.0)
}

fn millis(value: f64) -> Option<Duration> {
    // A year at most: what is longer, negative or not a number says nothing.
    (0.0..=31_536_000_000.0).contains(&value).then(|| Duration::from_micros((value * 1000.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().unwrap()));
        wait_in_headers(&pairs.collect())
    }

    #[test]
    fn waits_are_read_in_every_form() {
        let millis = |ms| Some(Duration::from_millis(ms));
        assert_eq!(wait(&[("retry-after", "7"), ("retry-after-ms", "6820")]), millis(6820));
        assert_eq!(wait(&[("retry-after", "7")]), millis(7000));
        assert_eq!(wait(&[("retry-after", "1.5")]), millis(1500));
        assert_eq!(wait(&[("retry-after-ms", "junk"), ("retry-after", "2")]), millis(2000));
        let date =
            [("retry-after", "Fri, 20 Nov 2026 10:00:30 GMT"), ("date", "Fri, 20 Nov 2026 10:00:00 GMT")];
        assert_eq!(wait(&date), millis(30_000));
        assert_eq!(wait(&[("retry-after", "Fri, 20 Nov 2020 10:00:30 GMT")]), millis(0));
        for junk in ["", "-1", "soon", "inf", "NaN", "1e300"] {
            assert_eq!(wait(&[("retry-after", junk)]), None, "{junk}");
        }
        let details = serde_json::json!({"details": [{"x": 1}, {"retryDelay": "36.4s"}]});
        assert_eq!(wait_in_details(&details), millis(36_400));
    }
}
