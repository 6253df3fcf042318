//! Scopes that are new, and why: where every request has a scope of its own nothing can be found.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use crate::analytics::Placed;
use crate::cache::{CONTEXT, Frame};
use crate::id::ProjectId;

/// Scopes, and parts of them, that are remembered as seen: about 1 MB. Beyond it all are forgotten, and counted as new once
/// more.
const MAX_SEEN: usize = 65_536;

/// What of a scope was not seen before, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The model, which makes all else new. There are few.
    Model,
    /// The instructions: a date, or a name, in the system text.
    Instructions,
    /// The turns before the question, or what else stands beside it.
    Turns,
    /// The context that the application names in a header.
    Context,
    /// The end user.
    EndUser,
    /// Another parameter, such as a temperature.
    Parameter,
    /// Nothing: all of it was seen in other scopes.
    Combination,
}

impl Cause {
    /// What a parameter of a frame tells, by its name: a member of a request, or a header.
    fn of_parameter(name: &str) -> Self {
        match name {
            "system" | "instructions" | "systemInstruction" | "system_instruction" => Self::Instructions,
            "messages" | "input" | "contents" => Self::Turns,
            CONTEXT => Self::Context,
            // Of the metadata only the end user is a part of frames.
            "user" | "safety_identifier" | "metadata" => Self::EndUser,
            _ => Self::Parameter,
        }
    }
}

/// The scopes that were seen since the start, by keyed hashes: texts are neither kept nor hashed slowly.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenScopes {
    hash: RandomState,
    hashes: HashSet<u64>,
}

impl SeenScopes {
    /// Why a scope is new that is seen for the first time.
    pub(super) fn news(&mut self, project: ProjectId, placed: Placed<'_>) -> Option<Cause> {
        let Placed { scope, frame } = placed;
        if !self.insert(self.hash.hash_one(scope)) {
            return None;
        }
        let mut cause = Cause::Combination;
        for (of, name, value) in parts(frame) {
            let part = self.hash.hash_one((project, of, name, value));
            if self.insert(part) {
                cause = cause.min(of);
            }
        }
        Some(cause)
    }

    fn insert(&mut self, hash: u64) -> bool {
        if self.hashes.len() >= MAX_SEEN && !self.hashes.contains(&hash) {
            self.hashes.clear();
        }
        self.hashes.insert(hash)
    }
}

/// What a frame is made of.
fn parts(frame: &Frame) -> impl Iterator<Item = (Cause, &str, &str)> {
    let model = frame.model().map(|model| (Cause::Model, frame.kind().as_str(), model));
    let instructions = frame.instructions().map(|text| (Cause::Instructions, "", text));
    let parameters = frame.parameters().iter();
    let parameters = parameters.map(|(name, value)| (Cause::of_parameter(name), &**name, &**value));
    // Of whole requests only a context is more than the mark of such a frame.
    let telling = parameters.filter(|(of, ..)| !frame.is_exact() || *of == Cause::Context);
    model.into_iter().chain(instructions).chain(telling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Kind, Parameters, Scope};

    #[test]
    fn a_scope_is_new_once_and_says_what_of_it_is_new() {
        let mut seen = SeenScopes::default();
        let project = ProjectId::from_bytes([1; 16]);
        let frame = |model: &str, instructions: Option<&str>, parameters: &[(&str, &str)]| {
            let parameters = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Frame::of_wire(Kind::Chat, model, instructions, parameters.collect::<Parameters>())
        };
        let question = ("messages", r#"[{"content":null,"role":"user"}]"#);
        let brief = Some("Be brief.");
        let whole = Frame::exact(Kind::Chat, "m");
        for (frame, cause) in [
            (frame("m", None, &[question]), Some(Cause::Model)),
            (frame("m", None, &[question]), None),
            (frame("m", brief, &[question]), Some(Cause::Instructions)),
            (frame("m", brief, &[question, ("user", "1")]), Some(Cause::EndUser)),
            (frame("m", brief, &[question, ("user", "1"), ("temperature", "0")]), Some(Cause::Parameter)),
            (frame("m", None, &[question, ("user", "1")]), Some(Cause::Combination)),
            (frame("m", None, &[("messages", "[1]")]), Some(Cause::Turns)),
            (frame("m", None, &[question, ("X-Deja-Context", "a")]), Some(Cause::Context)),
            (frame("n", Some("Be kind."), &[question, ("user", "2")]), Some(Cause::Model)),
            (frame("n", Some("Today is Monday."), &[question, ("user", "3")]), Some(Cause::Instructions)),
            (whole.clone(), Some(Cause::Combination)),
            (whole.with_parameter("X-Deja-Context", "b"), Some(Cause::Context)),
        ] {
            let scope = Scope::new(project, frame.clone());
            assert_eq!(seen.news(project, Placed { scope: scope.key(), frame: &frame }), cause, "{frame:?}");
        }
        // Another project sees nothing of it.
        let (other, first) = (ProjectId::from_bytes([2; 16]), frame("m", None, &[question]));
        let scope = Scope::new(other, first.clone());
        assert_eq!(seen.news(other, Placed { scope: scope.key(), frame: &first }), Some(Cause::Model));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut seen = SeenScopes::default();
        for hash in 0..MAX_SEEN as u64 {
            assert!(seen.insert(hash));
        }
        assert!(!seen.insert(0), "what is known takes no room");
        assert!(seen.insert(u64::MAX));
        assert_eq!(seen.hashes.len(), 1);
    }
}
