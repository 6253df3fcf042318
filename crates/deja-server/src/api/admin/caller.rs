//! Who asks, and what they send.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use deja_core::access_token::PlainAccessToken;
use deja_core::admin::Acting;
use deja_core::admin::projects::Chosen;
use deja_core::admin::tokens::{self, Shown};
use deja_core::operator::Operator;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::refusal::Refusal;
use super::{AdminApi, shape};
use crate::api::body::{object, read};
use crate::auth::bearer;

/// The operator whose token came with the request.
pub(super) struct Caller {
    api: Arc<AdminApi>,
    operator: Operator,
}

impl Caller {
    /// For the use cases, in the operator's name.
    pub(super) fn acting(&self) -> Acting<'_> {
        self.api.admin.acting_for(&self.operator)
    }
}

impl FromRequestParts<Arc<AdminApi>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(head: &mut Parts, api: &Arc<AdminApi>) -> Result<Self, Refusal> {
        let (address, now) = (api.address(head), api.admin.clock.now());
        api.throttle.is_open(address, now).map_err(Refusal::Throttled)?;
        let refused = match token_of(&head.headers)? {
            None => Refusal::UnknownToken,
            Some(plain) => match tokens::find(&api.admin, &plain).await? {
                Shown::Of(operator) => {
                    head.extensions.insert(operator.clone());
                    return Ok(Self { api: api.clone(), operator });
                }
                Shown::Expired => Refusal::ExpiredToken,
                Shown::Unknown => Refusal::UnknownToken,
            },
        };
        api.throttle.failed(address, now);
        Err(refused)
    }
}

/// The token that the headers hold; `None` if what they hold has no token's form.
fn token_of(headers: &HeaderMap) -> Result<Option<PlainAccessToken>, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let first = values.next().ok_or(Refusal::NoToken)?;
    // Two such headers are none: which of them a proxy checked is unknown.
    Ok(Some(first).filter(|_| values.next().is_none()).and_then(bearer).and_then(PlainAccessToken::parse))
}

/// A JSON object as the document describes it; a member that it does not name is refused. Taken behind [`Caller`]: nothing is read
/// for a stranger.
pub(super) struct Sent<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<AdminApi>> for Sent<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, api: &Arc<AdminApi>) -> Result<Self, Refusal> {
        let (mut head, body) = request.into_parts();
        let caller = head.extensions.get::<Operator>().cloned().ok_or(Refusal::UnknownToken)?;
        let mut room = api.app.by_operators().of(caller.id);
        let body = read(&head.headers, body, api.app.limits(), &mut room).await?;
        // A body may take long to arrive: who was disabled or lost the token meanwhile changes nothing with it.
        if Caller::from_request_parts(&mut head, api).await?.operator.role != caller.role {
            return Err(Refusal::Conflict("your role was changed while the request came".into()));
        }
        let text = object(&body, "what /docs names").map_err(Refusal::Bad)?;
        shape::parse(text).map(Self).map_err(Refusal::Bad)
    }
}

/// What the path names.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Refusal))]
pub(super) struct Path<T>(pub(super) T);

/// What stands behind the question mark.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Refusal))]
pub(super) struct Query<T>(pub(super) T);

/// Keeps `null` apart from a member that is not there.
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Chosen<T>>, D::Error> {
    Ok(Some(Option::deserialize(deserializer)?.into()))
}
