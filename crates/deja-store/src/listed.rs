//! Entries as lists show them.

use deja_core::cache::EntryDetail;
use deja_core::store::LISTED;

/// An entry with the beginning of its answer.
pub(crate) fn beginning(mut detail: EntryDetail) -> EntryDetail {
    let answer = &mut detail.entry.answer.text;
    if let Some((end, _)) = answer.char_indices().nth(LISTED) {
        *answer = answer[..end].to_owned();
    }
    detail
}
