//! What the address of the analytics page asks for.

use deja_core::analytics::{ContextKey, Slice};
use deja_core::clock::Timestamp;
use deja_core::id::KeyId;
use serde::Deserialize;

use super::filter::query;
use super::range::Span;
use super::sort::Sort;

/// The range and the filters, as they stand in the address.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    range: String,
    from: String,
    until: String,
    /// A key's id.
    pub(super) key: String,
    pub(super) model: String,
    /// A context's number.
    pub(super) context: String,
    /// A table's id and what it is sorted by: `keys.3`.
    sort: String,
}

/// What is asked for, as far as it can be read.
pub(super) struct Asked {
    pub(super) span: Span,
    pub(super) slice: Slice,
    /// What cannot be read, for people.
    pub(super) problem: Option<String>,
    /// Without what cannot be read.
    pub(super) wanted: Wanted,
}

impl Wanted {
    /// Whether the address names a range.
    pub(super) fn has_range(&self) -> bool {
        !self.range.is_empty()
    }

    /// These filters with another range.
    pub(super) fn within(&self, range: &str) -> Self {
        Self { range: range.into(), ..self.clone() }
    }

    pub(super) fn read(self, now: Timestamp) -> Asked {
        let mut problems = Vec::new();
        let span = if self.range == "custom" {
            Span::custom(&self.from, &self.until, now)
        } else {
            Ok(Span::named(&self.range, now))
        };
        let span = span.unwrap_or_else(|problem| {
            problems.push(problem);
            Span::named("", now)
        });
        let key = self.key.parse::<KeyId>().ok();
        if key.is_none() && !self.key.is_empty() {
            problems.push("What the address has for a key is none.");
        }
        let context = self.context.parse().ok().map(ContextKey);
        if context.is_none() && !self.context.is_empty() {
            problems.push("What the address has for a context is none.");
        }
        let slice =
            Slice { key, model: (!self.model.is_empty()).then(|| self.model.as_str().into()), context };
        let wanted = Self {
            range: span.key.into(),
            key: key.map(|key| key.to_string()).unwrap_or_default(),
            context: context.map(|context| context.0.to_string()).unwrap_or_default(),
            ..self
        };
        let problem = (!problems.is_empty()).then(|| problems.join(" "));
        Asked { span, slice, problem, wanted }
    }
}

impl Asked {
    /// The address of these filters with another range.
    pub(super) fn with_range(&self, range: &str) -> String {
        let Wanted { key, model, context, .. } = &self.wanted;
        query(&[("range", range), ("key", key), ("model", model), ("context", context)])
    }

    /// The address again.
    pub(super) fn query(&self) -> String {
        self.sorted(&self.wanted.sort)
    }

    /// What the table of this id is sorted by.
    pub(super) fn sort_of(&self, table: &str) -> Option<Sort> {
        let (id, sort) = self.wanted.sort.split_once('.')?;
        Sort::read(sort).filter(|_| id == table)
    }

    /// This address with another order.
    pub(super) fn sorted(&self, sort: &str) -> String {
        let Wanted { range, from, until, key, model, context, .. } = &self.wanted;
        let span = [("range", range.as_str()), ("from", from), ("until", until)];
        query(&[&span[..], &[("key", key), ("model", model), ("context", context), ("sort", sort)]].concat())
    }
}
