//! Which entries of a project are meant.

use deja_core::id::ProjectId;
use deja_core::store::{EntryFilter, StoreError};
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
    text: Option<&'a [u8]>,
}

impl<'a> Filter<'a> {
    pub(in super::super) fn of(project: ProjectId, filter: &'a EntryFilter) -> Self {
        Self {
            project: uuid(project.as_bytes()),
            model: filter.model.as_ref().map(String::as_bytes),
            any_context: filter.context.is_none(),
            context: filter.context.as_ref().and_then(|context| context.as_ref().map(String::as_bytes)),
            text: filter.text.as_ref().map(String::as_bytes),
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
    pub(super) fn before<'p>(&'p self, rest: Params<'p>) -> Vec<&'p (dyn ToSql + Sync)> {
        let own: [&(dyn ToSql + Sync); 5] =
            [&self.project, &self.model, &self.any_context, &self.context, &self.text];
        own.into_iter().chain(rest.iter().copied()).collect()
    }
}

/// Whether an entry `e` is of the project $1 and passes the filter: the model $2, any context $3 or the context
/// $4, the text $5.
pub(in super::super) fn passes() -> String {
    format!(
        "e.project_id = $1 AND ($2::bytea IS NULL OR e.model = $2)
         AND ($3::boolean OR e.context IS NOT DISTINCT FROM $4::bytea)
         AND ($5::bytea IS NULL OR strpos({prompt}, {text}) > 0 OR strpos({answer}, {text}) > 0)",
        prompt = folded("e.prompt"),
        answer = folded("e.answer"),
        text = folded("$5"),
    )
}

/// A column of bytes as text with small ASCII letters. A NUL, which no text can have, becomes another control
/// character.
pub(in super::super) fn folded(column: &str) -> String {
    let spaced = format!("regexp_replace(encode({column}, 'hex'), '(..)', ' \\1', 'g')");
    format!(
        "lower(convert_from(
             CASE WHEN position('\\x00'::bytea IN {column}) > 0
             THEN decode(replace(replace({spaced}, ' 00', ' 01'), ' ', ''), 'hex') ELSE {column} END,
             'UTF8') COLLATE \"C\")"
    )
}
