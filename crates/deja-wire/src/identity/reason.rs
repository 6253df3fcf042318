//! Why a request is not matched by meaning, or not cached: the words of `X-Deja-Reason`.

/// A member that is not known here.
pub(super) const UNKNOWN_MEMBER: &str = "unknown_member";
/// A member that is known, with a value of a type that it does not have.
pub(super) const UNEXPECTED_VALUE: &str = "unexpected_value";
/// Turns before the question, or after it.
pub(super) const MULTI_TURN: &str = "multi_turn";
/// No question: no last turn of the user, or no text in it.
pub(super) const NO_QUESTION: &str = "no_question";
/// A text that is longer than the limit.
pub(super) const TOO_LONG: &str = "too_long";
/// `seed`, `logit_bias`.
pub(super) const SAMPLING: &str = "sampling";
/// Thinking, or a budget for it.
pub(super) const REASONING: &str = "reasoning";
/// JSON mode, or a schema.
pub(super) const JSON: &str = "json";
/// Tools that the application runs.
pub(super) const TOOLS: &str = "tools";
/// Images, sound, files in the request.
pub(super) const MEDIA: &str = "media";
/// Settings of filters.
pub(super) const SAFETY: &str = "safety";
/// More in the answer than the answer.
pub(super) const INCLUDE: &str = "include";
/// A response that the provider stores: its id is good for a next request.
pub const STORED_RESPONSE: &str = "stored_response";

/// Media behind an address, where it can change.
pub(super) const REMOTE_MEDIA: &str = "remote_media";
/// Tools that the provider runs, on data of this moment.
pub(super) const HOSTED_TOOLS: &str = "hosted_tools";
/// More than one answer.
pub(super) const SEVERAL_ANSWERS: &str = "several_answers";
/// Probabilities of tokens.
pub(super) const TOKEN_DATA: &str = "token_data";
/// An answer that is not text.
pub(super) const OTHER_OUTPUT: &str = "other_output";
/// Something that the provider keeps, or is to keep.
pub(super) const SERVER_STATE: &str = "server_state";
/// JSON that two readers may read differently.
pub(super) const AMBIGUOUS: &str = "ambiguous";
/// JSON that is nested too deep.
pub(super) const TOO_DEEP: &str = "too_deep";
/// An endpoint whose answers are not cached.
pub(super) const NOT_CACHED: &str = "not_cached";
