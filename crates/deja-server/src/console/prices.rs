//! Prices: those of a project, and refreshing the table.

use deja_core::admin::{AdminError, prices};
use serde::Deserialize;

use super::flash::Flash;
use super::form::{Form, Path, number};
use super::page::{Answer, Visit};

/// What stands where an amount would, if it cannot be known.
pub(super) const UNKNOWN: &str = "unknown: the model has no known price";

#[derive(Deserialize)]
pub(super) struct Price {
    model: String,
    input: String,
    output: String,
}

/// `POST /console/p/{slug}/prices`.
pub(super) async fn set(visit: Visit, Path(slug): Path<String>, Form(form): Form<Price>) -> Answer {
    let place = format!("/console/p/{slug}/providers");
    let dollars = |what: &str, text: &str| match number::<f64>(what, text.trim_start_matches('$')) {
        Ok(Some(dollars)) => Ok(dollars),
        Ok(None) | Err(_) => Err(Flash::bad(format!("{what} must be a number of dollars such as 1.5."))),
    };
    let both = dollars("The input price", &form.input)
        .and_then(|i| Ok((i, dollars("The output price", &form.output)?)));
    let (input, output) = match both {
        Ok(both) => both,
        Err(flash) => {
            visit.project(&slug).await?;
            return visit.to(&place, &flash);
        }
    };
    let done = prices::set(&visit.acting(), &slug, form.model.trim(), input, output).await;
    visit.done(&place, done, "The price is set. It holds from the next request on.")
}

#[derive(Deserialize)]
pub(super) struct Model {
    model: String,
}

/// `POST /console/p/{slug}/prices/remove`.
pub(super) async fn unset(visit: Visit, Path(slug): Path<String>, Form(form): Form<Model>) -> Answer {
    let place = format!("/console/p/{slug}/providers");
    let done = prices::unset(&visit.acting(), &slug, &form.model).await;
    visit.done(&place, done, "The price is removed; the price table holds again.")
}

/// `POST /console/p/{slug}/settings/prices`.
pub(super) async fn refresh(visit: Visit, Path(slug): Path<String>) -> Answer {
    visit.project(&slug).await?;
    let place = format!("/console/p/{slug}/settings");
    match prices::refresh(&visit.acting()).await {
        Ok((true, _)) => visit.to(&place, &Flash::good("A fresh price table is in force.")),
        Ok((false, _)) => {
            visit.to(&place, &Flash::good("The price table is current: its source has not changed."))
        }
        // A source that does not answer is news for the owner and no failure of ours.
        Err(AdminError::Failed(problem)) => visit.to(&place, &Flash::bad(problem)),
        failed => visit.done(&place, failed, ""),
    }
}
