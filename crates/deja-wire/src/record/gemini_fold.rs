//! A streamed answer of Gemini, piece by piece.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Event, Fold, Folded, MOST_NAMES, Next};
use crate::json::{Object, Writer, is_empty, is_null, json, text};

/// The pieces so far.
#[derive(Debug, Default)]
pub(super) struct GeminiFold {
    /// Members of the pieces, as JSON, each as it came last.
    members: Vec<(String, String)>,
    candidates: BTreeMap<u64, Candidate>,
    blocked: bool,
    lossy: bool,
}

/// What one candidate has said.
#[derive(Debug, Default)]
struct Candidate {
    members: Vec<(String, String)>,
    role: Option<String>,
    parts: Vec<Part>,
    finished: bool,
}

#[derive(Debug)]
enum Part {
    /// Text comes in pieces.
    Text(String),
    /// Anything else comes whole, as JSON.
    Json(String),
}

impl Fold for GeminiFold {
    fn event(&mut self, event: Event<'_>) -> Next {
        let Event::Object(piece) = event else { return Next::More };
        for (name, value) in piece.members().filter(|(name, _)| *name != "candidates") {
            self.lossy |= !set(&mut self.members, name, value);
        }
        let feedback = piece.object("promptFeedback");
        self.blocked |= feedback.is_some_and(|feedback| feedback.text("blockReason").is_some());
        for candidate in piece.items("candidates").into_iter().filter_map(Object::of) {
            let index = candidate.get("index").and_then(|index| index.get().parse().ok()).unwrap_or(0);
            self.lossy |= !self.candidates.entry(index).or_default().add(&candidate);
        }
        // There is no end mark: the body ends after a finish reason.
        Next::More
    }

    fn is_whole(&self) -> bool {
        let finished =
            !self.candidates.is_empty() && self.candidates.values().all(|candidate| candidate.finished);
        finished || self.blocked
    }

    fn plain(&self) -> Folded {
        let mut body = Writer::new();
        if !self.candidates.is_empty() {
            let candidates: Vec<String> = self.candidates.values().map(Candidate::plain).collect();
            body.raw("candidates", &format!("[{}]", candidates.join(",")));
        }
        for (name, value) in &self.members {
            body.raw(name, value);
        }
        Folded { body: body.end().into(), faithful: !self.lossy }
    }
}

impl Candidate {
    /// Takes what a piece says of the candidate; whether all of it can be given again.
    fn add(&mut self, candidate: &Object<'_>) -> bool {
        let mut faithful = true;
        let content = candidate.object("content").unwrap_or_default();
        self.role = content.text("role").or(self.role.take());
        for part in content.items("parts") {
            // What comes behind a finish reason may have been cut anywhere.
            faithful &= !self.finished;
            let object = Object::of(part).unwrap_or_default();
            let bare = object.members().all(|(name, value)| name == "text" || is_empty(value));
            match (self.parts.last_mut(), object.text("text").filter(|_| bare)) {
                (Some(Part::Text(text)), Some(more)) => text.push_str(&more),
                (_, Some(first)) => self.parts.push(Part::Text(first)),
                (_, None) => self.parts.push(Part::Json(part.get().to_owned())),
            }
        }
        faithful &=
            content.members().all(|(name, value)| matches!(name, "role" | "parts") || is_empty(value));
        for (name, value) in candidate.members().filter(|(name, _)| *name != "content") {
            self.finished |= name == "finishReason" && text(value).is_some_and(|reason| !reason.is_empty());
            faithful &= set(&mut self.members, name, value);
        }
        faithful
    }

    fn plain(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(Part::plain).collect();
        let content = Writer::new()
            .raw("parts", &format!("[{}]", parts.join(",")))
            .value("role", self.role.as_deref().unwrap_or("model"))
            .end();
        let mut candidate = Writer::new();
        candidate.raw("content", &content);
        for (name, value) in &self.members {
            candidate.raw(name, value);
        }
        candidate.end()
    }
}

impl Part {
    fn plain(&self) -> String {
        match self {
            Self::Text(text) => Writer::new().raw("text", &json(text)).end(),
            Self::Json(json) => json.clone(),
        }
    }
}

/// Sets a member in its place, or at the end; whether there is room for it. Null takes nothing away.
fn set(members: &mut Vec<(String, String)>, name: &str, value: &RawValue) -> bool {
    let is_full = members.len() >= MOST_NAMES;
    match members.iter_mut().find(|(found, _)| found == name) {
        Some(_) if is_null(value) => {}
        Some((_, known)) => value.get().clone_into(known),
        None if !is_full => members.push((name.to_owned(), value.get().to_owned())),
        None => return false,
    }
    true
}
