//! Pages of lists: of those that are read whole (projects and keys, of which there are hundreds), and where the store goes on
//! with one that it reads in pages.

use std::cmp::Ordering;
use std::fmt::Display;
use std::str::FromStr;

use deja_core::store::{Cursor, folded};
use serde::Deserialize;

use super::filter::query;
use super::sort::Sort;

/// Rows of a page.
const PAGE: usize = 100;
/// Rows that are seen at a glance: more can be searched.
const GLANCE: usize = 10;

/// What an address says of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Paged {
    /// A part of a row's name.
    pub(super) q: String,
    /// The place of the last row of the page before.
    after: String,
    /// What the list is sorted by.
    pub(super) sort: String,
}

/// A page of rows, with the addresses of the next one and of the first.
pub(super) struct Page<T> {
    pub(super) rows: Vec<T>,
    pub(super) next: Option<String>,
    pub(super) first: Option<String>,
    /// Whether the list is long enough to be searched.
    pub(super) long: bool,
}

impl Paged {
    /// The page of the list at `here`: of the rows that have one of these `names`, ordered by their places; the greatest first, if
    /// it `descends`.
    pub(super) fn page<T>(
        &self,
        here: &str,
        mut rows: Vec<T>,
        descends: bool,
        place: impl Fn(&T) -> String,
        names: impl Fn(&T) -> [&str; 2],
    ) -> Page<T> {
        let (long, part) = (rows.len() > GLANCE, folded(self.q.trim()));
        rows.retain(|row| names(row).iter().any(|name| folded(name).contains(&part)));
        let (rows, next) = page(rows, place, &self.after, descends);
        let address = |after: &str| {
            format!("{here}{}", query(&[("q", &self.q), ("sort", &self.sort), ("after", after)]))
        };
        Page {
            rows,
            next: next.map(|after| address(&after)),
            first: (!self.after.is_empty()).then(|| address("")),
            long,
        }
    }

    /// What the list is sorted by, if the address says so.
    pub(super) fn sort(&self) -> Option<Sort> {
        Sort::read(&self.sort)
    }
}

/// A place in a list as it stands in an address: what the row has, and its identity.
pub(super) fn cursor_text<I: Display>(Cursor { value, id }: Cursor<I>) -> String {
    value.map_or_else(|| format!("-.{id}"), |value| format!("{value}.{id}"))
}

/// The place that an address names, if it names one.
pub(super) fn cursor<I: FromStr>(text: &str) -> Option<Cursor<I>> {
    let (value, id) = text.split_once('.')?;
    let value = if value == "-" { None } else { Some(value.parse().ok()?) };
    Some(Cursor { value, id: id.parse().ok()? })
}

/// The rows behind the one at `after`, ordered by their places, and the place where the next page goes on. A place
/// stays what it is while rows come and go, so that none is left out or shown twice.
fn page<T>(
    rows: Vec<T>,
    place: impl Fn(&T) -> String,
    after: &str,
    descends: bool,
) -> (Vec<T>, Option<String>) {
    let order = |one: &str, other: &str| if descends { other.cmp(one) } else { one.cmp(other) };
    let mut placed: Vec<(String, T)> = rows.into_iter().map(|row| (place(&row), row)).collect();
    placed.retain(|(place, _)| after.is_empty() || order(place, after) == Ordering::Greater);
    placed.sort_by(|(one, _), (other, _)| order(one, other));
    let more = placed.len() > PAGE;
    placed.truncate(PAGE);
    let next = placed.last().filter(|_| more).map(|(place, _)| place.clone());
    (placed.into_iter().map(|(_, row)| row).collect(), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_an_address_is_one_or_none() {
        for place in [Cursor { value: Some(-7), id: 3_u64 }, Cursor { value: None, id: 0 }] {
            assert_eq!(cursor(&cursor_text(place)), Some(place));
        }
        assert!(["", "7", "x.7", "7.x", "-", ".7"].into_iter().all(|text| cursor::<u64>(text).is_none()));
    }

    #[test]
    fn every_row_is_on_one_page_while_others_come() {
        let place = |number: &u32| format!("{number:04}");
        let (first, next) = page((0..250).rev().collect(), place, "", false);
        assert_eq!((first, next.as_deref()), ((0..100).collect(), Some("0099")));
        // Rows before and behind come meanwhile, and one goes.
        let (second, next) = page((0..260).filter(|n| *n != 99).collect(), place, "0099", false);
        assert_eq!((second, next.as_deref()), ((100..200).collect(), Some("0199")));
        let (last, next) = page((0..260).collect(), place, "0199", false);
        assert_eq!((last.len(), next), (60, None));
        let (first, next) = page((0..250).collect(), place, "", true);
        assert_eq!((first, next.as_deref()), ((150..250).rev().collect(), Some("0150")));
        assert_eq!(page((0..250).collect(), place, "0150", true).0, (50..150).rev().collect::<Vec<_>>());
    }
}
