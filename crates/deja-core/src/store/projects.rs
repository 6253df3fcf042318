//! The port to projects.

use async_trait::async_trait;

use crate::audit::Change;
use crate::id::ProjectId;
use crate::project::Project;
use crate::store::StoreError;

/// Projects.
#[async_trait]
pub trait Projects: Send + Sync {
    /// Adds a project; durable when it returns. The operator who made it by this change, if one did, has the rank of an
    /// owner in it. [`StoreError::Conflict`] if its slug is taken.
    async fn create_project(&self, project: &Project, change: &Change) -> Result<(), StoreError>;

    /// The project called `slug`.
    async fn project(&self, slug: &str) -> Result<Option<Project>, StoreError>;

    /// All projects, by slug.
    async fn projects(&self) -> Result<Vec<Project>, StoreError>;

    /// Replaces name, tier, quota, suspension and settings of the project with this id; holds for the very
    /// next request and is durable when it returns. Samples beyond those that its settings allow go. `false` if there is
    /// none.
    async fn update_project(&self, project: &Project, change: &Change) -> Result<bool, StoreError>;

    /// Deletes the project with its keys, entries, providers, members and counts. `false` if there is none.
    async fn delete_project(&self, project: ProjectId, change: &Change) -> Result<bool, StoreError>;
}
