//! The console of the built binary: the link that the first start prints, people who are let in from the command
//! line, and a download that the command line takes in.

use std::fs;

use scraper::{Html, Selector};
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use crate::util::http::{Connection, request};
use crate::util::provider::answer_to;
use crate::util::{Deja, FakeProvider, PATIENCE, Response, Tenant, within};

const PASSWORD: &str = "correct horse battery staple";
const EMAIL: &str = "ada@example.com";

/// Sends a form as a browser does from a page of the console.
fn post(deja: &Deja, path: &str, form: &[(&str, &str)]) -> Response {
    let body = Serializer::new(String::new()).extend_pairs(form).finish();
    let headers = [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "application/x-www-form-urlencoded")];
    deja.request("POST", path, &headers, body.as_bytes())
}

/// Opens a page with a session.
fn get(deja: &Deja, session: &str, path: &str) -> Response {
    deja.request("GET", path, &[("Cookie", session)], b"")
}

/// Uses a link up, and gives the session that it opens.
#[track_caller]
fn accept(deja: &Deja, path: &str, password: &str) -> String {
    let form = [("email", EMAIL), ("password", password), ("again", password)];
    let response = post(deja, path, &form);
    assert_eq!(response.status, 303, "{}", response.text());
    session(&response)
}

fn session(response: &Response) -> String {
    let cookie = response.header("set-cookie").expect("a session");
    assert!(cookie.starts_with("deja_session=") && cookie.contains("HttpOnly"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

/// The path of a link to this server.
#[track_caller]
fn path(deja: &Deja, link: &str) -> String {
    let path = link.strip_prefix(&format!("http://{}", deja.address()));
    path.unwrap_or_else(|| panic!("{link} does not lead to {}", deja.address())).to_owned()
}

/// The links for a first owner that were printed so far.
fn links(deja: &Deja) -> Vec<String> {
    let log = deja.log();
    log.lines().filter(|line| line.contains("/console/setup?token=")).map(str::to_owned).collect()
}

/// The path of the link that the start number `start` prints, a moment after it began to answer.
#[track_caller]
fn link_of_start(deja: &Deja, start: usize) -> String {
    let link = within(PATIENCE, || links(deja).into_iter().nth(start - 1));
    path(deja, &link.unwrap_or_else(|| panic!("no link: {}", deja.log())))
}

/// Makes the first owner by the printed link, and gives their session.
fn owner(deja: &Deja) -> String {
    accept(deja, &link_of_start(deja, 1), PASSWORD)
}

fn json_of(deja: &Deja, arguments: &[&str]) -> Value {
    let output = deja.try_cli(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error} {output:?}"))
}

#[test]
fn the_first_start_prints_a_link_that_works_once() {
    let mut deja = Deja::builder().start();
    let early = link_of_start(&deja, 1);
    assert!(
        deja.log().contains("The console has no operator yet. This link makes the first one, once, until ")
    );
    assert_eq!(deja.get(&early).status, 200);
    // Nobody used it: the next start prints another one, which alone works.
    deja.stop();
    deja.restart();
    let link = link_of_start(&deja, 2);
    assert_eq!(deja.get(&early).status, 410);
    let page = deja.get(&link);
    assert!(page.status == 200 && page.text().contains("Welcome to deja"), "{}", page.text());

    let session = accept(&deja, &link, PASSWORD);
    let projects = get(&deja, &session, "/console/projects");
    assert!(projects.status == 200 && projects.text().contains(EMAIL), "{}", projects.text());
    assert_eq!(deja.get(&link).status, 410);
    let form = [("email", "eve@example.com"), ("password", PASSWORD), ("again", PASSWORD)];
    assert_eq!(post(&deja, &link, &form).status, 410);
    let list = json_of(&deja, &["operator", "list", "--json"]);
    assert_eq!((list.as_array().unwrap().len(), &list[0]["email"]), (1, &json!(EMAIL)));
    assert_eq!(list[0]["role"], "owner");

    deja.stop();
    deja.restart();
    assert_eq!(get(&deja, &session, "/console/projects").status, 200, "sessions outlive the process");
    // It stops only after it has printed what it prints.
    deja.stop();
    assert_eq!(links(&deja).len(), 2, "nothing is printed once there is an owner");
}

#[test]
fn people_are_let_in_from_the_command_line_while_the_server_runs() {
    let deja = Deja::builder().start();
    owner(&deja);
    let link = deja.cli(&["operator", "create", "bob@example.com"]);
    let before = accept(&deja, &path(&deja, &link), "bobs first password");
    assert_eq!(get(&deja, &before, "/console/projects").status, 200);
    assert_eq!(get(&deja, &before, "/console/audit").status, 403, "a member");
    let list = json_of(&deja, &["operator", "list", "--json"]);
    let people: Vec<_> = list.as_array().unwrap().iter().map(|one| (&one["email"], &one["role"])).collect();
    assert_eq!(people, [(&json!(EMAIL), &json!("owner")), (&json!("bob@example.com"), &json!("member"))]);

    let link = path(&deja, &deja.cli(&["operator", "reset-password", "bob@example.com"]));
    assert_eq!(
        get(&deja, &before, "/console/projects").status,
        200,
        "nothing is reset before the link is used"
    );
    let after = accept(&deja, &link, "bobs second password");
    assert_eq!(get(&deja, &after, "/console/projects").status, 200);
    assert_eq!(get(&deja, &before, "/console/projects").status, 303, "the old sessions are ended");
    let sign_in =
        |password| post(&deja, "/console/sign-in", &[("email", "bob@example.com"), ("password", password)]);
    assert_eq!(sign_in("bobs first password").status, 422);
    assert_eq!(sign_in("bobs second password").status, 303);

    let rows = json_of(&deja, &["audit", "list", "--json"]);
    let rows: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| [&row["action"], &row["actor"]].map(|v| v.as_str().unwrap()))
        .collect();
    for row in [
        ["operator.setup-link", "system"],
        ["operator.join", EMAIL],
        ["operator.invite", "cli"],
        ["operator.join", "bob@example.com"],
        ["operator.reset-link", "cli"],
        ["operator.reset-password", "bob@example.com"],
        ["session.refuse", "system"],
        ["session.begin", "bob@example.com"],
    ] {
        assert!(rows.contains(&row), "{row:?} in {rows:?}");
    }
}

#[test]
fn what_is_downloaded_in_the_console_is_imported_elsewhere() {
    let provider = FakeProvider::start();
    let source = Deja::start(&provider);
    let session = owner(&source);
    let tenant = Tenant::create(&source, "Shop", &[]);
    for context in [Value::Null, json!("Be brief.")] {
        tenant.ask(
            &json!({"prompt": "How do I reset my password?", "model": "gpt-4o-mini", "context": context}),
        );
    }
    let file = get(&source, &session, "/console/p/shop/export");
    assert_eq!(file.status, 200);
    let exported = source.try_cli(&["export", "--project", "shop", "--with-projects", "--with-keys"]);
    assert_eq!(file.text(), String::from_utf8(exported.stdout).unwrap(), "what deja export writes");

    let target = Deja::start(&provider);
    // An empty deja needs nothing else: the key that works here works there.
    let tenant = Tenant { deja: &target, ..tenant };
    let path = target.data().join("shop.jsonl");
    fs::write(&path, &file.body).unwrap();
    let said = target.cli(&["import", path.to_str().unwrap()]);
    assert!(said.contains("2 entries"), "{said}");
    let calls = provider.calls("password").len();
    for context in [Value::Null, json!("Be brief.")] {
        let query =
            json!({"prompt": "How can I reset my password?", "model": "gpt-4o-mini", "context": context});
        let hit = tenant.ask(&query);
        assert_eq!(
            (&hit["cache_hit"], &hit["response"]),
            (&json!(true), &json!(answer_to("How do I reset my password?")))
        );
    }
    assert_eq!(provider.calls("password").len(), calls);
}

/// The others need what is not everywhere: curl, and the OpenAI client.
#[test]
fn the_python_snippet_works_as_it_is_printed() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let session = owner(&deja);
    let tenant = Tenant::create(&deja, "Shop", &[]);
    // As a browser asks that came by the server's own address: the snippet has the one that the page was reached by.
    let asked = request("GET", "/console/p/shop", &[("Cookie", &session)], b"");
    let asked = String::from_utf8(asked).unwrap().replace("deja.test", &deja.address().to_string());
    let mut connection = Connection::open(deja.address()).unwrap();
    connection.send(asked.as_bytes()).unwrap();
    let page = Html::parse_document(&connection.receive().unwrap().text());
    let snippet: String =
        page.select(&Selector::parse("#python").unwrap()).flat_map(|code| code.text()).collect();
    let printed = |times: &str| {
        let mut python = std::process::Command::new("python3");
        let output = python.arg("-c").arg(&snippet).env("DEJA_KEY", &tenant.key).output().unwrap();
        assert!(output.status.success(), "{times}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let answer = answer_to("How do I change my address?");
    assert_eq!(printed("once"), format!("{answer} False 0.0\n"));
    assert_eq!(printed("again"), format!("{answer} True 0.00045\n"));
}
