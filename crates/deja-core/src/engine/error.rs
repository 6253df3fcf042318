//! Why a query has no answer.

use crate::analytics::RefusedFor;
use crate::embedding::EmbedError;
use crate::provider::{FailureClass, Keyless, ProviderError};
use crate::store::StoreError;

/// What a key is not for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAllowed {
    /// Anything now: its project is suspended.
    Suspended,
    /// The project that was named.
    OtherProject,
    /// The model.
    Model,
}

impl NotAllowed {
    /// What a request that asks it is refused for.
    pub(super) const fn refused_for(self) -> RefusedFor {
        match self {
            Self::Suspended | Self::OtherProject => RefusedFor::Project,
            Self::Model => RefusedFor::ForbiddenModel,
        }
    }

    /// The name in `X-Deja-Error`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Suspended => "suspended",
            Self::OtherProject => "other_project",
            Self::Model => "model_not_allowed",
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    /// The key may not ask this.
    #[error("the key may not ask this: {}", .0.code())]
    Forbidden(NotAllowed),
    /// No provider is known for the model.
    #[error("model '{model}' is not supported")]
    ModelNotSupported {
        /// As asked.
        model: String,
    },
    /// The model's provider has no such endpoint.
    #[error("the provider of model '{model}' does not serve this endpoint")]
    WrongEndpoint {
        /// As asked.
        model: String,
    },
    /// Nothing in the cache answers, and the provider was not to be asked.
    #[error("nothing in the cache answers")]
    NotCached,
    /// The provider answered a request in a wire format with an error, which was passed on; of this kind, if its status
    /// says so.
    #[error("the provider's answer is an error")]
    Declined(Option<FailureClass>),
    /// The provider's answer to a request in a wire format was no complete answer, or nobody waited for it.
    #[error("no complete answer")]
    Unfinished,
    /// deja has no key for the model's provider.
    #[error("{0}")]
    NoCredentials(Keyless),
    /// Too much to do: try again in a moment.
    #[error("overloaded")]
    Overloaded,
    /// It took longer than a query may.
    #[error("the query took too long")]
    DeadlineExceeded,
    /// The embedding model or storage does not work now.
    #[error("{0}")]
    Unavailable(String),
    /// The provider gave no answer.
    #[error(transparent)]
    Provider(ProviderError),
    /// A bug.
    #[error("{0}")]
    Internal(String),
}

/// An error with a name for programs: the one in `X-Deja-Error` and in the log of requests.
pub trait Cause {
    /// The name.
    fn cause(&self) -> &'static str;
}

impl Cause for QueryError {
    fn cause(&self) -> &'static str {
        match self {
            Self::Forbidden(why) => why.code(),
            Self::ModelNotSupported { .. } => "model_not_supported",
            Self::WrongEndpoint { .. } => "wrong_endpoint",
            Self::NotCached => "not_cached",
            Self::Declined(class) => class.map_or("provider_declined", FailureClass::code),
            Self::Unfinished => "unfinished",
            Self::NoCredentials(_) => "provider_not_configured",
            Self::Overloaded => "overloaded",
            Self::DeadlineExceeded => "query_timeout",
            Self::Unavailable(_) => "unavailable",
            Self::Provider(error) => error.class.code(),
            Self::Internal(_) => "internal",
        }
    }
}

impl QueryError {
    /// Why the request was refused; `None` if it failed.
    pub(super) const fn refusal(&self) -> Option<RefusedFor> {
        match self {
            Self::ModelNotSupported { .. } | Self::WrongEndpoint { .. } => Some(RefusedFor::UnknownModel),
            Self::Forbidden(why) => Some(why.refused_for()),
            Self::NotCached => Some(RefusedFor::NotCached),
            _ => None,
        }
    }

    /// Whether it says nothing about another query that waited for the same call: one with another prompt, or, where
    /// models share answers, for another model.
    pub(super) const fn is_callers_own(&self, same_model: bool) -> bool {
        match self {
            Self::Provider(error) => {
                !same_model
                    || matches!(
                        error.class,
                        FailureClass::ContentFilter
                            | FailureClass::ContextLength
                            | FailureClass::InvalidRequest
                            | FailureClass::RequestInterrupted
                            | FailureClass::BadResponse
                    )
            }
            Self::NoCredentials(_) => !same_model,
            Self::Forbidden(_)
            | Self::ModelNotSupported { .. }
            | Self::WrongEndpoint { .. }
            | Self::NotCached
            | Self::Declined(_)
            | Self::Unfinished => true,
            Self::Overloaded | Self::DeadlineExceeded | Self::Unavailable(_) | Self::Internal(_) => false,
        }
    }
}

impl From<ProviderError> for QueryError {
    fn from(error: ProviderError) -> Self {
        if error.class == FailureClass::NoRoom { Self::Overloaded } else { Self::Provider(error) }
    }
}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::Unavailable(error.to_string()),
            _ => Self::Internal(error.to_string()),
        }
    }
}

impl From<EmbedError> for QueryError {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Overloaded => Self::Overloaded,
            EmbedError::Timeout | EmbedError::Failed(_) => Self::Unavailable(error.to_string()),
        }
    }
}
