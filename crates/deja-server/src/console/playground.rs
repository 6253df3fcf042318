//! Trying a prompt: what it would meet in the cache, or what the API would answer.
//!
//! The result is the answer to the POST, not a redirect: a prompt belongs neither into an address nor into a cookie.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use deja_core::cache::{Refusal, Verdict};
use deja_core::embedding::Threshold;
use deja_core::engine::{Neighbour, Preview, Query, QueryError, Reply, Source, Trace};
use deja_core::project::Project;
use deja_core::store::Admission;
use serde::Deserialize;

use super::error::ConsoleError;
use super::filter::{NEWEST, OFFERED};
use super::form::{Form, Path};
use super::format;
use super::page::{Answer, Frame, Visit};
use super::prices;
use super::providers::{USUAL_MODEL, usable_model};

const NEAREST: NonZeroUsize = NonZeroUsize::new(10).unwrap();

#[derive(Template)]
#[template(path = "playground.html")]
struct PlaygroundPage {
    frame: Frame,
    slug: String,
    form: Trial,
    models: Vec<String>,
    result: Option<Outcome>,
    near: Option<Nearest>,
    threshold_at: f64,
    /// What a lower threshold is raised to.
    minimum: Option<f64>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Trial {
    prompt: String,
    model: String,
    threshold: String,
    context: String,
    ask: String,
}

/// What came of it.
struct Outcome {
    title: &'static str,
    hit: bool,
    text: String,
    facts: Vec<(&'static str, String)>,
    answer: Option<String>,
    /// The entry that answered.
    wrong: Option<String>,
}

/// The nearest entries.
struct Nearest {
    rows: Vec<Near>,
    /// What is said where there are none.
    none: &'static str,
}

struct Near {
    id: String,
    prompt: String,
    answer: String,
    similarity: String,
    /// The similarity in full: what a slider that moves is compared with.
    exact: f32,
    answers: bool,
    /// `Hit`, or `Miss` and why.
    verdict: String,
    /// The least threshold at which it is similar enough and refused all the same, if there is one.
    refused_from: Option<f64>,
    /// What is said there.
    refused: String,
}

/// A verdict in few words.
fn badge(verdict: Verdict) -> String {
    match verdict {
        Verdict::Exact | Verdict::Semantic => "Hit".into(),
        Verdict::BelowThreshold => "Miss".into(),
        Verdict::Forbidden => "Miss: marked as a wrong answer".into(),
        Verdict::Refused { reason, .. } => format!("Miss: {reason}"),
        Verdict::Uncertain { reason, .. } => format!("Uncertain: {reason}"),
    }
}

impl From<&Neighbour> for Near {
    fn from(Neighbour { candidate, verdict, objection_from }: &Neighbour) -> Self {
        let (entry, similarity) = (&candidate.entry, candidate.similarity.get());
        let refused_from = if candidate.forbidden {
            Some((0.0, Verdict::Forbidden))
        } else {
            objection_from.map(|(from, verdict)| (from.get(), verdict))
        };
        Self {
            id: entry.id.to_string(),
            prompt: format::excerpt(&entry.prompt),
            answer: format::excerpt(&entry.answer.text),
            similarity: format!("{similarity:.3}"),
            exact: similarity,
            answers: verdict.answers(),
            verdict: badge(*verdict),
            refused_from: refused_from.map(|(from, _)| from),
            refused: refused_from.map(|(_, verdict)| badge(verdict)).unwrap_or_default(),
        }
    }
}

impl PlaygroundPage {
    /// The page before anything is tried.
    async fn of(visit: &Visit, project: &Project, form: Trial) -> Result<Self, ConsoleError> {
        Ok(Self {
            frame: visit.frame_in(project, "Playground", "Playground"),
            slug: project.slug.to_string(),
            threshold_at: form.threshold.parse::<f64>().map_or(0.0, |threshold| threshold * 100.0),
            minimum: project.settings.minimum_threshold.map(Threshold::get),
            models: models(visit, project).await?,
            form,
            result: None,
            near: None,
        })
    }
}

/// `GET /console/p/{slug}/playground`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>) -> Answer {
    let project = visit.project(&slug).await?;
    let threshold = project.settings.threshold(None).get().to_string();
    let mut page = PlaygroundPage::of(&visit, &project, Trial { threshold, ..Trial::default() }).await?;
    page.form.model = match page.models.first() {
        Some(model) => model.clone(),
        None => usable_model(&visit, &project).await?.unwrap_or_else(|| USUAL_MODEL.into()),
    };
    Ok(visit.page(&page))
}

/// `POST /console/p/{slug}/playground`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(mut form): Form<Trial>) -> Answer {
    let project = visit.project(&slug).await?;
    // Browsers send lines with CR LF; prompts come with LF.
    form.prompt = form.prompt.replace("\r\n", "\n");
    form.context = form.context.replace("\r\n", "\n");
    let tried = match read(&visit, &project, &mut form) {
        Ok(query) => attempt(&visit, &project, query, form.ask == "provider").await,
        Err(problem) => Err(problem),
    };
    let mut page = PlaygroundPage::of(&visit, &project, form).await?;
    match tried {
        Ok((result, near)) => {
            (page.result, page.near) = (Some(result), Some(near));
            Ok(visit.page(&page))
        }
        Err(ConsoleError::Refused(problem)) => {
            page.frame = page.frame.complaining(Some(&problem));
            Ok(visit.again(&page))
        }
        Err(error) => Err(error),
    }
}

/// The form as a query, with the limits that the API has. A threshold below the project's minimum is raised to it,
/// in the form too.
fn read(visit: &Visit, project: &Project, form: &mut Trial) -> Result<Query, ConsoleError> {
    let refuse = |what: String| Err(ConsoleError::Refused(what));
    let limits = visit.console.app.limits();
    if form.prompt.trim().is_empty() || form.model.trim().is_empty() {
        return refuse("Type a prompt and name a model.".into());
    }
    for (what, text, most) in
        [("prompt", &form.prompt, limits.prompt_bytes), ("context", &form.context, limits.context_bytes)]
    {
        if text.len() > most {
            return refuse(format!("The {what} is longer than the limit of {most} bytes."));
        }
    }
    let Some(asked) = form.threshold.parse().ok().and_then(Threshold::new) else {
        return refuse("The threshold must be between 0 and 1.".into());
    };
    let threshold = project.settings.threshold(Some(asked));
    if threshold != asked {
        form.threshold = threshold.get().to_string();
    }
    Ok(Query {
        prompt: form.prompt.clone(),
        model: form.model.trim().to_owned(),
        threshold,
        context: (!form.context.is_empty()).then(|| form.context.clone()),
        request: None,
        wire: None,
    })
}

async fn attempt(
    visit: &Visit,
    project: &Project,
    query: Query,
    ask: bool,
) -> Result<(Outcome, Nearest), ConsoleError> {
    let engine = visit.console.app.engine();
    // Looked at first: afterwards a miss would be its own nearest entry.
    let preview = engine.preview(project, &query, NEAREST).await?;
    let none = match preview.trace.too_long {
        Some(_) => "The prompt is too long to be searched by meaning: only the same prompt can answer it.",
        None => "There is no entry of this model and context yet.",
    };
    let near = Nearest { rows: preview.near.iter().map(Near::from).collect(), none };
    if !ask {
        return Ok((expected(&preview), near));
    }
    let caller = Admission::of_console(Arc::new(project.clone()));
    match engine.query(&caller, query).await {
        Ok(reply) => Ok((asked(&reply), near)),
        Err(error) => Err(refusal(error)),
    }
}

/// What would come of asking.
fn expected(preview: &Preview) -> Outcome {
    let hit = preview.hit.as_ref();
    let (title, text) = match (hit, preview.near.first()) {
        (Some(hit), _) if hit.is_exact() => {
            ("The same prompt is in the cache", "A query would get its answer, without any embedding.".into())
        }
        (Some(hit), _) => (
            "A similar prompt is in the cache",
            format!(
                "Its similarity {:.3} reaches the threshold: a query would get its answer.",
                hit.similarity().get()
            ),
        ),
        (None, Some(nearest)) => match &preview.trace.refused {
            Some(refusal) if preview.undecided > 0 => (
                "The guard is uncertain",
                format!("{} A query would have the project’s model decide.", said(refusal)),
            ),
            Some(refusal) => (
                "What is similar asks something else",
                format!("{} A query would ask the provider.", said(refusal)),
            ),
            None => (
                "Nothing is similar enough",
                format!(
                    "The nearest entry has a similarity of {:.3}: a query would ask the provider.",
                    nearest.candidate.similarity.get()
                ),
            ),
        },
        (None, None) => ("Nothing is near", "A query would ask the provider and store its answer.".into()),
    };
    Outcome {
        title,
        hit: hit.is_some(),
        text,
        facts: timings(&preview.trace),
        answer: hit.map(|hit| hit.entry().answer.text.clone()),
        wrong: hit.map(|hit| hit.entry().id.to_string()),
    }
}

/// What the guard says of an entry.
fn said(refusal: &Refusal) -> String {
    let Refusal { similarity, reason, score, .. } = refusal;
    format!(
        "The guard did not let an entry pass with a similarity of {:.3}: {reason} (score {score:.2}).",
        similarity.get()
    )
}

fn asked(reply: &Reply) -> Outcome {
    let (title, mut text) = match reply.source {
        Source::Exact => ("Answered from the cache", "By the same prompt.".to_owned()),
        Source::Semantic(similarity) => {
            ("Answered from the cache", format!("By a prompt with a similarity of {:.3}.", similarity.get()))
        }
        Source::Provider(Ok(())) => {
            ("Answered by the provider", "The answer is stored: the next such query is a hit.".into())
        }
        Source::Provider(Err(reason)) => (
            "Answered by the provider",
            format!("The answer is not stored: {}.", reason.code().replace('_', " ")),
        ),
    };
    if let Some(refusal) = reply.refused() {
        text = format!("{text} {}", said(&refusal));
    }
    let cost = &reply.cost;
    let estimated = if cost.estimated { " (estimated)" } else { "" };
    let mut facts = vec![
        ("Provider", reply.entry.answer.provider.clone()),
        (
            "Tokens",
            format!(
                "{} in, {} out{estimated}",
                format::count(cost.input_tokens),
                format::count(cost.output_tokens)
            ),
        ),
        (
            if reply.is_hit() { "Saved" } else { "Cost" },
            if cost.price.is_some() { format::money(cost.amount) } else { prices::UNKNOWN.into() },
        ),
    ];
    facts.extend(timings(&reply.trace));
    Outcome {
        title,
        hit: reply.is_hit(),
        text,
        facts,
        answer: Some(reply.entry.answer.text.clone()),
        wrong: reply.is_hit().then(|| reply.entry.id.to_string()),
    }
}

fn timings(trace: &Trace) -> Vec<(&'static str, String)> {
    let ms = |span: Duration| format::millis(span.as_secs_f64() * 1e3);
    let mut facts = vec![("Embedding", ms(trace.embedding)), ("Search", ms(trace.search))];
    facts.extend(trace.provider.map(|span| ("Provider’s time", ms(span))));
    facts.push(("Total", ms(trace.total)));
    facts.extend(trace.too_long.map(|(tokens, window)| {
        ("By meaning", format!("not searched: {tokens} tokens or more, the embedding model reads {window}"))
    }));
    facts
}

/// What a failed query says to a person; what is a bug or an outage is none of it.
fn refusal(error: QueryError) -> ConsoleError {
    ConsoleError::Refused(match error {
        QueryError::Forbidden => "The project is suspended. An owner can resume it under Settings.".into(),
        QueryError::ModelNotSupported { model } => {
            format!("No provider is known for the model “{model}”. Add one under Providers.")
        }
        QueryError::NoCredentials { provider } => {
            format!("The server has no key for {provider}. Providers says which variable to set.")
        }
        QueryError::Provider(error) => {
            format!("The provider {} gave no answer: {}.", error.provider, error.class.code())
        }
        other => return other.into(),
    })
}

/// The models that the cache has entries of and those of own providers.
async fn models(visit: &Visit, project: &Project) -> Result<Vec<String>, ConsoleError> {
    let store = &visit.console.admin.store;
    let mut models: Vec<String> =
        store.models_of(project.id, NEWEST, OFFERED).await?.into_iter().map(|(model, _)| model).collect();
    for model in store.providers(project.id).await?.into_iter().flat_map(|provider| provider.models) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    Ok(models)
}
