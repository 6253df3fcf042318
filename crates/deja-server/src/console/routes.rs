//! Every address of the console, in order, with who may open it.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{MethodRouter, get, post};
use deja_core::member::Rank;

use super::error::{self, ConsoleError};
use super::session::{self, Access};
use super::{
    Console, account, analytics, apply, assets, audit, cache, cross_site, entry, export, keys, labelling,
    links, members, operators, overview, playground, prices, projects, provider_form, providers, purge,
    quality, requests, second_factor, settings, sign_in, undo_delete, wire_settings, wrong,
};

type Handler = MethodRouter<Arc<Console>>;

/// Address below `/console`, method, who may, and what answers.
fn table() -> Vec<(&'static str, &'static str, Access, Handler)> {
    use Access::{Member, Owner, Public};
    const VIEWER: Access = Access::In(Rank::Viewer);
    const EDITOR: Access = Access::In(Rank::Editor);
    const PROJECT_OWNER: Access = Access::In(Rank::Owner);
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
        ("GET", "/account/tokens/{token}/revoke", Member, get(account::confirm_revoke)),
        ("POST", "/account/tokens/{token}/revoke", Member, post(account::revoke_token)),
        ("GET", "/projects", Member, get(projects::get)),
        ("POST", "/projects", Member, post(projects::post)),
        ("GET", "/projects/new", Member, get(projects::new)),
        ("GET", "/p/{slug}", VIEWER, get(overview::get)),
        ("GET", "/p/{slug}/keys", VIEWER, get(keys::get)),
        ("POST", "/p/{slug}/keys", EDITOR, post(keys::post)),
        ("GET", "/p/{slug}/keys/{key}/revoke", EDITOR, get(keys::confirm)),
        ("POST", "/p/{slug}/keys/{key}/revoke", EDITOR, post(keys::revoke)),
        ("GET", "/p/{slug}/analytics", VIEWER, get(analytics::get)),
        ("GET", "/p/{slug}/analytics/{chart}", VIEWER, get(analytics::csv)),
        ("GET", "/p/{slug}/quality", VIEWER, get(quality::get)),
        ("GET", "/p/{slug}/quality/label", EDITOR, get(labelling::get)),
        ("POST", "/p/{slug}/quality/label", EDITOR, post(labelling::post)),
        ("GET", "/p/{slug}/quality/apply", EDITOR, get(apply::get)),
        ("POST", "/p/{slug}/quality/apply", EDITOR, post(apply::post)),
        ("GET", "/p/{slug}/quality/{chart}", VIEWER, get(quality::csv)),
        ("GET", "/p/{slug}/requests", VIEWER, get(requests::get)),
        ("GET", "/p/{slug}/requests/log.csv", VIEWER, get(requests::csv)),
        ("POST", "/p/{slug}/requests/{number}/wrong", EDITOR, post(requests::wrong)),
        ("GET", "/p/{slug}/cache", EDITOR, get(cache::get)),
        ("GET", "/p/{slug}/cache/purge", EDITOR, get(purge::get)),
        ("POST", "/p/{slug}/cache/purge", EDITOR, post(purge::post)),
        ("GET", "/p/{slug}/cache/{entry}", EDITOR, get(entry::get)),
        ("POST", "/p/{slug}/cache/{entry}/delete", EDITOR, post(entry::delete)),
        ("POST", "/p/{slug}/cache/{entry}/wrong", EDITOR, post(entry::wrong)),
        ("POST", "/p/{slug}/cache/{entry}/release", EDITOR, post(entry::release)),
        ("GET", "/p/{slug}/cache/wrong", EDITOR, get(wrong::get)),
        ("POST", "/p/{slug}/cache/wrong/{number}/undo", EDITOR, post(wrong::undo)),
        ("POST", "/p/{slug}/cache/delete", EDITOR, post(undo_delete::delete_selected)),
        ("POST", "/p/{slug}/cache/restore", EDITOR, post(undo_delete::restore)),
        ("GET", "/p/{slug}/export", EDITOR, get(export::get)),
        ("GET", "/p/{slug}/playground", EDITOR, get(playground::get)),
        ("POST", "/p/{slug}/playground", EDITOR, post(playground::post)),
        ("POST", "/p/{slug}/playground/{entry}/wrong", EDITOR, post(entry::wrong_if_asked)),
        ("GET", "/p/{slug}/playground/chat", EDITOR, get(playground::chat::get)),
        ("POST", "/p/{slug}/playground/chat", EDITOR, post(playground::chat::post)),
        ("GET", "/p/{slug}/providers", EDITOR, get(providers::get)),
        ("POST", "/p/{slug}/providers/test", EDITOR, post(providers::test)),
        ("GET", "/p/{slug}/providers/new", EDITOR, get(provider_form::new)),
        ("POST", "/p/{slug}/providers/new", EDITOR, post(provider_form::add)),
        ("GET", "/p/{slug}/providers/own/{name}", EDITOR, get(provider_form::edit)),
        ("POST", "/p/{slug}/providers/own/{name}", EDITOR, post(provider_form::save)),
        ("GET", "/p/{slug}/providers/own/{name}/remove", EDITOR, get(providers::confirm)),
        ("POST", "/p/{slug}/providers/own/{name}/remove", EDITOR, post(providers::remove)),
        ("POST", "/p/{slug}/providers/prices", EDITOR, post(prices::set)),
        ("GET", "/p/{slug}/providers/prices/remove", EDITOR, get(prices::confirm)),
        ("POST", "/p/{slug}/providers/prices/remove", EDITOR, post(prices::unset)),
        ("GET", "/p/{slug}/members", EDITOR, get(members::get)),
        ("POST", "/p/{slug}/members", PROJECT_OWNER, post(members::post)),
        ("GET", "/p/{slug}/members/own", PROJECT_OWNER, get(members::confirm_own)),
        ("POST", "/p/{slug}/members/own", PROJECT_OWNER, post(members::post)),
        ("GET", "/p/{slug}/settings", EDITOR, get(settings::get)),
        ("POST", "/p/{slug}/settings", EDITOR, post(settings::post)),
        ("POST", "/p/{slug}/settings/wires", EDITOR, post(wire_settings::post)),
        ("POST", "/p/{slug}/settings/limits", Owner, post(settings::limits)),
        ("GET", "/p/{slug}/settings/state", PROJECT_OWNER, get(settings::confirm_suspend)),
        ("POST", "/p/{slug}/settings/state", PROJECT_OWNER, post(settings::state)),
        ("POST", "/p/{slug}/settings/prices", Owner, post(prices::refresh)),
        ("GET", "/p/{slug}/delete", PROJECT_OWNER, get(settings::confirm_delete)),
        ("POST", "/p/{slug}/delete", PROJECT_OWNER, post(settings::delete)),
        ("GET", "/audit", Owner, get(audit::get)),
        ("GET", "/audit/log.csv", Owner, get(audit::csv)),
        ("GET", "/operators", Owner, get(operators::get)),
        ("POST", "/operators/invite", Owner, post(operators::invite)),
        ("GET", "/operators/change", Owner, get(operators::confirm)),
        ("POST", "/operators/change", Owner, post(operators::change)),
        ("GET", "/operators/second-factor", Owner, get(operators::confirm_remove)),
        ("POST", "/operators/second-factor", Owner, post(operators::remove_second_factor)),
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
        .method_not_allowed_fallback(error::wrong_method)
        .layer(from_fn_with_state(console.clone(), error::page))
        .layer(from_fn(cross_site::refuse))
        .with_state(console);
    Router::new()
        .nest("/console", console)
        .route("/console/", get(|| async { Redirect::to("/console").into_response() }))
}
