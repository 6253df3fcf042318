//! Edits of a JSON body that leave all other bytes as they are.

use bytes::Bytes;

use crate::json::{Object, json};

/// A body that cannot be edited, as it is no JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not a JSON object")]
pub struct NotAnObject;

/// `body` with `stream_options.include_usage` set, its other stream options kept; `None` if it is set already.
pub fn ask_for_usage(body: &[u8]) -> Result<Option<Bytes>, NotAnObject> {
    const NAME: &str = "include_usage";
    let options = Object::parse(body).ok_or(NotAnObject)?.get("stream_options");
    let edited = match options.map(|options| (options.get(), Object::of(options))) {
        Some((_, Some(object))) if object.get(NAME).is_some_and(|raw| raw.get() == "true") => {
            return Ok(None);
        }
        Some((raw, Some(_))) => splice(raw.as_bytes(), &[(NAME, "true")])?,
        _ => Bytes::from_static(br#"{"include_usage":true}"#),
    };
    let edited = std::str::from_utf8(&edited).map_err(|_| NotAnObject)?;
    splice(body, &[("stream_options", edited)]).map(Some)
}

/// `body` with other values, which are JSON, for these top-level members; those that are not there come first.
pub(crate) fn splice(body: &[u8], edits: &[(&str, &str)]) -> Result<Bytes, NotAnObject> {
    spliced(body, &Object::parse(body).ok_or(NotAnObject)?, edits)
}

/// What [`splice`] does, for a body that was parsed: `object` is what stands in it.
pub(crate) fn spliced(
    body: &[u8],
    object: &Object<'_>,
    edits: &[(&str, &str)],
) -> Result<Bytes, NotAnObject> {
    let mut edited = Vec::with_capacity(body.len() + 64);
    let start = body.iter().position(|byte| *byte == b'{').ok_or(NotAnObject)? + 1;
    edited.extend_from_slice(&body[..start]);
    let missing = edits.iter().filter(|(name, _)| object.members().all(|(found, _)| found != *name));
    for (n, (name, value)) in missing.enumerate() {
        let comma = if n == 0 { "" } else { "," };
        edited.extend_from_slice(format!("{comma}{}:{value}", json(name)).as_bytes());
    }
    if edited.len() > start && object.members().next().is_some() {
        edited.push(b',');
    }
    let mut kept = start;
    for (found, raw) in object.members() {
        if let Some((_, value)) = edits.iter().find(|(name, _)| *name == found) {
            // The value is a part of the body: where it stands there is the difference of the addresses.
            let at = raw.get().as_ptr().addr() - body.as_ptr().addr();
            edited.extend_from_slice(&body[kept..at]);
            edited.extend_from_slice(value.as_bytes());
            kept = at + raw.get().len();
        }
    }
    edited.extend_from_slice(&body[kept..]);
    Ok(edited.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn with_model(body: &[u8], model: &str) -> Result<Bytes, NotAnObject> {
        splice(body, &[("model", &json(model))])
    }

    fn text(bytes: &Bytes) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn only_the_value_at_the_top_changes() {
        let body =
            " { \"messages\" : [{\"model\":\"a\", \"x\":1.0e3}] ,\t\"mod\\u0065l\"  : \"a\" , \"n\":1.50}\n";
        let expected = " { \"messages\" : [{\"model\":\"a\", \"x\":1.0e3}] ,\t\"mod\\u0065l\"  : \"b\\\"\" , \"n\":1.50}\n";
        assert_eq!(text(&with_model(body.as_bytes(), "b\"").unwrap()), expected);
        assert_eq!(text(&with_model(b"{}", "b").unwrap()), r#"{"model":"b"}"#);
        assert_eq!(
            text(&with_model(br#"{"x":{"model":1}}"#, "b").unwrap()),
            r#"{"model":"b","x":{"model":1}}"#
        );
        for body in ["", "[]", "3", "{", "{\"model\":}", "\u{feff}{}"] {
            assert_eq!(with_model(body.as_bytes(), "b"), Err(NotAnObject), "{body}");
        }
    }

    #[test]
    fn usage_is_asked_for_beside_other_stream_options() {
        for (body, expected) in [
            (r#"{"model":"m"}"#, Some(r#"{"stream_options":{"include_usage":true},"model":"m"}"#)),
            (r#"{"stream_options":null}"#, Some(r#"{"stream_options":{"include_usage":true}}"#)),
            (
                r#"{"stream_options": {"include_obfuscation":false},"n":1}"#,
                Some(r#"{"stream_options": {"include_usage":true,"include_obfuscation":false},"n":1}"#),
            ),
            (
                r#"{"stream_options":{"include_usage":false}}"#,
                Some(r#"{"stream_options":{"include_usage":true}}"#),
            ),
            (r#"{"stream_options":{"include_usage":true}}"#, None),
        ] {
            assert_eq!(ask_for_usage(body.as_bytes()).unwrap().as_ref().map(text).as_deref(), expected);
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\ü☃\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("model|stream_options|[a-c\"{}:,ü]{0,4}", inner, 0..5)
                    .prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_splice_is_what_a_parser_would_have_done(body in value(), model in ".{0,8}", pretty: bool) {
            let bytes = if pretty { serde_json::to_vec_pretty(&body) } else { serde_json::to_vec(&body) }.unwrap();
            let spliced = with_model(&bytes, &model).ok();
            let expected = body.as_object().cloned().map(|mut members| {
                members.insert("model".into(), model.into());
                Value::from(members)
            });
            prop_assert_eq!(spliced.map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap()), expected);
        }

        #[test]
        fn a_splice_and_one_back_leave_every_byte(body in value(), pretty: bool) {
            let bytes = if pretty { serde_json::to_vec_pretty(&body) } else { serde_json::to_vec(&body) }.unwrap();
            if let Some(model) = body.get("model").and_then(Value::as_str) {
                let there = with_model(&bytes, "another").unwrap();
                prop_assert_eq!(with_model(&there, model).unwrap(), bytes);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = with_model(&body, "m");
            let _ = ask_for_usage(&body);
        }
    }
}
