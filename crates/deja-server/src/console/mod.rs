//! The web console under `/console`: one file a page, each with its view-model, its form, and its handlers.
//!
//! Pages are rendered on the server and work without JavaScript. A form is posted, done by the use case that the
//! command line calls too ([`deja_core::admin`]), and answered with a redirect and a message ([`flash`]). Nothing here
//! calls deja's own HTTP API.

mod account;
mod analytics;
mod apply;
mod asked;
mod assets;
mod audit;
mod cache;
mod chart;
mod client;
mod connect;
mod cross_site;
mod deleted;
mod diff;
mod entry;
mod error;
mod export;
mod filled;
mod filter;
mod flash;
mod form;
mod keys;
mod labelling;
mod limits;
mod links;
mod members;
mod names;
mod operators;
mod overview;
mod page;
mod paging;
mod playground;
mod prices;
mod projects;
mod provider_form;
mod providers;
mod purge;
mod quality;
mod range;
mod requests;
mod routes;
mod sealed;
mod second_factor;
mod session;
mod settings;
mod sign_in;
mod sort;
mod throttle;
mod turns;
mod wires;
mod wrong;

use std::sync::Arc;

use deja_core::admin::Admin;
use deja_core::clock::Timestamp;
use ipnet::IpNet;

pub(crate) use client::address;
pub use routes::{listed, router};
pub use session::Access;
pub(crate) use throttle::Throttle;

use crate::secrets::vault::Vault;
use crate::state::App;

/// What the pages work with.
pub struct Console {
    pub(crate) admin: Arc<Admin>,
    pub(crate) app: Arc<App>,
    /// Seals the messages between pages.
    pub(crate) vault: Vault,
    /// Whether browsers and clients reach deja by https.
    pub(crate) secure: bool,
    /// Where `X-Forwarded-For` is believed.
    pub(crate) trusted_proxies: Vec<IpNet>,
    throttle: Throttle,
}

impl Console {
    /// A console over these parts.
    pub fn new(admin: Arc<Admin>, app: Arc<App>, vault: Vault, trusted_proxies: Vec<IpNet>) -> Self {
        let secure = admin.public_url.starts_with("https://");
        Self { admin, app, vault, secure, trusted_proxies, throttle: Throttle::default() }
    }

    fn now(&self) -> Timestamp {
        self.admin.clock.now()
    }
}
