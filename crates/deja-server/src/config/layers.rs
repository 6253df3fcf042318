//! The four layers of settings, as texts and numbers that are not checked yet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use config::{ConfigError as LayerError, FileFormat, Value};
use serde::{Deserialize, Serialize};
use url::Url;

use super::ConfigError;

static DEFAULTS: &str = include_str!("../../../../config.default.toml");
/// Read if it is there and no other file was named.
const USUAL_FILE: &str = "deja.toml";
const PREFIX: &str = "DEJA_";
/// The names under which the documents and the console keep an API key and an access token for clients.
const OF_CLIENTS: [&str; 2] = ["DEJA_KEY", "DEJA_TOKEN"];
/// From this likeness on (Jaro-Winkler, 0 to 1) a name is taken for a misspelling of another.
const NEAR: f64 = 0.85;

/// Where settings come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file named with `--config`. Without one, `deja.toml` in `directory` is read if it is there.
    pub file: Option<PathBuf>,
    /// The working directory.
    pub directory: PathBuf,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// Flags, by the name of the setting.
    pub flags: BTreeMap<&'static str, String>,
}

impl Sources {
    /// The settings file, if there is one.
    pub fn path(&self) -> Option<PathBuf> {
        let usual = || {
            let usual = self.directory.join(USUAL_FILE);
            // A link counts even if its file is not there yet: a volume may be mounted late. A directory that may not be entered
            // has no settings file.
            usual.symlink_metadata().is_ok().then_some(usual)
        };
        self.file.clone().or_else(usual)
    }

    /// A line for each variable with deja's prefix that is none of its settings. Not an error: others use the prefix
    /// too, such as Kubernetes for what it tells of a service called `deja`.
    pub fn warnings(&self) -> Result<Vec<String>, ConfigError> {
        let defaults = parse(DEFAULTS, "config.default.toml")?;
        let known: Vec<String> = defaults.keys().map(|name| variable_of(name)).collect();
        let ours = self.env.keys().filter(|variable| variable.starts_with(PREFIX));
        let ours = ours.filter(|variable| !OF_CLIENTS.contains(&variable.as_str()));
        let unknown = ours.filter(|variable| !known.contains(variable));
        let told = |variable: &String| {
            format!("unknown variable {variable} is ignored{}", nearest(variable, known.iter().cloned()))
        };
        Ok(unknown.map(told).collect())
    }
}

/// Every setting as written, by its name. No `Debug`: some are secrets.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub(super) listen: String,
    pub(super) data_dir: String,
    #[serde(skip_serializing)]
    pub(super) database_url: String,
    pub(super) database_pool_size: u64,
    pub(super) database_connect_timeout_ms: u64,
    pub(super) database_acquire_timeout_ms: u64,
    pub(super) database_timeout_ms: u64,
    pub(super) database_bulk_timeout_s: u64,
    pub(super) search_timeout_ms: u64,
    pub(super) database_graph_from: u64,
    pub(super) public_url: String,
    pub(super) trusted_proxies: String,
    pub(super) metrics_listen: String,
    #[serde(skip_serializing)]
    pub(super) master_key: String,
    pub(super) log: String,
    pub(super) log_format: String,
    pub(super) otlp_endpoint: String,
    pub(super) prices_url: String,
    pub(super) prices_refresh_hours: u64,
    pub(super) embedder: String,
    pub(super) embedder_model: String,
    #[serde(skip_serializing)]
    pub(super) embedder_api_key: String,
    pub(super) embedder_dimensions: u64,
    pub(super) embedder_window: u64,
    pub(super) embed_threads: u64,
    pub(super) embed_queue: u64,
    pub(super) embed_timeout_ms: u64,
    pub(super) max_prompt_bytes: u64,
    pub(super) max_context_bytes: u64,
    pub(super) max_body_bytes: u64,
    pub(super) query_timeout_s: u64,
    pub(super) wire_max_body_bytes: u64,
    pub(super) wire_max_bytes_in_flight: u64,
    pub(super) wire_min_body_bytes_per_s: u64,
    pub(super) answer_cache_mb: u64,
    pub(super) header_timeout_ms: u64,
    pub(super) body_timeout_ms: u64,
    pub(super) idle_timeout_s: u64,
    pub(super) write_timeout_s: u64,
    pub(super) stream_keep_alive_ms: u64,
    pub(super) shutdown_delay_s: u64,
    pub(super) shutdown_timeout_s: u64,
    pub(super) max_connections: u64,
    pub(super) upstream_connect_timeout_ms: u64,
    pub(super) upstream_timeout_s: u64,
    pub(super) upstream_idle_timeout_s: u64,
    pub(super) upstream_total_timeout_s: u64,
    pub(super) upstream_max_attempts: u64,
    pub(super) hangup_timeout_s: u64,
    pub(super) upstream_max_response_bytes: u64,
    pub(super) upstream_max_bytes_in_flight: u64,
    pub(super) upstream_max_in_flight: u64,
    pub(super) upstream_max_in_flight_per_project: u64,
    /// The environment's names that are not deja's own.
    #[serde(skip)]
    pub(super) foreign: BTreeMap<String, String>,
}

/// Settings that are never shown.
const SECRET: [&str; 3] = ["database_url", "master_key", "embedder_api_key"];
/// Settings that are not shown in a complaint: the value may have a password in it, or be a key in the wrong place.
const QUIET: [&str; 4] = ["public_url", "prices_url", "otlp_endpoint", "embedder"];
const FOREIGN: [&str; 14] = [
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY",
    "GOOGLE_API_KEY", "GEMINI_BASE_URL", OTLP_ENDPOINT, "HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
    "http_proxy", "ALL_PROXY", "all_proxy",
];
/// Where calls go out, each by its two names. The HTTP client reads the second one only where the first one is not set.
pub(super) const PROXIES: [[&str; 2]; 3] =
    [["HTTPS_PROXY", "https_proxy"], ["HTTP_PROXY", "http_proxy"], ["ALL_PROXY", "all_proxy"]];
/// Where spans go, by the name that all of OpenTelemetry's programs know.
pub(super) const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

impl Settings {
    /// Puts the layers together. Values of the wrong kind and names in a file that are unknown are errors; unknown
    /// variables are left out ([`Sources::warnings`] tells them).
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let defaults = parse(DEFAULTS, "config.default.toml")?;
        let mut layers = config::Config::builder();
        for (name, value) in &defaults {
            layers = layers.set_default(name, value.clone())?;
        }
        for (name, value) in file_layer(sources, &defaults)? {
            layers = layers.set_override(name, value)?;
        }
        for (name, default) in &defaults {
            let Some(text) = sources.env.get(&variable_of(name)) else { continue };
            // `DEJA_EMBED_QUEUE=` in a container's settings means "not set"; a text may well be empty.
            if text.is_empty() && is_number(default) {
                continue;
            }
            layers = layers.set_override(name, text.as_str())?;
        }
        for (name, text) in &sources.flags {
            layers = layers.set_override(*name, text.as_str())?;
        }
        let layered = layers.build()?;
        for (name, default) in &defaults {
            check_kind(&layered, name, default)?;
        }
        let mut settings: Self = layered.try_deserialize()?;
        settings.foreign = FOREIGN
            .iter()
            .filter_map(|name| Some((String::from(*name), sources.env.get(*name)?.clone())))
            .collect();
        Ok(settings)
    }

    /// The settings as a file that can be loaded again. Secrets are only said to be set or not, those in URLs too.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let mut open = self.clone();
        let urls = [
            ("prices_url", &mut open.prices_url),
            ("otlp_endpoint", &mut open.otlp_endpoint),
            ("embedder", &mut open.embedder),
        ];
        let closed = urls.into_iter().filter_map(|(name, text)| {
            let url = Url::parse(text).ok()?;
            let shown = without_secrets(&url);
            (shown != url).then(|| {
                *text = shown.into();
                format!("# {name} has a user, a password or a query; they are not shown.\n")
            })
        });
        let closed: Vec<String> = closed.collect();
        let text = toml::to_string(&open).map_err(|error| ConfigError(error.to_string()))?;
        let secrets = SECRET.iter().zip([&self.database_url, &self.master_key, &self.embedder_api_key]);
        let secrets = secrets.map(|(name, value)| (*name, value, "is set; it is not shown"));
        let foreign =
            self.foreign.iter().map(|(name, value)| (name.as_str(), value, "is set in the environment"));
        let notes = secrets.chain(foreign).filter(|(_, value, _)| !value.is_empty());
        let notes = notes.map(|(name, _, note)| format!("# {name} {note}.\n"));
        Ok(std::iter::once(text).chain(closed).chain(notes).collect())
    }
}

/// Where fresh prices come from where nobody chose another place.
pub(crate) fn usual_prices_url() -> Option<Url> {
    let defaults = parse(DEFAULTS, "config.default.toml").ok()?;
    defaults.get("prices_url")?.clone().into_string().ok()?.parse().ok()
}

/// A URL as people may see it: its user, password and query may be secrets.
pub(crate) fn without_secrets(url: &Url) -> Url {
    let mut url = url.clone();
    // Refused only where a URL has no host, and so no user either.
    let _no_host = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url
}

/// Whether a variable is read: that of a setting, or one of others that deja knows.
pub(crate) fn is_known(variable: &str) -> bool {
    let of_setting =
        |defaults: BTreeMap<String, Value>| defaults.keys().any(|name| variable_of(name) == variable);
    FOREIGN.contains(&variable) || parse(DEFAULTS, "config.default.toml").is_ok_and(of_setting)
}

/// The name of a setting in the environment.
pub(super) fn variable_of(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase())
}

impl From<LayerError> for ConfigError {
    fn from(error: LayerError) -> Self {
        Self(first_and_last_line(&error.to_string()))
    }
}

fn parse(text: &str, origin: &str) -> Result<BTreeMap<String, Value>, ConfigError> {
    let source = config::File::from_str(text, FileFormat::Toml);
    let layer = config::Config::builder().add_source(source).build().and_then(|c| c.cache.into_table());
    let told = |error| {
        let text = match error {
            LayerError::FileParse { cause, .. } => cause.to_string(),
            error => error.to_string(),
        };
        ConfigError(format!("{origin}: {}", first_and_last_line(&text)))
    };
    Ok(layer.map_err(told)?.into_iter().collect())
}

fn file_layer(
    sources: &Sources,
    defaults: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, ConfigError> {
    let Some(path) = sources.path() else { return Ok(BTreeMap::new()) };
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| ConfigError(format!("the settings file {shown} cannot be read: {error}")))?;
    let layer = parse(&text, &shown)?;
    for name in layer.keys() {
        if !defaults.contains_key(name) {
            let near = nearest(name, defaults.keys().cloned());
            let advice =
                if near.is_empty() { "; deja config print --config /dev/null prints all" } else { &near };
            return Err(ConfigError(format!("{shown}: unknown setting {name}{advice}")));
        }
    }
    Ok(layer)
}

/// A value of the wrong kind, told with the setting's name instead of a deserializer's words.
fn check_kind(layered: &config::Config, name: &str, default: &Value) -> Result<(), ConfigError> {
    let is_number = is_number(default);
    let value: Value = layered.get(name)?;
    let scalar = !matches!(value.kind, config::ValueKind::Table(_) | config::ValueKind::Array(_));
    let text = value.into_string().unwrap_or_default();
    if scalar && (!is_number || text.parse::<u64>().is_ok_and(|n| i64::try_from(n).is_ok())) {
        return Ok(());
    }
    let wanted = if is_number { "a whole number, 0 or more" } else { "a text" };
    Err(wrong(name, &text, wanted))
}

/// The one form of a complaint about a value.
pub(super) fn wrong(name: &str, value: &str, wanted: &str) -> ConfigError {
    let variable = variable_of(name);
    if SECRET.contains(&name) || QUIET.contains(&name) {
        return ConfigError(format!("{name} ({variable}) is not valid: it must be {wanted}"));
    }
    let shown: String = value.chars().take(200).flat_map(char::escape_debug).collect();
    ConfigError(format!("{name} ({variable}) is '{shown}', but must be {wanted}"))
}

fn is_number(default: &Value) -> bool {
    matches!(default.kind, config::ValueKind::I64(_))
}

/// A guess at what was meant, if a name is near.
fn nearest(name: &str, known: impl Iterator<Item = String>) -> String {
    // Without the prefix: what all names share says nothing.
    let bare = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&bare(known), &bare(name));
    let near = known.map(|known| (likeness(&known), known)).filter(|(likeness, _)| *likeness >= NEAR);
    let best = near.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(String::new, |(_, best)| format!("; did you mean {best}?"))
}

/// A TOML error spans lines and quotes the file, which may hold a secret. Its first line says where, its last
/// one what.
fn first_and_last_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    lines.next_back().map_or_else(|| first.to_owned(), |last| format!("{first}: {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_documented_with_its_variable() {
        for name in parse(DEFAULTS, "").unwrap().keys() {
            let line = format!("\n{name} = ");
            let before = &DEFAULTS[..DEFAULTS.find(&line).unwrap()];
            let comment = &before[before.rfind("\n\n").unwrap()..];
            assert!(comment.contains(&variable_of(name)), "{name}");
        }
    }

    #[test]
    fn a_parse_error_is_one_line_without_the_text() {
        let error = parse("master_key = \"hush hush\nx = 1", "f.toml").unwrap_err().to_string();
        assert!(error.starts_with("f.toml: ") && error.contains("line 1"), "{error}");
        assert!(!error.contains("hush") && !error.contains('\n'), "{error}");
    }
}
