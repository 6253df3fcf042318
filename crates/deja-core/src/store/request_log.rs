//! The port to the log of requests.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::request_log::{LogFilter, LogRow, LoggedRequest, Logging};
use crate::store::{Cursor, LogOrder, StoreError};

/// The requests of each project, the newest of them. They go with their project; with an entry that they met they do
/// not. [`Projects::update_project`](crate::store::Projects::update_project) deletes all that a project has when its
/// settings allow none, and all texts when they allow none.
#[async_trait]
pub trait RequestLog: Send + Sync {
    /// Adds these to the logs of their projects, in this order. Those of projects that are gone are dropped.
    async fn log_requests(&self, requests: &[LoggedRequest]) -> Result<(), StoreError>;

    /// Up to `limit` of a project's requests that pass the filter, in this order, those behind `after` if it is given
    /// ([`Cursor`]): nothing in a row changes while it is there. In another order than that in which they came, and where the
    /// filter has what was asked, all of a project's rows are read through, as in a search by text of
    /// [`Browse`](crate::store::Browse): a project's log is bounded.
    async fn logged(
        &self,
        project: ProjectId,
        filter: &LogFilter,
        order: LogOrder,
        after: Option<Cursor<u64>>,
        limit: NonZeroUsize,
    ) -> Result<Vec<LogRow>, StoreError>;

    /// One request of a project.
    async fn logged_request(&self, project: ProjectId, number: u64) -> Result<Option<LogRow>, StoreError>;

    /// How many of a project's requests, and how many texts, would go by `now` if its settings allowed this much.
    async fn logged_beyond(
        &self,
        project: ProjectId,
        allowed: Logging,
        now: Timestamp,
    ) -> Result<(u64, u64), StoreError>;

    /// Deletes what is older than [`LOGGED_FOR`](crate::request_log::LOGGED_FOR) or not among the newest that the
    /// settings of its project allow, and the texts that are older than these allow; at most `limit` rows of each
    /// project and kind. Says how many of the kind of which most went.
    async fn sweep_logged(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError>;
}
