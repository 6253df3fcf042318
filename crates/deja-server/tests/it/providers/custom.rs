//! Providers that a project brought itself, and the guard of what addresses are called.

use serde_json::json;

use crate::util::provider::{Family, answer_to};
use crate::util::tenant::MODEL;
use crate::util::{FakeProvider, World};

#[test]
fn a_custom_provider_answers_its_models_in_its_project_only() {
    let world = World::shared();
    let (tenant, other) = (world.tenant("custom"), world.tenant("custom-other"));
    let own = FakeProvider::start();
    let url = format!("{}/v1", own.url());
    tenant.deja.cli(&tenant.provider_add(
        "house",
        &url,
        "house-model-1",
        &["--model", MODEL, "--allow-private"],
    ));
    let answer =
        tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "house-model-1", "context": "Be brief."}));
    assert_eq!(answer["llm_provider"], "house");
    assert_eq!(answer["response"], answer_to("Who wrote Faust?"));
    let calls = own.calls("house-model-1");
    assert_eq!((calls[0].family, calls[0].path.as_str()), (Family::OpenAi, "/v1/chat/completions"));
    assert_eq!(calls[0].system.as_deref(), Some("Be brief."));
    let all = format!("{:?}", calls[0].headers);
    assert!(!all.contains("sk-test-openai"), "the operator's credentials stay at home: {all}");
    // A project's own provider comes before the family.
    assert_eq!(tenant.ask_for("Why is the sky blue?")["llm_provider"], "house");
    // Other projects do not see it.
    other.send(&json!({"prompt": "x", "model": "house-model-1"})).detail(400);
    assert_eq!(other.ask_for("Why is the sky blue?")["llm_provider"], "openai");
}

#[test]
fn a_custom_provider_gets_its_own_secret() {
    let world = World::shared();
    let tenant = world.tenant("custom-secret");
    let own = FakeProvider::start();
    let url = format!("{}/v1", own.url());
    let mut command =
        tenant.deja.command(&tenant.provider_add("house", &url, "m", &["--allow-private", "--secret-stdin"]));
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"house-secret-e17b\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "m"}));
    assert_eq!(own.calls("m")[0].header("authorization"), Some("Bearer house-secret-e17b"));
}

#[test]
fn private_addresses_are_refused_unless_the_operator_allows_them() {
    let world = World::shared();
    let tenant = world.tenant("ssrf");
    let own = FakeProvider::start();
    let port = own.url().rsplit(':').next().unwrap().to_owned();
    let urls = [
        format!("http://127.0.0.1:{port}/v1"),
        format!("http://localhost:{port}/v1"),
        format!("http://[::1]:{port}/v1"),
        format!("http://[::ffff:127.0.0.1]:{port}/v1"),
        format!("http://2130706433:{port}/v1"),
        format!("http://0.0.0.0:{port}/v1"),
        "http://10.0.0.1/v1".into(),
        "http://192.168.1.1/v1".into(),
        "http://169.254.169.254/v1".into(),
    ];
    for (n, url) in urls.iter().enumerate() {
        let model = format!("ssrf-model-{n}");
        let name = format!("p{n}");
        let add = tenant.provider_add(&name, url, &model, &[]);
        if tenant.deja.try_cli(&add).status.success() {
            // What is not known to be private when it is saved is refused when it is called.
            let response = tenant.send(&json!({"prompt": "x", "model": model}));
            assert_eq!(response.status, 500, "{url}");
            assert_eq!(response.header("x-deja-error"), Some("provider_address_forbidden"), "{url}");
        }
        assert!(own.calls(&model).is_empty(), "{url} was called");
    }
}

#[test]
fn metadata_addresses_are_refused_even_where_private_ones_are_allowed() {
    let tenant = World::shared().tenant("metadata");
    for (n, url) in ["http://169.254.169.254/v1", "http://[fe80::1]/v1"].into_iter().enumerate() {
        let (model, name) = (format!("metadata-model-{n}"), format!("p{n}"));
        let add = tenant.provider_add(&name, url, &model, &["--allow-private"]);
        if tenant.deja.try_cli(&add).status.success() {
            let response = tenant.send(&json!({"prompt": "x", "model": model}));
            assert_eq!(response.header("x-deja-error"), Some("provider_address_forbidden"), "{url}");
        }
    }
}
