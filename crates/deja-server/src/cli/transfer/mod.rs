//! `deja export`, `deja import` and `deja db copy`: one entry a line, in pages that the running server gives and
//! takes, so that neither side holds more than one page.

mod copy;
mod export;
mod import;
mod lines;
mod pages;
mod resume;
mod summary;

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

pub(super) use copy::copy;
pub(super) use export::export;
pub(super) use import::import;
pub(super) use lines::skip_mark;
pub(super) use pages::unexpected;

/// A bar on a terminal's standard error; nothing anywhere else.
fn progress(total: Option<u64>, bytes: bool) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let template = match (total, bytes) {
        (None, _) => "{spinner} {human_pos} lines, {elapsed}",
        (Some(_), false) => "{bar:40} {human_pos} of {human_len}, {eta} to go",
        (Some(_), true) => "{bar:40} {bytes} of {total_bytes}, {eta} to go",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}
