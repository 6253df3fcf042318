//! Prices: those of a project, and refreshing the table.

use deja_core::admin::{AdminError, prices};
use deja_core::cache::EntryDetail;
use deja_core::money::NanoUsd;
use deja_core::pricing::{ModelPrice, price_for};
use deja_core::project::Project;
use serde::Deserialize;

use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Problem, Query, at, number};
use super::page::{Answer, Confirm, Visit};
use super::providers;
use crate::format;

/// What stands where an amount would, if it cannot be known.
pub(super) const UNKNOWN: &str = "unknown: the model has no known price";
/// What stands there if the model had no price when it was asked, and has one now.
pub(super) const UNKNOWN_THEN: &str = "unknown: the model had no known price then";

/// What an entry saved, if that is known. An entry that was hit and saved nothing had no price then, unless its model is free: a price that is
/// set later does not make it so.
pub(super) fn saved(visit: &Visit, project: &Project, detail: &EntryDetail) -> Option<NanoUsd> {
    let (list, entry) = (visit.console.admin.prices.current(), &detail.entry);
    let served = entry.answer.served_model.as_deref();
    let price = price_for(&project.settings, &list, &entry.answer.provider, served, &entry.model);
    let known = match price {
        _ if detail.saved > NanoUsd::ZERO => true,
        Some(priced) => detail.hits == 0 || priced.price.is_free(),
        None => false,
    };
    known.then_some(detail.saved)
}

/// A price as it is typed.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Price {
    pub(super) model: String,
    pub(super) input: String,
    pub(super) output: String,
}

impl Price {
    /// Dollars for a million tokens in and out.
    fn read(&self) -> Result<(f64, f64), Problem> {
        let dollars = |field, what: &str, text: &str| {
            let missing = || Problem::of(field, format!("{what} must be a number of dollars such as 1.5"));
            number(what, text.trim().trim_start_matches('$')).map_err(at(field))?.ok_or_else(missing)
        };
        let input = dollars("input", "The input price", &self.input)?;
        Ok((input, dollars("output", "The output price", &self.output)?))
    }
}

/// Input and output, in dollars for a million tokens.
pub(super) fn shown(price: &ModelPrice) -> [String; 2] {
    [price.rates.input, price.rates.output].map(|price| format::dollars(price.dollars_per_million()))
}

/// `POST /console/p/{slug}/providers/prices`.
pub(super) async fn set(visit: Visit, Path(slug): Path<String>, Form(form): Form<Price>) -> Answer {
    let project = visit.project()?;
    let problem = match form.read() {
        Ok((input, output)) => {
            match prices::set(&visit.acting(), &slug, form.model.trim(), input, output).await {
                Err(error) => Problem::at(error, &["model", "input", "output"])?,
                done => {
                    let place = format!("/console/p/{slug}/providers");
                    let good = "The price is set. It holds from the next request on.";
                    return visit.done(&place, done, good);
                }
            }
        }
        Err(problem) => problem,
    };
    Ok(visit.again(&providers::page(&visit, &project, form, Some(problem)).await?))
}

#[derive(Deserialize)]
pub(super) struct Model {
    model: String,
}

/// `GET /console/p/{slug}/providers/prices/remove`.
pub(super) async fn confirm(
    visit: Visit,
    Path(slug): Path<String>,
    Query(Model { model }): Query<Model>,
) -> Answer {
    let project = visit.project()?;
    let [input, output] = project.settings.prices.get(&model).map(shown).ok_or(ConsoleError::NotFound)?;
    let text = format!(
        "{model} costs {input} in and {output} out here, for a million tokens. Without this price that of the price table \
         holds. If the table has none, its answers save and cost nothing."
    );
    let frame = visit.frame_in(&project, "Remove price", "Providers");
    let back = format!("/console/p/{slug}/providers");
    Ok(visit.page(&Confirm::new(frame, text, "Remove price", back).with("model", model)))
}

/// `POST /console/p/{slug}/providers/prices/remove`.
pub(super) async fn unset(visit: Visit, Path(slug): Path<String>, Form(form): Form<Model>) -> Answer {
    let place = format!("/console/p/{slug}/providers");
    let done = prices::unset(&visit.acting(), &slug, &form.model).await;
    visit.done(&place, done, "The price is removed; the price table holds again.")
}

/// `POST /console/p/{slug}/settings/prices`.
pub(super) async fn refresh(visit: Visit, Path(slug): Path<String>) -> Answer {
    let place = format!("/console/p/{slug}/settings");
    match prices::refresh(&visit.acting()).await {
        Ok((true, _)) => visit.to(&place, &Flash::good("A fresh price table is in force.")),
        Ok((false, _)) => {
            visit.to(&place, &Flash::good("The price table is current: its source has not changed."))
        }
        // A source that does not answer is news for the owner and no failure of ours.
        Err(AdminError::Failed(problem)) => visit.to(&place, &Flash::bad(format::sentence(&problem))),
        failed => visit.done(&place, failed, ""),
    }
}
