//! Style sheet, script and icon: compiled in, named by what they contain, so that browsers keep them for good.

use std::sync::LazyLock;

use axum::extract::RawQuery;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::error::ConsoleError;
use super::form::Path;

struct Asset {
    name: &'static str,
    kind: &'static str,
    body: &'static str,
}

const STYLE: Asset =
    Asset { name: "console.css", kind: "text/css; charset=utf-8", body: include_str!("static/console.css") };
const SCRIPT: Asset = Asset {
    name: "console.js",
    kind: "text/javascript; charset=utf-8",
    body: include_str!("static/console.js"),
};
const ICON: Asset = Asset { name: "icon.svg", kind: "image/svg+xml", body: include_str!("static/icon.svg") };

/// The addresses of the assets, each with a piece of its content's hash.
pub(super) struct Addresses {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

impl Asset {
    /// A piece of its content's hash.
    fn hash(&self) -> String {
        hex::encode(&Sha256::digest(self.body)[..6])
    }
}

/// The addresses, made once.
pub(super) fn addresses() -> &'static Addresses {
    static ADDRESSES: LazyLock<Addresses> = LazyLock::new(|| {
        let address = |asset: &Asset| format!("/console/static/{}?{}", asset.name, asset.hash());
        Addresses { style: address(&STYLE), script: address(&SCRIPT), icon: address(&ICON) }
    });
    &ADDRESSES
}

/// `GET /console/static/{name}`. Under another hash, which a page of another version asks for, it is not kept.
pub(super) async fn get(
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ConsoleError> {
    let asset = [STYLE, SCRIPT, ICON].into_iter().find(|asset| asset.name == name);
    let asset = asset.ok_or(ConsoleError::NotFound)?;
    let ours = query.is_some_and(|hash| hash == asset.hash());
    let kept = if ours { "public, max-age=31536000, immutable" } else { "no-store" };
    let headers = [(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, kept)];
    Ok((headers, asset.body).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assets_are_small_and_load_nothing() {
        assert!(STYLE.body.len() < 30_000 && SCRIPT.body.len() < 12_000);
        for asset in [STYLE, SCRIPT] {
            assert!(!asset.body.contains("http:") && !asset.body.contains("https:"), "{}", asset.name);
            assert!(!asset.body.contains("url(") && !asset.body.contains("@import"), "{}", asset.name);
        }
    }
}
