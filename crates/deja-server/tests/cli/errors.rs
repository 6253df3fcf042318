//! What goes wrong is one line that says what to do, and an exit code.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::{Deja, terminate};

#[test]
fn wrong_usage_is_one_line_and_code_2() {
    let deja = Deja::new();
    for (arguments, wanted) in [
        (&["projekt"][..], "projekt"),
        (&["project", "create"], "<NAME> (see deja project create --help)"),
        (&["projekt"], "(see deja --help)"),
        (
            &["cache", "stats", "--projects", "a"],
            "'--projects' found; a similar argument exists: '--project' (see deja cache stats --help)",
        ),
        (&["project", "create", "a", "--tier", "gold"], "use free, pro or enterprise"),
        (&["project", "create", "a", "--rpm", "0"], "between 1 and"),
        (&["project", "create", ""], "1 to 100 characters"),
        (&["project", "create", "\u{200b}"], "can be seen"),
        (&["project", "create", "--", "--"], "a letter or digit"),
        (&["project", "set", "a", "--ttl", "soon"], "such as 30d"),
        (&["key", "create", "--project", "a"], "--name"),
        // Seconds, or days?
        (&["key", "create", "--project", "a", "--name", "k", "--expires", "90"], "such as 90d"),
        (&["provider", "add", "--project", "a", "--name", "x", "--base-url", "https://x.example"], "--model"),
        (&["price", "set", "--project", "a", "m", "--input", "x", "--output", "1"], "--input"),
        (
            &["price", "set", "--project", "a", "m", "--input", "nan", "--output", "1"],
            "use an amount of US dollars",
        ),
        (
            &["price", "set", "--project", "a", "m", "--input", "1", "--output", "inf"],
            "use an amount of US dollars",
        ),
        (&["tune", "--project", "a", "--judge", "m", "--budget", "inf"], "use an amount of US dollars"),
        (&["tune", "--project", "a", "--judge", "m", "--budget", "-1"], "from 0 to 1,000,000,000"),
        (&["project", "set", "a", "--guard-budget", "-1"], "from 0 to 1,000,000,000"),
        (&["project", "set", "a", "--max-entries", "-1"], "use a whole number, 0 or more"),
        (&["project", "set", "a", "--samples", "-1"], "use a whole number, 0 or more"),
        (&["project", "set", "a", "--threshold", "-1"], "use a number between 0 and 1"),
        (
            &["project", "create", "a", "--rpm", "-1"],
            "use a whole number, 0 or more (see deja project create --help)",
        ),
        (
            &["key", "create", "--project", "a", "--name", "k", "--rpm", "many"],
            "use a whole number, 0 or more",
        ),
        (&["project", "set", "a", "--request-log", "5000000000"], "use a smaller number"),
        (&["project", "set", "a", "--speed", "1"], "'--speed' found (see deja project set --help)"),
        (&["project", "set", "a", "--client-controls", "none,cache"], "use none alone"),
        (&["project", "set", "a", "--client-controls", ""], "use none for an empty list"),
        (&["project", "set", "a", "--opt-ins", "none,semantic_json"], "use none alone"),
        (&["audit", "list", "--limit", "-1"], "use a whole number, 0 or more"),
        (&["audit", "list", "--action", "key.remove"], "key.revoke"),
        (&["audit", "list", "--actor", "ada"], "the actor must be an operator's e-mail address, cli"),
        (&["audit", "list", "--from", "yesterday"], "such as 7d or 12h, or a moment such as"),
        (&["config", "check", "--listen", "nowhere"], "DEJA_LISTEN"),
        (&["config", "check", "--config", "missing.toml"], "missing.toml"),
    ] {
        let error = deja.error(2, arguments);
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
    let nothing = deja.run(&["project"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("create"), "says what there is");
}

#[test]
fn what_is_not_there_is_code_1() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    for arguments in [
        &["project", "suspend", "nobody"][..],
        &["project", "set", "nobody", "--tier", "pro"],
        &["project", "delete", "nobody", "--yes"],
        &["key", "create", "--project", "nobody", "--name", "x"],
        &["key", "list", "--project", "nobody"],
        &["provider", "list", "--project", "nobody"],
        &["cache", "stats", "--project", "nobody"],
        &["price", "show", "m", "--project", "nobody"],
    ] {
        assert_eq!(deja.error(1, arguments), "deja: there is no project 'nobody' (see deja project list)");
    }
    assert!(deja.error(1, &["key", "revoke", "dj_1234"]).ends_with("'dj_1234' (see deja key list)"));
    let part = deja.error(1, &["key", "revoke", "dj_1234567"]);
    assert!(part.contains("'dj_1234'…: name its prefix as it is listed"), "{part}");
    let health = deja.error(1, &["health", "--listen", "127.0.0.1:1"]);
    assert!(health.contains("no answer from 127.0.0.1:1 (DEJA_LISTEN): start deja serve"), "{health}");
}

#[test]
fn only_what_begins_a_deja_makes_one() {
    let deja = Deja::new();
    for arguments in [
        &["project", "list"][..],
        &["project", "list", "--json"],
        &["project", "set", "a", "--tier", "pro"],
        &["key", "create", "--project", "a", "--name", "x"],
        &["operator", "list"],
        &["token", "list", "--operator", "ada@example.com"],
        &["audit", "list"],
        &["price", "show", "gpt-4o-mini"],
        &["export", "--with-projects"],
        &["tune", "--project", "a"],
        &["db", "backup", "backup.db"],
    ] {
        let wanted =
            "deja: there is no deja in ./deja-data: name its data directory with --data-dir or DEJA_DATA_DIR";
        assert_eq!(deja.error(1, arguments), wanted, "{arguments:?}");
    }
    assert!(!deja.path().join("deja-data").exists(), "nothing is made");
    let elsewhere = deja.error(1, &["project", "list", "--data-dir", "else"]);
    assert!(elsewhere.contains("no deja in else: "), "{elsewhere}");
    let copied = deja.error(1, &["db", "copy", "--from", "else", "--to", "copy"]);
    assert_eq!(copied, "deja: the source: there is no database in else");
    for (data, begins) in [
        ("one", &["project", "create", "a"][..]),
        ("two", &["operator", "create", "ada@example.com"]),
        ("three", &["db", "migrate"]),
    ] {
        deja.ok(&[begins, &["--data-dir", data]].concat());
        deja.ok(&["project", "list", "--data-dir", data]);
    }
}

#[test]
fn a_cause_is_told_once() {
    let deja = Deja::new();
    std::fs::write(deja.path().join("file"), "").unwrap();
    let error = deja.error(2, &["serve", "--listen", "127.0.0.1:0", "--data-dir", "file"]);
    assert_eq!(error.matches("File exists").count(), 1, "{error}");
}

#[test]
fn a_store_that_does_not_open_is_told_by_what_names_it() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    std::fs::write(deja.path().join("file"), "").unwrap();
    let (down, unreadable) = ("postgres://me:hush@127.0.0.1:1/deja", "postgres://me:hush@host:port/deja");
    for (from, to, code, wanted) in [
        ("sqlite", down, 1, "the target: cannot use PostgreSQL at 127.0.0.1:1/deja: "),
        ("sqlite", unreadable, 2, "the target: the database URL is not valid: "),
        ("sqlite", "file", 2, "the target: cannot use the data directory file: "),
        ("file", "copy", 2, "the source: cannot use the data directory file/deja.db: "),
        (down, "copy", 1, "the source: cannot use PostgreSQL at 127.0.0.1:1/deja: "),
        (unreadable, "copy", 2, "the source: the database URL is not valid: "),
    ] {
        let error = deja.error(code, &["db", "copy", "--from", from, "--to", to]);
        let option = if from == "sqlite" { " (--to)" } else { " (--from)" };
        assert!(error.contains(wanted) && error.ends_with(option) && !error.contains("hush"), "{error}");
    }
    // Any other command is about the store of the settings.
    let error = deja.error(2, &["project", "list", "--data-dir", "file"]);
    assert!(error.ends_with(" (DEJA_DATA_DIR)"), "{error}");
    let master_key = "00".repeat(32);
    let deja = deja.env("DEJA_MASTER_KEY", &master_key);
    for (url, code) in [(down, 1), (unreadable, 2)] {
        let deja =
            Deja { env: [&deja.env[..], &[("DEJA_DATABASE_URL", url.to_owned())]].concat(), ..Deja::new() };
        let error = deja.error(code, &["project", "list"]);
        assert!(error.ends_with(" (DEJA_DATABASE_URL)") && !error.contains("hush"), "{error}");
    }
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_named() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    std::fs::create_dir(deja.path().join("folder")).unwrap();
    for (arguments, code, wanted) in [
        (&["import", "folder"][..], 1, "deja: folder cannot be read: Is a directory"),
        (&["import", "missing.jsonl"], 1, "deja: missing.jsonl: No such file"),
        (&["export", "folder"], 1, "deja: folder: is a directory"),
        (&["eval", "folder"], 1, "deja: folder: is a directory"),
        (
            &["db", "backup", "no/b"],
            1,
            "deja: the backup no/b cannot be written: No such file or directory (os error 2)",
        ),
    ] {
        let error = deja.error(code, arguments);
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn bad_settings_stop_every_command() {
    let deja = Deja::new();
    std::fs::write(deja.path().join("deja.toml"), "listn = 'x'").unwrap();
    for arguments in [&["serve"][..], &[], &["config", "check"], &["project", "list"]] {
        let error = deja.error(2, arguments);
        assert!(error.ends_with("deja.toml: unknown setting listn; did you mean listen?"), "{error}");
    }
    std::fs::write(deja.path().join("deja.toml"), "colour = 'red'").unwrap();
    let error = deja.error(2, &["serve"]);
    assert!(
        error.ends_with("unknown setting colour; deja config print --config /dev/null prints all"),
        "{error}"
    );
    let deja = Deja::new().env("DEJA_DATABASE_URL", "mysql://x");
    assert!(deja.error(2, &["serve"]).contains("begins with postgres://"));
}

#[test]
fn settings_are_not_printed_into_their_own_file() {
    let deja = Deja::new();
    let file = deja.path().join("deja.toml");
    std::fs::write(&file, "log = 'warn'\n").unwrap();
    for (name, code) in [("deja.new.toml", 0), ("deja.toml", 2)] {
        // What a shell does.
        let out = std::fs::File::create(deja.path().join(name)).unwrap();
        let output = deja.command(&["config", "print"]).stdout(out).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), error.contains("standard output is the settings file")),
            (Some(code), code == 2)
        );
    }
    assert!(std::fs::read_to_string(deja.path().join("deja.new.toml")).unwrap().contains("log = \"warn\""));
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}

#[test]
fn variables_that_are_no_settings_stop_nothing() {
    // What the documents have clients keep their key and their token in: said nothing about.
    let deja = Deja::new().env("DEJA_KEY", "dj_0123456789abcdef0123456789abcdef").env("DEJA_TOKEN", "djt_0");
    assert_eq!(deja.last_line(&["project", "create", "a"]), "a");
    // A misspelt setting, and what Kubernetes tells of a service called deja: a line each.
    let deja = deja
        .env("DEJA_LISTN", "x")
        .env("DEJA_PORT", "tcp://10.0.0.1:8080")
        .env("DEJA_SERVICE_HOST", "10.0.0.1")
        .env("DEJA_PORT_8080_TCP_ADDR", "10.0.0.1");
    let output = deja.run(&["project", "list", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let mut lines: Vec<_> = std::str::from_utf8(&output.stderr).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "deja: unknown variable DEJA_LISTN is ignored; did you mean DEJA_LISTEN?",
            "deja: unknown variable DEJA_PORT is ignored",
            "deja: unknown variable DEJA_PORT_8080_TCP_ADDR is ignored",
            "deja: unknown variable DEJA_SERVICE_HOST is ignored",
        ]
    );
}

#[test]
fn a_variable_that_is_not_utf_8_is_refused_where_it_means_something() {
    let deja = Deja::new();
    let value = std::ffi::OsStr::from_bytes(b"deja-\xff");
    for (name, code) in [("DEJA_DATA_DIR", 2), ("OPENAI_API_KEY", 2), ("SOMETHING_ELSE", 0)] {
        let output = deja.command(&["config", "check"]).env(name, value).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.contains(name)), (Some(code), code == 2), "{said}");
    }
}

#[test]
fn a_log_in_json_has_the_warnings_and_why_a_start_failed() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let deja = Deja::new()
        .env("DEJA_LISTEN", taken.local_addr().unwrap().to_string())
        .env("DEJA_LISTN", "x")
        .env("DEJA_LOG_FORMAT", "json");
    let output = deja.run(&["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let line = |at: usize| serde_json::from_str::<serde_json::Value>(lines[at]).unwrap();
    assert_eq!(line(0)["level"], "WARN");
    assert!(
        line(0)["message"].as_str().unwrap().starts_with("unknown variable DEJA_LISTN is ignored"),
        "{text}"
    );
    assert!(lines[1].contains(r#""level":"ERROR""#), "what monitoring.md has alerts on: {text}");
    assert!(line(1)["message"].as_str().unwrap().starts_with("cannot listen on "), "{text}");
    // For people, as ever.
    assert!(lines[2].starts_with("deja: cannot listen on ") && lines.len() == 3, "{text}");
}

#[test]
fn a_data_directory_that_cannot_be_used() {
    let deja = Deja::new();
    std::fs::write(deja.path().join("file"), "").unwrap();
    let error = deja.error(2, &["project", "create", "a", "--data-dir", "file/data"]);
    assert!(error.contains("file/data"), "{error}");
    // What cannot be looked at is not called empty.
    for arguments in [&["db", "status", "--data-dir", "file"][..], &["project", "list", "--data-dir", "file"]]
    {
        let error = deja.error(2, arguments);
        assert!(error.contains("cannot use the data directory file/deja.db"), "{error}");
    }
}

/// SQLite would take the first of these names for a URI, and open a file in another directory.
#[test]
fn a_data_directory_has_its_database_in_it_however_it_is_called() {
    let deja = Deja::new();
    for name in ["file:else%20where", "a?b#c", ":memory:"] {
        deja.ok(&["project", "create", "a", "--data-dir", name]);
        deja.ok(&["db", "backup", "--data-dir", name, &format!("{name}/backup.db")]);
        assert!(deja.path().join(name).join("deja.db").metadata().unwrap().len() > 0, "{name}");
        let listed = deja.ok(&["project", "list", "--data-dir", name]);
        assert!(listed.lines().any(|line| line.starts_with("a ")), "{listed}");
    }
}

#[test]
fn a_wrong_master_key() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let file = deja.path().join("deja-data/master.key");
    let right = std::fs::read(&file).unwrap();
    let wrong = Deja { root: deja.root, env: deja.env }.env("DEJA_MASTER_KEY", "ab".repeat(32));
    let error = wrong.error(2, &["project", "list"]);
    assert!(error.contains("DEJA_MASTER_KEY") && error.contains("master.key"), "{error}");
    let deja = Deja { root: wrong.root, env: wrong.env.into_iter().take(1).collect() };
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(deja.error(2, &["project", "list"]).contains("chmod 600"));
    std::fs::remove_file(&file).unwrap();
    let error = deja.error(2, &["project", "list"]);
    assert!(error.contains("master.key is not there: put it back"), "{error}");
    assert!(!file.exists(), "nothing takes the place of the right one");
    std::fs::write(&file, right).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    deja.ok(&["project", "list"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    for arguments in [&["config", "print"][..], &["project", "list"], &["project", "list", "--json"]] {
        let mut child =
            deja.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    }
}

#[test]
fn what_was_made_is_printed_though_nobody_reads_what_is_said_of_it() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    deja.operator(&["ada@example.com"]);
    std::fs::write(deja.path().join("bad"), "no line\n".repeat(3)).unwrap();
    let output_of = |arguments: &[&str], stderr: Stdio| {
        let child = deja.command(arguments).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (arguments, printed) in [
        (&["key", "create", "--project", "a", "--name", "k"][..], "dj_"),
        (&["token", "create", "--operator", "ada@example.com", "--name", "t"], "djt_"),
        (&["import", "bad", "--skip-bad"], "Imported 0 entries.\nSkipped: 3."),
        (&["export", "--with-projects"], "{\"deja\":1,"),
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        for stderr in [full.into(), Stdio::from(std::io::pipe().unwrap().1)] {
            let out = output_of(arguments, stderr);
            assert!(out.starts_with(printed), "{arguments:?}: {out}");
        }
    }
}

#[test]
fn commands_at_once_wait_for_each_other() {
    let deja = Deja::new();
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = deja.command(&["project", "create", "a"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut slugs: Vec<_> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        })
        .collect();
    slugs.sort_unstable();
    assert_eq!(slugs, ["a", "a-2", "a-3", "a-4"]);
}

#[test]
fn a_server_that_is_told_to_stop_while_it_starts_stops() {
    // An embedder that takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let deja = Deja::new()
        .env("DEJA_LISTEN", "127.0.0.1:0")
        .env("DEJA_EMBEDDER", format!("http://{}/v1", silent.local_addr().unwrap()))
        .env("DEJA_EMBEDDER_MODEL", "m")
        .env("DEJA_EMBEDDER_WINDOW", "512")
        .env("DEJA_EMBED_TIMEOUT_MS", "600000");
    let server = deja.command(&["serve"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (_asked, _) = silent.accept().unwrap();
    assert_eq!(terminate(server).code(), Some(0));
}

#[test]
fn a_server_goes_on_whose_log_cannot_be_written() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let closed = || std::io::pipe().unwrap().1;
    for (out, log) in [(full().into(), full().into()), (closed().into(), Stdio::from(closed()))] {
        let deja = Deja::new().env("DEJA_LISTEN", "127.0.0.1:0").env("DEJA_LOG", "debug");
        let mut server = deja.command(&["serve"]).stdout::<Stdio>(out).stderr(log).spawn().unwrap();
        deja.until_served_by(&mut server);
        // A line in the log each.
        assert_eq!(deja.last_line(&["project", "create", "a"]), "a");
        deja.ok(&["project", "list"]);
        assert_eq!(terminate(server).code(), Some(0));
    }
}

#[test]
fn a_demo_that_is_told_to_stop_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    // What a server of these settings holds, and what it asks, are not the demo's.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let deja = Deja::new()
        .env("DEJA_LISTEN", "127.0.0.1:0")
        .env("DEJA_METRICS_LISTEN", taken.local_addr().unwrap().to_string())
        .env("DEJA_EMBEDDER", "http://127.0.0.1:9/v1")
        .env("DEJA_EMBEDDER_MODEL", "m")
        .env("DEJA_EMBEDDER_WINDOW", "512")
        .env("TMPDIR", temporary.path().to_str().unwrap());
    let mut demo = deja.command(&["demo"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The head of its table: the sample queries are under way.
    let mut head = [0; 6];
    demo.stdout.as_mut().unwrap().read_exact(&mut head).unwrap();
    assert_eq!((&head, temporary.path().read_dir().unwrap().count()), (b"prompt", 1));
    assert_eq!(terminate(demo).code(), Some(0));
    assert_eq!(temporary.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_demo_whose_reader_goes_away_ends_without_a_complaint() {
    let deja = Deja::new();
    let mut demo = deja.command(&["demo", "--exit"]);
    let mut demo = demo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(demo.stdout.take());
    let output = demo.wait_with_output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), complaint.as_str()), (Some(0), ""));
}
