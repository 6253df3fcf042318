//! What makes two requests the same.

use std::collections::BTreeMap;

/// How far a request is answered from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The same request, or one in the same frame whose question is similar.
    Semantic,
    /// The same request only.
    Exact,
    /// Not at all: not looked up, not stored, not shared while it is under way.
    Bypass,
}

/// How the application wants its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rendering {
    /// As server-sent events.
    pub stream: bool,
    /// With the tokens at the end of the stream, where the format leaves that to the application.
    pub usage: bool,
}

/// What a request is to the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// How far it is answered from the cache.
    pub mode: Mode,
    /// The model, as asked for.
    pub model: String,
    /// System text, where the mode is semantic.
    pub instructions: Option<String>,
    /// What else an answer depends on, where the mode is semantic: by name, the value in canonical form.
    pub parameters: BTreeMap<Box<str>, Box<str>>,
    /// SHA-256 of what is compared byte for byte: of the question, where the mode is semantic; else of the whole request in
    /// canonical form.
    pub hash: [u8; 32],
    /// The question, where the mode is semantic; else the turns as a JSON array of `[role, text]`, for people.
    pub text: String,
    /// Why it is not semantic, as words of `X-Deja-Reason`; in order, none twice.
    pub reasons: Vec<&'static str>,
    /// How the answer is wanted. No part of what makes two requests the same.
    pub rendering: Rendering,
}
