//! What an application may ask for.

/// A wire format. Requests of two formats never share answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// OpenAI's chat completions, which many others speak.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Google's `generateContent`.
    Gemini,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini];

    /// The name in figures, settings and databases.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
        }
    }
}

/// An endpoint of a provider. The first four are answered from the cache; what is asked of the others is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1beta/models/{model}:generateContent`, or `:streamGenerateContent?alt=sse`.
    Gemini {
        /// Whether the answer is asked for as a stream.
        stream: bool,
    },
    /// `POST /v1/messages/count_tokens`.
    CountTokens,
    /// `POST /v1/embeddings`.
    Embeddings,
    /// `POST /v1/completions`.
    Completions,
}

impl Endpoint {
    /// Whether it is answered from the cache.
    pub const fn is_cached(self) -> bool {
        !matches!(self, Self::CountTokens | Self::Embeddings | Self::Completions)
    }

    /// Whether its answers are what a model wrote.
    pub const fn is_written(self) -> bool {
        !matches!(self, Self::CountTokens | Self::Embeddings)
    }

    /// The format that its answers and errors have.
    pub const fn wire(self) -> Wire {
        match self {
            Self::Chat | Self::Embeddings | Self::Completions => Wire::Chat,
            Self::Responses => Wire::Responses,
            Self::Messages | Self::CountTokens => Wire::Messages,
            Self::Gemini { .. } => Wire::Gemini,
        }
    }
}
