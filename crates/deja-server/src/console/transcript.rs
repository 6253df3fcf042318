//! What was asked, as people read it: a request in a wire format that is found as a whole is kept as its turns.

use deja_core::cache::{EntryDetail, Kind};

use crate::format;

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

/// What was asked, in a line: of turns the last one. Instructions are none.
pub(super) fn line(detail: &EntryDetail) -> String {
    let Some(turns) = turns(detail) else { return format::excerpt(&detail.entry.prompt) };
    let talk = turns.iter().filter(|turn| !["system", "developer"].contains(&turn.role.as_str()));
    let last = turns.last().map(|turn| format::excerpt(&turn.text)).unwrap_or_default();
    match talk.count() {
        0 | 1 => last,
        2 => format!("{last} (after 1 turn)"),
        all => format!("{last} (after {} turns)", all - 1),
    }
}

/// What else an answer depends on, as far as it tells anything: a request of one question has turns that say so.
pub(super) fn parameters(detail: &EntryDetail) -> Vec<(String, String)> {
    const ONE_QUESTION: [&str; 2] =
        [r#"[{"content":null,"role":"user"}]"#, r#"[{"parts":null,"role":"user"}]"#];
    let told =
        detail.parameters.iter().filter(|(_, value)| !value.is_empty() && !ONE_QUESTION.contains(&&***value));
    told.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}
