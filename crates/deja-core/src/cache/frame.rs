//! What a prompt is asked in: everything besides the prompt that an answer depends on.

use std::collections::BTreeMap;

/// The version of the bytes that [`Frame::bytes`] gives. Another layout takes another number, and a migration of
/// both stores that computes the keys of scopes anew.
const VERSION: u8 = 1;

/// What kind of request it is: requests of two kinds never share answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A query of deja's own API.
    Query = 1,
}

/// The frame of a prompt. Frames are compared byte for byte: nothing is trimmed, folded or rounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    kind: Kind,
    model: Option<Box<str>>,
    instructions: Option<Box<str>>,
    parameters: BTreeMap<Box<str>, Box<str>>,
    history: Option<[u8; 32]>,
}

impl Frame {
    /// The frame of a query, without parameters and history. `model` is `None` where models share answers.
    /// Without instructions is another frame than with empty ones.
    pub fn query(model: Option<&str>, instructions: Option<&str>) -> Self {
        Self {
            kind: Kind::Query,
            model: model.map(Into::into),
            instructions: instructions.map(Into::into),
            parameters: BTreeMap::new(),
            history: None,
        }
    }

    /// With a parameter that changes answers, such as the temperature; its value as it was written. A name that is
    /// there already gets the new value.
    #[must_use]
    pub fn with_parameter(mut self, name: &str, value: &str) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// With the SHA-256 of the turns before the prompt.
    #[must_use]
    pub fn with_history(mut self, digest: [u8; 32]) -> Self {
        self.history = Some(digest);
        self
    }

    /// The model, unless models share answers.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The instructions.
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The frame as bytes, different for any two frames: version; kind; model and instructions, each 0 or 1 and its
    /// text; the number of parameters and, by name, the name and value of each; history as 0 or 1 and the digest.
    /// A text is its length in bytes and its UTF-8. Lengths and numbers have 8 bytes, the greatest first.
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
        bytes.push(self.history.is_some().into());
        bytes.extend(self.history.iter().flatten());
        bytes
    }
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
            [&[1, 1, 0, 1][..], &number(2), "ä".as_bytes(), &number(2), &parameters, &[1], &[9; 32]].concat();
        assert_eq!(full.with_history([9; 32]).bytes(), full_bytes);
    }

    /// Few letters, those that lengths and tags are made of among them, so that frames nearly meet.
    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(prop_oneof![Just('\0'), Just('\u{1}'), Just('a')], 0..4)
            .prop_map(|letters| letters.into_iter().collect())
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let given = || proptest::option::of(text());
        let parameters = proptest::collection::vec((text(), text()), 0..3);
        let history = proptest::option::of(prop_oneof![Just([0; 32]), Just([1; 32])]);
        (given(), given(), parameters, history).prop_map(|(model, instructions, parameters, history)| {
            let query = Frame::query(model.as_deref(), instructions.as_deref());
            let query =
                parameters.iter().fold(query, |frame, (name, value)| frame.with_parameter(name, value));
            history.into_iter().fold(query, Frame::with_history)
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
