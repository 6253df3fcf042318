//! The OpenAPI document and its page.

use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ObjectBuilder, Required, Type};
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
    modifiers(&ApiKeyScheme, &ProjectBase, &Wires, &Administration),
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
