//! Prices: those of a project, and which one is in force.

use deja_core::pricing::{ModelPrice, PicoUsdPerToken, PriceList, price_for};
use deja_core::project::ProjectSettings;

use super::{Acting, AdminError, PriceTableView, PriceView, Reply, model_of, projects, shown};
use crate::feeds::prices::{RefreshError, Refreshed};
use crate::moment;

/// A project's own prices at most: they are read with the project, on every request.
const MAX_PRICES: usize = 500;

pub(super) async fn set(
    context: &Acting<'_>,
    slug: &str,
    model: &str,
    input: f64,
    output: f64,
) -> Result<Reply, AdminError> {
    let model = model_of(model)?;
    let price = |dollars| {
        let wanted = "between 0 and 1000 US dollars per million tokens";
        PicoUsdPerToken::from_dollars_per_million(dollars).ok_or_else(|| {
            AdminError::Invalid(format!("the price {dollars} is not allowed: use one {wanted}"))
        })
    };
    let price = ModelPrice { input: price(input)?, output: price(output)?, above: Vec::new() };
    let detail = format!("{}: {input} in, {output} out", shown(&model));
    projects::change(context, slug, "price.set", |project| {
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
    Ok(Reply::Done)
}

pub(super) async fn unset(context: &Acting<'_>, slug: &str, model: &str) -> Result<Reply, AdminError> {
    projects::change(context, slug, "price.unset", |project| match project.settings.prices.remove(model) {
        Some(_) => Ok(shown(model)),
        None => Err(AdminError::NotFound(format!(
            "the project '{slug}' has no price of its own for '{}'",
            shown(model)
        ))),
    })
    .await?;
    Ok(Reply::Done)
}

pub(super) async fn show(context: &Acting<'_>, model: &str, slug: Option<&str>) -> Result<Reply, AdminError> {
    let (settings, own) = match slug {
        None => (ProjectSettings::default(), None),
        Some(slug) => {
            let project = context.project(slug).await?;
            let own = context.store.provider_of(project.id, model).await?;
            (project.settings, own.map(|provider| provider.name))
        }
    };
    let family = || deja_providers::family(model).map_or("", deja_providers::Family::name).to_owned();
    let provider = own.unwrap_or_else(family);
    let list = context.prices.book.current();
    let unknown = || {
        let model = shown(model);
        AdminError::NotFound(format!(
            "the price of '{model}' is not known; deja price set gives it one in a project"
        ))
    };
    let priced = price_for(&settings, &list, &provider, None, model).ok_or_else(unknown)?;
    let dollars = PicoUsdPerToken::dollars_per_million;
    let above = priced.price.above.iter();
    Ok(Reply::Price(PriceView {
        model: model.into(),
        key: priced.key,
        origin: priced.origin.as_str().into(),
        input: dollars(priced.price.input),
        output: dollars(priced.price.output),
        above: above.map(|tier| (tier.tokens, dollars(tier.input), dollars(tier.output))).collect(),
        table: table(&list),
    }))
}

pub(super) async fn refresh(context: &Acting<'_>) -> Result<Reply, AdminError> {
    let refreshed = context.prices.refresh(&*context.clock).await;
    let refreshed = refreshed.map_err(|error| match error {
        RefreshError::NoUrl => AdminError::Invalid(error.to_string()),
        _ => AdminError::Failed(format!("{error}; the old prices stay in force")),
    })?;
    let table = table(&context.prices.book.current());
    Ok(Reply::PriceTable { changed: refreshed == Refreshed::New, table })
}

fn table(list: &PriceList) -> PriceTableView {
    let source = &list.source;
    PriceTableView {
        source: source.name.clone(),
        revision: source.revision.clone(),
        fetched: source.fetched_at.map(moment::whole),
        models: list.table.len(),
    }
}
