//! Prices: those of a project, and which one is in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::names::{model_of, shown};
use super::{Acting, AdminError, projects};
use crate::member::Rank;
use crate::pricing::{ModelPrice, PicoUsdPerToken, PriceList, Priced, price_for};
use crate::project::{Project, ProjectSettings};

/// A project's own prices at most: they are read with the project, on every request.
const MAX_PRICES: usize = 500;

/// A price in force, and the list that it was looked up in.
#[derive(Clone, Debug)]
pub struct PriceInForce {
    /// The price.
    pub priced: Priced,
    /// The list.
    pub list: Arc<PriceList>,
}

/// Gives a model a price in the project, in US dollars per million tokens.
pub async fn set(
    by: &Acting<'_>,
    slug: &str,
    model: &str,
    input: f64,
    output: f64,
) -> Result<(), AdminError> {
    let model = model_of(model).map_err(|error| error.about("model"))?;
    let price = |name, dollars| {
        let wanted = "between 0.000001 and 1000 US dollars per million tokens, or 0";
        PicoUsdPerToken::from_dollars_per_million(dollars).ok_or_else(|| {
            AdminError::Invalid(format!("the price {dollars} is not allowed: use one {wanted}")).about(name)
        })
    };
    let price = ModelPrice::flat(price("input", input)?, price("output", output)?);
    let detail = format!("{}: {input} in, {output} out", shown(&model));
    projects::change(by, slug, Rank::Editor, "price.set", |_, project| {
        let prices = &mut project.settings.prices;
        if prices.len() >= MAX_PRICES && !prices.contains_key(&model) {
            return Err(AdminError::Conflict(format!(
                "a project has at most {MAX_PRICES} prices of its own"
            )));
        }
        prices.insert(model, price);
        Ok(detail)
    })
    .await?;
    Ok(())
}

/// Takes that price away.
pub async fn unset(by: &Acting<'_>, slug: &str, model: &str) -> Result<(), AdminError> {
    projects::change(by, slug, Rank::Editor, "price.unset", |_, project| {
        match project.settings.prices.remove(model) {
            Some(_) => Ok(shown(model)),
            None => Err(AdminError::NotFound(format!(
                "the project '{slug}' has no price of its own for '{}'",
                shown(model)
            ))),
        }
    })
    .await?;
    Ok(())
}

/// The price of `model`, in the project or without one.
pub async fn show(by: &Acting<'_>, model: &str, slug: Option<&str>) -> Result<PriceInForce, AdminError> {
    let (settings, own) = match slug {
        None => (ProjectSettings::default(), None),
        Some(slug) => {
            let project = by.project(slug).await?;
            let own = by.store().provider_of(project.id, model).await?;
            (project.settings, own.map(|provider| provider.name))
        }
    };
    let provider = own.unwrap_or_else(|| by.admin.prices.provider_of(model).to_owned());
    let list = by.admin.prices.current();
    let unknown = || {
        let model = shown(model);
        AdminError::NotFound(format!(
            "the price of '{model}' is not known; deja price set gives it one in a project"
        ))
    };
    let priced = price_for(&settings, &list, &provider, None, model).ok_or_else(unknown)?;
    Ok(PriceInForce { priced, list })
}

/// Which of `models` have no known price in the project.
pub async fn unknown(
    by: &Acting<'_>,
    project: &Project,
    models: BTreeSet<Arc<str>>,
) -> Result<BTreeSet<Arc<str>>, AdminError> {
    of_price(by, project, models, |price| price.is_none()).await
}

/// Which of `models` are known to be free in the project.
pub async fn free(
    by: &Acting<'_>,
    project: &Project,
    models: BTreeSet<Arc<str>>,
) -> Result<BTreeSet<Arc<str>>, AdminError> {
    of_price(by, project, models, |price| price.is_some_and(|priced| priced.price.is_free())).await
}

async fn of_price(
    by: &Acting<'_>,
    project: &Project,
    mut models: BTreeSet<Arc<str>>,
    wanted: fn(Option<Priced>) -> bool,
) -> Result<BTreeSet<Arc<str>>, AdminError> {
    if models.is_empty() {
        return Ok(models);
    }
    let own = by.store().providers(project.id).await?;
    let list = by.admin.prices.current();
    models.retain(|model| {
        let own = own.iter().find(|provider| provider.models.iter().any(|name| **name == **model));
        let provider = own.map_or_else(|| by.admin.prices.provider_of(model), |own| &own.name);
        wanted(price_for(&project.settings, &list, provider, None, model))
    });
    Ok(models)
}

/// For owners: fetches prices now. Gives whether they are new, and the list in force.
pub async fn refresh(by: &Acting<'_>) -> Result<(bool, Arc<PriceList>), AdminError> {
    by.owners_only()?;
    let changed = by.admin.prices.refresh(&*by.admin.clock).await?;
    Ok((changed, by.admin.prices.current()))
}
