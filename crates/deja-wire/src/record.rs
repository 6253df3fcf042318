//! What is kept of an answer.

use bytes::Bytes;

use crate::Completion;

/// One complete answer.
#[derive(Clone, Debug)]
pub struct Record {
    /// The answer as plain JSON of its format. Of a plain answer, the very bytes that came.
    pub body: Bytes,
    /// What it says, in terms that all formats share.
    pub completion: Completion,
    /// Whether all of it can be given again, plain and streamed. What cannot be is not stored.
    pub renderable: bool,
}
