//! How an application connects: base URLs, and snippets that work as they stand. The snippets are those of the page of
//! documentation that is tried with the libraries (`make clients`): no text of theirs stands twice.

use deja_core::project::Project;
use deja_core::provider::ProviderKind;
use serde_json::Value;

use super::error::ConsoleError;
use super::page::Visit;
use super::providers::{Models, USUAL_MODEL};

/// The page that has the snippets.
const DOCUMENTED: &str = include_str!("../../../../docs/start/clients.md");
/// The address that they name.
const ADDRESS: &str = "http://127.0.0.1:8080";

/// A library: the id and heading of its snippet, whose models it asks for, and the one that the snippet names.
const LIBRARIES: [(&str, &str, ProviderKind, &str); 6] = [
    ("openai-python", "OpenAI, Python", ProviderKind::OpenAi, "gpt-4o-mini"),
    ("openai-node", "OpenAI, Node", ProviderKind::OpenAi, "gpt-4o-mini"),
    ("anthropic-python", "Anthropic, Python", ProviderKind::Anthropic, "claude-sonnet-4-6"),
    ("google-genai", "google-genai", ProviderKind::Gemini, "gemini-2.5-flash"),
    ("langchain", "LangChain, OpenAI", ProviderKind::OpenAi, "gpt-4o-mini"),
    ("ai-sdk", "Vercel AI SDK", ProviderKind::OpenAi, "gpt-4.1-mini"),
];

/// What the pages say of connecting.
pub(super) struct Connect {
    /// The base URL of the project.
    pub(super) base: String,
    /// The base URLs for each kind of client: id of the row, client, URL of the project, URL of all projects.
    pub(super) surfaces: Vec<(&'static str, &'static str, String, String)>,
    /// The line that puts the key where the snippets look for it.
    pub(super) export: String,
    /// Id, title and text.
    pub(super) snippets: Vec<(&'static str, &'static str, String)>,
    /// Whether any provider could be asked.
    pub(super) has_provider: bool,
}

impl Connect {
    /// For a browser that came by `origin`; with a key that was just made, if one was.
    pub(super) async fn read(
        visit: &Visit,
        project: &Project,
        origin: &str,
        key: Option<&str>,
    ) -> Result<Self, ConsoleError> {
        let models = Models::read(visit, project).await?;
        let base = format!("{origin}/p/{}", project.slug);
        let surface = |id, who, below| (id, who, format!("{base}{below}"), format!("{origin}{below}"));
        let own_api = models.any();
        let libraries = LIBRARIES.into_iter().filter_map(|(id, title, kind, model)| {
            let text = documented(title)?.replace(ADDRESS, &base);
            let text = match models.instead_of_families(kind) {
                Some(own) => text.replace(&format!("\"{model}\""), &Value::from(own).to_string()),
                None => text,
            };
            Some((id, title, text))
        });
        Ok(Self {
            surfaces: vec![
                surface("base-openai", "OpenAI, LangChain, LlamaIndex, LiteLLM, Vercel AI SDK", "/v1"),
                surface("base-anthropic", "Anthropic, langchain-anthropic, Claude Code", ""),
                surface("base-gemini", "Google Gen AI", ""),
                surface("base-query", "deja’s own API", "/v1/cache/query"),
            ],
            export: format!("export DEJA_KEY={}", key.unwrap_or("dj_...")),
            snippets: libraries.chain(own(&base, own_api.unwrap_or(USUAL_MODEL))).collect(),
            has_provider: own_api.is_some(),
            base,
        })
    }
}

/// The first snippet below a heading of the page.
fn documented(heading: &str) -> Option<&'static str> {
    let (_, section) = DOCUMENTED.split_once(&format!("\n## {heading}\n"))?;
    let (_, opened) = section.split_once("\n```")?;
    let (_, text) = opened.split_once('\n')?;
    Some(text.split_once("\n```")?.0)
}

/// Snippets of deja's own API. A query is JSON, which Python reads as its own.
fn own(base: &str, model: &str) -> [(&'static str, &'static str, String); 2] {
    let query = |prompt| format!(r#"{{"prompt": "{prompt}", "model": {}}}"#, Value::from(model));
    // A model's name may hold what ends a quoted word of the shell.
    let quoted = query("How do I reset my password?").replace('\'', r"'\''");
    let query = query("How do I change my address?");
    let curl = format!(
        r#"curl {base}/v1/cache/query \
  -H "Authorization: Bearer $DEJA_KEY" \
  -H "Content-Type: application/json" \
  -d '{quoted}'"#
    );
    let python = format!(
        r#"import json, os, urllib.request

request = urllib.request.Request(
    "{base}/v1/cache/query",
    json.dumps({query}).encode(),
    {{"Authorization": f"Bearer {{os.environ['DEJA_KEY']}}", "Content-Type": "application/json"}})
answer = json.load(urllib.request.urlopen(request))
print(answer["response"], answer["cache_hit"], answer["cost_saved"])"#
    );
    [("curl", "deja’s own API, curl", curl), ("python", "deja’s own API, Python without any package", python)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_has_a_snippet_that_names_the_address_and_its_model() {
        for (id, title, _, model) in LIBRARIES {
            let text = documented(title).unwrap_or_else(|| panic!("{title} has no snippet"));
            assert!(text.contains(ADDRESS) && text.contains(&format!("\"{model}\"")), "{id}: {text}");
            assert!(
                !text.contains("\n#") && !text.contains("```"),
                "{id} ends where the snippet does: {text}"
            );
        }
        assert_eq!(documented("No library"), None);
    }
}
