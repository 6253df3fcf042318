//! `deja project`.

use std::collections::BTreeSet;
use std::str::FromStr;

use clap::Subcommand;
use deja_core::admin::projects::Ttl;
use deja_core::money::NanoUsd;
use deja_core::project::{ClientControl, Guard, HitUsage, OnHangup, OptIn, Tier, UnknownChoice};

use super::shared::{Form, Sure};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProjectTask {
    /// Make a project; prints its slug alone on the last line
    #[command(after_help = "Example:\n  deja project create \"My team\" --tier pro")]
    Create {
        /// The name for people; the slug is made from it
        name: String,
        /// free (100 requests a minute), pro (1,000) or enterprise (10,000)
        #[arg(long, default_value = "free", value_parser = tier)]
        tier: Tier,
        /// Requests a minute, instead of the tier's
        #[arg(long, value_name = "N")]
        rpm: Option<u32>,
        /// Requests at once, instead of the tier's
        #[arg(long, value_name = "N")]
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

A new tier without --rpm or --burst brings the tier's own limit.")]
    Set {
        /// The project
        slug: String,
        /// The name for people; the slug stays
        #[arg(long)]
        name: Option<String>,
        /// free, pro or enterprise
        #[arg(long, value_parser = tier)]
        tier: Option<Tier>,
        /// Requests a minute
        #[arg(long, value_name = "N")]
        rpm: Option<u32>,
        /// Requests at once
        #[arg(long, value_name = "N")]
        burst: Option<u32>,
        /// How long new answers are served: 30d, 12h, 45m, 90s, or none for as long as there is room
        #[arg(long, value_name = "TIME", value_parser = ttl)]
        ttl: Option<Ttl>,
        /// Entries kept at most
        #[arg(long, value_name = "N")]
        max_entries: Option<u64>,
        /// Whether an answer of one model may be served for another
        #[arg(long, value_name = "true|false")]
        share_models: Option<bool>,
        /// How strictly a similar prompt is judged by its words: off, standard or strict
        #[arg(long, value_parser = guard)]
        guard: Option<Guard>,
        /// Samples of queries kept at most, to tune by; 0 keeps none and deletes what is there
        #[arg(long, value_name = "N")]
        samples: Option<u64>,
        /// Requests that the log keeps at most, for the console's page Requests; 0 keeps none and deletes what is there
        #[arg(long, value_name = "N")]
        request_log: Option<u32>,
        /// Days that the log keeps the texts of prompts, 30 at most; 0, as at first, keeps hashes only and deletes the
        /// texts that are there
        #[arg(long, value_name = "DAYS")]
        request_texts_days: Option<u32>,
        /// The model that decides where the guard is uncertain, or none
        #[arg(long, value_name = "MODEL")]
        guard_model: Option<String>,
        /// What asking it may cost a day, in US dollars
        #[arg(long, value_name = "USD", value_parser = dollars)]
        guard_budget: Option<NanoUsd>,
        /// What applications may ask of the cache in headers: none, or of cache, threshold, context, ttl, debug and
        /// pace, with commas between
        #[arg(long, value_name = "LIST", value_parser = list::<ClientControl>)]
        client_controls: Option<Words<ClientControl>>,
        /// More hits on the endpoints of OpenAI, Anthropic and Gemini, each at a risk that the console's page Settings
        /// explains: none, or of share_end_users, semantic_history, semantic_tools, store_tool_calls,
        /// semantic_json and responses_stateless, with commas between
        #[arg(long, value_name = "LIST", value_parser = list::<OptIn>)]
        opt_ins: Option<Words<OptIn>>,
        /// The tokens that a hit on those endpoints reports: stored or zero
        #[arg(long, value_name = "stored|zero")]
        hit_usage: Option<HitUsage>,
        /// What becomes of an answer there when all who wait for it hang up: store or abort
        #[arg(long, value_name = "store|abort")]
        on_hangup: Option<OnHangup>,
    },
    /// Delete a project with its keys, cache, providers and counts
    #[command(after_help = "Example:\n  deja project delete my-team --yes")]
    Delete {
        /// The project
        slug: String,
        #[command(flatten)]
        sure: Sure,
    },
}

fn tier(text: &str) -> Result<Tier, String> {
    text.parse()
}

fn dollars(text: &str) -> Result<NanoUsd, String> {
    let amount = text.parse().ok().and_then(NanoUsd::from_dollars);
    amount.ok_or_else(|| "use an amount of US dollars, such as 0.50".into())
}

/// A list of words, as one argument.
pub(in crate::cli) type Words<T> = BTreeSet<T>;

fn list<T: FromStr<Err = UnknownChoice> + Ord>(text: &str) -> Result<Words<T>, UnknownChoice> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty() && *word != "none");
    words.map(str::parse).collect()
}

fn guard(text: &str) -> Result<Guard, String> {
    text.parse()
}

fn ttl(text: &str) -> Result<Ttl, String> {
    if text == "none" {
        return Ok(Ttl { seconds: None });
    }
    let wanted = || "use a number with s, m, h or d, such as 30d, or none".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err(wanted()),
    };
    let number: u64 = digits.parse().map_err(|_| wanted())?;
    Ok(Ttl { seconds: Some(number.checked_mul(unit).ok_or_else(wanted)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_commas_and_none_is_empty() {
        assert_eq!(list("none"), Ok(Words::<OptIn>::new()));
        assert_eq!(list("ttl, cache"), Ok([ClientControl::Cache, ClientControl::Ttl].into()));
        assert!(list::<ClientControl>("cache;ttl").is_err());
    }

    #[test]
    fn times_have_units() {
        let seconds = |text| ttl(text).map(|ttl| ttl.seconds);
        assert_eq!(seconds("30d"), Ok(Some(2_592_000)));
        assert_eq!(seconds("12h"), Ok(Some(43_200)));
        assert_eq!(seconds("90"), Ok(Some(90)));
        assert_eq!(seconds("none"), Ok(None));
        for text in ["", "d", "1w", "-1d", "1.5h", "99999999999999999999d", "30D", "é"] {
            assert!(ttl(text).is_err(), "{text}");
        }
    }
}
