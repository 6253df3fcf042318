//! Which entries of a project are meant.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use deja_core::id::ProjectId;
use deja_core::store::{EntryFilter, StoreError, folded, folded_char};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::connections::{Connections, Params};
use super::super::rows::uuid;

/// The parameters $1 to $5 of [`passes`].
pub(in super::super) struct Filter<'a> {
    project: Uuid,
    model: Option<&'a [u8]>,
    any_context: bool,
    context: Option<&'a [u8]>,
    text: Option<Vec<String>>,
}

impl<'a> Filter<'a> {
    pub(in super::super) fn of(project: ProjectId, filter: &'a EntryFilter) -> Self {
        Self {
            project: uuid(project.as_bytes()),
            model: filter.model.as_ref().map(String::as_bytes),
            any_context: filter.context.is_none(),
            context: filter.context.as_ref().and_then(|context| context.as_ref().map(String::as_bytes)),
            text: filter.text.as_deref().map(searched),
        }
    }

    /// Runs one statement with these parameters and the rest: as a search, if it is one by text.
    pub(in super::super) async fn rows(
        &self,
        connections: &Connections,
        sql: &str,
        rest: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let params = self.before(rest);
        if self.text.is_some() {
            connections.search(sql, &params).await
        } else {
            connections.bulk(sql, &params).await
        }
    }

    /// These parameters and the rest.
    pub(in super::super) fn before<'p>(&'p self, rest: Params<'p>) -> Vec<&'p (dyn ToSql + Sync)> {
        let own: [&(dyn ToSql + Sync); 5] =
            [&self.project, &self.model, &self.any_context, &self.context, &self.text];
        own.into_iter().chain(rest.iter().copied()).collect()
    }
}

/// The context that an entry `e` goes by, as [`Frame::context`](deja_core::cache::Frame::context) says it. Its parameter is cut
/// out of the JSON first: the operators for JSON refuse all of it if another one has a NUL.
pub(in super::super) const CONTEXT: &str = r#"coalesce(
    convert_to(substring(e.parameters FROM '"X-Deja-Context":("(?:[^"\\]|\\.)*")')::json #>> '{}', 'UTF8'), e.context)"#;

/// Whether an entry `e` is of the project $1 and passes the filter: the model $2, any context $3 or the context
/// $4, the text $5.
pub(in super::super) fn passes() -> String {
    format!(
        "e.project_id = $1 AND ($2::bytea IS NULL OR e.model = $2)
         AND ($3::boolean OR {CONTEXT} IS NOT DISTINCT FROM $4::bytea)
         AND ($5::text[] IS NULL OR {} OR {})",
        has("e.prompt", "$5"),
        has("e.answer", "$5"),
    )
}

/// What a search looks for: the folded text, the characters beyond ASCII that fold to one of its own, and what each folds to.
/// No collation folds alike on all servers, and others than these need not be folded.
pub(in super::super) fn searched(text: &str) -> Vec<String> {
    // A NUL, which no text of PostgreSQL can have, is another control character there too.
    let text = folded(text).replace('\0', "\u{1}");
    let own: BTreeSet<char> = text.chars().collect();
    let (from, to) = CASES.iter().filter(|(_, small)| own.contains(small)).copied().unzip();
    vec![text, from, to]
}

/// Characters beyond ASCII that fold to another one, with that.
static CASES: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let beyond = ('\u{80}'..=char::MAX).map(|character| (character, folded_char(character)));
    beyond.filter(|(character, small)| character != small).collect()
});

/// Whether a column of bytes has the text in it that the parameter ($1 or another), made by [`searched`], looks for.
pub(in super::super) fn has(column: &str, parameter: &str) -> String {
    let (text, sought) = (readable(column), format!("{parameter}::text[]"));
    format!("strpos(translate({text}, ({sought})[2], ({sought})[3]), ({sought})[1]) > 0")
}

/// A column of bytes as text with small ASCII letters. A NUL becomes another control character.
fn readable(column: &str) -> String {
    let spaced = format!("regexp_replace(encode({column}, 'hex'), '(..)', ' \\1', 'g')");
    format!(
        "lower(convert_from(
             CASE WHEN position('\\x00'::bytea IN {column}) > 0
             THEN decode(replace(replace({spaced}, ' 00', ' 01'), ' ', ''), 'hex') ELSE {column} END,
             'UTF8') COLLATE \"C\")"
    )
}
