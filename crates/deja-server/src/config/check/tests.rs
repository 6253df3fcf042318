//! Which layer wins, and what is said about values that are not allowed.

use super::*;
use crate::config::Sources;

fn env(pairs: &[(&str, &str)]) -> Sources {
    let env = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Sources { env, directory: "/nonexistent".into(), ..Sources::default() }
}

fn error(pairs: &[(&str, &str)]) -> String {
    let error = Config::load(&env(pairs)).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

fn file(text: &str) -> (tempfile::TempDir, Sources) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("deja.toml"), text).unwrap();
    let sources = Sources { directory: directory.path().into(), ..Sources::default() };
    (directory, sources)
}

#[test]
fn defaults_are_those_of_the_file() {
    let config = Config::load(&env(&[])).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.public_url, "http://127.0.0.1:8080");
    assert_eq!(config.data_dir, PathBuf::from("./deja-data"));
    assert_eq!(config.prices_refresh, Duration::from_hours(6));
    assert!(config.prices_url.unwrap().as_str().ends_with("/model_prices_and_context_window.json"));
    assert!(config.metrics_listen.is_none() && config.master_key.is_none());
    assert!(matches!(config.embedder.source, EmbedderSource::Builtin));
    assert_eq!(config.request.max_prompt_bytes, 131_072);
    assert_eq!(config.answer_cache_bytes, 64 << 20);
    assert_eq!(config.upstream.max_attempts, 3);
}

#[test]
fn flags_beat_the_environment_beats_the_file_beats_defaults() {
    let (_directory, mut sources) = file("log = 'warn'\nembed_queue = 7\nlisten = '127.0.0.1:1'");
    let load = |sources: &Sources| {
        let config = Config::load(sources).unwrap();
        (config.listen.port(), config.log, config.embedder.queue, config.connection.max_connections)
    };
    assert_eq!(load(&sources), (1, "warn".into(), 7, 10_000));
    sources.env.insert("DEJA_LISTEN".into(), "127.0.0.1:2".into());
    sources.env.insert("DEJA_EMBED_QUEUE".into(), "8".into());
    assert_eq!(load(&sources), (2, "warn".into(), 8, 10_000));
    sources.flags.insert("listen", "127.0.0.1:3".into());
    assert_eq!(load(&sources), (3, "warn".into(), 8, 10_000));
}

#[test]
fn without_a_public_url_it_is_where_deja_listens() {
    let at = |pairs: &[(&str, &str)], bound: &str| {
        let mut config = Config::load(&env(pairs)).unwrap();
        config.listens_on(bound.parse().unwrap());
        config.public_url
    };
    assert_eq!(at(&[("DEJA_LISTEN", "127.0.0.1:0")], "127.0.0.1:4711"), "http://127.0.0.1:4711");
    assert_eq!(at(&[], "[::]:80"), "http://localhost:80");
    assert_eq!(at(&[("DEJA_PUBLIC_URL", "https://deja.example")], "[::]:80"), "https://deja.example");
}

#[test]
fn an_empty_variable_empties_a_text_and_leaves_a_number() {
    let config = Config::load(&env(&[("DEJA_PRICES_URL", ""), ("DEJA_EMBED_QUEUE", "")])).unwrap();
    assert!(config.prices_url.is_none());
    assert_eq!(config.embedder.queue, 1024);
}

#[test]
fn unknown_variables_are_warnings_with_a_guess_where_one_is_near() {
    let sources = env(&[
        ("DEJA_KEY", "dj_1"),
        ("DEJA_TOKEN", "djt_1"),
        ("DEJA_LISTN", "x"),
        ("DEJA_listen", "x"),
        ("DEJA_PORT", "tcp://10.0.0.1:8080"),
        ("DEJA_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("DEJA_SERVICE_HOST", "10.0.0.1"),
        ("DEJA_LOG", "warn"),
        ("DEJAVU", "x"),
    ]);
    let guess = "; did you mean DEJA_LISTEN?";
    let lines = [
        ("DEJA_LISTN", guess),
        ("DEJA_PORT", ""),
        ("DEJA_PORT_8080_TCP_ADDR", ""),
        ("DEJA_SERVICE_HOST", ""),
    ];
    let lines = lines.into_iter().chain([("DEJA_listen", guess)]);
    let lines: Vec<String> =
        lines.map(|(name, guess)| format!("unknown variable {name} is ignored{guess}")).collect();
    assert_eq!(sources.warnings().unwrap(), lines);
    assert_eq!(Config::load(&sources).unwrap().listen.port(), 8080);
}

#[test]
fn unknown_members_of_a_file_are_errors_that_help() {
    let (_directory, sources) = file("datadir = 'x'");
    let error = Config::load(&sources).unwrap_err().to_string();
    assert!(error.ends_with("deja.toml: unknown setting datadir; did you mean data_dir?"), "{error}");
    let (_directory, sources) = file("[server]\nlisten = 'x'");
    assert!(Config::load(&sources).unwrap_err().to_string().contains("unknown setting server"));
    let (directory, sources) = file("");
    let link = directory.path().join("deja.toml");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/nonexistent/d.toml", &link).unwrap();
    let error = Config::load(&sources).unwrap_err().to_string();
    assert!(error.contains("deja.toml cannot be read"), "a link that leads nowhere yet: {error}");
    let missing = Sources { file: Some("/nonexistent/d.toml".into()), ..Sources::default() };
    let error = Config::load(&missing).unwrap_err().to_string();
    assert!(error.starts_with("the settings file /nonexistent/d.toml cannot be read"), "{error}");
    // Where nothing can be looked up, as in a directory of somebody else's, there is none.
    let closed = Sources { directory: "/dev/null".into(), ..Sources::default() };
    assert_eq!(closed.path(), None);
}

#[test]
fn every_bad_value_names_setting_value_and_what_is_allowed() {
    for (variable, value, wanted) in [
        ("DEJA_LISTEN", "8080", "an address and port"),
        ("DEJA_LISTEN", "", "an address and port"),
        ("DEJA_METRICS_LISTEN", "x", "an address and port"),
        ("DEJA_DATA_DIR", "", "a directory"),
        ("DEJA_LOG", "deja=loud", "a filter"),
        ("DEJA_LOG", "", "a filter"),
        ("DEJA_LOG", "warning", "of the levels off, error, warn"),
        ("DEJA_LOG", "debugg", "a filter"),
        ("DEJA_LOG", "info,deja_server", "a filter"),
        ("DEJA_LOG", "info,tokio_postgres=debug", "a filter without tokio_postgres"),
        ("DEJA_LOG", "info,[request]=trace", "a filter without spans"),
        ("DEJA_LOG", "info,deja_server[request{id=1}]=trace", "a filter without spans"),
        ("DEJA_LOG_FORMAT", "xml", "text or json"),
        ("DEJA_EMBEDDER", "http://x/v1", "set when embedder is a URL"),
        ("DEJA_EMBED_QUEUE", "0", "between 1 and 1000000"),
        ("DEJA_EMBED_QUEUE", "-1", "a whole number"),
        ("DEJA_EMBED_QUEUE", "many", "a whole number"),
        ("DEJA_EMBED_QUEUE", "1.5", "a whole number"),
        ("DEJA_EMBED_QUEUE", "99999999999999999999", "a whole number"),
        ("DEJA_MAX_BODY_BYTES", "2000", "131072 or more"),
        ("DEJA_UPSTREAM_TOTAL_TIMEOUT_S", "10", "120 or more"),
        ("DEJA_UPSTREAM_MAX_ATTEMPTS", "0", "between 1 and 10"),
        ("DEJA_UPSTREAM_MAX_BYTES_IN_FLIGHT", "8388607", "8388608 or more"),
        ("DEJA_UPSTREAM_MAX_BYTES_IN_FLIGHT", "0", "between 1024 and"),
    ] {
        let error = error(&[(variable, value)]);
        let name = if error.contains("embedder_model") { "DEJA_EMBEDDER_MODEL" } else { variable };
        assert!(error.contains(name) && error.contains(wanted), "{variable}={value}: {error}");
        assert!(error.contains(&format!("'{value}'")) || name != variable, "{variable}={value}: {error}");
    }
    let (_directory, sources) = file("embed_queue = [1]");
    assert!(Config::load(&sources).unwrap_err().to_string().contains("embed_queue (DEJA_EMBED_QUEUE)"));
    // Without its value: a password may stand in it, or a key in the wrong place.
    for (variable, value, wanted) in [
        ("DEJA_PUBLIC_URL", "ftp://me:hush@x", "http:// or https://"),
        ("DEJA_PUBLIC_URL", "http://x/?hush", "without '?'"),
        ("DEJA_PUBLIC_URL", "https://x/hush", "without a path"),
        ("DEJA_PUBLIC_URL", "https://me:hush@x", "without a user"),
        ("DEJA_PUBLIC_URL", "https://hush@x", "without a user"),
        ("DEJA_PRICES_URL", "ftp://me:hush@x/prices.json", "http:// or https://"),
        ("DEJA_OTLP_ENDPOINT", "grpc://me:hush@x", "http:// or https://"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://me:hush@x", "http:// or https://"),
        ("DEJA_EMBEDDER", "/hush", "a directory that exists"),
        ("OPENAI_BASE_URL", "sk-hush", "http:// or https://"),
    ] {
        let said = error(&[(variable, value)]);
        assert!(
            said.contains(variable) && said.contains(wanted) && !said.contains("hush"),
            "{value}: {said}"
        );
    }
    for url in [
        "mysql://deja:hush@x",
        "postgres://",
        "postgres://deja:hush@x:99999/deja",
        "postgres://deja:hush@x/deja?sslmode=foo",
    ] {
        let said = error(&[("DEJA_DATABASE_URL", url)]);
        let names = said.contains("DEJA_DATABASE_URL") && said.contains("postgres://");
        assert!(names && !said.contains("hush"), "{url}: {said}");
    }
}

#[test]
fn a_proxy_that_calls_cannot_go_through_is_refused() {
    let bad = [
        "htp://me:hush@127.0.0.1:1", "nope://x", "http//127.0.0.1:1", " http://127.0.0.1:1", "http://",
        "socks5://hush:1",
    ];
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        for value in bad {
            let said = error(&[(variable, value)]);
            let names = said.starts_with(&format!("{variable} is not valid")) && said.contains("http://");
            assert!(names && !said.contains("hush"), "{variable}={value}: {said}");
        }
        for value in
            ["", "127.0.0.1:1", "proxy", "http://me:p%20w@proxy:1/", "HTTPS://proxy", "http://[::1]:1"]
        {
            assert!(Config::load(&env(&[(variable, value)])).is_ok(), "{variable}={value}");
        }
    }
    // The client does not read the second name if the first one is set.
    assert!(Config::load(&env(&[("HTTPS_PROXY", "http://x:1"), ("https_proxy", "nope://x")])).is_ok());
}

#[test]
fn a_server_that_embeds_needs_a_window_unless_its_models_is_published() {
    let server = |more: &[(&str, &str)]| {
        env(&[&[("DEJA_EMBEDDER", "http://x/v1"), ("DEJA_EMBEDDER_MODEL", "nomic-embed-text")], more]
            .concat())
    };
    let error = Config::load(&server(&[])).unwrap_err().to_string();
    assert!(error.contains("DEJA_EMBEDDER_WINDOW") && error.contains("tokens"), "{error}");
    let error = Config::load(&server(&[("DEJA_EMBEDDER_WINDOW", "15")])).unwrap_err().to_string();
    assert!(error.contains("between 16 and 131072"), "{error}");
    let source = |more: &[(&str, &str)]| match Config::load(&server(more)).unwrap().embedder.source {
        EmbedderSource::Remote { dimensions, window, .. } => (dimensions, window),
        other => panic!("{other:?}"),
    };
    assert_eq!(source(&[("DEJA_EMBEDDER_WINDOW", "2048")]), (None, 2048));
    let openai = [("DEJA_EMBEDDER_MODEL", "text-embedding-3-small"), ("DEJA_EMBEDDER_DIMENSIONS", "512")];
    assert_eq!(source(&openai), (Some(512), 8191));
}

#[test]
fn secrets_show_nowhere() {
    let key = "ab".repeat(32);
    let sources = env(&[
        ("DEJA_MASTER_KEY", &key),
        ("DEJA_EMBEDDER", "https://embed.example/v1"),
        ("DEJA_EMBEDDER_MODEL", "m"),
        ("DEJA_EMBEDDER_WINDOW", "512"),
        ("DEJA_EMBEDDER_API_KEY", "hush-1"),
        ("OPENAI_API_KEY", "hush-2"),
        ("GOOGLE_API_KEY", "hush-3\n"),
    ]);
    let config = Config::load(&sources).unwrap();
    assert!(config.master_key.is_some() && config.credentials.google.api_key.is_some());
    assert!(config.credentials.anthropic.api_key.is_none());
    let mut in_urls = sources.clone();
    in_urls.env.extend(
        [
            ("DEJA_EMBEDDER", "https://me:hush-4@embed.example/v1"),
            ("DEJA_OTLP_ENDPOINT", "https://me:hush-5@otlp.example"),
            ("DEJA_PRICES_URL", "https://me:hush-6@prices.example/map.json?token=hush-7"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let printed = Settings::load(&in_urls).unwrap().to_toml().unwrap();
    for part in
        ["https://embed.example/v1\"", "https://prices.example/map.json\"", "# otlp_endpoint has a user"]
    {
        assert!(printed.contains(part), "no {part} in {printed}");
    }
    for text in [format!("{config:?}"), printed] {
        assert!(!text.contains("hush") && !text.contains(&key), "{text}");
    }
    for (name, value) in [("DEJA_MASTER_KEY", "hush"), ("OPENAI_API_KEY", "hu\nsh hush")] {
        let mut sources = sources.clone();
        sources.env.insert(name.into(), value.into());
        let error = Config::load(&sources).unwrap_err().to_string();
        assert!(error.contains(name) && !error.contains("hush"), "{error}");
    }
}

#[test]
fn what_is_printed_can_be_loaded_again() {
    let sources = env(&[("DEJA_LISTEN", "0.0.0.0:9"), ("DEJA_LOG", "warn"), ("DEJA_PRICES_URL", "")]);
    let printed = Settings::load(&sources).unwrap().to_toml().unwrap();
    let (_directory, sources) = file(&printed);
    let again = Settings::load(&sources).unwrap();
    assert_eq!(again.to_toml().unwrap(), printed);
    assert_eq!(again.check().unwrap().public_url, "http://localhost:9");
}

#[test]
fn filters_of_the_log_are_levels_alone_or_of_modules() {
    for filter in ["off", "WARN", "info,deja_server=debug", "deja_server=trace", "info,deja_core=off"] {
        assert!(Config::load(&env(&[("DEJA_LOG", filter)])).is_ok(), "{filter}");
    }
}

#[test]
fn a_public_url_may_end_with_a_slash() {
    let config = Config::load(&env(&[("DEJA_PUBLIC_URL", "https://x.example/")])).unwrap();
    assert_eq!(config.public_url, "https://x.example");
}
