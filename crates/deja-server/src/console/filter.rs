//! Filters of entries, as they stand in addresses and forms.

use std::num::NonZeroUsize;

use deja_core::project::Project;
use deja_core::store::EntryFilter;
use serde::Deserialize;

use super::Console;
use super::error::ConsoleError;
use super::form::with_lf;
use crate::format;

/// Models and contexts that a filter offers at most.
pub(super) const OFFERED: NonZeroUsize = NonZeroUsize::new(100).unwrap();
/// How many of the newest entries are looked through for them.
pub(super) const NEWEST: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// What the page tells if not all are offered.
const NOTE: &str = "Model and Context offer those of the 10,000 newest entries: the 100 of each that have most of these entries.";

/// A choice in a filter.
pub(super) struct Select {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// Value and text.
    pub(super) options: Vec<(String, String)>,
    pub(super) value: String,
}

impl Select {
    /// A choice of `options` or any. A value that is not among them is kept, so that a link stays what it was.
    pub(super) fn new(
        name: &'static str,
        label: &'static str,
        value: &str,
        options: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let mut options: Vec<_> = std::iter::once((String::new(), "All".to_owned())).chain(options).collect();
        if !options.iter().any(|(v, _)| v == value) {
            options.push((value.to_owned(), format::excerpt(value)));
        }
        Self { name, label, options, value: value.to_owned() }
    }
}

/// Which entries: text, model and context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Filter {
    #[serde(deserialize_with = "with_lf")]
    pub(super) q: String,
    pub(super) model: String,
    /// Empty for any, `-` for none, `=text` for that one.
    #[serde(deserialize_with = "with_lf")]
    pub(super) context: String,
}

impl Filter {
    /// As the store takes it.
    pub(super) fn entries(&self) -> EntryFilter {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        EntryFilter { model: some(&self.model), context: self.context(), text: some(self.q.trim()) }
    }

    /// The context it means; `None` is any.
    #[expect(clippy::option_option, reason = "any, none, or one: as the store's filter has it")]
    pub(super) fn context(&self) -> Option<Option<String>> {
        match self.context.as_str() {
            "" => None,
            "-" => Some(None),
            text => Some(Some(text.strip_prefix('=').unwrap_or(text).to_owned())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As it stands in an address, with `?` in front unless it is empty.
    pub(super) fn query(&self, more: &[(&str, &str)]) -> String {
        query(&[&[("q", self.q.as_str()), ("model", &self.model), ("context", &self.context)], more].concat())
    }

    /// The choices of models and contexts that the project's cache of `total` entries has, and what to tell if not all are offered.
    pub(super) async fn selects(
        &self,
        console: &Console,
        project: &Project,
        total: u64,
    ) -> Result<(Vec<Select>, Option<&'static str>), ConsoleError> {
        // One more, to know whether there are more.
        const READ: NonZeroUsize = OFFERED.saturating_add(1);
        let store = &console.admin.store;
        // What was counted among the newest entries is no count of all.
        let all = total <= NEWEST.get() as u64;
        let counted =
            |name: String, count: u64| if all { format!("{name} ({})", format::count(count)) } else { name };
        let models = store.models_of(project.id, NEWEST, READ).await?;
        let contexts = store.contexts_of(project.id, NEWEST, READ).await?;
        let more = !all || models.len().max(contexts.len()) > OFFERED.get();
        let models = models.into_iter().take(OFFERED.get());
        let contexts = contexts.into_iter().take(OFFERED.get()).map(|(context, count)| match context {
            None => ("-".to_owned(), counted("none".into(), count)),
            Some(text) => {
                let shown = if text.is_empty() { "(empty text)".into() } else { format::excerpt(&text) };
                (format!("={text}"), counted(shown, count))
            }
        });
        let selects = vec![
            Select::new(
                "model",
                "Model",
                &self.model,
                models.map(|(model, n)| (model.clone(), counted(model, n))),
            ),
            Select::new("context", "Context", &self.context, contexts),
        ];
        Ok((selects, more.then_some(NOTE)))
    }
}

/// Pairs as they stand in an address, with `?` in front unless all are empty. Empty ones are left out.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    let text = text.finish();
    if text.is_empty() { text } else { format!("?{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_any_none_or_one() {
        let of = |text: &str| Filter { context: text.into(), ..Filter::default() }.context();
        assert_eq!(of(""), None);
        assert_eq!(of("-"), Some(None));
        assert_eq!(of("="), Some(Some(String::new())));
        assert_eq!(of("=-"), Some(Some("-".into())));
        assert_eq!(of("=a=b"), Some(Some("a=b".into())));
    }

    #[test]
    fn addresses_are_encoded() {
        let filter = Filter { q: "a&b".into(), model: String::new(), context: "=x y".into() };
        assert_eq!(filter.query(&[("by", "text")]), "?q=a%26b&context=%3Dx+y&by=text");
        assert_eq!(Filter::default().query(&[]), "");
    }
}
