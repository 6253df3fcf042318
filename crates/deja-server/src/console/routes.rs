//! Every address of the console, in order, with who may open it.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{MethodRouter, get, post};

use super::error::ConsoleError;
use super::session::{self, Access};
use super::{
    Console, account, analytics, apply, assets, audit, cache, chat, deleted, entry, export, guard, keys,
    labelling, links, operators, overview, playground, prices, projects, providers, purge, quality, requests,
    second_factor, settings, sign_in, wires, wrong,
};

type Handler = MethodRouter<Arc<Console>>;

/// Address below `/console`, method, who may, and what answers.
fn table() -> Vec<(&'static str, &'static str, Access, Handler)> {
    use Access::{Member, Owner, Public};
    vec![
        ("GET", "/static/{name}", Public, get(assets::get)),
        ("GET", "/sign-in", Public, get(sign_in::get)),
        ("POST", "/sign-in", Public, post(sign_in::post)),
        ("POST", "/sign-in/code", Public, post(second_factor::sign_in)),
        ("GET", "/setup", Public, get(links::get)),
        ("POST", "/setup", Public, post(links::post)),
        ("GET", "/join", Public, get(links::get)),
        ("POST", "/join", Public, post(links::post)),
        ("GET", "/reset", Public, get(links::get)),
        ("POST", "/reset", Public, post(links::post)),
        ("POST", "/sign-out", Member, post(sign_in::sign_out)),
        ("GET", "/", Member, get(|| async { Redirect::to("/console/projects") })),
        ("GET", "/account", Member, get(account::get)),
        ("POST", "/account/end-session", Member, post(account::end_session)),
        ("POST", "/account/sign-out-everywhere", Member, post(account::sign_out_everywhere)),
        ("POST", "/account/password", Member, post(account::password)),
        ("POST", "/account/second-factor", Member, post(second_factor::offer)),
        ("POST", "/account/second-factor/on", Member, post(second_factor::turn_on)),
        ("POST", "/account/second-factor/off", Member, post(second_factor::turn_off)),
        ("POST", "/account/tokens", Member, post(account::create_token)),
        ("POST", "/account/tokens/revoke", Member, post(account::revoke_token)),
        ("GET", "/projects", Member, get(projects::get)),
        ("POST", "/projects", Member, post(projects::post)),
        ("GET", "/projects/new", Member, get(projects::new)),
        ("GET", "/p/{slug}", Member, get(overview::get)),
        ("GET", "/p/{slug}/keys", Member, get(keys::get)),
        ("POST", "/p/{slug}/keys", Member, post(keys::post)),
        ("GET", "/p/{slug}/keys/{key}/revoke", Member, get(keys::confirm)),
        ("POST", "/p/{slug}/keys/{key}/revoke", Member, post(keys::revoke)),
        ("GET", "/p/{slug}/analytics", Member, get(analytics::get)),
        ("GET", "/p/{slug}/analytics/{chart}", Member, get(analytics::csv)),
        ("GET", "/p/{slug}/quality", Member, get(quality::get)),
        ("GET", "/p/{slug}/quality/label", Member, get(labelling::get)),
        ("POST", "/p/{slug}/quality/label", Member, post(labelling::post)),
        ("GET", "/p/{slug}/quality/apply", Member, get(apply::get)),
        ("POST", "/p/{slug}/quality/apply", Member, post(apply::post)),
        ("GET", "/p/{slug}/quality/{chart}", Member, get(quality::csv)),
        ("GET", "/p/{slug}/requests", Member, get(requests::get)),
        ("GET", "/p/{slug}/requests/log.csv", Member, get(requests::csv)),
        ("POST", "/p/{slug}/requests/{number}/wrong", Member, post(requests::wrong)),
        ("GET", "/p/{slug}/cache", Member, get(cache::get)),
        ("GET", "/p/{slug}/cache/purge", Member, get(purge::get)),
        ("POST", "/p/{slug}/cache/purge", Member, post(purge::post)),
        ("GET", "/p/{slug}/cache/{entry}", Member, get(entry::get)),
        ("POST", "/p/{slug}/cache/{entry}/delete", Member, post(entry::delete)),
        ("POST", "/p/{slug}/cache/{entry}/wrong", Member, post(entry::wrong)),
        ("POST", "/p/{slug}/cache/{entry}/release", Member, post(entry::release)),
        ("GET", "/p/{slug}/cache/wrong", Member, get(wrong::get)),
        ("POST", "/p/{slug}/cache/wrong/{number}/undo", Member, post(wrong::undo)),
        ("POST", "/p/{slug}/cache/delete", Member, post(deleted::delete_selected)),
        ("POST", "/p/{slug}/cache/restore", Member, post(deleted::restore)),
        ("GET", "/p/{slug}/export", Member, get(export::get)),
        ("GET", "/p/{slug}/playground", Member, get(playground::get)),
        ("POST", "/p/{slug}/playground", Member, post(playground::post)),
        ("POST", "/p/{slug}/playground/{entry}/wrong", Member, post(entry::wrong_if_asked)),
        ("GET", "/p/{slug}/playground/chat", Member, get(chat::get)),
        ("POST", "/p/{slug}/playground/chat", Member, post(chat::post)),
        ("GET", "/p/{slug}/providers", Member, get(providers::get)),
        ("POST", "/p/{slug}/providers/test", Member, post(providers::test)),
        ("GET", "/p/{slug}/providers/new", Member, get(providers::new)),
        ("POST", "/p/{slug}/providers/new", Member, post(providers::add)),
        ("GET", "/p/{slug}/providers/own/{name}", Member, get(providers::edit)),
        ("POST", "/p/{slug}/providers/own/{name}", Member, post(providers::save)),
        ("GET", "/p/{slug}/providers/own/{name}/remove", Member, get(providers::confirm)),
        ("POST", "/p/{slug}/providers/own/{name}/remove", Member, post(providers::remove)),
        ("POST", "/p/{slug}/prices", Member, post(prices::set)),
        ("POST", "/p/{slug}/prices/remove", Member, post(prices::unset)),
        ("GET", "/p/{slug}/settings", Member, get(settings::get)),
        ("POST", "/p/{slug}/settings", Member, post(settings::post)),
        ("POST", "/p/{slug}/settings/wires", Member, post(wires::post)),
        ("POST", "/p/{slug}/settings/limits", Owner, post(settings::limits)),
        ("POST", "/p/{slug}/settings/state", Owner, post(settings::state)),
        ("POST", "/p/{slug}/settings/prices", Owner, post(prices::refresh)),
        ("GET", "/p/{slug}/delete", Owner, get(settings::confirm_delete)),
        ("POST", "/p/{slug}/delete", Owner, post(settings::delete)),
        ("GET", "/audit", Owner, get(audit::get)),
        ("GET", "/operators", Owner, get(operators::get)),
        ("POST", "/operators/invite", Owner, post(operators::invite)),
        ("POST", "/operators/change", Owner, post(operators::change)),
        ("POST", "/operators/revoke", Owner, post(operators::revoke)),
    ]
}

/// Every address with its method and who may open it, for tests and documentation.
pub fn listed() -> Vec<(&'static str, String, Access)> {
    let address = |path: &str| format!("/console{}", path.trim_end_matches('/'));
    table().into_iter().map(|(method, path, access, _)| (method, address(path), access)).collect()
}

/// The console's part of the router.
pub fn router(console: Arc<Console>) -> Router {
    let mut router = Router::new();
    for (_, path, access, handler) in table() {
        let handler = match access {
            Access::Public => handler,
            access => handler.layer(from_fn_with_state((console.clone(), access), session::require)),
        };
        router = router.route(path, handler);
    }
    let console = router
        .fallback(|| async { ConsoleError::NotFound })
        .method_not_allowed_fallback(|| async { ConsoleError::MethodNotAllowed })
        .layer(from_fn(guard::guard))
        .with_state(console);
    Router::new()
        .nest("/console", console)
        .route("/console/", get(|| async { Redirect::to("/console").into_response() }))
}
