//! `deja tune`: what other thresholds and guards would make of a project's own traffic.

use std::io::Write;

use deja_core::admin::AdminError;
use deja_core::admin::judging::{Judging, Limits};
use deja_core::admin::quality::Labellers;
use deja_core::money::NanoUsd;

use super::admin::ask;
use super::args::{Sure, TuneTask};
use super::print::{as_json, clean, percent, table};
use super::reach::Reach;
use super::transfer::unexpected;
use super::{Interrupted, unless_stopped};
use crate::commands::{Command, EstimateView, PointView, Reply, TuneView};
use crate::config::Config;
use crate::format::amount;
use crate::lifecycle::Signals;

/// Pairs that a model judges between two words of how it goes.
const AT_A_TIME: usize = 10;

pub(super) async fn tune(task: TuneTask, config: &Config, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut reach = Reach::new(config)?;
    let done = tune_with(task, &mut reach, out).await;
    reach.close().await?;
    done
}

async fn tune_with(task: TuneTask, reach: &mut Reach<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let project = task.of.project;
    let whose = if let Some(model) = &task.judge {
        judge(reach, &project, model, task.budget.unwrap_or_default(), task.sure).await?;
        Labellers::Judges
    } else {
        Labellers::People
    };
    let Reply::Tune(view) = reach.execute(Command::Tune { project: project.clone(), whose }).await? else {
        return Err(unexpected());
    };
    if task.form.json {
        as_json(&view, out)?;
    } else {
        show(&view, whose, out)?;
    }
    if !task.apply {
        return Ok(());
    }
    let none = || anyhow::anyhow!("the labels advise no setting yet: nothing is applied");
    let setting = view.advised.ok_or_else(none)?.setting;
    let question = format!("Apply threshold {}, guard {} to '{project}'?", setting.threshold, setting.guard);
    ask(task.sure, &question, "nothing was applied")?;
    reach.execute(Command::Apply { project, setting: setting.clone() }).await?;
    if !task.form.json {
        writeln!(out, "Applied: threshold {}, guard {}.", setting.threshold, setting.guard)?;
    }
    Ok(())
}

/// Has `model` judge the samples, as far as the budget goes. What it says is kept apart from what people say.
async fn judge(
    reach: &mut Reach<'_>,
    project: &str,
    model: &str,
    budget: NanoUsd,
    sure: Sure,
) -> anyhow::Result<()> {
    let (project, model) = (project.to_owned(), model.to_owned());
    let plan = Command::JudgePlan { project: project.clone(), model: model.clone() };
    let Reply::JudgePlan(plan) = reach.execute(plan).await? else { return Err(unexpected()) };
    let (pairs, cost) = (plan.pairs, amount(plan.cost.as_dollars()));
    let said = format!(
        "Pairs of prompts that {model} would judge: {pairs}, for about {cost} USD, {} USD at most.",
        budget.as_dollars()
    );
    writeln!(std::io::stderr(), "{said}")?;
    if pairs == 0 {
        return Ok(());
    }
    ask(sure, "Ask it?", "nothing was asked")?;
    let (mut signals, mut all) = (Signals::catch()?, Judging::default());
    let work = async {
        let mut limits = Limits { budget, pairs: AT_A_TIME, skip: 0 };
        loop {
            let command = Command::Judge { project: project.clone(), model: model.clone(), limits };
            let Reply::Judging(done) = reach.execute(command).await? else { return Err(unexpected()) };
            (all.asked, all.unclear) = (all.asked + done.asked, all.unclear + done.unclear);
            all.spent = all.spent.plus(done.spent);
            limits.skip += usize::try_from(done.unclear)?;
            limits.budget = limits.budget.minus(done.spent);
            if let Some(failed) = done.failed {
                return Err(AdminError::Failed(failed).into());
            }
            if !done.more {
                return Ok(());
            }
        }
    };
    let left = "what it judged is kept; a running server may yet ask for the ten pairs under way, which the figures \
                above lack";
    let judged = unless_stopped(&mut signals, left, work).await;
    let Judging { asked, unclear, spent, .. } = all;
    if asked == 0 && judged.as_ref().is_err_and(|error| !error.is::<Interrupted>()) {
        return judged;
    }
    let spent = amount(spent.as_dollars());
    writeln!(std::io::stderr(), "Pairs judged: {asked}, {unclear} of them unclear, for {spent} USD.")?;
    judged
}

fn show(view: &TuneView, whose: Labellers, out: &mut dyn Write) -> anyhow::Result<()> {
    let since = view.since.map_or_else(|| "never".into(), |since| since.to_string());
    let whose = match whose {
        Labellers::People => "people",
        Labellers::Judges => "a model",
    };
    let wrong = view.wrong.map_or_else(
        || "not known: nobody has labelled a hit".into(),
        |wrong| format!("{} ({})", percent(Some(wrong.share)), interval(wrong)),
    );
    for (what, value) in [
        ("project", clean(&view.project)),
        ("counted since", since),
        ("answered", view.answered.to_string()),
        ("samples", format!("{}, {} with a label of {whose}", view.samples, view.labels)),
        ("in force", format!("threshold {}, guard {}", view.present.threshold, view.present.guard)),
        ("hit rate", percent(Some(view.hit_rate))),
        ("wrong hits", wrong),
        ("not English, code, long", percent(Some(view.by_proof_only))),
    ] {
        writeln!(out, "{what:<24} {value}")?;
    }
    writeln!(out)?;
    let head = ["THRESHOLD", "GUARD", "HIT RATE", "RIGHT", "95 % INTERVAL", "SAVED USD", ""];
    let rows = view.curve.iter().filter(|point| is_shown(view, point)).map(|point| row(view, point));
    table(head, &[0, 2, 3, 4, 5], rows, out)?;
    writeln!(out)?;
    let told = match &view.advised {
        Some(point) if point.setting == view.present => "The setting in force is the one to have.".to_owned(),
        Some(PointView { setting, .. }) => {
            let (threshold, guard) = (setting.threshold, &setting.guard);
            format!("Advised: threshold {threshold}, guard {guard}. To apply it, add --apply.")
        }
        None => "Too few labels to advise a setting: label samples on the console's page Quality.".to_owned(),
    };
    Ok(writeln!(out, "{told}")?)
}

/// Steps of 0.05, the last one, and what is in force or advised.
fn is_shown(view: &TuneView, point: &PointView) -> bool {
    let hundredths = (point.setting.threshold * 100.0).round() as u32;
    hundredths.is_multiple_of(5) || hundredths == 99 || !mark(view, point).is_empty()
}

fn mark(view: &TuneView, point: &PointView) -> &'static str {
    let advised = view.advised.as_ref().is_some_and(|advised| advised.setting == point.setting);
    match (point.setting == view.present, advised) {
        (true, true) => "in force, advised",
        (true, false) => "in force",
        (false, true) => "advised",
        (false, false) => "",
    }
}

fn row(view: &TuneView, point: &PointView) -> [String; 7] {
    [
        format!("{:.2}", point.setting.threshold),
        point.setting.guard.clone(),
        percent(Some(point.hit_rate)),
        percent(point.precision.map(|right| right.share)),
        point.precision.map_or_else(|| "-".into(), interval),
        amount(point.saved_usd),
        mark(view, point).into(),
    ]
}

fn interval(estimate: EstimateView) -> String {
    format!("{} to {}", percent(Some(estimate.low)), percent(Some(estimate.high)))
}
