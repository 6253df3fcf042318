//! JSON that broke off.

use serde_json::Value;

/// What `beginning`, with which some JSON begins, says: a text that is cut ends there, what is open is closed, and what else is
/// cut is left out. `None` if that is nothing, or no JSON.
pub(super) fn closed(beginning: &[u8]) -> Option<Value> {
    const CUT: &str = "\"";
    // The last character may be cut, too.
    let beginning = beginning.utf8_chunks().next()?.valid();
    // What closes what is open, innermost last.
    let mut open = Vec::new();
    let mut in_text = false;
    // Up to where all that came is whole, and where the text ends behind that, with what closes it.
    let (mut whole, mut text) = (0, None);
    let mut letters = beginning.char_indices();
    while let Some((at, letter)) = letters.next() {
        let behind = at + letter.len_utf8();
        match (letter, in_text) {
            ('"', _) => {
                text = Some((behind, if in_text { "" } else { CUT }));
                in_text = !in_text;
            }
            ('\\', true) => {
                let Some((at, escaped)) = letters.next() else { break };
                let behind = at + escaped.len_utf8();
                if escaped != 'u' {
                    text = Some((behind, CUT));
                    continue;
                }
                let Some(hex) = beginning.get(behind..behind + 4) else { break };
                letters.nth(3);
                // The first of two that are one character is none.
                if !matches!(hex.as_bytes(), [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]) {
                    text = Some((behind + 4, CUT));
                }
            }
            (_, true) => text = Some((behind, CUT)),
            ('{' | '[', false) => {
                open.push(if letter == '{' { '}' } else { ']' });
                (whole, text) = (behind, None);
            }
            ('}' | ']', false) => {
                open.pop();
                (whole, text) = (behind, None);
            }
            (',', false) => (whole, text) = (at, None),
            (':', false) => text = None,
            _ => {}
        }
    }
    let closing: String = open.iter().rev().collect();
    let with_text = text.and_then(|(end, quote)| read(&beginning[..end], &[quote, &closing].concat()));
    // Without it if it is a name.
    with_text.or_else(|| read(&beginning[..whole], &closing))
}

fn read(beginning: &str, closing: &str) -> Option<Value> {
    serde_json::from_str(&[beginning, closing].concat()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_is_cut_ends_there_and_the_rest_is_left_out() {
        for (beginning, said) in [
            (r#"{"a":"one tw"#, json!({"a": "one tw"})),
            (r#"{"a":[{"b":"x"},{"c":"y"#, json!({"a": [{"b": "x"}, {"c": "y"}]})),
            (r#"{"a":1,"b":2"#, json!({"a": 1})),
            (r#"{"a":1,"b"#, json!({"a": 1})),
            (r#"{"a":1,"b":"#, json!({"a": 1})),
            (r#"{"a":1,"b":[],"#, json!({"a": 1, "b": []})),
            (r#"{"a":1,"b":"x""#, json!({"a": 1, "b": "x"})),
            (r#"{"a":"1}","b":tr"#, json!({"a": "1}"})),
            (r#"{"a":"\"\\"#, json!({"a": "\"\\"})),
            (r#"{"a":"x\"#, json!({"a": "x"})),
            (r#"{"a":"x\u00"#, json!({"a": "x"})),
            (r#"{"a":"\u00e9\ud83d\ude"#, json!({"a": "é"})),
            (r#"{"a":"\u00e9\ud83d\ude00"#, json!({"a": "é😀"})),
            ("{", json!({})),
        ] {
            assert_eq!(closed(beginning.as_bytes()), Some(said), "{beginning}");
        }
        let cut = &"{\"a\":\"é".as_bytes()[..7];
        assert_eq!(closed(cut), Some(json!({"a": ""})), "in the middle of a character");
        for none in ["", "<html>", "one two", "}", "\\", "\u{feff}{}"] {
            assert_eq!(closed(none.as_bytes()), None, "{none}");
        }
        assert_eq!(closed("[".repeat(100_000).as_bytes()), None, "too deep");
    }

    proptest! {
        #[test]
        fn whatever_is_cut_says_no_other_text_than_the_whole(
            said in prop_oneof![any::<String>(), "(\\PC|[\\\\\"{}\\[\\],:])*"],
            ascii: bool,
            cut: prop::sample::Index,
        ) {
            let mut body = json!({"a": [1, {"b": null}], "said": said, "n": 2.5}).to_string();
            if ascii {
                let escaped = |unit: u16| match char::from_u32(u32::from(unit)) {
                    Some(letter) if letter.is_ascii() => letter.to_string(),
                    _ => format!("\\u{unit:04x}"),
                };
                body = body.encode_utf16().map(escaped).collect();
            }
            let closed = closed(&body.as_bytes()[..cut.index(body.len() + 1)]).unwrap_or_default();
            prop_assert!(said.starts_with(closed["said"].as_str().unwrap_or_default()), "{closed}");
        }

        #[test]
        fn no_bytes_make_it_panic(beginning in "[{}\\[\\]\",:\\\\u0-9dé😀]{0,40}", cut in 0..3usize) {
            let bytes = beginning.as_bytes();
            let _ = closed(&bytes[..bytes.len().saturating_sub(cut)]);
        }
    }
}
