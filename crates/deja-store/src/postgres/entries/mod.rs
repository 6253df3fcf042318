//! Cache entries.

mod batch;
mod filter;
mod insert;
mod nearest;
mod remove;
mod surplus;
mod together;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{Answer, Candidate, Entry, Inserted, NewEntry, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{Entries, EntryFilter, Probe, StoreError};
use tokio_postgres::Row;

use super::connections::{Connections, Params};
use super::rows::{count, get, id, text, text_or_none, time, time_or_none, uuid};
use super::{PostgresStore, projects};
use crate::to_the_end;

pub(super) use filter::{CONTEXT, Filter, has, passes, searched};
pub(super) use insert::insert;
pub(super) use nearest::{Plans, candidates};
pub(super) use remove::{found, in_parts, removing};
pub(super) use together::Together;

/// Columns of an entry, from number 0.
pub(super) const COLUMNS: &str =
    "e.entry_id, e.prompt, e.model, e.answer, e.provider, e.served_model, e.input_tokens,
                       e.output_tokens, e.tokens_estimated, e.created, e.expires";
/// How many they are.
pub(super) const WIDTH: usize = 11;

#[async_trait]
impl Entries for PostgresStore {
    async fn exact(
        &self,
        scope: &Scope,
        prompt: &PromptHash,
        now: Timestamp,
    ) -> Result<Option<Arc<Entry>>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, e.record FROM entries e
             WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3
                   AND (expires IS NULL OR expires > $4)"
        );
        let (project, scope_key) = (uuid(scope.project().as_bytes()), scope.key().0);
        let params: Params<'_> = &[&project, &scope_key.as_slice(), &prompt.0.as_slice(), &now.as_nanos()];
        let row = self.connections.of(scope.project()).query_opt(&sql, params).await?;
        row.map(|row| whole_from_row(&row, 0).map(Arc::new)).transpose()
    }

    async fn nearest(
        &self,
        scope: &Scope,
        probe: Probe<'_>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError> {
        together::nearest(self, scope, probe, now).await
    }

    async fn whole(&self, project: ProjectId, entry: EntryId) -> Result<Option<Arc<Entry>>, StoreError> {
        whole(&self.connections, project, entry).await
    }

    async fn insert(&self, new: NewEntry) -> Result<Inserted, StoreError> {
        insert(self, new, None).await
    }

    async fn insert_all(&self, new: Vec<NewEntry>) -> Vec<Result<bool, StoreError>> {
        batch::insert_all(self, new).await
    }

    async fn count(&self, project: ProjectId) -> Result<u64, StoreError> {
        count_of(&self.connections, project).await
    }

    async fn count_by_project(&self) -> Result<BTreeMap<ProjectId, u64>, StoreError> {
        let sql = "SELECT project_id, sum(entries)::bigint FROM entry_counts GROUP BY project_id HAVING sum(entries) > 0";
        let rows = self.connections.bulk(sql, &[]).await?;
        rows.iter().map(|row| Ok((ProjectId::from_bytes(id(row, 0)?), count(row, 1)?))).collect()
    }

    async fn delete(&self, project: ProjectId, entry: EntryId, change: &Change) -> Result<bool, StoreError> {
        let choose = "SELECT project_id, entry_id FROM entries
                      WHERE project_id = $1 AND entry_id = $2 FOR UPDATE";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(entry.as_bytes())];
        Ok(self.change(&removing(choose), params, change).await? > 0)
    }

    async fn purge(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        change: &Change,
    ) -> Result<u64, StoreError> {
        // First: what is stored behind this is not found below, and is of a call that began later.
        if filter.is_all() {
            self.connections.bulk("SELECT note_purge($1)", &[&uuid(project.as_bytes())]).await?;
        }
        let entries = remove::found(&self.connections, project, filter).await?;
        let purged = remove::in_parts(self.connections.clone(), project, entries, Some(change.clone()));
        to_the_end(purged).await
    }

    async fn sweep(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        if let Err(error) = projects::finish_deletions(&self.connections).await {
            tracing::warn!(%error, "the rest of a deleted project is deleted with the next sweep");
        }
        remove::swept(&self.connections, now, limit).await
    }
}

async fn count_of(connections: &Connections, project: ProjectId) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(sum(entries), 0)::bigint FROM entry_counts WHERE project_id = $1";
    count(&connections.query_one(sql, &[&uuid(project.as_bytes())]).await?, 0)
}

/// An entry of a project with its record.
pub(super) async fn whole(
    connections: &Connections,
    project: ProjectId,
    entry: EntryId,
) -> Result<Option<Arc<Entry>>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS}, e.record FROM entries e WHERE e.project_id = $1 AND e.entry_id = $2");
    let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(entry.as_bytes())];
    let row = connections.of(project).query_opt(&sql, params).await?;
    row.map(|row| whole_from_row(&row, 0).map(Arc::new)).transpose()
}

/// The entry whose columns begin at number `first`, with its record, which is the column behind them.
pub(super) fn whole_from_row(row: &Row, first: usize) -> Result<Entry, StoreError> {
    let mut entry = from_row(row, first)?;
    entry.answer.record = get::<Option<Vec<u8>>>(row, first + WIDTH)?.map(Into::into);
    Ok(entry)
}

/// The entry whose columns begin at number `first`, without its record.
pub(super) fn from_row(row: &Row, first: usize) -> Result<Entry, StoreError> {
    let at = |column| first + column;
    Ok(Entry {
        id: EntryId::from_bytes(id(row, at(0))?),
        prompt: text(row, at(1))?,
        model: text(row, at(2))?,
        answer: Answer {
            text: text(row, at(3))?,
            provider: get(row, at(4))?,
            served_model: text_or_none(row, at(5))?,
            input_tokens: count(row, at(6))?,
            output_tokens: count(row, at(7))?,
            tokens_estimated: get(row, at(8))?,
            record: None,
        },
        created: time(row, at(9))?,
        expires: time_or_none(row, at(10))?,
    })
}
