//! The LLM providers: their wire formats over one HTTP client.
//!
//! Reading order for a newcomer:
//!
//! 1. [`registry`]: which provider a model is asked from, and what each needs.
//! 2. [`openai`], [`anthropic`], [`gemini`]: one wire format each. They put requests together; `deja-wire` reads the
//!    answers.
//! 3. `exchange`: one call from request to answer, the same for all of them; [`http`] holds the only place
//!    where an HTTP client is built, `retry` says when a call is made again, `failure` what an error means and
//!    `wait` what it says about asking again.
//! 4. `forward`: a request of an application, passed on as it is, and its answer; `unpack` where that comes packed.
//! 5. [`ssrf`]: which addresses deja calls for a user.
//! 6. [`tokens`], [`prices`], [`embedding`]: counting tokens, fetching the price map, embeddings from a server.
//! 7. [`traces`]: which trace a call belongs to, and the way of spans to their collector.
//!
//! Nothing a provider sends is trusted: unknown members, nulls, wrong types and missing members are accepted,
//! sizes and times are bounded, and an answer counts as one only if it is complete.
#![warn(missing_docs)]

mod anthropic;
mod embedding;
mod exchange;
mod failure;
mod family;
mod forward;
mod gemini;
mod http;
mod openai;
mod prices;
mod quoted;
mod registry;
mod retry;
pub mod ssrf;
pub mod tokens;
mod traces;
mod unpack;
mod wait;

pub use embedding::{ConnectError, RemoteEmbedder, RemoteSettings, published_window};
pub use family::{Family, family};
pub use http::{ClientError, HttpSettings, can_proxy};
pub use prices::{Fetched, PriceFetchError, fetch_prices};
pub use registry::{BuiltIn, Credentials, Registry, RegistryError};
pub use ssrf::{UrlError, check_url};
pub use tokens::TokenCounter;
pub use traces::SpanSender;
