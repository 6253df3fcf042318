//! Trying a prompt: what it would meet in the cache, or what the API would answer.
//!
//! The result is the answer to the POST, not a redirect: a prompt belongs neither into an address nor into a cookie. The script keeps the
//! result in the tab's history, so that no form is sent again for it.

pub(super) mod chat;
mod tried;
mod wire_body;

use askama::Template;
use deja_core::embedding::Threshold;
use deja_core::engine::Query;
use deja_core::project::Project;
use serde::Deserialize;

use super::error::ConsoleError;
use super::form::{Form, Problem, with_lf};
use super::page::{Answer, Frame, Visit};
use super::providers::{Models, USUAL_MODEL};
use crate::format;
use crate::request_id;
use tried::{Asks, Beyond, NEAREST, Nearest, Outcome, Proposed, Tried, asked, expected, refusal};

#[derive(Template)]
#[template(path = "playground.html")]
struct PlaygroundPage {
    frame: Frame,
    slug: String,
    form: Trial,
    proposed: Proposed,
    result: Option<Outcome>,
    near: Option<Nearest>,
    /// What a lower threshold is raised to.
    minimum: Option<f64>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Trial {
    #[serde(deserialize_with = "with_lf")]
    prompt: String,
    model: String,
    threshold: String,
    #[serde(deserialize_with = "with_lf")]
    context: String,
    ask: String,
}

impl PlaygroundPage {
    /// The page before anything is tried.
    async fn of(
        visit: &Visit,
        project: &Project,
        usable: &Models,
        form: Trial,
    ) -> Result<Self, ConsoleError> {
        Ok(Self {
            frame: visit.frame_in(project, "Playground", "Playground"),
            slug: project.slug.to_string(),
            minimum: project.settings.minimum_threshold.map(Threshold::get),
            proposed: Proposed::of(visit, project, usable).await?,
            form,
            result: None,
            near: None,
        })
    }
}

/// `GET /console/p/{slug}/playground`.
pub(super) async fn get(visit: Visit) -> Answer {
    let project = visit.project()?;
    let threshold = project.settings.threshold(None).get().to_string();
    let usable = Models::read(&visit, &project).await?;
    let form = Trial { threshold, ..Trial::default() };
    let mut page = PlaygroundPage::of(&visit, &project, &usable, form).await?;
    page.form.model = match page.proposed.models.first() {
        Some(model) => model.clone(),
        None => usable.any().unwrap_or(USUAL_MODEL).to_owned(),
    };
    Ok(visit.page(&page))
}

/// `POST /console/p/{slug}/playground`.
pub(super) async fn post(visit: Visit, Form(mut form): Form<Trial>) -> Answer {
    let project = visit.project()?;
    let (read, ask) = (read(&visit, &project, &mut form), form.ask == "provider");
    let usable = Models::read(&visit, &project).await?;
    let mut page = PlaygroundPage::of(&visit, &project, &usable, form).await?;
    let attempt = read.map(|query| attempt(&visit, &project, query, ask));
    (page.frame, page.result, page.near) = tried::shown(page.frame, attempt).await?;
    Ok(if page.result.is_some() { visit.page(&page) } else { visit.again(&page) })
}

/// The form as a query, with the limits that the API has.
fn read(visit: &Visit, project: &Project, form: &mut Trial) -> Result<Query, Problem> {
    let limits = visit.console.app.limits();
    for (field, text, missing) in
        [("prompt", &form.prompt, "Type a prompt."), ("model", &form.model, "Name a model.")]
    {
        if text.trim().is_empty() {
            return Err(Problem::of(field, missing));
        }
    }
    for (what, text, most) in
        [("prompt", &form.prompt, limits.prompt_bytes), ("context", &form.context, limits.context_bytes)]
    {
        if text.len() > most {
            return Err(Problem::of(
                what,
                format!("The {what} is longer than the limit of {} bytes.", format::count(most as u64)),
            ));
        }
    }
    let threshold = tried::threshold(project, &mut form.threshold)?;
    Ok(Query {
        prompt: form.prompt.clone(),
        model: form.model.trim().to_owned(),
        threshold,
        context: (!form.context.is_empty()).then(|| form.context.clone()),
        request: Some(request_id::new()),
        wire: None,
        room: None,
    })
}

async fn attempt(visit: &Visit, project: &Project, query: Query, ask: bool) -> Result<Tried, ConsoleError> {
    let engine = visit.console.app.engine();
    // Looked at first: afterwards a miss would be its own nearest entry.
    let preview = engine.preview(project, &query, NEAREST).await?;
    let near = Nearest::of(&preview, query.threshold, "There is no entry of this model and context yet.");
    if !ask {
        let beyond = Beyond::of(visit, project, &query.model, Asks::Query).await?;
        return Ok((expected(&preview, &query.prompt, &beyond), Some(near)));
    }
    let caller = tried::caller(visit, project, query.request.as_deref()).await?;
    let prompt = query.prompt.clone();
    match engine.query(&caller, query).await {
        Ok(reply) => Ok((asked(&reply, &prompt), Some(near))),
        Err(error) => Err(refusal(error)),
    }
}
