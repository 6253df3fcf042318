//! Ctrl-C: a command that takes long ends soon, and says what is done.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;

use super::{Deja, PATIENCE, eventually, within};

/// A server of this directory that serves.
fn served(deja: &Deja) -> Child {
    let mut server =
        deja.command(&["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::null()).spawn().unwrap();
    deja.until_served_by(&mut server);
    server
}

fn signal(name: &str, process: &Child) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(process.id().to_string()).status().unwrap();
    assert!(sent.success());
}

/// What it said, once it has ended.
fn ended(mut child: Child) -> Output {
    let status = within(PATIENCE, || child.try_wait().unwrap());
    if status.is_none() {
        child.kill().unwrap();
    }
    assert!(status.is_some(), "it goes on after the signal");
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output { status: status.unwrap(), stdout, stderr }
}

#[test]
fn an_import_says_what_came_in() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let mut server = served(&deja);
    let mut import = deja.command(&["import"]);
    let mut import =
        import.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = import.stdin.take().unwrap();
    // A batch has 500 lines. When the second one is in, the first one was acknowledged.
    for batch in 1..=2 {
        for line in (batch - 1) * 500..batch * 500 {
            let entry = json!({
                "deja": 1, "type": "entry", "project": "a", "id": format!("00000000-0000-7000-8000-{line:012x}"),
                "model": "m", "prompt": line.to_string(), "created": "2026-01-01T00:00:00Z",
                "answer": {"text": "answer", "provider": "openai", "input_tokens": 1, "output_tokens": 2},
            });
            writeln!(input, "{entry}").unwrap();
        }
        eventually("the batch is in", || {
            deja.json(&["cache", "stats", "--project", "a", "--json"])["entries"] == batch * 500
        });
    }
    // Its standard input stays open and says nothing.
    signal("INT", &import);
    let Output { status, stdout, stderr } = ended(import);
    let (said, error) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(status.code(), Some(1), "{said}{error}");
    assert!(said == "Imported 1000 entries.\n" || said == "Imported 500 entries.\n", "{said}");
    assert!(error.starts_with("deja: interrupted: what came in stays; import again"), "{error}");
    drop(input);
    signal("KILL", &server);
    server.wait().unwrap();
}

#[test]
fn an_export_that_the_server_does_not_answer_ends() {
    let deja = Deja::new();
    let mut server = served(&deja);
    signal("STOP", &server);
    let mut export = deja.command(&["export", "all.jsonl"]);
    let export = export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("it begins", || deja.path().join("all.jsonl").exists());
    signal("INT", &export);
    let Output { status, stdout, stderr } = ended(export);
    let (said, error) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!((status.code(), &*said), (Some(1), "Exported 0 entries.\n"), "{error}");
    assert!(error.contains("interrupted: ") && error.contains("--resume"), "{error}");
    assert!(
        !deja.path().join("all.jsonl").exists(),
        "an empty file would keep the next export from beginning"
    );
    signal("KILL", &server);
    server.wait().unwrap();
}
