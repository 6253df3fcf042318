//! Lists: their orders, as both stores write them in SQL, entries as lists show them, and texts of which the beginning is read.

use std::string::FromUtf8Error;

use deja_core::audit::{ActorFilter, AuditFilter, KEY};
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

/// Whether rows of the audit log are read through to find a page of them. There is an index by project only: a million rows take
/// a quarter of a second.
pub(crate) fn audit_reads_through(filter: &AuditFilter) -> bool {
    *filter != AuditFilter { project: filter.project, ..AuditFilter::default() }
}

/// The statement that lists rows of the audit log `of` a project or all, below a number, so many at most. Those of an action, of an
/// actor and of a time, where these are not NULL.
pub(crate) fn audit_rows(
    of: &str,
    [below, most]: [&str; 2],
    [action, actor, from, until]: [&str; 4],
) -> String {
    format!(
        "SELECT number, at, actor_id, actor, action, project_id, subject, detail FROM changes
         WHERE number < {below} AND {of} AND ({action} IS NULL OR action = {action})
               AND ({actor} IS NULL OR actor = {actor} OR {actor} = '{KEY}' AND actor_id IS NULL AND substr(actor, 1, {}) = '{KEY}')
               AND ({from} IS NULL OR at >= {from}) AND ({until} IS NULL OR at < {until})
         ORDER BY number DESC LIMIT {most}",
        KEY.len()
    )
}

/// The name of the actors that are meant; what all names of keys begin with means them all.
pub(crate) fn actor_of(filter: &AuditFilter) -> Option<&str> {
    filter.by.as_ref().map(|by| match by {
        ActorFilter::AnyKey => KEY,
        ActorFilter::Named(name) => name,
    })
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
