//! Columns that a list can be sorted by: plain links in its head, which keep the filter.

/// What stands in a column, which says how it begins: texts with A, numbers and moments with the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Text,
    Number,
    Moment,
}

/// A column's head.
pub(super) struct Column {
    pub(super) name: &'static str,
    of: Of,
    /// Where a click leads, if the list can be sorted by it.
    pub(super) href: Option<String>,
    /// `ascending` or `descending`, if it is.
    pub(super) way: Option<&'static str>,
}

impl Column {
    /// One that nothing is sorted by.
    pub(super) const fn new(name: &'static str, of: Of) -> Self {
        Self { name, of, href: None, way: None }
    }

    pub(super) fn is_number(&self) -> bool {
        self.of == Of::Number
    }

    /// With a link, as the column number `at` of a list that is sorted by `sort`; `place` is the address of an order.
    #[must_use]
    pub(super) fn sorted(self, at: usize, sort: Option<Sort>, place: impl Fn(&str) -> String) -> Self {
        let chosen = sort.filter(|sort| sort.column == at);
        let turned = chosen.is_some_and(|sort| !sort.turned);
        let way = chosen.map(|sort| if sort.descends(self.of) { "descending" } else { "ascending" });
        Self { href: Some(place(&Sort { column: at, turned }.text())), way, ..self }
    }
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sort {
    /// The column's number.
    pub(super) column: usize,
    /// Whether it ends with what it would begin with.
    turned: bool,
}

impl Sort {
    /// As it stands in an address: `3`, turned `-3`. Anything else is no order.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (turned, number) = text.strip_prefix('-').map_or((false, text), |number| (true, number));
        Some(Self { column: number.parse().ok()?, turned })
    }

    pub(super) fn text(self) -> String {
        format!("{}{}", if self.turned { "-" } else { "" }, self.column)
    }

    /// Whether the greatest comes first.
    pub(super) fn descends(self, of: Of) -> bool {
        (of != Of::Text) != self.turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_sorts_and_another_one_turns_the_order() {
        let column = |sort| Column::new("Hits", Of::Number).sorted(3, sort, |sort| format!("?sort={sort}"));
        let (first, second) = (column(None), column(Sort::read("3")));
        assert_eq!((first.href.as_deref(), first.way), (Some("?sort=3"), None));
        assert_eq!((second.href.as_deref(), second.way), (Some("?sort=-3"), Some("descending")));
        let third = column(Sort::read("-3"));
        assert_eq!((third.href.as_deref(), third.way), (Some("?sort=3"), Some("ascending")));
        assert_eq!(column(Sort::read("2")).way, None);
        let name = Column::new("Name", Of::Text).sorted(0, Sort::read("0"), str::to_owned);
        assert_eq!(name.way, Some("ascending"));
        assert!(["", "-", "x", "3x"].into_iter().all(|text| Sort::read(text).is_none()));
    }
}
