//! The list of projects, and making one.

use askama::Template;
use deja_core::admin::projects::{self, NewProject};
use deja_core::analytics::{Step, Totals};
use deja_core::project::{Project, Tier};
use serde::Deserialize;

use super::chart::{Unit, sparkline};
use super::flash::Flash;
use super::form::{Form, Problem, Query};
use super::limits::{self, Limits};
use super::page::{Answer, Frame, Visit};
use super::paging::Paged;
use crate::format;

/// Bars of a sparkline. Each is 24 hours, the last one with the running hour: so they sum up to the figure of 7 days beside them.
const BARS: i64 = 7;

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage {
    frame: Frame,
    projects: Vec<Row>,
    /// The sums of all projects that the operator sees.
    requests: String,
    saved: String,
    next: Option<String>,
    first: Option<String>,
    paged: Paged,
    long: bool,
}

/// A small chart, and its values in words.
struct Spark {
    shapes: String,
    says: String,
}

impl Spark {
    /// A bar for each 24 hours; of some there may be nothing to tell.
    fn of(what: &str, unit: Unit, days: &[Totals], value: fn(&Totals) -> Option<f64>) -> Self {
        let values: Vec<_> = days.iter().map(value).collect();
        let told: Vec<_> =
            values.iter().map(|value| value.map_or("–".into(), |value| unit.show(value))).collect();
        let bars: Vec<_> = values.iter().map(|value| value.unwrap_or(0.0)).collect();
        Self {
            shapes: sparkline(&bars),
            says: format!("{what} for each 24 hours, up to now: {}", told.join(", ")),
        }
    }
}

/// A project; figures are a text and a sparkline each.
struct Row {
    slug: String,
    name: String,
    tier: &'static str,
    suspended: bool,
    requests: (String, Spark),
    hit_rate: (String, Spark),
    saved: (String, Spark),
}

/// `GET /console/projects`.
pub(super) async fn get(visit: Visit, Query(paged): Query<Paged>) -> Answer {
    let until = Step::Hour.period_of(visit.now()) + 1;
    let mut bars = Vec::new();
    for bar in (0..BARS).rev() {
        bars.push(visit.store().totals(until - (bar + 1) * 24, until - bar * 24).await?);
    }
    let listed = projects::list(&visit.acting()).await?;
    let mut all = Totals::default();
    for (_, week) in &listed {
        all.add(week);
    }
    let place = |(project, _): &(Project, Totals)| project.slug.to_string();
    let page = paged.page("/console/projects", listed, false, place, |(project, _)| {
        [project.name.as_str(), project.slug.as_str()]
    });
    let rows = page.rows.into_iter().map(|(project, week)| {
        let days: Vec<Totals> =
            bars.iter().map(|bar| bar.get(&project.id).copied().unwrap_or_default()).collect();
        let requests = Spark::of("Requests", Unit::Count, &days, |day| Some(day.requests() as f64));
        let hit_rate = Spark::of("Hit rate", Unit::Percent, &days, Totals::hit_rate);
        let saved = Spark::of("Saved", Unit::Dollars, &days, |day| Some(day.saved.as_dollars()));
        Row {
            slug: project.slug.to_string(),
            name: project.name,
            tier: limits::title(project.tier),
            suspended: project.suspended,
            requests: (format::count(week.requests()), requests),
            hit_rate: (format::percent(week.hit_rate()), hit_rate),
            saved: (format::money_known(week.saved, week.unpriced), saved),
        }
    });
    let page = ProjectsPage {
        frame: visit.frame("Projects", "projects"),
        projects: rows.collect(),
        requests: format::count(all.requests()),
        saved: format::money_known(all.saved, all.unpriced),
        next: page.next,
        first: page.first,
        long: page.long,
        paged,
    };
    Ok(visit.page(&page))
}

#[derive(Template)]
#[template(path = "project_new.html")]
struct NewPage {
    frame: Frame,
    form: NewForm,
    limits: Limits,
}

#[derive(Default, Deserialize)]
pub(super) struct NewForm {
    name: String,
    #[serde(flatten)]
    limits: Limits,
}

/// `GET /console/projects/new`.
pub(super) async fn new(visit: Visit) -> Answer {
    let frame = visit.frame("Create project", "projects");
    Ok(visit.page(&NewPage { frame, form: NewForm::default(), limits: Limits::new() }))
}

/// `POST /console/projects`.
pub(super) async fn post(visit: Visit, Form(form): Form<NewForm>) -> Answer {
    // The tier and limits of a member's form are not read: they are an owner's to set.
    let limits = if visit.is_owner() { form.limits.read() } else { Ok((Tier::Free, None, None)) };
    let problem = match limits {
        Ok((tier, per_minute, burst)) => {
            let new = NewProject { name: form.name.clone(), tier, per_minute, burst };
            match projects::create(&visit.acting(), new).await {
                Ok(made) => {
                    let text = format!("Project {} is ready. Its first API key comes next.", made.name);
                    return visit.to(&format!("/console/p/{}", made.slug), &Flash::good(text));
                }
                Err(error) => Problem::at(error, &["name", "per_minute", "burst"])?,
            }
        }
        Err(problem) => problem,
    };
    let frame = visit.frame("Create project", "projects").complaining_at(Some(problem));
    let limits = form.limits.clone();
    Ok(visit.again(&NewPage { frame, form, limits }))
}
