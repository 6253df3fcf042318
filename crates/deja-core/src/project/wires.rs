//! What a project sets for requests in wire formats.

use serde::{Deserialize, Serialize};

use crate::words::words;

/// An enum of the words of a setting, each with the line that explains it to operators.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident: $($(#[$of:meta])* $choice:ident = $word:literal, $help:literal;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $(#[doc = $help] $(#[$of])* $choice,)+
        }

        impl $name {
            /// Its meaning, in one line for people.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$choice => $help,)+
                }
            }
        }

        words! {
            $name, format_args!("is not one of {}", $name::ALL.map($name::as_str).join(", ")),
            $($choice = $word),+
        }
    };
}

choices! {
    /// A control of the cache that applications may use in headers.
    ClientControl:
    Cache = "cache", "X-Deja-Cache and Cache-Control: ask the provider anew, keep nothing, or only what is kept.";
    Threshold = "threshold", "X-Deja-Threshold: how similar a question must be, down to the project's minimum.";
    Context = "context", "X-Deja-Context: keep answers apart by a name.";
    Ttl = "ttl", "X-Deja-TTL: serve an answer for a shorter time than the project does.";
    Debug = "debug", "X-Deja-Debug: times, in the header Server-Timing of the answer.";
    Pace = "pace", "X-Deja-Pace: a streamed answer from the cache comes at this many tokens a second.";
}

choices! {
    /// More hits, each at a risk of its own. None is on by default.
    OptIn:
    ShareEndUsers = "share_end_users", "One end user gets what another one asked for: who asks is left out of the comparison.";
    SemanticHistory = "semantic_history", "A question after other turns is matched by meaning: an answer may fit the turns less well.";
    SemanticTools = "semantic_tools", "A question with tools is matched by meaning: a tool that would have been called is not.";
    SemanticJson = "semantic_json", "A question with a format for its answer is matched by meaning: data of another text may come back.";
    StoreToolCalls = "store_tool_calls", "An answer that calls tools is kept for the very same request: a tool is called again as it was before.";
    ResponsesStateless = "responses_stateless", "Responses get ids of deja: they cannot be continued by previous_response_id.";
}

choices! {
    /// What happens to a provider's answer when the last client that waits for it hangs up.
    #[derive(Default)]
    OnHangup:
    #[default]
    Store = "store", "Read it to its end, within bounds, and keep it: the prompt is paid for.";
    Abort = "abort", "Close the connection to the provider.";
}

choices! {
    /// The tokens that a hit reports.
    #[derive(Default)]
    HitUsage:
    #[default]
    Stored = "stored", "Those of the call that made the answer: agents measure their context by them.";
    Zero = "zero", "None: nothing was bought.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_others_are_told() {
        for control in ClientControl::ALL {
            assert_eq!(control.as_str().parse(), Ok(control));
            assert_eq!(serde_json::to_value(control).unwrap(), control.as_str());
        }
        for opt_in in OptIn::ALL {
            assert_eq!(serde_json::to_value(opt_in).unwrap(), opt_in.as_str());
        }
        let error = "keep".parse::<OnHangup>().unwrap_err().to_string();
        assert_eq!(error, "'keep' is not one of store, abort");
        assert_eq!((OnHangup::default(), HitUsage::default()), (OnHangup::Store, HitUsage::Stored));
    }
}
