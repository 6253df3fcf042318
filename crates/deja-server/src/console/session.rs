//! Who is there: cookies, the session behind them, and what a handler is given of it.

use std::sync::Arc;

use axum::RequestExt;
use axum::extract::{FromRequestParts, OriginalUri, RawPathParams, Request, State};
use axum::http::header::{COOKIE, REFERER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cookie::{Cookie, SameSite};
use deja_core::admin::{Seen, sessions};
use deja_core::member::Rank;
use deja_core::operator::{Operator, PlainToken, Role, Session};
use url::{Position, Url};

use super::Console;
use super::error::ConsoleError;
use super::flash::{self, Flash};
use super::form;

pub(super) const NAME: &str = "deja_session";

/// Who may open a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// Who is signed in.
    Member,
    /// Who has this rank in the project of the address, or a higher one.
    In(Rank),
    /// Owners of deja.
    Owner,
}

impl Access {
    /// Whether this operator may, who sees the project of the address so.
    fn allows(self, operator: &Operator, seen: Option<&Seen>) -> Result<(), ConsoleError> {
        match self {
            Self::Public | Self::Member => Ok(()),
            Self::In(least) => Ok(seen.cloned().ok_or(ConsoleError::NotFound)?.least(least).map(drop)?),
            Self::Owner if operator.role == Role::Owner => Ok(()),
            Self::Owner => Err(ConsoleError::OwnersOnly),
        }
    }
}

/// Who is signed in.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub(super) operator: Operator,
    pub(super) session: Session,
}

/// Lets only those through who may open the page, and tells its handler who it is, and of which project.
pub(super) async fn require(
    State((console, access)): State<(Arc<Console>, Access)>,
    request: Request,
    next: Next,
) -> Response {
    match admitted(&console, access, request).await {
        Ok(request) => next.run(request).await,
        Err(response) => response,
    }
}

/// The request with who sent it, if they may. A form may take long to arrive, and who sends it may be disabled, be signed out or
/// lose their rank meanwhile: so they are looked up once more when all of it is there.
async fn admitted(console: &Arc<Console>, access: Access, request: Request) -> Result<Request, Response> {
    let request = known(console, access, request).await?;
    if request.method() == Method::GET {
        return Ok(request);
    }
    let request = form::arrived(console, request).await.map_err(IntoResponse::into_response)?;
    known(console, access, request).await
}

async fn known(console: &Console, access: Access, mut request: Request) -> Result<Request, Response> {
    let found = find(console, &Cookies::of(request.headers())).await;
    let Some(who) = found.map_err(IntoResponse::into_response)? else {
        if request.method() != Method::GET {
            let said = Flash::bad("You are signed out, so nothing was changed. Sign in and do it again.");
            let page = page_of_form(request.headers());
            return Err(flash::redirect(console, None, &sign_in_url(&page), &said).into_response());
        }
        let to = request.extensions().get::<OriginalUri>().map_or(request.uri(), |uri| &uri.0);
        return Err(ConsoleError::SignIn { next: to.to_string() }.into_response());
    };
    let allowed = async {
        let seen = seen(console, &who.operator, &mut request).await?;
        access.allows(&who.operator, seen.as_ref())?;
        Ok::<_, ConsoleError>(seen)
    };
    let seen = allowed.await.map_err(IntoResponse::into_response)?;
    request.extensions_mut().insert(seen);
    request.extensions_mut().insert(Some(who));
    Ok(request)
}

/// Where the form stands that was sent; empty if the browser does not say it.
fn page_of_form(headers: &HeaderMap) -> String {
    let said =
        headers.get(REFERER).and_then(|page| page.to_str().ok()).and_then(|page| Url::parse(page).ok());
    said.map(|page| page[Position::BeforePath..].to_owned()).unwrap_or_default()
}

/// The project of the address as this operator sees it; `None` at an address of none.
async fn seen(
    console: &Console,
    operator: &Operator,
    request: &mut Request,
) -> Result<Option<Seen>, ConsoleError> {
    let parts = request.extract_parts::<RawPathParams>().await.map_err(|_| ConsoleError::NotFound)?;
    let Some((_, slug)) = parts.iter().find(|(name, _)| *name == "slug") else { return Ok(None) };
    Ok(Some(console.admin.acting_for(operator).seen(slug).await?))
}

/// Who the request's cookie belongs to. Notes that the session was used.
pub(super) async fn find(console: &Console, cookies: &Cookies) -> Result<Option<Who>, ConsoleError> {
    let token = cookies.get(console.secure, NAME).and_then(|text| PlainToken::parse(&text));
    let Some(token) = token else { return Ok(None) };
    let found = sessions::find(&console.admin, &token).await?;
    Ok(found.map(|(session, operator)| Who { operator, session }))
}

/// The header that signs a browser in.
pub(super) fn session_cookie(console: &Console, token: &PlainToken) -> Result<HeaderValue, ConsoleError> {
    let seconds = i64::try_from(sessions::LIFETIME.as_secs()).unwrap_or(i64::MAX);
    cookie(console.secure, NAME, token.reveal(), Some(seconds))
}

/// A request's cookies, as its headers have them.
pub(super) struct Cookies(Vec<HeaderValue>);

impl Cookies {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(headers.get_all(COOKIE).iter().cloned().collect())
    }

    /// The cookie called `name`. Two cookies of that name count as none: one of them is not ours.
    pub(super) fn get(&self, secure: bool, name: &str) -> Option<String> {
        let name = full_name(secure, name);
        let texts = self.0.iter().filter_map(|value| value.to_str().ok());
        let cookies = texts.flat_map(Cookie::split_parse).filter_map(Result::ok);
        let mut found = cookies.filter(|cookie| cookie.name() == name);
        match (found.next(), found.next()) {
            (Some(cookie), None) => Some(cookie.value().to_owned()),
            _ => None,
        }
    }
}

/// A cookie that scripts cannot read and other sites cannot send along with a form. Over https its name makes
/// browsers insist that it came from this very host.
pub(super) fn cookie(
    secure: bool,
    name: &str,
    value: &str,
    seconds: Option<i64>,
) -> Result<HeaderValue, ConsoleError> {
    let mut cookie = Cookie::build((full_name(secure, name), value))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(secure);
    if let Some(seconds) = seconds {
        cookie = cookie.max_age(cookie::time::Duration::seconds(seconds));
    }
    let text = cookie.build().to_string();
    HeaderValue::from_str(&text).map_err(ConsoleError::failed)
}

/// The header that removes a cookie.
pub(super) fn expired(secure: bool, name: &str) -> HeaderValue {
    cookie(secure, name, "", Some(0)).unwrap_or(HeaderValue::from_static(""))
}

fn full_name(secure: bool, name: &str) -> String {
    if secure { format!("__Host-{name}") } else { name.to_owned() }
}

/// Where to sign in, and go on to `next` afterwards.
pub(super) fn sign_in_url(next: &str) -> String {
    match local(next) {
        "/console/projects" => "/console/sign-in".into(),
        next => {
            let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            format!("/console/sign-in?next={next}")
        }
    }
}

/// `next` if it is a place of the console, else the list of projects: no link of ours leads elsewhere.
pub(super) fn local(next: &str) -> &str {
    let path = next.split(['?', '#']).next().unwrap_or_default();
    let ours = path == "/console" || path.starts_with("/console/");
    if ours && next.len() <= 2048 && next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
        next
    } else {
        "/console/projects"
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ConsoleError> {
        let who = parts.extensions.get::<Option<Self>>().cloned().flatten();
        who.ok_or(ConsoleError::SignIn { next: String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_bound_to_the_host_where_that_is_possible() {
        let text = |secure| cookie(secure, NAME, "abc", Some(60)).unwrap().to_str().unwrap().to_owned();
        assert_eq!(text(true), "__Host-deja_session=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=60");
        assert_eq!(text(false), "deja_session=abc; HttpOnly; SameSite=Lax; Path=/; Max-Age=60");
    }

    #[test]
    fn of_two_cookies_with_one_name_none_counts() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; deja_session=x"));
        assert_eq!(Cookies::of(&headers).get(false, NAME).as_deref(), Some("x"));
        assert_eq!(Cookies::of(&headers).get(true, NAME), None);
        headers.append(COOKIE, HeaderValue::from_static("deja_session=y"));
        assert_eq!(Cookies::of(&headers).get(false, NAME), None);
    }

    #[test]
    fn sign_in_leads_to_places_of_the_console_only() {
        for next in ["/console/p/a/keys?x=1", "/console"] {
            assert_eq!(local(next), next);
        }
        for next in [
            "", "/", "//evil.test", "https://evil.test", "/console.evil", "/console/\\evil",
            "/console/\r\nX: y",
        ] {
            assert_eq!(local(next), "/console/projects", "{next:?}");
        }
        assert_eq!(sign_in_url("/console/p/a?b=c"), "/console/sign-in?next=%2Fconsole%2Fp%2Fa%3Fb%3Dc");
    }
}
