//! Fresh prices: fetched with an ETag, checked before they replace the old ones, kept on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use deja_core::admin::{AdminError, Prices};
use deja_core::clock::{Clock, Timestamp};
use deja_core::pricing::{PriceBook, PriceList, PriceSource, PriceTable, PriceTableError};
use deja_providers::{Fetched, HttpSettings, PriceFetchError, fetch_prices};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::config::{usual_prices_url, without_secrets};

/// After a failure the next try does not wait for the whole interval.
const RETRY_AFTER: Duration = Duration::from_mins(5);

/// The prices in force and where fresh ones come from.
pub struct PriceFeed {
    /// The prices in force.
    pub book: Arc<PriceBook>,
    url: Option<Url>,
    /// Whether the operator chose the URL.
    is_own: bool,
    file: PathBuf,
    /// The ETag of the table in force, if the table came from `url`. Held while prices are fetched: one fetch at a time.
    etag: Mutex<Option<String>>,
}

/// Why there are no fresh prices. The old ones stay in force.
#[derive(Debug, thiserror::Error)]
enum RefreshError {
    /// There is nowhere to fetch them from.
    #[error("no URL for prices is set (DEJA_PRICES_URL)")]
    NoUrl,
    /// They could not be fetched.
    #[error(transparent)]
    Fetch(#[from] PriceFetchError),
    /// They were fetched, and are refused.
    #[error("the fetched prices are refused: {0}")]
    Refused(PriceTableError),
}

/// The last good table as it stands on disk. One file, so that table and ETag cannot come apart.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    /// Without what may be secret in it.
    url: String,
    etag: Option<String>,
    fetched_at: Timestamp,
    #[serde(borrow)]
    table: &'a RawValue,
}

impl PriceFeed {
    /// A feed of `url` that starts with the last good table of `data_dir` or with the one compiled in, whichever is newer.
    /// Without a URL always with the one compiled in.
    pub fn open(url: Option<Url>, data_dir: &Path) -> Self {
        let book = Arc::new(PriceBook::compiled_in());
        let file = data_dir.join("prices.json");
        let is_own = url != usual_prices_url();
        let mut etag = None;
        if let Some(url) = &url
            && let Ok(bytes) = std::fs::read(&file)
        {
            match take_kept(&book, is_own, &bytes) {
                Ok(Some((from, kept))) if from == without_secrets(url).as_str() => etag = kept,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(error, "the stored price table is not usable; the compiled-in one stays");
                }
            }
        }
        Self { book, url, is_own, file, etag: Mutex::new(etag) }
    }

    /// Fetches the table, unless it is the one in force; `true` if a new one is in force then. A table that fails the checks
    /// changes nothing.
    async fn refresh(&self, clock: &dyn Clock) -> Result<bool, RefreshError> {
        let url = self.url.as_ref().ok_or(RefreshError::NoUrl)?;
        let mut etag = self.etag.lock().await;
        match fetch_prices(url.as_str(), etag.as_deref(), &HttpSettings::default()).await? {
            Fetched::NotModified => {
                let now = clock.now();
                self.book.confirm(now);
                if let Err(error) = self.keep_confirmed(url, etag.as_deref(), now).await {
                    tracing::warn!(error = %error, "the time of the last fetch of prices could not be written to disk");
                }
                Ok(false)
            }
            Fetched::Body { bytes, etag: fresh } => {
                let fetched_at = clock.now();
                let source = PriceSource {
                    name: without_secrets(url).into(),
                    revision: fresh.clone(),
                    fetched_at: Some(fetched_at),
                };
                PriceTable::parse(&bytes)
                    .and_then(|table| put(&self.book, self.is_own, table, source))
                    .map_err(RefreshError::Refused)?;
                etag.clone_from(&fresh);
                if let Err(error) = self.keep(url, fresh, fetched_at, &bytes).await {
                    tracing::warn!(error = %error, "the price table could not be kept on disk");
                }
                Ok(true)
            }
        }
    }

    /// Refreshes every `every` until `stop`.
    pub async fn run(self: Arc<Self>, every: Duration, clock: Arc<dyn Clock>, stop: CancellationToken) {
        if self.url.is_none() {
            return;
        }
        let work = async {
            loop {
                let pause = match self.refresh(&*clock).await {
                    Ok(true) => {
                        tracing::info!(models = self.book.current().table.len(), "fresh prices are in force");
                        every
                    }
                    Ok(false) => every,
                    Err(error) => {
                        tracing::warn!(error = %error, "no fresh prices; the old ones stay");
                        every.min(RETRY_AFTER)
                    }
                };
                tokio::time::sleep(pause).await;
            }
        };
        stop.run_until_cancelled(work).await;
    }

    async fn keep(
        &self,
        url: &Url,
        etag: Option<String>,
        fetched_at: Timestamp,
        table: &[u8],
    ) -> std::io::Result<()> {
        let table = serde_json::from_slice(table)?;
        self.write(Kept { url: without_secrets(url).into(), etag, fetched_at, table }).await
    }

    /// Keeps that the table was still the newest at `now`, unless another one is on disk.
    async fn keep_confirmed(&self, url: &Url, etag: Option<&str>, now: Timestamp) -> std::io::Result<()> {
        let bytes = tokio::fs::read(&self.file).await?;
        let kept: Kept<'_> = serde_json::from_slice(&bytes)?;
        if kept.url != without_secrets(url).as_str() || kept.etag.as_deref() != etag {
            return Ok(());
        }
        self.write(Kept { fetched_at: now, ..kept }).await
    }

    /// Written beside and renamed over, so that a crash leaves the old table or the new one.
    async fn write(&self, kept: Kept<'_>) -> std::io::Result<()> {
        let draft = self.file.with_extension("json.new");
        let mut file = OpenOptions::new();
        let mut file = file.write(true).create(true).truncate(true).mode(0o600).open(&draft).await?;
        file.write_all(&serde_json::to_vec(&kept)?).await?;
        file.flush().await?;
        tokio::fs::rename(&draft, &self.file).await
    }
}

#[async_trait]
impl Prices for PriceFeed {
    fn current(&self) -> Arc<PriceList> {
        self.book.current()
    }

    fn is_refreshed(&self) -> bool {
        self.url.is_some()
    }

    async fn refresh(&self, clock: &dyn Clock) -> Result<bool, AdminError> {
        match self.refresh(clock).await {
            Ok(is_new) => Ok(is_new),
            Err(error @ RefreshError::NoUrl) => Err(AdminError::Invalid(error.to_string())),
            Err(error) => Err(AdminError::Failed(format!("{error}; the old prices stay in force"))),
        }
    }

    fn provider_of(&self, model: &str) -> &'static str {
        deja_providers::family(model).map_or("", deja_providers::Family::name)
    }
}

/// Puts a table in force. The usual map was cut where it lacks much; an operator's own may be a list of what they use.
fn put(
    book: &PriceBook,
    is_own: bool,
    table: PriceTable,
    source: PriceSource,
) -> Result<(), PriceTableError> {
    if !is_own {
        return book.replace(table, source);
    }
    if let Err(short) = book.current().table.check_replacement(&table) {
        tracing::info!("{short}; it is taken, since the URL is your own: what it lacks has no price");
    }
    book.put(table, source);
    Ok(())
}

/// Puts the kept table in force, and gives its URL and ETag; `None` if the compiled-in table is newer.
fn take_kept(
    book: &PriceBook,
    is_own: bool,
    bytes: &[u8],
) -> Result<Option<(String, Option<String>)>, String> {
    let kept: Kept<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if book.current().table.as_of().is_some_and(|as_of| kept.fetched_at < as_of) {
        return Ok(None);
    }
    let source = PriceSource {
        name: "last-known-good".into(),
        revision: kept.etag.clone(),
        fetched_at: Some(kept.fetched_at),
    };
    PriceTable::parse(kept.table.get().as_bytes())
        .and_then(|table| put(book, is_own, table, source))
        .map_err(|error| error.to_string())?;
    Ok(Some((kept.url, kept.etag)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::StatusCode;
    use deja_core::clock::SystemClock;
    use tokio::net::TcpListener;
    use tokio_util::task::TaskTracker;

    use super::*;

    const URL: &str = "https://prices.example/map.json";

    const WHOLE: &str = include_str!("../../../deja-core/data/prices.json");
    const SHORT: &str = r#"{"m": {"mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0}}"#;

    /// Where the prices of a start come from, with a table that was kept at this moment.
    fn source(kept_at: Timestamp, url: Option<&str>) -> (String, Option<String>) {
        source_of(WHOLE, kept_at, url)
    }

    fn source_of(table: &str, kept_at: Timestamp, url: Option<&str>) -> (String, Option<String>) {
        let data = tempfile::tempdir().unwrap();
        let table: &RawValue = serde_json::from_str(table).unwrap();
        let kept = Kept { url: URL.into(), etag: Some("v1".into()), fetched_at: kept_at, table };
        std::fs::write(data.path().join("prices.json"), serde_json::to_vec(&kept).unwrap()).unwrap();
        let feed = PriceFeed::open(url.map(|url| url.parse().unwrap()), data.path());
        let name = feed.book.current().source.name.clone();
        (name, feed.etag.into_inner())
    }

    #[test]
    fn the_newer_of_the_kept_and_the_compiled_in_prices_wins() {
        let as_of = PriceTable::compiled_in().as_of().unwrap();
        let before = Timestamp::from_nanos(as_of.as_nanos() - 1);
        assert_eq!(source(as_of, Some(URL)), ("last-known-good".into(), Some("v1".into())));
        // The ETag goes with its table: with it, the source would say that there is nothing new.
        assert_eq!(source(before, Some(URL)), ("compiled-in".into(), None));
        assert_eq!(source(as_of, Some("https://other.example/")), ("last-known-good".into(), None));
    }

    #[test]
    fn a_short_table_is_taken_of_a_url_that_the_operator_chose() {
        let as_of = PriceTable::compiled_in().as_of().unwrap();
        let usual = usual_prices_url().unwrap();
        for (table, url, name) in [
            (SHORT, URL, "last-known-good"),
            (SHORT, usual.as_str(), "compiled-in"),
            (WHOLE, usual.as_str(), "last-known-good"),
            ("{}", URL, "compiled-in"),
        ] {
            assert_eq!(source_of(table, as_of, Some(url)).0, name, "{url}: {} bytes", table.len());
        }
    }

    /// The first answer is a failure, the next ones are a table.
    #[tokio::test]
    async fn prices_are_fetched_again_and_again_after_a_failure_too() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        let source = async move || match counter.fetch_add(1, Ordering::Relaxed) {
            0 => Err(StatusCode::SERVICE_UNAVAILABLE),
            _ => Ok(WHOLE),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (url, shown) =
            (format!("http://me:hush@{address}/map.json?key=hush"), format!("http://{address}/map.json"));
        let tasks = TaskTracker::new();
        tasks.spawn(axum::serve(listener, Router::new().fallback(source)).into_future());
        let data = tempfile::tempdir().unwrap();
        let feed = Arc::new(PriceFeed::open(Some(url.parse().unwrap()), data.path()));
        let stop = CancellationToken::new();
        let every = Duration::from_millis(5);
        let running = tasks.spawn(feed.clone().run(every, Arc::new(SystemClock), stop.clone()));
        while asked.load(Ordering::Relaxed) < 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(feed.book.current().source.name, shown);
        stop.cancel();
        running.await.unwrap();
        let kept = data.path().join("prices.json");
        assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!std::fs::read_to_string(&kept).unwrap().contains("hush"));
    }

    #[test]
    fn without_a_url_only_the_compiled_in_prices_count() {
        let later = PriceTable::compiled_in().as_of().unwrap().plus(Duration::from_hours(1));
        assert_eq!(source(later, None), ("compiled-in".into(), None));
    }
}
