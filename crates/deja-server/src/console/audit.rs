//! The audit log: every change, newest first, with filters and a file.

use std::collections::BTreeSet;
use std::num::ParseIntError;
use std::sync::Arc;

use askama::Template;
use deja_core::admin::AdminError;
use deja_core::admin::audit::{self, AuditLine, AuditQuery, project_of};
use deja_core::audit::{ACTIONS, Actor, ActorFilter};
use deja_core::operator::Operator;
use deja_core::project::Project;
use serde::Deserialize;

use super::error::ConsoleError;
use super::file::{self, CHUNK, in_pieces};
use super::filter::{Select, query};
use super::form::{Problem, Query};
use super::page::{Answer, CSV, Frame, Visit, download};
use super::range::Ends;
use crate::format::{self, Moment};

const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: Frame,
    selects: Vec<Select>,
    from: String,
    until: String,
    rows: Vec<Row>,
    filtered: bool,
    /// Whether the filter cannot be read, or going through the log took too long.
    ended: bool,
    csv: String,
    next: Option<String>,
    first: Option<String>,
}

struct Row {
    at: Moment,
    actor: String,
    action: String,
    subject: String,
    /// The name of its project, and the address of what is listed and is in it.
    project: Option<(String, String)>,
    detail: String,
}

/// What the address asks for.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// A slug, or the id of a project that is gone.
    project: String,
    action: String,
    /// The name of an actor, or the word for all keys.
    actor: String,
    #[serde(flatten)]
    within: Ends,
    /// The number of the last row of the page before.
    before: String,
}

impl Asked {
    fn wanted(&self) -> Result<AuditQuery, Problem> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (project, action, actor) = (some(&self.project), some(&self.action), some(&self.actor));
        Ok(AuditQuery { project, action, actor, within: self.within.read()? })
    }

    /// What stands in the address, of one project or all.
    fn place(&self, below: &str, project: &str, before: &str) -> String {
        let own = [("project", project), ("action", &self.action), ("actor", &self.actor)];
        let pairs = [&own, &self.within.pairs()[..], &[("before", before)]].concat();
        format!("/console/audit{below}{}", query(&pairs))
    }

    /// The number of the last row of the page before, if there is one.
    fn before(&self) -> Option<Result<u64, ParseIntError>> {
        (!self.before.is_empty()).then(|| self.before.parse())
    }

    fn filters(&self) -> bool {
        let chosen = [&self.project, &self.action, &self.actor];
        chosen.into_iter().any(|text| !text.is_empty()) || !self.within.is_empty()
    }

    /// The rows that are asked for, `limit` at most; or none, and what is wrong with the filter.
    async fn list(
        &self,
        visit: &Visit,
        limit: usize,
    ) -> Result<(Vec<AuditLine>, Option<Problem>), ConsoleError> {
        let wanted = match self.wanted() {
            Ok(wanted) => wanted,
            Err(problem) => return Ok((Vec::new(), Some(problem))),
        };
        let Ok(before) = self.before().transpose() else {
            let told = "The page of this address cannot be read. Begin with the first one.";
            return Ok((Vec::new(), Some(Problem::of("form", told))));
        };
        let problem = match audit::list(&visit.acting(), &wanted, before, limit).await {
            Ok(lines) => return Ok((lines, None)),
            Err(AdminError::NotFound(_)) => Problem::of(
                "project",
                format!(
                    "There is no project “{}”. The rows of a project that is gone stand under All, with its id.",
                    self.project
                ),
            ),
            Err(error) => Problem::at(error, &["action", "actor", "until"])?,
        };
        Ok((Vec::new(), Some(problem)))
    }

    /// The choices. Of keys those that the page shows.
    fn selects(&self, projects: &[Project], operators: &[Operator], lines: &[AuditLine]) -> Vec<Select> {
        let gone = project_of(projects, &self.project)
            .filter(|id| projects.iter().all(|project| project.id != *id))
            .map(|_| (self.project.clone(), format!("{} (deleted)", self.project)));
        let projects = projects.iter().map(|project| (project.slug.to_string(), project.name.clone()));
        let same = |name: &str| (name.to_owned(), name.to_owned());
        let fixed = [
            (Actor::Cli.name(), "cli: the command line"),
            (Actor::System.name(), "system: deja itself"),
            (ActorFilter::ANY_KEY, "key: all API keys"),
        ];
        let people: BTreeSet<&str> = operators.iter().map(|operator| operator.email.as_str()).collect();
        let shown: BTreeSet<&str> = lines.iter().map(|line| line.row.change.actor.name()).collect();
        let is_new = |name: &&str| !people.contains(name) && fixed.iter().all(|(known, _)| known != name);
        let others = shown.into_iter().filter(is_new).map(same);
        let fixed = fixed.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        vec![
            Select::new("project", "Project", &self.project, projects.chain(gone)),
            Select::new("action", "Action", &self.action, ACTIONS.into_iter().map(same)),
            Select::new(
                "actor",
                "Who",
                &self.actor,
                people.iter().copied().map(same).chain(fixed).chain(others),
            ),
        ]
    }
}

/// `GET /console/audit`.
pub(super) async fn get(visit: Visit, Query(asked): Query<Asked>) -> Answer {
    let (mut lines, problem) = asked.list(&visit, PAGE + 1).await?;
    let more = lines.len() > PAGE;
    lines.truncate(PAGE);
    let next = lines.last().filter(|_| more).map(|last| last.row.number.to_string());
    let (projects, operators) = (visit.store().projects().await?, visit.store().operators().await?);
    let selects = asked.selects(&projects, &operators, &lines);
    let rows = lines.into_iter().map(|AuditLine { row, project }| Row {
        at: visit.moment(row.change.at),
        actor: row.change.actor.name().to_owned(),
        action: row.change.action.into_owned(),
        project: project.map(|name| (asked.place("", &name, ""), name)),
        subject: row.change.subject,
        detail: row.change.detail,
    });
    let place = |below: &str, before: &str| asked.place(below, &asked.project, before);
    let is_refused = problem.as_ref().is_some_and(Problem::is_at_field);
    let [from, until] = asked.within.inputs();
    let page = AuditPage {
        rows: rows.collect(),
        selects,
        from,
        until,
        filtered: asked.filters(),
        ended: problem.is_some(),
        csv: place("/log.csv", ""),
        next: next.map(|next| place("", &next)),
        first: (!asked.before.is_empty()).then(|| place("", "")),
        frame: visit.frame("Audit log", "audit").complaining_at(problem),
    };
    Ok(if is_refused { visit.again(&page) } else { visit.page(&page) })
}

const HEAD: [&str; 7] = ["number", "time", "actor", "action", "project", "subject", "detail"];

/// `GET /console/audit/log.csv`: all that pass the filter, newest first.
pub(super) async fn csv(visit: Visit, Query(asked): Query<Asked>) -> Answer {
    let wanted = asked.wanted().map_err(|problem| ConsoleError::Refused(problem.text))?;
    let of = Arc::new((visit, wanted));
    let asked = Arc::clone(&of);
    let file = in_pieces(&of.0, move |before| lines(Arc::clone(&asked), before)).await?;
    Ok(download(CSV, "audit.csv", file))
}

/// The lines of the rows below a number, the head in front of the first; and where to go on, if there are more.
async fn lines(
    of: Arc<(Visit, AuditQuery)>,
    before: Option<u64>,
) -> Result<(Vec<u8>, Option<u64>), AdminError> {
    let (visit, wanted) = &*of;
    let rows = audit::list(&visit.acting(), wanted, before, CHUNK.get()).await?;
    let head = before.is_none().then(|| HEAD.map(str::to_owned));
    let lines = file::lines(head.into_iter().chain(rows.iter().map(fields)))?;
    let more = rows.last().filter(|_| rows.len() == CHUNK.get());
    Ok((lines, more.map(|last| last.row.number)))
}

fn fields(line: &AuditLine) -> [String; 7] {
    let change = &line.row.change;
    [
        line.row.number.to_string(),
        format::to_second(change.at).to_string(),
        file::cell(change.actor.name()),
        file::cell(&change.action),
        line.project.clone().unwrap_or_default(),
        file::cell(&change.subject),
        file::cell(&change.detail),
    ]
}
