//! Commands about projects, keys, providers, prices and caches: arguments in, a table or JSON out.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Read as _, Write};

use anyhow::Context as _;
use deja_core::admin::audit::AuditQuery;
use deja_core::admin::keys::KeyWish;
use deja_core::admin::projects::{NewProject, ProjectPatch};
use deja_core::admin::providers::NewProvider;
use deja_core::admin::{AdminError, Hidden};
use deja_core::clock::{Clock as _, SystemClock, TimeRange};

use super::args::{
    AdminTask, AuditTask, CacheTask, KeyTask, MemberTask, OperatorTask, PastTime, PriceTask, ProjectTask,
    ProviderTask, SecretFrom, Sure, TokenTask,
};
use super::{print, reach, transfer, unless_stopped};
use crate::commands::{Command, ContextFilter, Reply};
use crate::config::Config;
use crate::lifecycle::Signals;

/// A secret is shorter; more is not a secret.
const MAX_SECRET_BYTES: u64 = 64 * 1024;
const NOT_DELETED: &str = "nothing was deleted";
const PURGE_ENDED: &str =
    "a running server goes on; without one, what is deleted by now is, and a second purge deletes the rest";

pub(super) async fn run(
    task: AdminTask,
    config: &Config,
    env: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (command, json) = match task {
        AdminTask::Project(task) => project(task)?,
        AdminTask::Key(task) => key(task),
        AdminTask::Provider(task) => provider(task, env)?,
        AdminTask::Price(task) => price(task),
        AdminTask::Cache(task) => cache(task)?,
        AdminTask::Operator(task) => operator(task)?,
        AdminTask::Member(task) => member(task),
        AdminTask::Token(task) => token(task),
        AdminTask::Audit(AuditTask::List { project, action, actor, from, until, before, limit, form }) => {
            let at = |since: Option<PastTime>| since.map(|since| since.moment(SystemClock.now()));
            let within = TimeRange { from: at(from), until: at(until) };
            let wanted = AuditQuery { project, action, actor, within };
            (Command::AuditList { wanted, before, limit }, form.json)
        }
    };
    let reply = match &command {
        Command::CachePurge { project, .. } => {
            let project = project.clone();
            let left = async || {
                let stats = Command::CacheStats { project: project.clone() };
                match reach::execute_somewhere(config, stats).await {
                    Ok(Reply::Cache(cache)) => Some(cache.entries),
                    _ => None,
                }
            };
            let template = "{spinner} {human_pos} entries are left, {elapsed}";
            let work = reach::execute_somewhere(config, command);
            let purged = transfer::watched(work, None, template, left);
            unless_stopped(&mut Signals::catch()?, PURGE_ENDED, purged).await
        }
        _ => reach::execute_somewhere(config, command).await,
    }?;
    print::reply(&reply, json, out)
}

fn project(task: ProjectTask) -> anyhow::Result<(Command, bool)> {
    Ok(match task {
        ProjectTask::Create { name, tier, rpm, burst } => {
            (Command::ProjectCreate(NewProject { name, tier, per_minute: rpm, burst }), false)
        }
        ProjectTask::List { form } => (Command::ProjectList, form.json),
        ProjectTask::Suspend { slug } => (Command::ProjectSuspend { project: slug }, false),
        ProjectTask::Resume { slug } => (Command::ProjectResume { project: slug }, false),
        ProjectTask::Set(wanted) => {
            let patch = ProjectPatch {
                name: wanted.name,
                tier: wanted.tier,
                per_minute: wanted.rpm,
                burst: wanted.burst,
                ttl: wanted.ttl,
                max_entries: wanted.max_entries,
                share_models: wanted.share_models,
                default_threshold: wanted.threshold,
                minimum_threshold: wanted.minimum_threshold,
                guard: wanted.guard,
                samples: wanted.samples,
                request_log: wanted.request_log.map(u64::from),
                request_texts_days: wanted.request_texts_days.map(u64::from),
                guard_model: wanted
                    .guard_model
                    .map(|model| if model == "none" { String::new() } else { model }),
                guard_budget: wanted.guard_budget,
                client_controls: wanted.client_controls,
                opt_ins: wanted.opt_ins,
                hit_usage: wanted.hit_usage,
                on_hangup: wanted.on_hangup,
            };
            (Command::ProjectSet { project: wanted.slug, patch }, false)
        }
        ProjectTask::Delete { slug, sure } => {
            let question = format!("Delete the project '{slug}' with its keys, cache, providers and counts?");
            ask(sure, &question, NOT_DELETED)?;
            (Command::ProjectDelete { project: slug }, false)
        }
    })
}

fn key(task: KeyTask) -> (Command, bool) {
    match task {
        KeyTask::Create { of, name, models, expires, rpm, burst } => {
            let wish = KeyWish { name, models, expires, per_minute: rpm, burst };
            (Command::KeyCreate { project: of.project, wish }, false)
        }
        KeyTask::List { of, form } => (Command::KeyList { project: of.project }, form.json),
        KeyTask::Revoke { key, project } => (Command::KeyRevoke { key: Hidden::from(key), project }, false),
    }
}

fn provider(task: ProviderTask, env: &BTreeMap<String, String>) -> anyhow::Result<(Command, bool)> {
    Ok(match task {
        ProviderTask::Add { of, name, kind, base_url, models, secret, allow_private } => {
            let secret = read_secret(secret, env)?;
            let project = of.project;
            let new = NewProvider { project, name, kind, base_url, models, secret, allow_private };
            (Command::ProviderAdd(new), false)
        }
        ProviderTask::List { of, form } => (Command::ProviderList { project: of.project }, form.json),
        ProviderTask::Remove { of, name } => (Command::ProviderRemove { project: of.project, name }, false),
    })
}

fn price(task: PriceTask) -> (Command, bool) {
    match task {
        PriceTask::Set { of, model, input, output } => {
            (Command::PriceSet { project: of.project, model, input, output }, false)
        }
        PriceTask::Unset { of, model } => (Command::PriceUnset { project: of.project, model }, false),
        PriceTask::Show { model, project, form } => (Command::PriceShow { model, project }, form.json),
        PriceTask::Refresh { form } => (Command::PriceRefresh, form.json),
    }
}

fn cache(task: CacheTask) -> anyhow::Result<(Command, bool)> {
    Ok(match task {
        CacheTask::Purge { of, model, context, no_context, sure } => {
            let all = if model.is_none() && context.is_none() && !no_context { "all" } else { "these" };
            let question = format!("Delete {all} stored answers of the project '{}'?", of.project);
            ask(sure, &question, NOT_DELETED)?;
            let context = match context {
                Some(text) => ContextFilter::Is(text),
                None if no_context => ContextFilter::Without,
                None => ContextFilter::Any,
            };
            (Command::CachePurge { project: of.project, model, context }, false)
        }
        CacheTask::Stats { of, form } => (Command::CacheStats { project: of.project }, form.json),
    })
}

fn operator(task: OperatorTask) -> anyhow::Result<(Command, bool)> {
    Ok(match task {
        OperatorTask::Create { email, role, password_stdin } => {
            let text = password_stdin.then(secret_on_stdin).transpose();
            let text = text.context("the password cannot be read from standard input")?;
            (Command::OperatorCreate { email, role, password: text.map(Hidden::from) }, false)
        }
        OperatorTask::List { form } => (Command::OperatorList, form.json),
        OperatorTask::ResetPassword { email } => (Command::OperatorResetPassword { email }, false),
        OperatorTask::RemoveSecondFactor { email } => (Command::OperatorRemoveSecondFactor { email }, false),
    })
}

fn member(task: MemberTask) -> (Command, bool) {
    match task {
        MemberTask::List { of, form } => (Command::MemberList { project: of.project }, form.json),
        MemberTask::Set { of, whose, rank } => {
            (Command::MemberSet { project: of.project, email: whose.operator, rank }, false)
        }
        MemberTask::Remove { of, whose } => {
            (Command::MemberRemove { project: of.project, email: whose.operator }, false)
        }
    }
}

fn token(task: TokenTask) -> (Command, bool) {
    match task {
        TokenTask::Create { whose, name, expires } => {
            (Command::TokenCreate { email: whose.operator, name, expires }, false)
        }
        TokenTask::List { whose, form } => (Command::TokenList { email: whose.operator }, form.json),
        TokenTask::Revoke { whose, token } => {
            (Command::TokenRevoke { email: whose.operator, token: Hidden::from(token) }, false)
        }
    }
}

/// Asks at a terminal; elsewhere the answer has to be on the command line. `undone` says what was not done after a "no".
pub(super) fn ask(sure: Sure, question: &str, undone: &str) -> anyhow::Result<()> {
    if sure.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(AdminError::Invalid(format!("{undone}: add --yes to say that you mean it")).into());
    }
    write!(io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => anyhow::bail!("{undone}"),
    }
}

fn read_secret(from: SecretFrom, env: &BTreeMap<String, String>) -> anyhow::Result<Option<Hidden>> {
    let invalid = |text: String| anyhow::Error::from(AdminError::Invalid(text));
    let text = if let Some(variable) = from.key_env {
        let unset = || invalid(format!("the variable {variable} (--key-env) is not set"));
        env.get(&variable).cloned().ok_or_else(unset)?
    } else if let Some(path) = from.key_file {
        let file = std::fs::read_to_string(&path);
        file.map_err(|error| {
            invalid(format!("the file {} (--key-file) cannot be read: {error}", path.display()))
        })?
    } else if from.key_stdin {
        secret_on_stdin().context("the key cannot be read from standard input")?
    } else {
        return Ok(None);
    };
    if text.trim().is_empty() {
        return Err(invalid("the key is empty: give one, or leave the option out".into()));
    }
    Ok(Some(Hidden::from(text)))
}

/// The secret on standard input. It can be read once.
fn secret_on_stdin() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().take(MAX_SECRET_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
