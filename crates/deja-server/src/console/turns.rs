//! What was asked, as people read it: a request in a wire format that is found as a whole is kept as its turns.

use deja_core::cache::{EntryDetail, Kind};

use super::format;

/// One turn of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) role: String,
    pub(super) text: String,
}

/// The turns of a request that was stored as such; `None` for a question, which is its own text.
pub(super) fn turns(detail: &EntryDetail) -> Option<Vec<Turn>> {
    if detail.kind == Kind::Query || !detail.is_exact() {
        return None;
    }
    let turns: Vec<(String, String)> = serde_json::from_str(&detail.entry.prompt).ok()?;
    Some(turns.into_iter().map(|(role, text)| Turn { role, text }).collect())
}

/// What was asked, in a line: of turns the last one.
pub(super) fn line(detail: &EntryDetail) -> String {
    let Some(turns) = turns(detail) else { return format::excerpt(&detail.entry.prompt) };
    let earlier = turns.len().saturating_sub(1);
    let last = turns.last().map(|turn| format::excerpt(&turn.text)).unwrap_or_default();
    if earlier == 0 { last } else { format!("{last} (after {earlier} turns)") }
}
