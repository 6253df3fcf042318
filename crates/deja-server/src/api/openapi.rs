//! The OpenAPI document and its page.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::api::{error, health, query};

/// The document's root.
#[derive(OpenApi)]
#[openapi(
    info(title = "deja", description = "A semantic cache for LLM answers.", license(name = "Apache-2.0")),
    paths(query::query, health::livez, health::readyz),
    components(schemas(error::ErrorBody, query::QueryRequest)),
    modifiers(&ApiKeyScheme),
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

/// The document as it is served and as it is kept in `docs/openapi.json`.
pub fn document() -> Result<String, serde_json::Error> {
    ApiDoc::openapi().to_pretty_json()
}
