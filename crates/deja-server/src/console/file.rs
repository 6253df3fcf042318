//! CSV files: whole ones, and such as are read while the browser takes them.

use std::future::Future;
use std::num::NonZeroUsize;

use axum::body::Body;
use deja_core::admin::AdminError;
use futures::{StreamExt as _, stream};

use super::error::ConsoleError;
use super::page::Visit;

/// Rows that a file of a log reads at a time.
pub(super) const CHUNK: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// A text cell that no spreadsheet takes for a formula.
pub(super) fn cell(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

/// The lines of these records.
pub(super) fn lines<R>(records: impl IntoIterator<Item = R>) -> Result<Vec<u8>, AdminError>
where
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record).map_err(|error| AdminError::Failed(error.to_string()))?;
    }
    writer.into_inner().map_err(|error| AdminError::Failed(error.to_string()))
}

/// The content of a file that is read in pieces. `read` gives the piece behind a place, and where the next one goes on, if there is
/// more. The first piece is read before the file begins: what is refused is refused then. The others are read while the browser
/// takes them.
pub(super) async fn in_pieces<P, F>(
    visit: &Visit,
    read: impl Fn(Option<P>) -> F + Send + 'static,
) -> Result<Body, ConsoleError>
where
    P: Send + 'static,
    F: Future<Output = Result<(Vec<u8>, Option<P>), AdminError>> + Send + 'static,
{
    let (first, next) = read(None).await?;
    let rest = stream::try_unfold(next, move |next| {
        let piece = next.map(|place| read(Some(place)));
        async move {
            match piece {
                Some(piece) => piece.await.map(Some),
                None => Ok(None),
            }
        }
    });
    visit.file(stream::once(async { Ok(first) }).chain(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        assert_eq!(cell("=1+1"), "'=1+1");
        let file = lines([["a", "b"], ["x,\"y", ""]]).unwrap();
        assert_eq!(String::from_utf8(file).unwrap(), "a,b\n\"x,\"\"y\",\n");
    }
}
