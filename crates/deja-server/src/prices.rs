//! Fresh prices: fetched with an ETag, checked before they replace the old ones, kept on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deja_core::clock::Clock;
use deja_core::pricing::{PriceBook, PriceSource, PriceTable};
use deja_providers::{Fetched, HttpSettings, fetch_prices};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Takes over the last good table from disk, if there is one.
pub async fn load_last_known_good(book: &PriceBook, data_dir: &Path) {
    let Ok(bytes) = tokio::fs::read(file_in(data_dir)).await else { return };
    let taken = PriceTable::parse(&bytes).and_then(|table| {
        let revision = table.revision().map(str::to_owned);
        book.replace(table, PriceSource { name: "last-known-good".into(), revision, fetched_at: None })
    });
    if let Err(error) = taken {
        tracing::warn!(error = %error, "the stored price table is not usable; the compiled-in one stays");
    }
}

/// Refreshes the table every `every` until `stop`. A table that fails the checks changes nothing.
pub async fn refresh(
    book: Arc<PriceBook>,
    url: Url,
    every: Duration,
    data_dir: PathBuf,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let mut etag = None;
    loop {
        match fetch_prices(url.as_str(), etag.as_deref(), &HttpSettings::default()).await {
            Ok(Fetched::NotModified) => book.confirm(clock.now()),
            Ok(Fetched::Body { bytes, etag: fresh }) => {
                if take(&book, &url, &bytes, fresh.clone(), &*clock) {
                    etag = fresh;
                    keep(&data_dir, &bytes).await;
                }
            }
            Err(error) => tracing::warn!(error = %error, "prices could not be fetched; the old ones stay"),
        }
        if stop.run_until_cancelled(tokio::time::sleep(every)).await.is_none() {
            return;
        }
    }
}

fn take(book: &PriceBook, url: &Url, bytes: &[u8], revision: Option<String>, clock: &dyn Clock) -> bool {
    let source = PriceSource { name: url.to_string(), revision, fetched_at: Some(clock.now()) };
    match PriceTable::parse(bytes).and_then(|table| book.replace(table, source)) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(error = %error, "fetched prices are refused; the old ones stay");
            false
        }
    }
}

/// Written beside and renamed over, so that a crash leaves the old table or the new one.
async fn keep(data_dir: &Path, bytes: &[u8]) {
    let target = file_in(data_dir);
    let draft = target.with_extension("json.new");
    let written = async {
        tokio::fs::write(&draft, bytes).await?;
        tokio::fs::rename(&draft, &target).await
    };
    if let Err(error) = written.await {
        tracing::warn!(error = %error, "the price table could not be kept on disk");
    }
}

fn file_in(data_dir: &Path) -> PathBuf {
    data_dir.join("prices.json")
}
