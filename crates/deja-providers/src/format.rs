//! What a wire format says about answers: how a plain one is read and how a streamed one is put together.

use deja_core::provider::Completion;
use serde_json::Value;

/// An answer that is not what the format documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAnAnswer;

/// How answers of one wire format are read.
pub(crate) trait Format: Send + Sync {
    /// The plain answer in `body`, which is known not to be an error.
    fn completion(&self, body: Value) -> Result<Completion, NotAnAnswer>;

    /// Puts a streamed answer together.
    fn fold(&self) -> Box<dyn Fold>;
}

/// A streamed answer while it comes in.
pub(crate) trait Fold: Send {
    /// Takes the next event. The caller has looked for errors in it.
    fn event(&mut self, event: Value) -> Next;

    /// The answer, if everything that belongs to it has come.
    fn completion(self: Box<Self>) -> Option<Completion>;
}

/// Whether more events belong to a streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There may be more.
    More,
    /// This was the last one.
    Done,
}
