//! `deja export`, `deja import` and `deja db copy`: one entry a line, in pages that the running server gives and
//! takes, so that neither side holds more than one page.

mod copy;
mod export;
mod import;
mod lines;
mod pages;
mod resume;
mod summary;

use std::pin::pin;
use std::time::Duration;

use deja_core::store::Store;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::timeout;

pub(super) use copy::copy;
pub(super) use export::export;
pub(super) use import::import;
pub(super) use lines::skip_mark;
pub(super) use pages::unexpected;

/// A bar on a terminal's standard error; nothing anywhere else.
fn progress(total: Option<u64>, bytes: bool) -> ProgressBar {
    let template = match (total, bytes) {
        (None, _) => "{spinner} {human_pos} lines, {elapsed}",
        (Some(_), false) => "{bar:40} {human_pos} of {human_len}, {eta} to go",
        (Some(_), true) => "{bar:40} {bytes} of {total_bytes}, {eta} to go",
    };
    bar(total, template)
}

/// The same by another template.
pub(super) fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// Builds the indexes that what came in needs. A server does so itself, but one that starts on this store would search slowly
/// until they are there.
async fn index(store: &dyn Store) {
    let mut indexed = pin!(store.index_grown());
    let bar = bar(Some(100), "{bar:40} {pos} % of the index, {elapsed}");
    let indexed = loop {
        match timeout(Duration::from_secs(1), &mut indexed).await {
            Ok(indexed) => break indexed,
            Err(_) => {
                if let Ok(Some(done)) = store.index_build().await {
                    bar.set_position((done * 100.0) as u64);
                }
            }
        }
    };
    bar.finish_and_clear();
    if let Err(error) = indexed {
        super::say(&format!("all is in, but searches are slow until a server has built the index: {error}"));
    }
}
