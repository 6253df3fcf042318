//! Checks every setting and gives it its type. One clear line for what is wrong.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use deja_providers::{can_proxy, published_window};
use deja_store::PostgresSettings;
use ipnet::IpNet;
use secrecy::SecretString;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use url::Url;

use super::layers::{OTLP_ENDPOINT, PROXIES, wrong};
use super::{
    Account, Config, ConfigError, ConnectionSettings, Credentials, EmbedderSettings, EmbedderSource,
    LogFormat, RequestSettings, Settings, UpstreamSettings,
};
use crate::secrets::vault::MasterKey;
use crate::telemetry::NOT_BELOW_INFO;

const ADDRESS: &str = "an address and port, such as 127.0.0.1:8080 or [::1]:8080";
const WEB_URL: &str = "a URL that begins with http:// or https://";
const MILLIS: RangeInclusive<u64> = 1..=600_000;

impl Settings {
    /// The settings with their types, or what is wrong with the first setting that is wrong.
    pub fn check(&self) -> Result<Config, ConfigError> {
        if self.data_dir.is_empty() {
            return Err(wrong("data_dir", "", "the path of a directory"));
        }
        let listen = address("listen", &self.listen)?;
        self.proxies()?;
        Ok(Config {
            listen,
            data_dir: PathBuf::from(&self.data_dir),
            database: self.database()?,
            public_url: self.public_url(listen)?,
            public_url_is_set: !self.public_url.is_empty(),
            trusted_proxies: self.trusted_proxies()?,
            metrics_listen: optional(&self.metrics_listen, |text| address("metrics_listen", text))?,
            master_key: self.master_key()?,
            log: self.log()?,
            log_format: match self.log_format.as_str() {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                other => return Err(wrong("log_format", other, "text or json")),
            },
            traces_url: self.traces_url()?,
            prices_url: optional(&self.prices_url, |text| web_url("prices_url", text))?,
            prices_refresh: Duration::from_secs(
                within("prices_refresh_hours", self.prices_refresh_hours, 1..=720)? * 3600,
            ),
            embedder: self.embedder()?,
            request: self.request()?,
            search_timeout: millis("search_timeout_ms", self.search_timeout_ms)?,
            answer_cache_bytes: within("answer_cache_mb", self.answer_cache_mb, 0..=1_048_576)? << 20,
            connection: self.connection()?,
            upstream: self.upstream()?,
            credentials: self.credentials()?,
        })
    }

    fn database(&self) -> Result<Option<PostgresSettings>, ConfigError> {
        optional(&self.database_url, |url| {
            if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
                return Err(wrong("database_url", "", "a URL that begins with postgres://"));
            }
            let settings = PostgresSettings {
                url: url.into(),
                pool_size: within("database_pool_size", self.database_pool_size, 1..=1000)? as usize,
                connect_timeout: millis("database_connect_timeout_ms", self.database_connect_timeout_ms)?,
                acquire_timeout: millis("database_acquire_timeout_ms", self.database_acquire_timeout_ms)?,
                call_timeout: millis("database_timeout_ms", self.database_timeout_ms)?,
                bulk_timeout: secs("database_bulk_timeout_s", self.database_bulk_timeout_s, 1..=3600)?,
                search_timeout: millis("search_timeout_ms", self.search_timeout_ms)?,
                graph_from: self.database_graph_from,
            };
            settings.check().map_err(|error| ConfigError(format!("{error} (DEJA_DATABASE_URL)")))?;
            Ok(settings)
        })
    }

    fn public_url(&self, listen: SocketAddr) -> Result<String, ConfigError> {
        if self.public_url.is_empty() {
            return Ok(url_of(listen));
        }
        let url = web_url("public_url", &self.public_url)?;
        // It stands in links and pages.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("public_url", "", "a URL without a user and a password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("public_url", &self.public_url, "a URL without '?' and '#'"));
        }
        if url.path() != "/" {
            let wanted =
                "a URL without a path: the console works at the root of a host, so give deja a host name";
            return Err(wrong("public_url", &self.public_url, wanted));
        }
        Ok(url.as_str().trim_end_matches('/').to_owned())
    }

    fn trusted_proxies(&self) -> Result<Vec<IpNet>, ConfigError> {
        let texts = self.trusted_proxies.split(',').map(str::trim).filter(|text| !text.is_empty());
        let network = |text: &str| {
            let read = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            read.map_err(|_| wrong("trusted_proxies", text, "addresses or networks such as 10.0.0.0/8"))
        };
        texts.map(network).collect()
    }

    fn master_key(&self) -> Result<Option<SecretString>, ConfigError> {
        optional(&self.master_key, |text| {
            let secret = SecretString::from(text);
            MasterKey::parse(&secret).map_err(|error| wrong("master_key", "", &error.to_string()))?;
            Ok(secret)
        })
    }

    fn log(&self) -> Result<String, ConfigError> {
        let wanted = "a filter such as info, debug or info,deja_server=debug, of the levels off, error, warn, info, debug \
                      and trace";
        // A misspelt level would be read as a module's name, and nothing at all would be logged.
        let named = |part: &str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
        if self.log.trim().is_empty()
            || !self.log.split(',').all(named)
            || EnvFilter::try_new(&self.log).is_err()
        {
            return Err(wrong("log", &self.log, wanted));
        }
        if self.log.contains(NOT_BELOW_INFO) {
            let wanted =
                format!("a filter without {NOT_BELOW_INFO}: its lines hold prompts, answers and keys");
            return Err(wrong("log", &self.log, &wanted));
        }
        // A filter of a span lets through all that happens within the span, of any module.
        if self.log.contains('[') {
            let wanted = format!(
                "a filter without spans ([...]): within them are the lines of {NOT_BELOW_INFO}, which hold prompts, answers and keys"
            );
            return Err(wrong("log", &self.log, &wanted));
        }
        Ok(self.log.clone())
    }

    /// Where spans go: `otlp_endpoint`, or the variable that all programs of the machine read; with the path for spans.
    fn traces_url(&self) -> Result<Option<Url>, ConfigError> {
        let shared = self.foreign.get(OTLP_ENDPOINT).map_or("", String::as_str);
        let base = match self.otlp_endpoint.as_str() {
            "" => optional(shared, |text| foreign_url(OTLP_ENDPOINT, text))?,
            own => Some(web_url("otlp_endpoint", own)?),
        };
        let Some(mut url) = base else { return Ok(None) };
        url.set_path(&format!("{}/v1/traces", url.path().trim_end_matches('/')));
        Ok(Some(url))
    }

    /// The HTTP client reads these variables itself. It would ignore a wrong one, and call with the operator's keys directly.
    fn proxies(&self) -> Result<(), ConfigError> {
        for names in PROXIES {
            let set = names.into_iter().find_map(|name| Some((name, self.foreign.get(name)?)));
            if let Some((name, _)) = set.filter(|(_, proxy)| !proxy.is_empty() && !can_proxy(proxy)) {
                return Err(ConfigError(format!(
                    "{name} is not valid: it must be a proxy's address that begins with http:// or https://, such as \
                     http://10.0.0.5:3128, or empty"
                )));
            }
        }
        Ok(())
    }

    fn embedder(&self) -> Result<EmbedderSettings, ConfigError> {
        let text = self.embedder.as_str();
        let source = match text {
            "" => return Err(wrong("embedder", "", "builtin, a directory or a URL")),
            "builtin" => EmbedderSource::Builtin,
            url if url.starts_with("http://") || url.starts_with("https://") => {
                let base_url = web_url("embedder", url)?;
                if self.embedder_model.is_empty() {
                    return Err(wrong("embedder_model", "", "set when embedder is a URL"));
                }
                let dimensions = within("embedder_dimensions", self.embedder_dimensions, 0..=8192)? as u32;
                EmbedderSource::Remote {
                    base_url,
                    model: self.embedder_model.clone(),
                    api_key: secret(&self.embedder_api_key),
                    dimensions: (dimensions > 0).then_some(dimensions),
                    window: self.embedder_window()?,
                }
            }
            directory if PathBuf::from(directory).is_dir() => EmbedderSource::Directory(directory.into()),
            other => return Err(wrong("embedder", other, "builtin, a directory that exists, or a URL")),
        };
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let threads = match within("embed_threads", self.embed_threads, 0..=1024)? {
            0 => cores(),
            threads => threads as usize,
        };
        Ok(EmbedderSettings {
            source,
            threads,
            queue: within("embed_queue", self.embed_queue, 1..=1_000_000)? as usize,
            timeout: millis("embed_timeout_ms", self.embed_timeout_ms)?,
        })
    }

    fn embedder_window(&self) -> Result<u32, ConfigError> {
        if self.embedder_window == 0 {
            let wanted = "set: how many tokens this embedder_model reads is not known";
            return published_window(&self.embedder_model)
                .ok_or_else(|| wrong("embedder_window", "0", wanted));
        }
        Ok(within("embedder_window", self.embedder_window, 16..=131_072)? as u32)
    }

    fn request(&self) -> Result<RequestSettings, ConfigError> {
        let body = within("max_body_bytes", self.max_body_bytes, 1024..=128 << 20)?;
        let prompt = within("max_prompt_bytes", self.max_prompt_bytes, 1..=64 << 20)?;
        if body < prompt {
            let wanted = format!("{prompt} or more: a body holds a prompt (max_prompt_bytes)");
            return Err(wrong("max_body_bytes", &body.to_string(), &wanted));
        }
        let wire = within("wire_max_body_bytes", self.wire_max_body_bytes, 1024..=256 << 20)?;
        let all_wires = within("wire_max_bytes_in_flight", self.wire_max_bytes_in_flight, 1024..=1 << 40)?;
        if all_wires < wire {
            let wanted = format!("{wire} or more: one body may be that long (wire_max_body_bytes)");
            return Err(wrong("wire_max_bytes_in_flight", &all_wires.to_string(), &wanted));
        }
        Ok(RequestSettings {
            max_prompt_bytes: prompt as usize,
            max_context_bytes: within("max_context_bytes", self.max_context_bytes, 0..=64 << 20)? as usize,
            max_body_bytes: body as usize,
            timeout: secs("query_timeout_s", self.query_timeout_s, 1..=7200)?,
            wire_max_body_bytes: wire as usize,
            wire_max_bytes_in_flight: all_wires as usize,
            wire_min_body_rate: within(
                "wire_min_body_bytes_per_s",
                self.wire_min_body_bytes_per_s,
                1..=1 << 30,
            )? as u32,
        })
    }

    fn connection(&self) -> Result<ConnectionSettings, ConfigError> {
        Ok(ConnectionSettings {
            header_timeout: millis("header_timeout_ms", self.header_timeout_ms)?,
            body_timeout: millis("body_timeout_ms", self.body_timeout_ms)?,
            idle_timeout: secs("idle_timeout_s", self.idle_timeout_s, 1..=3600)?,
            write_timeout: secs("write_timeout_s", self.write_timeout_s, 1..=3600)?,
            stream_keep_alive: millis("stream_keep_alive_ms", self.stream_keep_alive_ms)?,
            shutdown_delay: secs("shutdown_delay_s", self.shutdown_delay_s, 0..=3600)?,
            shutdown_timeout: secs("shutdown_timeout_s", self.shutdown_timeout_s, 0..=3600)?,
            max_connections: within("max_connections", self.max_connections, 1..=1_000_000)? as usize,
        })
    }

    fn upstream(&self) -> Result<UpstreamSettings, ConfigError> {
        let timeout = secs("upstream_timeout_s", self.upstream_timeout_s, 1..=3600)?;
        let total_timeout = secs("upstream_total_timeout_s", self.upstream_total_timeout_s, 1..=7200)?;
        if total_timeout < timeout {
            let wanted =
                format!("{} or more: one attempt may take that long (upstream_timeout_s)", timeout.as_secs());
            return Err(wrong("upstream_total_timeout_s", &total_timeout.as_secs().to_string(), &wanted));
        }
        let bytes = within("upstream_max_response_bytes", self.upstream_max_response_bytes, 1024..=1 << 30)?;
        let all_bytes =
            within("upstream_max_bytes_in_flight", self.upstream_max_bytes_in_flight, 1024..=1 << 40)?;
        if all_bytes < bytes {
            let wanted =
                format!("{bytes} or more: one answer may be that long (upstream_max_response_bytes)");
            return Err(wrong("upstream_max_bytes_in_flight", &all_bytes.to_string(), &wanted));
        }
        let in_flight = self.upstream_max_in_flight;
        let of_project = self.upstream_max_in_flight_per_project;
        Ok(UpstreamSettings {
            connect_timeout: millis("upstream_connect_timeout_ms", self.upstream_connect_timeout_ms)?,
            timeout,
            idle_timeout: secs("upstream_idle_timeout_s", self.upstream_idle_timeout_s, 1..=3600)?,
            total_timeout,
            max_attempts: within("upstream_max_attempts", self.upstream_max_attempts, 1..=10)? as u32,
            hangup_timeout: secs("hangup_timeout_s", self.hangup_timeout_s, 1..=3600)?,
            max_response_bytes: bytes as usize,
            max_bytes_in_flight: all_bytes as usize,
            max_in_flight: within("upstream_max_in_flight", in_flight, 1..=1_000_000)? as usize,
            max_in_flight_per_project: within(
                "upstream_max_in_flight_per_project",
                of_project,
                1..=1_000_000,
            )? as usize,
        })
    }

    fn credentials(&self) -> Result<Credentials, ConfigError> {
        let get =
            |name: &str| self.foreign.get(name).map(String::as_str).filter(|text| !text.trim().is_empty());
        let account = |keys: &[&str], base_url: &str| {
            let api_key = match keys.iter().find_map(|name| Some((name, get(name)?))) {
                // A key goes into a header; one pasted with a line break would fail at the first request only.
                Some((name, key)) if !key.trim().bytes().all(|b| b.is_ascii_graphic()) => {
                    return Err(ConfigError(format!(
                        "{name} is not valid: it must be printable ASCII without spaces"
                    )));
                }
                found => found.and_then(|(_, key)| secret(key.trim())),
            };
            let base_url = get(base_url).map(|text| foreign_url(base_url, text)).transpose()?;
            Ok(Account { api_key, base_url })
        };
        Ok(Credentials {
            openai: account(&["OPENAI_API_KEY"], "OPENAI_BASE_URL")?,
            anthropic: account(&["ANTHROPIC_API_KEY"], "ANTHROPIC_BASE_URL")?,
            google: account(&["GEMINI_API_KEY", "GOOGLE_API_KEY"], "GEMINI_BASE_URL")?,
        })
    }
}

/// The URL of a deja that listens there.
pub(super) fn url_of(listen: SocketAddr) -> String {
    // 0.0.0.0 is where to listen, not where to go.
    if listen.ip().is_unspecified() {
        format!("http://localhost:{}", listen.port())
    } else {
        format!("http://{listen}")
    }
}

fn optional<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, ConfigError>,
) -> Result<Option<T>, ConfigError> {
    if text.is_empty() { Ok(None) } else { read(text).map(Some) }
}

fn secret(text: &str) -> Option<SecretString> {
    (!text.is_empty()).then(|| text.into())
}

fn address(name: &str, text: &str) -> Result<SocketAddr, ConfigError> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric.as_deref().unwrap_or(text).parse().map_err(|_| wrong(name, text, ADDRESS))
}

fn parse_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

fn web_url(name: &str, text: &str) -> Result<Url, ConfigError> {
    parse_url(text).ok_or_else(|| wrong(name, text, WEB_URL))
}

/// The URL in a variable that is none of deja's settings. Not shown: next to it, in the environment, are keys.
fn foreign_url(variable: &str, text: &str) -> Result<Url, ConfigError> {
    parse_url(text).ok_or_else(|| ConfigError(format!("{variable} is not valid: it must be {WEB_URL}")))
}

fn within(name: &str, value: u64, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(wrong(name, &value.to_string(), &format!("between {} and {}", range.start(), range.end())))
}

fn millis(name: &str, value: u64) -> Result<Duration, ConfigError> {
    within(name, value, MILLIS).map(Duration::from_millis)
}

fn secs(name: &str, value: u64, range: RangeInclusive<u64>) -> Result<Duration, ConfigError> {
    within(name, value, range).map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
