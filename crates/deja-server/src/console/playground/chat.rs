//! Trying a request in a wire format: what it is to the cache, and what it would meet there or what would be answered.
//!
//! As with a prompt, the result is the answer to the POST.

use askama::Template;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use deja_core::embedding::Threshold;
use deja_core::engine::{Control, Engine, Live, Relay, Relayed};
use deja_core::project::Project;
use deja_core::provider::{AllowedHeaders, Endpoint, Forward, content_type};
use deja_wire::{Asked, Identity, Mode, is_event_stream, record};
use futures::StreamExt;
use serde::Deserialize;

use super::tried::{self, Asks, Beyond, NEAREST, Nearest, Outcome, Proposed, Tried};
use super::wire_body::{self, Format, Parts};
use crate::console::error::ConsoleError;
use crate::console::form::{Form, Problem, with_lf};
use crate::console::page::{Answer, Frame, Visit};
use crate::console::providers::{Models, USUAL_MODEL};
use crate::format;
use crate::request_id;

/// Largest answer that is shown, in bytes.
const MOST_SHOWN: usize = 1024 * 1024;
/// Its table says what the words of `X-Deja-Reason` mean.
const DOCUMENTED: &str = include_str!("../../../../../docs/topics/same-requests.md");

#[derive(Template)]
#[template(path = "chat.html")]
struct ChatPage {
    frame: Frame,
    slug: String,
    form: Trial,
    proposed: Proposed,
    /// What the request is to the cache.
    told: Option<Told>,
    result: Option<Outcome>,
    near: Option<Nearest>,
    /// What a lower threshold is raised to.
    minimum: Option<f64>,
}

/// What a request is to the cache.
struct Told {
    /// Method, path and body, as an application would send them.
    request: String,
    mode: &'static str,
    /// Words of `X-Deja-Reason`, and what they mean.
    reasons: Vec<(&'static str, String)>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::console) struct Trial {
    format: Format,
    model: String,
    #[serde(deserialize_with = "with_lf")]
    instructions: String,
    #[serde(deserialize_with = "with_lf")]
    question: String,
    threshold: String,
    members: String,
    version: String,
    ask: String,
}

impl ChatPage {
    /// The page before anything is tried.
    async fn of(
        visit: &Visit,
        project: &Project,
        usable: &Models,
        form: Trial,
    ) -> Result<Self, ConsoleError> {
        Ok(Self {
            frame: visit.frame_in(project, "Playground: chat", "Playground"),
            slug: project.slug.to_string(),
            minimum: project.settings.minimum_threshold.map(Threshold::get),
            proposed: Proposed::of(visit, project, usable).await?,
            form,
            told: None,
            result: None,
            near: None,
        })
    }

    /// Whether fields are in use that few need.
    fn has_more(&self) -> bool {
        let usual = ["", wire_body::VERSION].contains(&self.form.version.as_str());
        !usual || !self.form.members.is_empty()
    }

    fn formats(&self) -> impl Iterator<Item = (Format, &'static str, bool)> {
        Format::ALL.into_iter().map(|format| (format, format.title(), format == self.form.format))
    }
}

/// `GET /console/p/{slug}/playground/chat`.
pub(in crate::console) async fn get(visit: Visit) -> Answer {
    let project = visit.project()?;
    let usable = Models::read(&visit, &project).await?;
    let model = usable.any().unwrap_or(USUAL_MODEL).to_owned();
    let form = Trial {
        threshold: project.settings.threshold(None).get().to_string(),
        format: Format::of_model(&model),
        version: wire_body::VERSION.into(),
        model,
        ..Trial::default()
    };
    Ok(visit.page(&ChatPage::of(&visit, &project, &usable, form).await?))
}

/// `POST /console/p/{slug}/playground/chat`.
pub(in crate::console) async fn post(visit: Visit, Form(mut form): Form<Trial>) -> Answer {
    let project = visit.project()?;
    let (read, ask) = (read(&visit, &project, &mut form), form.ask == "provider");
    let usable = Models::read(&visit, &project).await?;
    let mut page = ChatPage::of(&visit, &project, &usable, form).await?;
    let attempt = read.map(|(relay, told)| {
        page.told = Some(told);
        attempt(&visit, &project, relay, ask)
    });
    (page.frame, page.result, page.near) = tried::shown(page.frame, attempt).await?;
    Ok(if page.result.is_some() { visit.page(&page) } else { visit.again(&page) })
}

/// The form as a request, and what it is to the cache.
fn read(visit: &Visit, project: &Project, form: &mut Trial) -> Result<(Relay, Told), Problem> {
    let threshold = tried::threshold(project, &mut form.threshold)?;
    let parts = Parts {
        model: form.model.trim(),
        instructions: &form.instructions,
        question: &form.question,
        members: &form.members,
    };
    let body = wire_body::body(form.format, &parts)?;
    let limits = visit.console.app.limits();
    if body.len() > limits.wire_body_bytes {
        let most = limits.wire_body_bytes;
        return Err(Problem::of(
            "question",
            format!("The request is longer than the limit of {most} bytes."),
        ));
    }
    let endpoint = form.format.endpoint();
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let mut shaping = Vec::new();
    if endpoint == Endpoint::Messages {
        let wrong = |_| Problem::of("version", "The version must be a date such as 2023-06-01.");
        let version = Some(form.version.trim()).filter(|version| !version.is_empty());
        let version = version.unwrap_or(wire_body::VERSION);
        headers.insert("anthropic-version", version.parse().map_err(wrong)?);
        shaping.push(("anthropic-version", version));
    }
    let model = form.format.model_in_path().then_some(parts.model);
    let asked = Asked { endpoint, model, body: body.as_bytes(), headers: &shaping, query: None };
    let identity = deja_wire::identify(&asked, &project.settings.identity_options(limits.prompt_bytes));
    let identity = identity.map_err(|malformed| Problem::of("members", malformed.to_string()))?;
    let told = Told::of(form.format, &identity, &body);
    let (model, body) = (identity.model.clone(), Bytes::from(body));
    let headers = AllowedHeaders::of(&headers);
    let forward = Forward { endpoint, model, body, headers, query: None };
    let control = Control::default();
    let request = Some(request_id::new());
    Ok((Relay { identity, forward, threshold, control, context: None, request }, told))
}

impl Told {
    fn of(format: Format, identity: &Identity, body: &str) -> Self {
        Self {
            request: format!("POST {}\n\n{body}", format.path(&identity.model)),
            mode: match identity.mode {
                Mode::Semantic => "By meaning: the question; all else byte for byte",
                Mode::Exact => "Byte for byte: only the same request is a hit",
                Mode::Bypass => "Not at all: it is passed on, neither looked up nor stored",
            },
            reasons: identity.reasons.iter().map(|reason| (*reason, explained(reason))).collect(),
        }
    }
}

/// What the documentation says of a reason, and of the opt-in that does away with it.
fn explained(reason: &str) -> String {
    let row = DOCUMENTED.lines().find_map(|line| line.strip_prefix(&format!("| `{reason}` |")));
    let mut cells = row.unwrap_or_default().trim_end_matches('|').split(" | ");
    let mut cell = || cells.next().unwrap_or_default().trim().replace('`', "");
    match (cell(), cell()) {
        (why, opt_in) if opt_in.is_empty() => why,
        (why, opt_in) => format!("{why} (by meaning with {opt_in})"),
    }
}

async fn attempt(visit: &Visit, project: &Project, relay: Relay, ask: bool) -> Result<Tried, ConsoleError> {
    let engine = visit.console.app.engine();
    let (mode, text) = (relay.identity.mode, relay.identity.text.clone());
    // Looked at first: afterwards a miss would be its own nearest entry.
    let preview = engine.preview_relay(project, relay.clone(), NEAREST).await?;
    let near = (mode == Mode::Semantic).then(|| {
        Nearest::of(
            &preview,
            relay.threshold,
            "There is no entry of this model, with these instructions and members, yet.",
        )
    });
    let mut outcome = if ask {
        let caller = tried::caller(visit, project, None).await?;
        match engine.relay(None, &caller, relay.clone()).await.map_err(tried::refusal)? {
            Relayed::Hit(reply, _) => tried::asked(&reply, &text),
            Relayed::Live(live) => answered(engine, project, relay, live).await?,
        }
    } else {
        let asks = Asks::Request(relay.forward.endpoint);
        let beyond = Beyond::of(visit, project, &relay.forward.model, asks).await?;
        match mode {
            Mode::Semantic => tried::expected(&preview, &text, &beyond),
            Mode::Exact | Mode::Bypass => as_a_whole(&preview, &beyond),
        }
    };
    if mode != Mode::Semantic {
        // Nothing else than the same request is answered with it.
        outcome.wrong = None;
    }
    Ok((outcome, near))
}

/// What would come of a request that is compared as a whole.
fn as_a_whole(preview: &deja_core::engine::Preview, beyond: &Beyond) -> Outcome {
    let hit = preview.hit.as_ref().filter(|_| !beyond.refuses(true));
    let (title, text) = match hit {
        Some(_) => ("The same request is in the cache", "A request would get its answer.".into()),
        None if beyond.refuses(false) => {
            let (title, text) = beyond.refused();
            (title, text.to_owned())
        }
        None => ("The same request is not in the cache", format!("So {}.", beyond.would())),
    };
    Outcome {
        title,
        hit: hit.is_some(),
        text,
        at_others: None,
        facts: tried::timings(&preview.trace),
        answer: hit.map(|hit| hit.entry().answer.text.clone()),
        wrong: None,
    }
}

/// The provider's answer, read to its end: then it is stored, if it is.
async fn answered(
    engine: &Engine,
    project: &Project,
    relay: Relay,
    mut live: Live,
) -> Result<Outcome, ConsoleError> {
    let (streamed, wire) = (is_event_stream(content_type(&live.headers)), relay.forward.endpoint.wire());
    let mut body = Vec::new();
    while let Some(piece) = live.next().await {
        body.extend_from_slice(&piece.map_err(tried::refusal)?);
        if body.len() > MOST_SHOWN {
            return Err(ConsoleError::Refused(format!(
                "The answer is longer than the {MOST_SHOWN} bytes that are shown here."
            )));
        }
    }
    let body = Bytes::from(body);
    let read = if live.status == 200 { record(wire, streamed, &body).ok() } else { None };
    let mut facts = vec![("Provider", live.provider.clone()), ("Status", live.status.to_string())];
    if let Some(usage) = read.as_ref().and_then(|record| record.completion.usage) {
        let [input, output] = [usage.input_total, usage.output_total].map(format::count);
        facts.push(("Tokens", format!("{input} in, {output} out")));
    }
    facts.extend(tried::timings(&live.trace));
    let stored = engine.preview_relay(project, relay, NEAREST).await?.hit.is_some_and(|hit| hit.is_exact());
    let text = if stored {
        "The answer is stored: the next such request is a hit."
    } else {
        "The answer is not stored."
    };
    // What is no complete answer of text is shown as it came.
    let answer = read.map(|record| record.completion.text).filter(|text| !text.is_empty());
    Ok(Outcome {
        title: if live.status < 400 {
            "Answered by the provider"
        } else {
            "The provider refused the request"
        },
        hit: false,
        text: text.into(),
        at_others: None,
        facts,
        answer: Some(answer.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned())),
        wrong: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_explained_as_documented() {
        assert_eq!(
            explained("multi_turn"),
            "there are turns before the question, or after it (by meaning with semantic_history, if all are talk)"
        );
        assert_eq!(explained("sampling"), "seed, logit_bias");
        assert!(explained("hosted_tools").starts_with("the provider searches or runs something"));
        assert_eq!(explained("no such word"), "");
    }
}
