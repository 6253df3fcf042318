//! Columns that a list can be sorted by: plain links in its head, which keep the filter.

use deja_core::store::Order;

/// What stands in a column, which says how it begins: texts with A, numbers and moments with the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text,
    Number,
    Moment,
    /// A number that has words below it.
    Score,
}

/// A column's head.
pub(super) struct Column {
    pub(super) name: &'static str,
    content: Content,
    /// Where a click leads, if the list can be sorted by it.
    pub(super) href: Option<String>,
    /// `ascending` or `descending`, if it is.
    pub(super) way: Option<&'static str>,
}

impl Column {
    /// A column without a link: the list cannot be sorted by it.
    pub(super) const fn new(name: &'static str, content: Content) -> Self {
        Self { name, content, href: None, way: None }
    }

    pub(super) fn is_number(&self) -> bool {
        self.content == Content::Number
    }

    /// With a link, as the column number `at` of a list that is sorted by `sort`; `place` is the address of an order.
    #[must_use]
    pub(super) fn sorted(self, at: usize, sort: Option<Sort>, place: impl Fn(&str) -> String) -> Self {
        let chosen = sort.filter(|sort| sort.column == at);
        let turned = chosen.is_some_and(|sort| !sort.turned);
        let way = chosen.map(|sort| if sort.descends(self.content) { "descending" } else { "ascending" });
        Self { href: Some(place(&Sort { column: at, turned }.text())), way, ..self }
    }
}

/// A column of a list that the store sorts: its name, what stands in it, and what the store calls it, if it sorts by it.
pub(super) type Sortable<C> = (&'static str, Content, Option<C>);

/// The heads of a list with these columns, with links if it has a `sort`; `place` is the address of an order.
pub(super) fn heads<C>(
    columns: &[Sortable<C>],
    sort: Option<Sort>,
    place: impl Fn(&str) -> String,
) -> Vec<Column> {
    let head = |(at, (name, content, by)): (usize, &Sortable<C>)| {
        let column = Column::new(name, *content);
        if sort.is_some() && by.is_some() { column.sorted(at, sort, &place) } else { column }
    };
    columns.iter().enumerate().map(head).collect()
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
    /// By this column, as it begins.
    pub(super) const fn by(column: usize) -> Self {
        Self { column, turned: false }
    }

    /// As it stands in an address: `3`, turned `-3`. Anything else is no order.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (turned, number) = text.strip_prefix('-').map_or((false, text), |number| (true, number));
        Some(Self { column: number.parse().ok()?, turned })
    }

    /// The order of a list with these columns; `None` if it is none of theirs.
    pub(super) fn order<C: Copy>(self, columns: &[Sortable<C>]) -> Option<Order<C>> {
        let (_, content, by) = columns.get(self.column)?;
        by.map(|by| Order { by, descends: self.descends(*content) })
    }

    pub(super) fn text(self) -> String {
        format!("{}{}", if self.turned { "-" } else { "" }, self.column)
    }

    /// Whether the greatest comes first.
    pub(super) fn descends(self, content: Content) -> bool {
        (content != Content::Text) != self.turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_asked_for_the_order_of_the_column() {
        let columns: [Sortable<u8>; 3] =
            [("A", Content::Text, Some(7)), ("B", Content::Number, None), ("C", Content::Score, Some(9))];
        let order = |text: &str| Sort::read(text).and_then(|sort| sort.order(&columns));
        assert_eq!(order("0"), Some(Order { by: 7, descends: false }));
        assert_eq!(order("2"), Some(Order { by: 9, descends: true }));
        assert_eq!(order("-2"), Some(Order { by: 9, descends: false }));
        assert_eq!((order("1"), order("3"), order("x")), (None, None, None));
        let heads = heads(&columns, Some(Sort::by(2)), |sort| format!("?sort={sort}"));
        let links: Vec<_> = heads.iter().map(|head| head.href.as_deref()).collect();
        assert_eq!(links, [Some("?sort=0"), None, Some("?sort=-2")]);
        assert_eq!(heads[2].way, Some("descending"));
    }

    #[test]
    fn a_click_sorts_and_another_one_turns_the_order() {
        let column =
            |sort| Column::new("Hits", Content::Number).sorted(3, sort, |sort| format!("?sort={sort}"));
        let (first, second) = (column(None), column(Sort::read("3")));
        assert_eq!((first.href.as_deref(), first.way), (Some("?sort=3"), None));
        assert_eq!((second.href.as_deref(), second.way), (Some("?sort=-3"), Some("descending")));
        let third = column(Sort::read("-3"));
        assert_eq!((third.href.as_deref(), third.way), (Some("?sort=3"), Some("ascending")));
        assert_eq!(column(Sort::read("2")).way, None);
        let name = Column::new("Name", Content::Text).sorted(0, Sort::read("0"), str::to_owned);
        assert_eq!(name.way, Some("ascending"));
        assert!(["", "-", "x", "3x"].into_iter().all(|text| Sort::read(text).is_none()));
    }
}
