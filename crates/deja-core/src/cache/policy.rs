//! What may be stored: only one complete, normal answer.

use crate::provider::{Completion, Finish};

/// Why an answer is returned but not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// It is cut at a token limit.
    Truncated,
    /// The model asked for a tool.
    ToolCalls,
    /// A filter stopped it.
    Filtered,
    /// The model declined.
    Refused,
    /// It ended in a way that deja does not know.
    UnknownFinish,
    /// It has no text.
    Empty,
    /// There is more than one choice.
    ManyChoices,
    /// It is not what the request demands.
    NotAsAsked,
    /// It cannot be given again as it was.
    NotRenderable,
    /// It is too large to be recorded, or there were too many at once.
    NotRecorded,
    /// The request was not to be answered from the cache, or its answer not to be stored.
    NotWanted,
    /// The store did not take it.
    StoreUnavailable,
}

impl NotStored {
    /// The code in the debug object and the log.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::ToolCalls => "tool_calls",
            Self::Filtered => "content_filter",
            Self::Refused => "refusal",
            Self::UnknownFinish => "unknown_finish_reason",
            Self::Empty => "empty",
            Self::ManyChoices => "many_choices",
            Self::NotAsAsked => "not_as_asked",
            Self::NotRenderable => "not_renderable",
            Self::NotRecorded => "not_recorded",
            Self::NotWanted => "not_wanted",
            Self::StoreUnavailable => "store_unavailable",
        }
    }
}

/// Whether `completion` may be stored, and if not, why.
pub fn may_store(completion: &Completion) -> Result<(), NotStored> {
    match completion.finish {
        Finish::Stop => {}
        Finish::Length => return Err(NotStored::Truncated),
        Finish::ToolCalls => return Err(NotStored::ToolCalls),
        Finish::ContentFilter => return Err(NotStored::Filtered),
        Finish::Refusal => return Err(NotStored::Refused),
        Finish::Unknown => return Err(NotStored::UnknownFinish),
    }
    if completion.choices > 1 {
        return Err(NotStored::ManyChoices);
    }
    if completion.text.trim().is_empty() {
        return Err(NotStored::Empty);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_complete_answer_with_text_is_stored() {
        let good = Completion {
            text: "Lisbon.".into(),
            besides: String::new(),
            finish: Finish::Stop,
            choices: 1,
            model: None,
            usage: None,
        };
        assert_eq!(may_store(&good), Ok(()));
        for (finish, code) in [
            (Finish::Length, "truncated"),
            (Finish::ToolCalls, "tool_calls"),
            (Finish::ContentFilter, "content_filter"),
            (Finish::Refusal, "refusal"),
            (Finish::Unknown, "unknown_finish_reason"),
        ] {
            let refused = may_store(&Completion { finish, ..good.clone() });
            assert_eq!(refused.map_err(NotStored::code), Err(code));
        }
        assert_eq!(may_store(&Completion { choices: 2, ..good.clone() }), Err(NotStored::ManyChoices));
        assert_eq!(may_store(&Completion { text: " \n".into(), ..good }), Err(NotStored::Empty));
    }
}
