//! What a format asks a server for, and what it makes of the answer.

use serde::Deserialize;
use serde_json::Value;

/// The model to ask for.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) name: String,
    /// Components of its vectors, where they are asked for.
    pub(super) dimensions: Option<u32>,
}

impl Model {
    /// A request that asks for so many components in this member, if any number is asked for.
    pub(super) fn sized(&self, mut request: Value, member: &str) -> Value {
        if let Some(dimensions) = self.dimensions {
            request[member] = dimensions.into();
        }
        request
    }
}

/// What a server made of one text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) vector: Vec<f32>,
    /// Tokens of the text, if the server says.
    pub(super) tokens: Option<u64>,
}

/// The only element of a list, as it must be in the answer to one text.
pub(super) fn only<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    <(T,)>::deserialize(deserializer).map(|(only,)| only)
}
