//! Providers that a project brought itself, and the guard of what addresses are called.

use serde_json::json;

use crate::util::provider::{Family, INPUT_TOKENS, OUTPUT_TOKENS, answer_to};
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, Reaction, Tenant, World};

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

/// The secret of the project's own providers here.
const SECRET: &str = "house-secret-e17b";

/// Gives the project a provider with a secret.
fn add_with_secret(tenant: &Tenant<'_>, url: &str, model: &str, kind: &str) {
    let more = ["--kind", kind, "--allow-private", "--secret-stdin"];
    let mut command = tenant.deja.command(&tenant.provider_add("house", url, model, &more));
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), SECRET.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_custom_provider_gets_its_own_secret() {
    let tenant = World::shared().tenant("custom-secret");
    let own = FakeProvider::start();
    add_with_secret(&tenant, &format!("{}/v1", own.url()), "m", "openai");
    tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "m"}));
    assert_eq!(own.calls("m")[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
}

#[test]
fn a_secret_of_another_master_key_is_told_and_stored_answers_are_served() {
    let operators = FakeProvider::start();
    let mut deja = Deja::on("", &operators);
    let own = FakeProvider::start();
    let (slug, key) = {
        let tenant = Tenant::create(&deja, "another-master-key", &[]);
        add_with_secret(&tenant, &format!("{}/v1", own.url()), "m", "openai");
        tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "m"}));
        (tenant.slug.clone(), tenant.key.clone())
    };
    assert!(deja.stop().success());
    // The steps of docs/operations/monitoring.md for a lost master key.
    let database = rusqlite::Connection::open(deja.data().join("deja.db")).unwrap();
    assert_eq!(database.execute("DELETE FROM facts WHERE name = 'key_check'", []).unwrap(), 1);
    drop(database);
    deja.set("DEJA_MASTER_KEY", &"ab".repeat(32));
    deja.restart();
    let tenant = Tenant { deja: &deja, slug, key };
    let stored = tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "m"}));
    assert_eq!(stored["cache_hit"], true);
    let missed = tenant.send(&json!({"prompt": "Why is the sky blue?", "model": "m"}));
    missed.detail(500);
    assert_eq!(missed.header("x-deja-error"), Some("provider_not_configured"));
    deja.until_logged("cannot open the key of the provider 'house'", 1);
    assert_eq!(own.calls("sky").len(), 0);
}

#[test]
fn a_custom_provider_may_speak_as_anthropic_or_gemini_do() {
    let world = World::shared();
    for (kind, end, family, path, header) in [
        ("anthropic", "", Family::Anthropic, "/v1/messages", "x-api-key"),
        ("gemini", "/v1beta", Family::Gemini, "/v1beta/models/house-1:generateContent", "x-goog-api-key"),
    ] {
        let tenant = world.tenant(kind);
        let own = FakeProvider::start();
        add_with_secret(&tenant, &format!("{}{end}", own.url()), "house-1", kind);
        let context = format!("Be brief, house of {kind}.");
        let query = |prompt: &str| json!({"prompt": prompt, "model": "house-1", "context": context, "include_debug": true});
        let answer = tenant.ask(&query("Who wrote Faust?"));
        assert_eq!((&answer["llm_provider"], &answer["cache_hit"]), (&json!("house"), &json!(false)));
        assert_eq!(answer["response"], answer_to("Who wrote Faust?"));
        let tokens = (&answer["debug"]["prompt_tokens"], &answer["debug"]["completion_tokens"]);
        assert_eq!(tokens, (&json!(INPUT_TOKENS), &json!(OUTPUT_TOKENS)), "{}", answer["debug"]);
        let calls = own.calls("house-1");
        assert_eq!((calls.len(), calls[0].family, calls[0].path.as_str()), (1, family, path));
        assert_eq!(
            (calls[0].system.as_deref(), calls[0].prompt.as_str()),
            (Some(&*context), "Who wrote Faust?")
        );
        assert_eq!(calls[0].header(header), Some(SECRET));
        assert!(world.provider.calls(&context).is_empty(), "the operator's provider hears nothing of it");
        assert_eq!(tenant.ask(&query("Who wrote Faust?"))["cache_hit"], true);
        // A family's own model still goes to the operator's provider, with the operator's key alone.
        tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": context}));
        let elsewhere = world.provider.calls(&context);
        assert_eq!(elsewhere.len(), 1);
        assert!(!format!("{:?}", elsewhere[0].headers).contains(SECRET), "{:?}", elsewhere[0].headers);
        // Its failures are told as those of any provider.
        own.on("broken", Reaction::Json(401, json!({"error": {"message": "no"}})));
        let failed = tenant.send(&query("broken"));
        assert_eq!((failed.status, failed.header("x-deja-error")), (500, Some("provider_auth")), "{kind}");
    }
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
