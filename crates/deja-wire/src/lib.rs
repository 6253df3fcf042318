//! The wire formats that applications speak to LLM providers: OpenAI's chat completions and Responses, Anthropic's
//! Messages, Google's Gemini. Bytes in, bytes out: no I/O.
//!
//! Requests are read to tell what makes two of them the same ([`Identity`]); they go to the provider as they came.
//! Answers are read to tell whether they are complete ([`Record`]); a record is served as JSON or as a stream.

mod completion;
mod end_mark;
mod endpoint;
mod error;
mod filter;
mod identity;
mod json;
pub mod lenient;
mod record;
mod render;
mod splice;

pub use completion::{Completion, Finish, TokenUsage};
pub use end_mark::{TAIL, may_have_ended};
pub use endpoint::{Endpoint, Wire};
pub use error::{ErrorKind, error_body, interruption, next_sequence};
pub use filter::UsageFilter;
pub use identity::{
    Asked, Demand, Identity, MAX_MODEL_BYTES, Malformed, Mode, Options, Rendering, STORED_RESPONSE,
    beside_question, identify, passed_text,
};
pub use record::{
    Cut, Record, StreamError, Unrecorded, is_error, is_event_stream, read, record, so_far, usage_in,
};
pub use render::{NewValues, Unrenderable, json_as_stream, render};
pub use splice::{NotAnObject, ask_for_usage};
