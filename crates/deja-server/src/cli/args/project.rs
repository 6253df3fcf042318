//! `deja project`.

use std::collections::BTreeSet;
use std::str::FromStr;

use clap::{Args, Subcommand};
use deja_core::admin::projects::Chosen;
use deja_core::embedding::Threshold;
use deja_core::money::NanoUsd;
use deja_core::project::{ClientControl, Guard, HitUsage, OnHangup, OptIn, Tier};
use deja_core::words::UnknownWord;

use super::shared::{Form, Sure, dollars, seconds, whole};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProjectTask {
    /// Make a project; prints its slug alone on the last line
    #[command(after_help = "Example:\n  deja project create \"My team\" --tier pro")]
    Create {
        /// The name for people; the slug is made from it
        name: String,
        /// free (100 requests a minute), pro (1,000) or enterprise (10,000)
        #[arg(long, default_value = "free")]
        tier: Tier,
        /// Requests a minute, instead of the tier's
        #[arg(long, value_name = "N", value_parser = whole::<u32>)]
        rpm: Option<u32>,
        /// Requests at once, instead of the tier's
        #[arg(long, value_name = "N", value_parser = whole::<u32>)]
        burst: Option<u32>,
    },
    /// All projects, with what they saved in the last 7 days
    #[command(after_help = "Example:\n  deja project list --json")]
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Refuse the project's requests (403) from now on
    #[command(after_help = "Example:\n  deja project suspend my-team")]
    Suspend {
        /// The project
        slug: String,
    },
    /// Take a suspended project's requests again
    #[command(after_help = "Example:\n  deja project resume my-team")]
    Resume {
        /// The project
        slug: String,
    },
    /// Change a project
    #[command(after_help = "\
Example:
  deja project set my-team --tier pro --ttl 7d
  deja project set my-team --threshold 0.9 --guard strict
  deja project set my-team --opt-ins semantic_history,semantic_json

Settings that are not named stay. A new tier without --rpm or --burst brings the
tier's own limit. It prints the slug.")]
    Set(Box<Wanted>),
    /// Delete a project with its keys, cache, providers and counts
    #[command(after_help = "\
Example:
  deja project delete my-team --yes

It asks first. Where there is no terminal, it does nothing without --yes (exit code 2).")]
    Delete {
        /// The project
        slug: String,
        #[command(flatten)]
        sure: Sure,
    },
}

/// What is to change.
#[derive(Debug, Args)]
pub(in crate::cli) struct Wanted {
    /// The project
    pub(in crate::cli) slug: String,
    /// The name for people; the slug stays
    #[arg(long)]
    pub(in crate::cli) name: Option<String>,
    /// free, pro or enterprise
    #[arg(long)]
    pub(in crate::cli) tier: Option<Tier>,
    /// Requests a minute
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    pub(in crate::cli) rpm: Option<u32>,
    /// Requests at once
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    pub(in crate::cli) burst: Option<u32>,
    /// How long new answers are served: 30d, 12h, 45m, 90s, or none: as long as there is room
    #[arg(long, value_name = "TIME", value_parser = ttl)]
    pub(in crate::cli) ttl: Option<Chosen<u64>>,
    /// Entries kept at most
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(in crate::cli) max_entries: Option<u64>,
    /// Whether an answer of one model may be served for another, on /v1/cache/query. The endpoints of OpenAI, Anthropic
    /// and Gemini always compare the model
    #[arg(long, value_name = "true|false")]
    pub(in crate::cli) share_models: Option<bool>,
    /// The threshold of queries that name none: 0 to 1, or default for 0.85
    #[arg(long, value_name = "NUMBER", value_parser = threshold)]
    pub(in crate::cli) threshold: Option<Chosen<Threshold>>,
    /// The least threshold: queries that ask for less get this one: 0 to 1, or none
    #[arg(long, value_name = "NUMBER", value_parser = threshold)]
    pub(in crate::cli) minimum_threshold: Option<Chosen<Threshold>>,
    /// How strictly the guard compares the words of two prompts: off, standard, strict or thorough
    #[arg(long)]
    pub(in crate::cli) guard: Option<Guard>,
    /// Samples of queries kept at most, to tune by; 0 keeps none and deletes what is there
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(in crate::cli) samples: Option<u64>,
    /// Requests that the log keeps at most, for the console's page Requests; 0 keeps none and deletes what is there
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    pub(in crate::cli) request_log: Option<u32>,
    /// Days that the log keeps the texts of prompts, 30 at most; 0 (the default) keeps hashes only and deletes the
    /// texts that are there
    #[arg(long, value_name = "DAYS", value_parser = whole::<u32>)]
    pub(in crate::cli) request_texts_days: Option<u32>,
    /// The model that decides where the guard is uncertain, or none
    #[arg(long, value_name = "MODEL")]
    pub(in crate::cli) guard_model: Option<String>,
    /// What that model may cost a day, in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(in crate::cli) guard_budget: Option<NanoUsd>,
    /// What applications may ask of the cache in headers: none, or some of cache, threshold, context, ttl, debug and
    /// pace, with commas between
    #[arg(long, value_name = "LIST", value_parser = list::<ClientControl>)]
    pub(in crate::cli) client_controls: Option<BTreeSet<ClientControl>>,
    /// More hits on the endpoints of OpenAI, Anthropic and Gemini, each at a risk that the console's page Settings
    /// explains: none, or some of share_end_users, semantic_history, semantic_tools, store_tool_calls,
    /// semantic_json and responses_stateless, with commas between
    #[arg(long, value_name = "LIST", value_parser = list::<OptIn>)]
    pub(in crate::cli) opt_ins: Option<BTreeSet<OptIn>>,
    /// The tokens that a hit on the endpoints of OpenAI, Anthropic and Gemini reports: stored or zero
    #[arg(long, value_name = "stored|zero")]
    pub(in crate::cli) hit_usage: Option<HitUsage>,
    /// What deja does on those endpoints when all clients of a call hang up: store reads the answer on and stores it,
    /// abort ends the call
    #[arg(long, value_name = "store|abort")]
    pub(in crate::cli) on_hangup: Option<OnHangup>,
}

/// A list of words, as one argument. `none` stands alone.
fn list<T: FromStr<Err = UnknownWord> + Ord>(text: &str) -> Result<BTreeSet<T>, String> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    match words[..] {
        ["none"] => Ok(BTreeSet::new()),
        [] => Err("use none for an empty list".into()),
        _ if words.contains(&"none") => Err("use none alone, or leave it out".into()),
        _ => words.iter().map(|word| word.parse().map_err(|error: UnknownWord| error.to_string())).collect(),
    }
}

/// The one of the two words that the help of a flag names takes the setting away.
fn threshold(text: &str) -> Result<Chosen<Threshold>, String> {
    if matches!(text, "default" | "none") {
        return Ok(None.into());
    }
    let value = text.parse().ok().and_then(Threshold::new);
    value.map(|value| Some(value).into()).ok_or_else(|| "use a number between 0 and 1".into())
}

fn ttl(text: &str) -> Result<Chosen<u64>, String> {
    if text == "none" {
        return Ok(None.into());
    }
    let wanted = || "use a number with s, m, h or d, such as 30d, or none".to_owned();
    Ok(Some(seconds(text).ok_or_else(wanted)?).into())
}

#[cfg(test)]
mod tests {
    use clap::Subcommand as _;
    use deja_core::project::ProjectSettings;

    use super::*;

    #[test]
    fn each_setting_has_a_flag_or_a_command_of_its_own() {
        let command = ProjectTask::augment_subcommands(clap::Command::new("project"));
        let set = command.find_subcommand("set").unwrap();
        let flags: Vec<_> = set.get_arguments().filter_map(clap::Arg::get_long).collect();
        let all = ProjectSettings {
            default_threshold: Some(Threshold::DEFAULT),
            minimum_threshold: Some(Threshold::DEFAULT),
            guard_model: Some("m".into()),
            ..ProjectSettings::default()
        };
        let settings = serde_json::to_value(&all).unwrap();
        assert!(settings.as_object().unwrap().len() > 10);
        for setting in settings.as_object().unwrap().keys() {
            let flag = match setting.as_str() {
                "ttl_seconds" => "ttl".to_owned(),
                "default_threshold" => "threshold".to_owned(),
                // `deja price set`.
                "prices" => continue,
                other => other.replace('_', "-"),
            };
            assert!(flags.contains(&flag.as_str()), "{setting}: no --{flag} among {flags:?}");
        }
    }

    #[test]
    fn a_threshold_is_a_number_or_none() {
        assert_eq!(threshold("0.9").map(|chosen| chosen.value), Ok(Threshold::new(0.9)));
        assert_eq!(threshold("default"), Ok(None.into()));
        for text in ["", "1.1", "-0.1", "NaN", "0,9"] {
            assert!(threshold(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_have_commas_and_none_is_empty() {
        assert_eq!(list("none"), Ok(BTreeSet::<OptIn>::new()));
        assert_eq!(list("ttl, cache"), Ok([ClientControl::Cache, ClientControl::Ttl].into()));
        assert!(list::<ClientControl>("cache;ttl").is_err());
        assert_eq!(list::<ClientControl>("none,cache"), Err("use none alone, or leave it out".into()));
        for empty in ["", " ", ","] {
            assert_eq!(list::<OptIn>(empty), Err("use none for an empty list".into()));
        }
    }

    #[test]
    fn times_have_units() {
        let seconds = |text| ttl(text).map(|ttl| ttl.value);
        assert_eq!(seconds("30d"), Ok(Some(2_592_000)));
        assert_eq!(seconds("12h"), Ok(Some(43_200)));
        assert_eq!(seconds("90s"), Ok(Some(90)));
        assert_eq!(seconds("none"), Ok(None));
        for text in ["", "90", "d", "1w", "-1d", "1.5h", "99999999999999999999d", "30D", "é"] {
            assert!(ttl(text).is_err(), "{text}");
        }
    }
}
