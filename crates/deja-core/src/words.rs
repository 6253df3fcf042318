//! The words of enums: what settings, listings and databases call their values.

/// A word that none of the values has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownWord(pub(crate) String);

/// Gives each value of an enum its word, by which it is read back. `$unknown` is said of a word that is none, behind it.
macro_rules! words {
    ($name:ident, $unknown:expr, $($value:ident = $word:literal),+ $(,)?) => {
        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// The word in settings, listings and databases.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|value| value.as_str() == word);
                found.ok_or_else(|| $crate::words::UnknownWord(format!("'{word}' {}", $unknown)))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;
