//! Paths that are not there, in the shape of each wire.

use serde_json::json;

use crate::util::{Response, World};

/// The type of an error, after checking its shape.
#[track_caller]
fn kind(path: &str, response: &Response) -> String {
    let body = response.json();
    assert_eq!(response.header("content-type"), Some("application/json"), "{response:?}");
    assert!(response.header("x-request-id").is_some_and(|id| !id.is_empty()), "{response:?}");
    assert!(body.get("detail").is_none(), "{body}");
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let error = body["error"].as_object().unwrap();
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    if path.contains("/messages") {
        assert_eq!((members, &body["type"]), (vec!["error", "type"], &json!("error")));
        assert_eq!(response.header("request-id"), response.header("x-request-id"));
        return error["type"].as_str().unwrap().into();
    }
    assert_eq!(members, ["error"]);
    if path.contains("v1beta") {
        assert_eq!(error["code"], json!(response.status));
        return error["status"].as_str().unwrap().into();
    }
    assert!(error.contains_key("param") && error.contains_key("code"), "{body}");
    error["type"].as_str().unwrap().into()
}

#[test]
fn what_is_not_there_is_404_and_says_what_is() {
    let deja = &World::shared().deja;
    for path in [
        "/v1/files",
        "/v1/audio/speech",
        "/v1/responses/resp_1",
        "/v1/nothing",
        "/p/x/v1/batches",
        "/v1/chat",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let response = deja.request(method, path, &[], b"");
            assert_eq!(
                (response.status, kind(path, &response).as_str()),
                (404, "invalid_request_error"),
                "{path}"
            );
            assert!(response.text().contains("/v1/models"));
        }
    }
    let response = deja.request("POST", "/v1beta/cachedContents", &[], b"");
    assert_eq!((response.status, kind("/v1beta", &response).as_str()), (404, "NOT_FOUND"));
    let response = deja.request("GET", "/v1/messages/batches", &[], b"");
    assert_eq!(response.json()["error"]["type"], "not_found_error");
    // deja's own API keeps its own form.
    deja.request("POST", "/v1/cache/nothing", &[], b"").detail(404);
    deja.request("GET", "/v1/cache/query", &[], b"").detail(405);
    deja.get("/nowhere").detail(404);
}

#[test]
fn another_method_is_405() {
    let deja = &World::shared().deja;
    for method in ["PUT", "DELETE"] {
        let response = deja.request(method, "/v1/models", &[], b"");
        assert_eq!((response.status, kind("/v1/models", &response).as_str()), (405, "invalid_request_error"));
        assert!(response.header("allow").is_some_and(|allow| allow.contains("GET")));
    }
}
