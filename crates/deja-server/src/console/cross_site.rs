//! What stands before every page: no request from another site, and headers that keep a page to itself.
//!
//! **Cross-site requests** are told by what browsers say of a request's origin, without tokens in forms. A request
//! that changes something passes if `Sec-Fetch-Site` says `same-origin`; where a browser does not send it (plain
//! http on a network, old ones), if `Origin` names this very host. With neither it does not pass. The session cookie
//! is `SameSite=Lax` besides.

use axum::extract::Request;
use axum::http::header::{
    CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use url::Url;

use super::error::ConsoleError;
use super::page::Frame;

/// No inline script, no inline style, nothing from elsewhere, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Lets a request through, or not, and gives the answer its headers.
pub(super) async fn refuse(request: Request, next: Next) -> Response {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let mut response = if safe || is_same_origin(request.headers()) {
        next.run(request).await
    } else {
        ConsoleError::CrossSite.page(Frame::door(""), "")
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // Not no-referrer: with that, browsers send `Origin: null` with our own forms.
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_same_origin(headers: &HeaderMap) -> bool {
    let one = |name: &HeaderName| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    if headers.contains_key(SEC_FETCH_SITE) {
        return one(&SEC_FETCH_SITE) == Some("same-origin");
    }
    let (Some(origin), Some(host)) = (one(&ORIGIN), one(&HOST)) else { return false };
    let Ok(origin) = Url::parse(origin) else { return false };
    // The scheme is that of the origin on both sides: behind a proxy that ends TLS we see http.
    Url::parse(&format!("{}://{host}", origin.scheme())).is_ok_and(|own| own.origin() == origin.origin())
        && matches!(origin.scheme(), "http" | "https")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_may_send_forms() {
        let cases = [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "http://deja.test:8080")], false),
            (&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], false),
            (&[("origin", "http://deja.test:8080")], true),
            (&[("origin", "https://deja.test:8080")], true),
            (&[("origin", "http://DEJA.test:8080")], true),
            (&[("origin", "http://deja.test")], false),
            (&[("origin", "http://deja.test:8081")], false),
            (&[("origin", "http://evil.test")], false),
            (&[("origin", "http://deja.test:8080.evil.test")], false),
            (&[("origin", "null")], false),
            (&[("origin", "file://deja.test:8080")], false),
            (&[("origin", "")], false),
            (&[], false),
        ];
        for (sent, passes) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("deja.test:8080"));
            for (name, value) in sent {
                headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            assert_eq!(is_same_origin(&headers), passes, "{sent:?}");
        }
        assert!(!is_same_origin(&HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static("http://a"))])));
    }
}
