//! How answers look: aligned tables for people, JSON for scripts. What scripts take from commands that make
//! something (a slug, a key) stands alone on the last line.

use std::io::Write;

use anyhow::Context;
use deja_core::admin::Hidden;
use serde::Serialize;

use super::transfer::unexpected;
use crate::commands::{
    AuditView, CacheView, KeyView, MemberView, OperatorView, PriceTableView, PriceView, ProjectView,
    ProviderView, RatesView, Reply, TokenView, TotalsView,
};
use crate::format;

pub(super) fn reply(reply: &Reply, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    match reply {
        Reply::Project(project) => Ok(writeln!(out, "{}", project.slug)?),
        Reply::Projects(list) => either(&list[..], json, projects, out),
        Reply::KeyCreated { key, view } => {
            let name = clean(&view.name);
            once(key, &format!("The key '{name}' is shown this once; only a hash of it is kept."), out)
                .with_context(|| format!("the key {} was made but not printed; revoke it", view.prefix))
        }
        Reply::Keys(list) => either(&list[..], json, keys, out),
        Reply::KeyRevoked(key) => {
            Ok(writeln!(out, "Revoked {} ({}, {}).", key.prefix, clean(&key.name), key.id)?)
        }
        Reply::Provider(provider) => Ok(writeln!(out, "Added {} ({}).", provider.name, provider.base_url)?),
        Reply::Providers(list) => either(&list[..], json, providers, out),
        Reply::Price(view) => either(view, json, price, out),
        Reply::PriceTable { changed, table } if json => {
            as_json(&serde_json::json!({ "changed": changed, "table": table }), out)
        }
        Reply::PriceTable { changed, table } => price_table(*changed, table, out),
        Reply::Purged { entries: 1 } => Ok(writeln!(out, "Deleted 1 entry.")?),
        Reply::Purged { entries } => Ok(writeln!(out, "Deleted {entries} entries.")?),
        Reply::Cache(view) => either(view, json, cache, out),
        Reply::Operator(operator) => {
            Ok(writeln!(out, "{} is an operator ({}).", clean(&operator.email), operator.role)?)
        }
        Reply::Operators(list) => either(&list[..], json, operators, out),
        Reply::Link(link) => {
            writeln!(out, "This link works once, until {}. Whoever has it gets in.", link.expires)?;
            Ok(writeln!(out, "{}", link.url.expose())?)
        }
        Reply::Member(member) => {
            Ok(writeln!(out, "{} is {} in the project.", clean(&member.email), member.rank)?)
        }
        Reply::Members(list) => either(&list[..], json, members, out),
        Reply::TokenCreated { token, view } => {
            let (name, expires) = (clean(&view.name), view.expires);
            once(token, &format!("The token '{name}' is shown this once and works until {expires}."), out)
                .with_context(|| format!("the token {} was made but not printed; revoke it", view.prefix))
        }
        Reply::Tokens(list) => either(&list[..], json, tokens, out),
        Reply::TokenRevoked(token) => {
            Ok(writeln!(out, "Revoked {} ({}).", token.prefix, clean(&token.name))?)
        }
        Reply::Audit(list) => either(&list[..], json, audit, out),
        Reply::Done => Ok(writeln!(out, "Done.")?),
        // Answers to commands that print for themselves.
        Reply::Tune(_) | Reply::JudgePlan(_) | Reply::Judging(_) | Reply::Records(_) | Reply::Imported(_) => {
            Err(unexpected())
        }
    }
}

/// As JSON, or as `text` writes it.
fn either<T: Serialize + ?Sized>(
    value: &T,
    json: bool,
    text: fn(&T, &mut dyn Write) -> anyhow::Result<()>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if json { as_json(value, out) } else { text(value, out) }
}

/// A secret alone on its line; what is said of it goes elsewhere, so that `KEY=$(deja key create ...)` is the key.
fn once(secret: &Hidden, said: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    // The secret must come out, even where nobody reads what is said of it.
    let _nowhere_to_say_it = writeln!(std::io::stderr(), "{said}");
    Ok(writeln!(out, "{}", secret.expose())?)
}

pub(super) fn as_json(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    Ok(writeln!(out)?)
}

fn projects(list: &[ProjectView], out: &mut dyn Write) -> anyhow::Result<()> {
    let head =
        ["SLUG", "NAME", "TIER", "PER MINUTE", "BURST", "STATE", "REQUESTS 7D", "HIT RATE", "SAVED USD"];
    let rows = list.iter().map(|project| {
        let week = project.week.unwrap_or_default();
        [
            project.slug.clone(),
            clean(&project.name),
            project.tier.clone(),
            project.requests_per_minute.to_string(),
            project.burst.to_string(),
            project.state.clone(),
            week.requests.to_string(),
            percent(week.hit_rate),
            known(week.saved_usd, week.unpriced).unwrap_or_else(|| NO_PRICE.into()),
        ]
    });
    table(head, &[3, 4, 6, 7, 8], rows, out)
}

fn keys(list: &[KeyView], out: &mut dyn Write) -> anyhow::Result<()> {
    let head = [
        "PREFIX", "ID", "NAME", "MODELS", "PER MINUTE", "CREATED", "EXPIRES", "LAST USED", "REQUESTS",
        "STATUS",
    ];
    let rows = list.iter().map(|key| {
        [
            key.prefix.clone(),
            key.id.clone(),
            clean(&key.name),
            key.models.as_ref().map_or_else(|| "all".into(), |models| clean(&models.join(","))),
            key.requests_per_minute.map_or_else(|| "-".into(), |rate| rate.to_string()),
            key.created.to_string(),
            key.expires.map_or_else(|| "never".into(), |at| at.to_string()),
            key.last_used.map_or_else(|| "never".into(), |at| at.to_string()),
            key.requests.to_string(),
            key.status.clone(),
        ]
    });
    table(head, &[4, 8], rows, out)
}

fn providers(list: &[ProviderView], out: &mut dyn Write) -> anyhow::Result<()> {
    let head = ["NAME", "KIND", "BASE URL", "MODELS", "KEY", "PRIVATE", "CREATED"];
    let yes = |is| String::from(if is { "yes" } else { "no" });
    let rows = list.iter().map(|provider| {
        [
            provider.name.clone(),
            provider.kind.to_string(),
            provider.base_url.clone(),
            clean(&provider.models.join(",")),
            yes(provider.has_secret),
            yes(provider.allow_private),
            provider.created.to_string(),
        ]
    });
    table(head, &[], rows, out)
}

fn operators(list: &[OperatorView], out: &mut dyn Write) -> anyhow::Result<()> {
    let head = ["EMAIL", "ROLE", "STATE", "CREATED"];
    let rows = list.iter().map(|operator| {
        let created = operator.created.to_string();
        [clean(&operator.email), operator.role.clone(), operator.state.clone(), created]
    });
    table(head, &[], rows, out)
}

fn members(list: &[MemberView], out: &mut dyn Write) -> anyhow::Result<()> {
    let rows = list.iter().map(|member| [clean(&member.email), member.rank.to_string()]);
    table(["EMAIL", "RANK"], &[], rows, out)
}

fn tokens(list: &[TokenView], out: &mut dyn Write) -> anyhow::Result<()> {
    let head = ["PREFIX", "NAME", "CREATED", "EXPIRES", "LAST USED"];
    let rows = list.iter().map(|token| {
        [
            token.prefix.clone(),
            clean(&token.name),
            token.created.to_string(),
            token.expires.to_string(),
            token.last_used.map_or_else(|| "never".into(), |at| at.to_string()),
        ]
    });
    table(head, &[], rows, out)
}

fn audit(list: &[AuditView], out: &mut dyn Write) -> anyhow::Result<()> {
    let head = ["AT", "BY", "ACTION", "PROJECT", "SUBJECT", "DETAIL"];
    let rows = list.iter().map(|row| {
        let project = row.project.clone().unwrap_or_default();
        [
            row.at.to_string(),
            clean(&row.actor),
            row.action.clone(),
            project,
            clean(&row.subject),
            clean(&row.detail),
        ]
    });
    table(head, &[], rows, out)
}

fn price(view: &PriceView, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{}: {}, US dollars per million tokens", clean(&view.model), rates(&view.rates))?;
    for long in &view.above {
        writeln!(out, "  with more than {} input tokens: {}", long.tokens, rates(&long.rates))?;
    }
    if view.origin == "override" {
        return Ok(writeln!(out, "  the project's own price, set for {}", clean(&view.key))?);
    }
    Ok(writeln!(out, "  found as {} in the price table {}", clean(&view.key), named(&view.table))?)
}

fn rates(of: &RatesView) -> String {
    let known = [
        ("in", Some(of.input)),
        ("out", Some(of.output)),
        ("cache read", of.cache_read),
        ("cache write", of.cache_write),
        ("cache write for an hour", of.cache_write_1h),
    ];
    let told = known.iter().filter_map(|(what, rate)| rate.map(|rate| format!("{rate} {what}")));
    told.collect::<Vec<_>>().join(", ")
}

fn price_table(changed: bool, table: &PriceTableView, out: &mut dyn Write) -> anyhow::Result<()> {
    let state = if changed { "New prices" } else { "The prices have not changed" };
    Ok(writeln!(out, "{state}: {} models, from {}", table.models, named(table))?)
}

fn named(table: &PriceTableView) -> String {
    let revision = table.revision.as_deref().unwrap_or("of unknown date");
    let fetched = table.fetched.map_or_else(String::new, |at| format!(", fetched {at}"));
    format!("{} ({}{fetched})", clean(&table.source), clean(revision))
}

fn cache(view: &CacheView, out: &mut dyn Write) -> anyhow::Result<()> {
    let TotalsView {
        requests,
        exact_hits,
        semantic_hits,
        misses,
        passed,
        errors,
        refused,
        rate_limited,
        hit_rate,
        saved_usd,
        spent_usd,
        unpriced,
    } = view.week;
    let amount =
        |usd| known(usd, unpriced).map_or_else(|| NO_PRICE.into(), |dollars| format!("{dollars} USD"));
    let ttl = view.ttl_seconds.map_or_else(|| "none".into(), time);
    let lines = [
        ("entries", format!("{} of at most {}", view.entries, view.max_entries)),
        ("time to live", ttl),
        ("requests, 7 days", requests.to_string()),
        ("exact hits", exact_hits.to_string()),
        ("semantic hits", semantic_hits.to_string()),
        ("misses", misses.to_string()),
        ("passed on", passed.to_string()),
        ("errors", errors.to_string()),
        ("refused", refused.to_string()),
        ("over the limit", rate_limited.to_string()),
        ("hit rate", percent(hit_rate)),
        ("saved", amount(saved_usd)),
        ("spent", amount(spent_usd)),
        ("without a price", unpriced.to_string()),
    ];
    let not_embedded =
        view.not_embedded.map(|of| ("not embedded", format!("{} waiting, {} failed", of.waiting, of.failed)));
    for (what, value) in lines.into_iter().chain(not_embedded) {
        writeln!(out, "{what:<17} {value}")?;
    }
    Ok(())
}

/// So many seconds, in the words of `--ttl`: `30d`.
fn time(seconds: u64) -> String {
    let units = [(24 * 3600, "d"), (3600, "h"), (60, "m")];
    let (unit, name) = units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit)).unwrap_or((1, "s"));
    format!("{}{name}", seconds / unit)
}

/// Columns as wide as their widest cell. Columns in `right` hold numbers.
pub(super) fn table<const N: usize>(
    head: [&str; N],
    right: &[usize],
    rows: impl Iterator<Item = [String; N]>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut all = vec![head.map(String::from)];
    all.extend(rows);
    let mut widths = [0; N];
    for row in &all {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    for row in &all {
        let cells = row.iter().zip(widths).enumerate();
        let line: Vec<String> = cells
            .map(
                |(at, (cell, width))| {
                    if right.contains(&at) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                },
            )
            .collect();
        writeln!(out, "{}", line.join("  ").trim_end())?;
    }
    Ok(())
}

pub(super) fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".into(), |rate| format!("{:.1} %", rate * 100.0))
}

/// What stands where an amount is not known.
const NO_PRICE: &str = "no price";

/// An amount over answers of which `unpriced` had no known price. If some had none, zero is not known to be zero.
fn known(amount: f64, unpriced: u64) -> Option<String> {
    (amount > 0.0 || unpriced == 0).then(|| format::amount(amount))
}

/// Text of others, without what would move a terminal's cursor.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_that_is_not_zero_does_not_look_like_it() {
        let told =
            [0.0, 0.000_000_005, 0.000_011_7, 0.000_58, 3.456, 12_345.6].map(|amount| known(amount, 0));
        let wanted = ["0.00", "0.000000005", "0.0000117", "0.00058", "3.46", "12,346"];
        assert_eq!(told, wanted.map(|text| Some(text.to_owned())));
        assert_eq!(known(0.0, 1), None);
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "1"], ["über", "12345"]].map(|row| row.map(String::from));
        let mut out = Vec::new();
        table(["NAME", "N"], &[1], rows.into_iter(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "NAME      N\na         1\nüber  12345\n");
    }
}
