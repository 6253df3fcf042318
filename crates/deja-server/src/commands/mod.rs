//! The command line's way to the use cases of [`deja_core::admin`]: a [`Command`] goes to the running server through
//! its [`socket`] or, while none runs, to the store that the command line opened itself. Either way [`execute`] calls
//! the use case, and a [`Reply`] comes back.

mod command;
mod reply;
pub mod socket;
mod tune;

use deja_core::admin::{
    Acting, AdminError, Hidden, audit, cache, judging, keys, members, operators, prices, projects, providers,
    quality, second_factor, tokens, transfer,
};
use deja_core::store::EntryFilter;

pub use command::{Command, ContextFilter};
pub use reply::{
    AuditView, CacheView, KeyView, LinkView, MemberView, NotEmbeddedView, OperatorView, PriceTableView,
    PriceView, ProjectView, ProviderView, RatesView, Reply, TokenView, TotalsView,
};
pub use tune::{EstimateView, PointView, SettingView, TuneView};

/// Does what `command` says. What it changes is durable when this returns, and holds for the very next request.
pub async fn execute(by: &Acting<'_>, command: Command) -> Result<Reply, AdminError> {
    Ok(match command {
        Command::ProjectCreate(new) => Reply::Project(projects::create(by, new).await?.into()),
        Command::ProjectList => Reply::Projects(views(projects::list(by).await?)),
        Command::ProjectSuspend { project } => {
            Reply::Project(projects::set_suspended(by, &project, true).await?.into())
        }
        Command::ProjectResume { project } => {
            Reply::Project(projects::set_suspended(by, &project, false).await?.into())
        }
        Command::ProjectSet { project, patch } => {
            Reply::Project(projects::set(by, &project, patch).await?.into())
        }
        Command::ProjectDelete { project } => done(projects::delete(by, &project).await?),
        Command::KeyCreate { project, wish } => {
            let made = keys::create(by, &project, wish).await?;
            let key = Hidden::from(made.plain.reveal().to_owned());
            Reply::KeyCreated { key, view: KeyView::of(made.key, by.now()) }
        }
        Command::KeyList { project } => {
            let keys = keys::list(by, &project).await?;
            Reply::Keys(keys.into_iter().map(|(key, usage)| KeyView::new(key, usage, by.now())).collect())
        }
        Command::KeyRevoke { key, project } => {
            let revoked = keys::revoke(by, key.expose(), project.as_deref()).await?;
            Reply::KeyRevoked(KeyView::of(revoked, by.now()))
        }
        Command::ProviderAdd(new) => Reply::Provider(providers::add(by, new).await?.into()),
        Command::ProviderList { project } => Reply::Providers(views(providers::list(by, &project).await?)),
        Command::ProviderRemove { project, name } => done(providers::remove(by, &project, &name).await?),
        Command::PriceSet { project, model, input, output } => {
            done(prices::set(by, &project, &model, input, output).await?)
        }
        Command::PriceUnset { project, model } => done(prices::unset(by, &project, &model).await?),
        Command::PriceShow { model, project } => {
            let price = prices::show(by, &model, project.as_deref()).await?;
            Reply::Price(PriceView::new(model, price))
        }
        Command::PriceRefresh => {
            let (changed, list) = prices::refresh(by).await?;
            Reply::PriceTable { changed, table: PriceTableView::from(&*list) }
        }
        Command::CachePurge { project, model, context } => {
            let filter = EntryFilter { model, context: context.into(), text: None };
            Reply::Purged { entries: cache::purge(by, &project, &filter).await? }
        }
        Command::CacheStats { project } => Reply::Cache(cache::stats(by, &project).await?.into()),
        Command::Tune { project, whose } => Reply::Tune(quality::evidence(by, &project, whose).await?.into()),
        Command::JudgePlan { project, model } => Reply::JudgePlan(judging::plan(by, &project, &model).await?),
        Command::Judge { project, model, limits } => {
            Reply::Judging(judging::judge(by, &project, &model, limits).await?)
        }
        Command::Apply { project, setting } => {
            Reply::Project(quality::apply(by, &project, setting.try_into()?).await?.into())
        }
        Command::OperatorCreate { email, role, password: None } => {
            Reply::Link(operators::invite(by, &email, role).await?.into())
        }
        Command::OperatorCreate { email, role, password: Some(password) } => {
            // The line's end is no part of the password.
            let password = password.expose().trim_end_matches(['\r', '\n']).to_owned();
            Reply::Operator(operators::create(by, &email, role, password.into()).await?.into())
        }
        Command::OperatorList => Reply::Operators(views(operators::list(by).await?)),
        Command::OperatorResetPassword { email } => {
            Reply::Link(operators::reset_password(by, &email).await?.into())
        }
        Command::OperatorRemoveSecondFactor { email } => {
            second_factor::remove(by, &email).await?;
            Reply::Done
        }
        Command::MemberList { project } => Reply::Members(views(members::list(by, &project).await?)),
        Command::MemberSet { project, email, rank } => {
            Reply::Member(members::set(by, &project, &email, rank).await?.into())
        }
        Command::MemberRemove { project, email } => done(members::remove(by, &project, &email).await?),
        Command::TokenCreate { email, name, expires } => {
            let made = tokens::create(by, &email, &name, expires).await?;
            let token = Hidden::from(made.plain.reveal().to_owned());
            Reply::TokenCreated { token, view: made.token.into() }
        }
        Command::TokenList { email } => Reply::Tokens(views(tokens::list(by, &email).await?)),
        Command::TokenRevoke { email, token } => {
            Reply::TokenRevoked(tokens::revoke(by, &email, token.expose()).await?.into())
        }
        Command::AuditList { wanted, before, limit } => {
            Reply::Audit(views(audit::list(by, &wanted, before, limit).await?))
        }
        Command::ExportHead(wanted) => Reply::Records(transfer::head(by, &wanted).await?),
        Command::ExportEntries { project, after } => {
            Reply::Records(transfer::entries(by, &project, after).await?)
        }
        Command::ExportSamples { project, after } => {
            Reply::Records(transfer::samples(by, &project, after).await?)
        }
        Command::Import(batch) => Reply::Imported(transfer::import(by, batch).await?),
    })
}

fn views<T, V: From<T>>(nouns: Vec<T>) -> Vec<V> {
    nouns.into_iter().map(V::from).collect()
}

const fn done((): ()) -> Reply {
    Reply::Done
}

#[cfg(test)]
mod tests;
