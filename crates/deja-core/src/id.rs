//! Identifiers: UUID version 7 (RFC 9562), one type a noun, so that one cannot be passed for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::Timestamp;

/// A source of unpredictable bytes for keys and identifiers.
pub trait Entropy: Send + Sync {
    /// Fills `buffer` with random bytes.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError>;
}

/// The operating system could not give random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct EntropyError(pub String);

/// The operating system's random bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(buffer).map_err(|error| EntropyError(error.to_string()))
    }
}

macro_rules! id_type {
    ($name:ident, $what:literal) => {
        #[doc = concat!("Identifies ", $what, ".")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new identifier, ordered by `now`.
            pub fn generate(now: Timestamp, entropy: &dyn Entropy) -> Result<Self, EntropyError> {
                let mut random = [0; 10];
                entropy.fill(&mut random)?;
                let millis = u64::try_from(now.as_millis()).unwrap_or(0);
                Ok(Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()))
            }

            /// The identifier with these 16 bytes.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The identifier's 16 bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

id_type!(ProjectId, "a project, the tenant");
id_type!(KeyId, "an API key");
id_type!(EntryId, "a cache entry");
id_type!(ProviderId, "a provider that a project brought itself");
id_type!(FlightId, "one process's call to a provider, among the processes that share a store");
id_type!(RecorderId, "a process that counts, from its start to its end");
id_type!(OperatorId, "a person who signs in to the console");
