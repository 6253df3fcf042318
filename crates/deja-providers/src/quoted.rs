//! The provider's key in what its server says: some quote what they were sent.

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use memchr::memmem;
use secrecy::{ExposeSecret, SecretString};

/// A shorter key is not looked for. Providers' keys are longer; servers of one's own take any word, which may well stand in
/// what they say.
const SHORTEST: usize = 20;

/// Whether there is a key that is looked for, and `bytes` have it in them.
pub(crate) fn quotes(key: Option<&SecretString>, bytes: &[u8]) -> bool {
    let key = sent(key);
    !key.is_empty() && memmem::find(bytes, key).is_some()
}

/// The key as it is sent; empty if it is not looked for.
fn sent(key: Option<&SecretString>) -> &[u8] {
    let key = key.map(|key| key.expose_secret().trim()).filter(|key| key.len() >= SHORTEST);
    key.unwrap_or_default().as_bytes()
}

/// The `pieces` of a good answer as they come, up to where they quote the key: then they end with `failure`. What may be the
/// beginning of the key waits for the next piece.
pub(crate) fn unquoted<E: Send + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    key: Option<SecretString>,
    failure: E,
) -> impl Stream<Item = Result<Bytes, E>> + Send {
    let begun = (Box::pin(pieces), Bytes::new(), key, failure);
    stream::try_unfold(Some(begun), |state| async move {
        let Some((mut pieces, mut held, key, failure)) = state else { return Ok(None) };
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            let mut all = if held.is_empty() { piece } else { [held, piece].concat().into() };
            if quotes(key.as_ref(), &all) {
                return Err(failure);
            }
            held = all.split_off(all.len() - begun_at_end(key.as_ref(), &all));
            if !all.is_empty() {
                return Ok(Some((all, Some((pieces, held, key, failure)))));
            }
        }
        Ok((!held.is_empty()).then_some((held, None)))
    })
}

/// How much of the key stands at the end of `bytes`.
fn begun_at_end(key: Option<&SecretString>, bytes: &[u8]) -> usize {
    let key = sent(key);
    (1..key.len()).rev().find(|length| bytes.ends_with(&key[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, TryStreamExt};

    fn passed(key: &str, pieces: &[&'static str]) -> Result<String, ()> {
        let pieces = stream::iter(
            pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))).collect::<Vec<_>>(),
        );
        let passed = unquoted(pieces, Some(SecretString::from(key)), ()).try_collect::<Vec<_>>();
        let passed = passed.now_or_never().unwrap()?;
        Ok(String::from_utf8(passed.concat()).unwrap())
    }

    #[test]
    fn a_key_is_found_across_pieces_and_a_word_is_none() {
        let key = "aab-aab-aab-aab-aab-c";
        assert_eq!(passed(key, &["xaab-aab-", "aab-aab-aab-", "c"]), Err(()));
        assert_eq!(passed(key, &["xaab-aab-aab-", "aab-aab-aab-c"]), Err(()));
        assert_eq!(
            passed(key, &["xaab-aab-", "aab-aab-aab-", "d", "aa"]),
            Ok("xaab-aab-aab-aab-aab-daa".into())
        );
        assert_eq!(passed("ollama", &["I am ollama."]), Ok("I am ollama.".into()));
    }
}
