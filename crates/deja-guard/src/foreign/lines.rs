//! The lines of `data/foreign.txt`.

use std::str::Split;

use crate::languages::LANGUAGE_CODES;

pub(super) struct Line {
    /// The code of its language, as in ISO 639-1.
    pub(super) code: &'static str,
    pub(super) kind: &'static str,
    /// What stands for all of them comes first.
    pub(super) ways: Split<'static, &'static str>,
}

impl Line {
    /// Its language, a place in [`LANGUAGE_CODES`]: none if it is Japanese, Chinese or Korean.
    pub(super) fn language(&self) -> Option<usize> {
        LANGUAGE_CODES.iter().position(|known| *known == self.code)
    }
}

pub(super) fn lines() -> impl Iterator<Item = Line> {
    let lines = include_str!("../../data/foreign.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut ways = line.split(" | ");
        let (code, kind) = ways.next()?.split_once(' ')?;
        Some(Line { code, kind, ways })
    })
}

/// Those of one kind.
pub(super) fn lines_of(kind: &'static str) -> impl Iterator<Item = Line> {
    lines().filter(move |line| line.kind == kind)
}
