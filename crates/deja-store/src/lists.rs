//! Lists: their orders, as both stores write them in SQL, entries as lists show them, and texts of which the beginning is read.

use std::string::FromUtf8Error;

use deja_core::cache::EntryDetail;
use deja_core::id::EntryId;
use deja_core::request_log::LogFilter;
use deja_core::store::{Cursor, EntryColumn, EntryFilter, EntryOrder, LISTED, LogColumn, LogOrder, Order};

/// An entry with the beginning of its answer.
pub(crate) fn beginning(mut detail: EntryDetail) -> EntryDetail {
    let answer = &mut detail.entry.answer.text;
    if let Some((end, _)) = answer.char_indices().nth(LISTED) {
        *answer = answer[..end].to_owned();
    }
    detail
}

/// The text that begins with these bytes, without the character that they may end in.
pub(crate) fn cut(mut bytes: Vec<u8>) -> Result<String, FromUtf8Error> {
    if let Err(error) = str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes)
}

/// What rows behind a cursor are, compared to it, and how rows are sorted.
pub(crate) const fn way<C>(order: &Order<C>) -> (&'static str, &'static str) {
    if order.descends { ("<", "DESC") } else { (">", "ASC") }
}

/// A column of entries.
pub(crate) const fn entry_column(column: EntryColumn) -> &'static str {
    match column {
        EntryColumn::Created => "created",
        EntryColumn::LastUsed => "last_used",
        EntryColumn::Hits => "hits",
    }
}

/// Behind which value and entry a page begins.
pub(crate) fn entry_place(order: EntryOrder, after: Option<Cursor<EntryId>>) -> (i64, [u8; 16]) {
    let before_all = if order.descends { (i64::MAX, [0xff; 16]) } else { (i64::MIN, [0; 16]) };
    after.map_or(before_all, |after| (after.value.unwrap_or(before_all.0), *after.id.as_bytes()))
}

/// Whether entries are read through to find a page of them. By age they lie as they were stored, and nothing else is read.
pub(crate) fn reads_through(filter: &EntryFilter, order: EntryOrder) -> bool {
    filter.text.is_some() || order.by != EntryColumn::Created && *filter != EntryFilter::default()
}

/// A column of the log.
pub(crate) const fn log_column(column: LogColumn) -> &'static str {
    match column {
        LogColumn::Number => "number",
        LogColumn::Similarity => "similarity",
        LogColumn::Latency => "latency",
        LogColumn::Saved => "saved",
    }
}

/// Whether rows of the log are read through to find a page of them.
pub(crate) fn log_reads_through(filter: &LogFilter, order: LogOrder) -> bool {
    filter.asked.is_some() || order.by != LogColumn::Number
}

/// Which rows of the log are behind a cursor (`number` is its number or NULL where there is none, `value` what the row had
/// in the column; `same` compares two values that may be NULL), and how rows are sorted.
pub(crate) fn log_order(order: LogOrder, number: &str, value: &str, same: &str) -> (String, String) {
    let (column, (behind, way)) = (log_column(order.by), way(&order));
    if order.by == LogColumn::Number {
        // A range of an index.
        let before_all = if order.descends { i64::MAX } else { -1 };
        return (format!("number {behind} coalesce({number}, {before_all})"), format!("number {way}"));
    }
    let found = format!(
        "({number} IS NULL OR {column} {behind} {value} OR ({column} {same} {value} AND number {behind} {number})
          OR ({column} IS NULL AND {value} IS NOT NULL))"
    );
    (found, format!("{column} {way} NULLS LAST, number {way}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_ends_with_a_whole_character() {
        let text = "a \0 \u{1F987}é";
        for (end, wanted) in [(9, "a \0 \u{1F987}"), (8, "a \0 \u{1F987}"), (7, "a \0 "), (0, ""), (10, text)]
        {
            assert_eq!(cut(text.as_bytes()[..end].to_vec()).unwrap(), wanted, "{end}");
        }
        assert!(cut(vec![b'a', 0xff, b'b']).is_err());
    }
}
