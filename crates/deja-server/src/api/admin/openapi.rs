//! The admin API in the OpenAPI document: its paths, its token, and what each route may refuse.

use std::collections::BTreeMap;

use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr};
use utoipa::{IntoResponses, Modify, OpenApi};

use super::{audit, keys, members, projects, providers};

/// The paths.
#[derive(OpenApi)]
#[openapi(
    paths(
        projects::list, projects::create, projects::show, projects::change, projects::state, projects::delete,
        keys::list, keys::create, keys::revoke,
        providers::list, providers::add, providers::change, providers::remove,
        members::list, members::set, members::remove,
        audit::list,
    ),
    tags((name = "admin", description = "What operators do, for their programs, in the name of the operator whose token is sent."))
)]
pub struct AdminDoc;

/// Adds them to the document.
pub struct Administration;

impl Modify for Administration {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        document.merge(AdminDoc::openapi());
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An operator's personal access token: `djt_` and 64 hexadecimal characters."))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("access_token", SecurityScheme::Http(scheme));
    }
}

/// What each route may refuse.
pub(super) struct Refused;

impl IntoResponses for Refused {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let all = [
            ("400", "The request's shape, or a value that is not allowed; the text says which."),
            ("401", "No access token, or none that works; see X-Deja-Error."),
            ("403", "Not for this role, or not for this rank in the project."),
            ("404", "What the path names is not there."),
            ("409", "It is there already, or the last of its kind."),
            ("429", "Too many requests without a valid token from this address; see Retry-After."),
            ("500", "deja failed; the log says more."),
            ("503", "Storage does not work now; see Retry-After."),
        ];
        let body = Content::new(Some(Ref::from_schema_name("ErrorBody")));
        let refused = |about: &str| {
            ResponseBuilder::new().description(about).content("application/json", body.clone()).build()
        };
        all.into_iter().map(|(status, about)| (status.to_owned(), refused(about).into())).collect()
    }
}
