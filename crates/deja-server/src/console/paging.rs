//! Pages of lists that are read whole: projects and keys, of which there are hundreds.

use serde::Deserialize;

use super::filter::query;

/// Rows of a page.
const PAGE: usize = 100;

/// What an address says of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Paged {
    /// The place of the last row of the page before.
    after: String,
}

/// A page of rows, with the addresses of the next one and of the first.
pub(super) struct Page<T> {
    pub(super) rows: Vec<T>,
    pub(super) next: Option<String>,
    pub(super) first: Option<String>,
}

impl Paged {
    /// The page of the list at `here`.
    pub(super) fn page<T>(&self, here: &str, rows: Vec<T>, place: impl Fn(&T) -> String) -> Page<T> {
        let (rows, next) = page(rows, place, &self.after);
        Page {
            rows,
            next: next.map(|after| format!("{here}{}", query(&[("after", &after)]))),
            first: (!self.after.is_empty()).then(|| here.into()),
        }
    }
}

/// The rows behind the one at `after`, ordered by their places, and the place where the next page goes on. A place
/// stays what it is while rows come and go, so that none is left out or shown twice.
fn page<T>(rows: Vec<T>, place: impl Fn(&T) -> String, after: &str) -> (Vec<T>, Option<String>) {
    let mut placed: Vec<(String, T)> = rows.into_iter().map(|row| (place(&row), row)).collect();
    placed.retain(|(place, _)| place.as_str() > after);
    placed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let more = placed.len() > PAGE;
    placed.truncate(PAGE);
    let next = placed.last().filter(|_| more).map(|(place, _)| place.clone());
    (placed.into_iter().map(|(_, row)| row).collect(), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_one_page_while_others_come() {
        let place = |number: &u32| format!("{number:04}");
        let (first, next) = page((0..250).rev().collect(), place, "");
        assert_eq!((first, next.as_deref()), ((0..100).collect(), Some("0099")));
        // Rows before and behind come meanwhile, and one goes.
        let (second, next) = page((0..260).filter(|n| *n != 99).collect(), place, "0099");
        assert_eq!((second, next.as_deref()), ((100..200).collect(), Some("0199")));
        let (last, next) = page((0..260).collect(), place, "0199");
        assert_eq!((last.len(), next), (60, None));
    }
}
