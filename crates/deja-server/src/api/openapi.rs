//! The OpenAPI document and its page.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Required, Type};
use utoipa::{Modify, OpenApi};

use crate::api::admin::openapi::Administration;
use crate::api::wire::openapi::Wires;
use crate::api::{error, feedback, health, query};

/// The document's root.
#[derive(OpenApi)]
#[openapi(
    info(title = "deja", description = "A semantic cache for LLM answers.", license(name = "Apache-2.0")),
    paths(query::query, feedback::feedback, health::livez, health::readyz),
    components(schemas(error::ErrorBody, query::QueryRequest, feedback::FeedbackRequest)),
    modifiers(&ApiKeyScheme, &ProjectBase, &Wires, &Administration, &AnswerHeaders),
)]
pub struct ApiDoc;

struct ApiKeyScheme;

impl Modify for ApiKeyScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A project's API key: `dj_` and 32 hexadecimal characters."))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
    }
}

/// Whether a header comes with the answers of a path that have a status.
type Comes = fn(path: &str, status: &str) -> bool;

/// Headers of answers: name, kind, where they come, and what they say.
const HEADERS: [(&str, Type, Comes, &str); 7] = [
    ("X-RateLimit-Limit", Type::Integer, is_admitted, "Requests allowed a minute."),
    (
        "X-RateLimit-Remaining",
        Type::Integer,
        is_admitted,
        "Requests that may come now; never more than `X-RateLimit-Limit`.",
    ),
    (
        "X-RateLimit-Reset",
        Type::Integer,
        is_admitted,
        "When as many requests as the burst may come at once again, in seconds since 1970 (Unix time).",
    ),
    ("X-Request-Id", Type::String, |_, _| true, "The name of this request in the log, and for feedback."),
    ("WWW-Authenticate", Type::String, |_, status| status == "401", "How to say who asks: `Bearer`."),
    ("X-Deja-Error", Type::String, |_, status| is_error(status), "The cause, for programs."),
    (
        "Retry-After",
        Type::Integer,
        |_, status| matches!(status, "429" | "500" | "503"),
        "After how many seconds to ask again, if that makes sense.",
    ),
];

/// Whether the key is known, and with it whose limit it is. Operators and probes have no limit.
fn is_admitted(path: &str, status: &str) -> bool {
    !path.starts_with("/admin/") && !["/livez", "/readyz"].contains(&path) && status != "401"
}

fn is_error(status: &str) -> bool {
    !status.starts_with('2')
}

/// The header of this name, which is described once for all answers.
pub fn described(name: &str) -> Ref {
    Ref::new(format!("#/components/headers/{name}"))
}

/// The headers that answers have in common.
struct AnswerHeaders;

impl Modify for AnswerHeaders {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        for (name, kind, _, about) in HEADERS {
            let schema = ObjectBuilder::new().schema_type(kind).build();
            let header = HeaderBuilder::new().schema(Some(schema)).description(Some(about)).build();
            components.headers.insert(name.to_owned(), header.into());
        }
        for (path, item) in &mut openapi.paths.paths {
            let operations =
                [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
            for operation in operations.into_iter().flatten() {
                for (status, response) in &mut operation.responses.responses {
                    let RefOr::T(response) = response else { continue };
                    let headers = HEADERS.into_iter().filter(|(_, _, comes, _)| comes(path, status));
                    let headers = headers.map(|(name, ..)| (name.to_owned(), RefOr::Ref(described(name))));
                    response.headers.extend(headers);
                }
            }
        }
    }
}

/// What there is below the base URL of a project too, and what its summary is there.
const OF_PROJECT: [(&str, &str); 2] = [
    ("query", "Query the cache, under a project's base URL"),
    ("feedback", "Say whether an answer was right, under a project's base URL"),
];

/// The same paths below the base URL of a project, described once.
struct ProjectBase;

impl Modify for ProjectBase {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let slug = ParameterBuilder::new()
            .name("slug")
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some("The project. A key of another one is refused with 403."))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .build();
        for (name, summary) in OF_PROJECT {
            let path = format!("/v1/cache/{name}");
            let Some(mut item) = openapi.paths.paths.get(&path).cloned() else { continue };
            if let Some(post) = &mut item.post {
                post.operation_id = Some(format!("{name}_of_project"));
                post.summary = Some(summary.into());
                post.parameters = Some(vec![slug.clone().into()]);
            }
            openapi.paths.paths.insert(format!("/p/{{slug}}{path}"), item);
        }
    }
}

/// The document as it is served and as it is kept in `docs/openapi.json`.
pub fn document() -> Result<String, serde_json::Error> {
    ApiDoc::openapi().to_pretty_json()
}
