//! A project and a key of a test's own, and the ways to ask with it.

use serde_json::{Value, json};

use super::deja::Deja;
use super::eventually;
use super::http::{Connection, Response, post};

/// The model most tests ask for: its price is in every price table.
pub const MODEL: &str = "gpt-4o-mini";

/// Where queries go.
pub const PATH: &str = "/v1/cache/query";

/// A project with a key.
pub struct Tenant<'a> {
    pub deja: &'a Deja,
    pub slug: String,
    pub key: String,
}

impl<'a> Tenant<'a> {
    /// Creates a project, with more options of `deja project create`, and a key.
    #[track_caller]
    pub fn create(deja: &'a Deja, name: &str, options: &[&str]) -> Self {
        let slug = deja.cli(&[&["project", "create", name], options].concat());
        let key = key_of(deja, &slug, &[]);
        Self { deja, slug, key }
    }

    /// The arguments that give the project a provider of its own, with more options of `deja provider add`.
    pub fn provider_add<'b>(
        &'b self,
        name: &'b str,
        url: &'b str,
        model: &'b str,
        more: &[&'b str],
    ) -> Vec<&'b str> {
        let project = &self.slug;
        let of = ["provider", "add", "--project", project, "--name", name, "--url", url, "--model", model];
        [&of[..], more].concat()
    }

    /// Another key of the same project, with more options of `deja key create`.
    #[track_caller]
    pub fn new_key(&self, options: &[&str]) -> String {
        key_of(self.deja, &self.slug, options)
    }

    /// Revokes a key. By the whole key: among many keys, what listings show is not unique.
    #[track_caller]
    pub fn revoke(&self, key: &str) {
        self.deja.cli(&["key", "revoke", key]);
    }

    /// Sends `body` with a key.
    pub fn post_as(&self, key: &str, path: &str, body: &[u8]) -> Response {
        self.deja.post(key, path, body)
    }

    /// Sends `body` as it is.
    pub fn post(&self, body: &[u8]) -> Response {
        self.post_as(&self.key, PATH, body)
    }

    /// Sends a query.
    pub fn send(&self, query: &Value) -> Response {
        self.post(query.to_string().as_bytes())
    }

    /// Sends a query, which must be answered.
    #[track_caller]
    pub fn ask(&self, query: &Value) -> Value {
        let response = self.send(query);
        assert_eq!(
            response.status,
            200,
            "{query}: {} {:?}\nlog:\n{}",
            response.text(),
            response.headers,
            self.deja.log()
        );
        response.json()
    }

    /// Asks for `prompt` with defaults and debug.
    #[track_caller]
    pub fn ask_for(&self, prompt: &str) -> Value {
        self.ask(&json!({"prompt": prompt, "model": MODEL, "include_debug": true}))
    }

    /// Returns when tokens are counted and no longer estimated: a vocabulary is loaded beside the first hit by meaning.
    #[track_caller]
    pub fn until_tokens_are_counted(&self) {
        self.ask_for("How do I open the red door?");
        let estimated = || self.ask_for("How can I open the red door?")["debug"]["tokens_estimated"].take();
        eventually("the vocabulary is loaded", || estimated() == false);
    }

    /// The bytes of a query's request.
    pub fn request(&self, query: &Value) -> Vec<u8> {
        post(&self.key, PATH, &query.to_string())
    }

    /// Sends a query and leaves the connection open, without waiting for the answer.
    pub fn begin(&self, query: &Value) -> Connection {
        let mut connection = Connection::open(self.deja.address()).unwrap();
        connection.send(&self.request(query)).unwrap();
        connection
    }
}

/// Creates a key.
#[track_caller]
pub fn key_of(deja: &Deja, slug: &str, options: &[&str]) -> String {
    deja.cli(&[&["key", "create", "--project", slug, "--name", "test"], options].concat())
}
