//! What a prompt is asked in: everything besides the prompt that an answer depends on.

use std::collections::BTreeMap;

use deja_wire::Wire;
use serde::{Deserialize, Serialize};

use crate::words::words;

/// The parameter of a context that an application names: no member of a body has this name at the top.
pub const CONTEXT: &str = "X-Deja-Context";

/// The version of the bytes that [`Frame::bytes`] gives. Another layout takes another number, and a migration of
/// both stores that computes the keys of scopes anew.
const VERSION: u8 = 1;

/// The kind of a request. Requests of two kinds never share answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// A query of deja's own API.
    #[default]
    Query = 1,
    /// OpenAI's chat completions.
    Chat = 2,
    /// OpenAI's Responses.
    Responses = 3,
    /// Anthropic's Messages.
    Messages = 4,
    /// Google's `generateContent`.
    Gemini = 5,
}

words! {
    Kind, "is no kind of request",
    Query = "query", Chat = "chat", Responses = "responses", Messages = "messages", Gemini = "gemini",
}

impl From<Wire> for Kind {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Chat => Self::Chat,
            Wire::Responses => Self::Responses,
            Wire::Messages => Self::Messages,
            Wire::Gemini => Self::Gemini,
        }
    }
}

/// The parameters that an answer depends on, such as the temperature: by name, with the value as the request has it.
pub type Parameters = BTreeMap<Box<str>, Box<str>>;

/// The context that answers go by in lists and purges: the one that the application named, or else the instructions.
pub fn context<'a>(instructions: Option<&'a str>, parameters: &'a Parameters) -> Option<&'a str> {
    parameters.get(CONTEXT).map(|context| &**context).or(instructions)
}

/// The parameter of frames whose prompts are found by their hash only. Requests have none of this name.
const EXACT: &str = "exact";

/// The frame of a prompt. Frames are compared byte for byte: nothing is trimmed, folded or rounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    kind: Kind,
    model: Option<Box<str>>,
    instructions: Option<Box<str>>,
    parameters: Parameters,
}

impl Frame {
    /// The frame of a query, without parameters. `model` is `None` where models share answers.
    /// Without instructions is another frame than with empty ones.
    pub fn query(model: Option<&str>, instructions: Option<&str>) -> Self {
        Self {
            kind: Kind::Query,
            model: model.map(Into::into),
            instructions: instructions.map(Into::into),
            parameters: Parameters::new(),
        }
    }

    /// The frame of a question in a wire format. Models never share answers there: each names the model that wrote it.
    pub fn of_wire(kind: Kind, model: &str, instructions: Option<&str>, parameters: Parameters) -> Self {
        Self { kind, model: Some(model.into()), instructions: instructions.map(Into::into), parameters }
    }

    /// The frame of all requests in a wire format that are found as a whole, by their hash only: one for each model, so
    /// that every turn of a chat does not make a frame of its own.
    pub fn exact(kind: Kind, model: &str) -> Self {
        Self::of_wire(kind, model, None, Parameters::from([(EXACT.into(), "".into())]))
    }

    /// With a parameter that changes answers; its value as it was written. A name that is there already gets the new
    /// value.
    #[must_use]
    pub(crate) fn with_parameter(mut self, name: &str, value: &str) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// The kind of the request.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The model, unless models share answers.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The instructions.
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The context that its answers go by.
    pub fn context(&self) -> Option<&str> {
        context(self.instructions(), &self.parameters)
    }

    /// The parameters.
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Whether its prompts are found by their hash only: they have no vectors, and are not waiting for any.
    pub fn is_exact(&self) -> bool {
        is_exact(&self.parameters)
    }

    /// The frame as bytes, different for any two frames: version; kind; model and instructions, each 0 or 1 and its
    /// text; the number of parameters and, by name, the name and value of each; 0. A text is its length in bytes and
    /// its UTF-8. Lengths and numbers have 8 bytes, the greatest first.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.kind as u8];
        for text in [&self.model, &self.instructions] {
            bytes.push(text.is_some().into());
            if let Some(text) = text {
                push(&mut bytes, text);
            }
        }
        bytes.extend((self.parameters.len() as u64).to_be_bytes());
        for (name, value) in &self.parameters {
            push(&mut bytes, name);
            push(&mut bytes, value);
        }
        // Version 1 has room here for a digest of earlier turns. Those are a parameter.
        bytes.push(0);
        bytes
    }
}

/// Whether these are parameters of a frame of whole requests.
pub(super) fn is_exact(parameters: &Parameters) -> bool {
    parameters.contains_key(EXACT)
}

fn push(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_be_bytes());
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bytes_of_version_1() {
        let number = |n: u8| [0, 0, 0, 0, 0, 0, 0, n];
        let bare = [&[1, 1, 0, 0][..], &number(0), &[0]].concat();
        assert_eq!(Frame::query(None, None).bytes(), bare);
        let query = [&[1, 1, 1][..], &number(2), b"m1", &[1], &number(0), &number(0), &[0]].concat();
        assert_eq!(Frame::query(Some("m1"), Some("")).bytes(), query);
        let full = Frame::query(None, Some("ä")).with_parameter("top_p", "1").with_parameter("n", "0.70");
        let parameters =
            [&number(1)[..], b"n", &number(4), b"0.70", &number(5), b"top_p", &number(1), b"1"].concat();
        let full_bytes =
            [&[1, 1, 0, 1][..], &number(2), "ä".as_bytes(), &number(2), &parameters, &[0]].concat();
        assert_eq!(full.bytes(), full_bytes);
        let exact =
            [&[1, 4, 1][..], &number(1), b"m", &[0], &number(1), &number(5), b"exact", &number(0), &[0]];
        assert_eq!(Frame::exact(Kind::Messages, "m").bytes(), exact.concat());
    }

    #[test]
    fn kinds_have_names_and_wires_are_kinds() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert!("".parse::<Kind>().is_err());
        assert_eq!(Kind::ALL.map(Kind::as_str), ["query", "chat", "responses", "messages", "gemini"]);
        let wires = Wire::ALL.map(|wire| Kind::from(wire).as_str());
        assert_eq!(wires, Wire::ALL.map(Wire::as_str));
    }

    #[test]
    fn a_frame_tells_what_it_is_made_of() {
        let parameters = Parameters::from([("n".into(), "1".into())]);
        let wire = Frame::of_wire(Kind::Chat, "m", Some("be kind"), parameters.clone());
        assert_eq!(
            (wire.kind(), wire.model(), wire.instructions()),
            (Kind::Chat, Some("m"), Some("be kind"))
        );
        assert_eq!((wire.parameters(), wire.is_exact()), (&parameters, false));
        let query = Frame::query(None, None);
        assert_eq!((query.kind(), query.model(), query.instructions()), (Kind::Query, None, None));
        assert!(query.parameters().is_empty() && !query.is_exact());
        assert!(Frame::exact(Kind::Gemini, "m").is_exact());
    }

    /// Few letters, those that lengths and tags are made of among them, so that frames nearly meet.
    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(prop_oneof![Just('\0'), Just('\u{1}'), Just('a')], 0..4)
            .prop_map(|letters| letters.into_iter().collect())
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let given = || proptest::option::of(text());
        let parameters = proptest::collection::vec((text(), text()), 0..3);
        let kind = proptest::sample::select(Kind::ALL.to_vec());
        (kind, given(), given(), parameters).prop_map(|(kind, model, instructions, parameters)| {
            let (model, instructions) = (model.as_deref(), instructions.as_deref());
            let frame = match (kind, model) {
                (Kind::Query, _) | (_, None) => Frame::query(model, instructions),
                (kind, Some(model)) => Frame::of_wire(kind, model, instructions, Parameters::new()),
            };
            parameters.iter().fold(frame, |frame, (name, value)| frame.with_parameter(name, value))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn frames_are_equal_if_and_only_if_their_bytes_are(a in frame(), b in frame()) {
            prop_assert_eq!(a == b, a.bytes() == b.bytes());
            // No frame begins another either, so that what is hashed after one cannot be taken for its end.
            prop_assert!(a == b || !a.bytes().starts_with(&b.bytes()));
        }
    }
}
