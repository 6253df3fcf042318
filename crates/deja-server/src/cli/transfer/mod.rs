//! `deja export`, `deja import` and `deja db copy`: one entry a line, in pages that the running server gives and
//! takes, so that neither side holds more than one page.

mod copy;
mod export;
mod import;
mod lines;
mod pages;
mod resume;
mod summary;

use std::convert::Infallible;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use deja_core::store::Store;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::select;
use tokio::time::sleep;

pub(super) use copy::{Side, copy};
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

fn bar(total: Option<u64>, template: &str) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// What comes of `work`. On a terminal a bar shows each second what `position` tells.
pub(super) async fn watched<T>(
    work: impl Future<Output = T>,
    total: Option<u64>,
    template: &str,
    position: impl AsyncFn() -> Option<u64>,
) -> T {
    if !io::stderr().is_terminal() {
        return work.await;
    }
    select! {
        biased;
        done = work => done,
        never = show(total, template, position) => match never {},
    }
}

async fn show(total: Option<u64>, template: &str, position: impl AsyncFn() -> Option<u64>) -> Infallible {
    let mut shown = None;
    loop {
        sleep(Duration::from_secs(1)).await;
        if let Some(position) = position().await {
            shown.get_or_insert_with(|| bar(total, template)).set_position(position);
        }
    }
}

/// Builds the indexes that what came in needs. A server does so itself, but one that starts on this store would search slowly
/// until they are there.
async fn index(store: &dyn Store) {
    let position = async || store.index_build().await.ok().flatten().map(|done| (done * 100.0) as u64);
    let template = "{bar:40} {pos} % of the index, {elapsed}";
    let indexed = watched(store.build_missing_indexes(), Some(100), template, position).await;
    if let Err(error) = indexed {
        super::say(&format!("all is in, but searches are slow until a server has built the index: {error}"));
    }
}
