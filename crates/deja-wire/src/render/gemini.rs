//! An answer of Gemini as the pieces that it could have come in.

use super::{changed_items, edited, slices};
use crate::json::{Object, Writer, json};

pub(super) const SIGNATURE: &str = "thoughtSignature";

/// The candidates of an `answer` without the signatures of texts: they are of the conversation that they came in. `None` if
/// there are none.
pub(super) fn unsigned(answer: &Object<'_>) -> Option<String> {
    changed_items(answer, "candidates", |candidate| {
        let content = candidate.object("content")?;
        let parts = changed_items(&content, "parts", |part| {
            let is_signed_text = part.get("text").is_some() && part.get(SIGNATURE).is_some();
            is_signed_text.then(|| edited(part, SIGNATURE, None))
        })?;
        Some(edited(candidate, "content", Some(&edited(&content, "parts", Some(&parts)))))
    })
}

/// The server-sent events of a plain `answer`. There is no end mark: google-genai takes `[DONE]` for an error.
pub(super) fn stream(answer: &Object<'_>) -> Option<String> {
    let candidates = answer.items("candidates");
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for raw in candidates {
        let candidate = Object::of(raw)?;
        let content = candidate.object("content").unwrap_or_default();
        let mut parts: Vec<String> = Vec::new();
        for part in content.items("parts") {
            let object = Object::of(part)?;
            match object.text("text").filter(|_| object.members().count() == 1) {
                Some(text) => {
                    parts.extend(slices(&text).map(|slice| format!("{{\"text\":{}}}", json(slice))));
                }
                None => parts.push(part.get().to_owned()),
            }
        }
        let last = parts.pop();
        pieces.extend(parts.iter().map(|part| (piece(&candidate, &content, part, false), false)));
        pieces.push((piece(&candidate, &content, last.as_deref().unwrap_or(""), true), true));
    }
    if pieces.is_empty() {
        let mut whole = Writer::new();
        for (name, value) in answer.members() {
            whole.raw(name, value.get());
        }
        return Some(format!("data: {}\n\n", whole.end()));
    }
    let mut out = String::new();
    for (candidate, last) in &pieces {
        let mut event = Writer::new();
        event.raw("candidates", &format!("[{candidate}]"));
        for (name, value) in answer.members() {
            let always = matches!(name, "modelVersion" | "responseId" | "createTime");
            if name != "candidates" && (always || *last) {
                event.raw(name, value.get());
            }
        }
        out.push_str("data: ");
        out.push_str(&event.end());
        out.push_str("\n\n");
    }
    Some(out)
}

/// A candidate with one part of its content; the `last` has what is known at the end.
fn piece(candidate: &Object<'_>, content: &Object<'_>, part: &str, last: bool) -> String {
    let mut inner = Writer::new();
    inner.raw("parts", &format!("[{part}]"));
    for (name, value) in content.members().filter(|(name, _)| *name != "parts") {
        inner.raw(name, value.get());
    }
    let mut piece = Writer::new();
    piece.raw("content", &inner.end());
    for (name, value) in candidate.members() {
        if name != "content" && (last || name == "index") {
            piece.raw(name, value.get());
        }
    }
    piece.end()
}
