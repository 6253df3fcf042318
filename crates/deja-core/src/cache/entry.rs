//! A stored answer.

use bytes::Bytes;

use crate::cache::frame::is_exact;
use crate::cache::{Kind, Parameters, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Similarity};
use crate::id::EntryId;
use crate::money::NanoUsd;

/// The answer of a provider, as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text, byte for byte.
    pub text: String,
    /// The provider that wrote it.
    pub provider: String,
    /// The model that really wrote it, if the provider said.
    pub served_model: Option<String>,
    /// Input tokens of the call that wrote it.
    pub input_tokens: u64,
    /// Output tokens of the call that wrote it, reasoning included.
    pub output_tokens: u64,
    /// Whether the tokens were counted here because the provider did not report them.
    pub tokens_estimated: bool,
    /// The whole answer as plain JSON of its wire format; `None` for deja's own API.
    pub record: Option<Bytes>,
}

/// An entry as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The identity.
    pub id: EntryId,
    /// The prompt it answers.
    pub prompt: String,
    /// The model that was asked.
    pub model: String,
    /// The answer.
    pub answer: Answer,
    /// When it was stored.
    pub created: Timestamp,
    /// When it stops being served; `None` is never.
    pub expires: Option<Timestamp>,
}

impl Entry {
    /// Whether it may be served at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// An entry to store.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// Where it belongs.
    pub scope: Scope,
    /// The hash that the entry is found by: SHA-256 of the prompt, or the hash that a wire format has in its place.
    pub prompt_hash: PromptHash,
    /// The entry itself.
    pub entry: Entry,
    /// The prompt's vectors and who made them, one of each. Without one the prompt is too long, or the frame takes none
    /// ([`Frame::is_exact`](crate::cache::Frame::is_exact)): found by hash only.
    pub vectors: Vec<(EmbedderId, Embedding)>,
    /// The time now, when it is stored. An entry of an import was made long before, and a twin may have expired since.
    pub now: Timestamp,
    /// Whether it takes the place of a live twin. A fresh answer was asked for.
    pub replaces: bool,
    /// [`Project::purges`](crate::project::Project::purges) when the request was admitted whose call brought the answer. `None` for
    /// what no call brought, such as an entry of an import.
    pub purges: Option<u64>,
}

/// The outcome of storing an answer.
#[derive(Clone, Debug)]
pub enum Inserted {
    /// The entry is stored and durable.
    New,
    /// The scope already had a live entry for this prompt: that one stays, and is returned.
    Twin(std::sync::Arc<Entry>),
}

/// An entry near a prompt.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The entry. The record of its answer may be left out: [`Entries::whole`](crate::store::Entries::whole) gives it.
    pub entry: std::sync::Arc<Entry>,
    /// Its similarity to the prompt, computed at f32 from the stored vector.
    pub similarity: Similarity,
    /// Whether feedback forbids that it answers this prompt: feedback on this prompt, on a prompt that this one is nearer to than
    /// to the entry's, or on so many prompts that the entry is in quarantine.
    pub forbidden: bool,
}

/// An entry as people look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryDetail {
    /// The entry. The record of its answer is left out.
    pub entry: Entry,
    /// The kind of request that it answers.
    pub kind: Kind,
    /// Its context: the instructions of its frame.
    pub context: Option<String>,
    /// The parameters of its frame.
    pub parameters: Parameters,
    /// Prompts it answered since it was stored. Written in batches, so a second or so late.
    pub hits: u64,
    /// The time of the last hit.
    pub last_hit: Option<Timestamp>,
    /// Dollars that its hits saved.
    pub saved: NanoUsd,
}

impl EntryDetail {
    /// Whether it is found by the hash of its whole request only.
    pub fn is_exact(&self) -> bool {
        is_exact(&self.parameters)
    }
}
