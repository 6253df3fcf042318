//! The audit log: every change, newest first.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use askama::Template;
use deja_core::admin::audit::project_of;
use deja_core::id::ProjectId;
use serde::Deserialize;

use super::filter::query;
use super::form::Query;
use super::page::{Answer, Frame, Visit};
use crate::format::Moment;

const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: Frame,
    /// Slug and name.
    projects: Vec<(String, String)>,
    project: String,
    /// Whether that is the id of a project that is gone.
    gone: bool,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
}

struct Row {
    at: Moment,
    actor: String,
    action: String,
    subject: String,
    project: String,
    detail: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    project: String,
    before: String,
}

/// `GET /console/audit`.
pub(super) async fn get(visit: Visit, Query(asked): Query<Asked>) -> Answer {
    let store = visit.store();
    let projects = store.projects().await?;
    let only = project_of(&projects, &asked.project);
    let unknown = only.is_none() && !asked.project.is_empty();
    let before = asked.before.parse().ok();
    let mut changes = if unknown {
        Vec::new()
    } else {
        store.changes(only, before, NonZeroUsize::MIN.saturating_add(PAGE)).await?
    };
    let more = changes.len() > PAGE;
    changes.truncate(PAGE);
    let place =
        |before: &str| format!("/console/audit{}", query(&[("project", &asked.project), ("before", before)]));
    let next = changes.last().filter(|_| more).map(|last| place(&last.number.to_string()));
    let slugs: HashMap<ProjectId, &str> =
        projects.iter().map(|project| (project.id, project.slug.as_str())).collect();
    let rows = changes.into_iter().map(|row| Row {
        at: visit.moment(row.change.at),
        actor: row.change.actor.name().to_owned(),
        action: row.change.action.into_owned(),
        // A project that is gone keeps its rows, under its id.
        project: row.change.project.map_or_else(String::new, |id| {
            slugs.get(&id).map_or_else(|| id.to_string(), |slug| (*slug).to_owned())
        }),
        subject: row.change.subject,
        detail: row.change.detail,
    });
    let problem = unknown.then(|| {
        format!(
            "There is no project “{}”. The rows of a project that is gone stand under All, with its id.",
            asked.project
        )
    });
    let page = AuditPage {
        frame: visit.frame("Audit log", "audit").complaining(problem.as_deref()),
        rows: rows.collect(),
        next,
        first: before.is_some().then(|| place("")),
        projects: projects.iter().map(|project| (project.slug.to_string(), project.name.clone())).collect(),
        gone: only.is_some_and(|id| !slugs.contains_key(&id)),
        project: asked.project.clone(),
    };
    Ok(visit.page(&page))
}
