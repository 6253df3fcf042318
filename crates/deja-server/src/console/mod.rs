//! The web console under `/console`. A page, or a part of a page that has an address of its own, is a file with its view-model, its form and
//! its handlers. Other files have what stands before every page, and what pages share. `routes.rs` lists every address.
//!
//! Pages are rendered on the server and work without JavaScript. A form is posted, done by the use case that the
//! command line calls too ([`deja_core::admin`]), and answered with a redirect and a message ([`flash`]). Nothing here
//! calls deja's own HTTP API.

// Pages, and parts of pages with an address of their own.
mod account;
mod analytics;
mod apply;
mod audit;
mod cache;
mod entry;
mod export;
mod keys;
mod labelling;
mod links;
mod members;
mod operators;
mod overview;
mod playground;
mod prices;
mod projects;
mod provider_form;
mod providers;
mod purge;
mod quality;
mod requests;
mod second_factor;
mod settings;
mod sign_in;
mod undo_delete;
mod wire_settings;
mod wrong;

// What stands before every page.
mod assets;
mod client;
mod cross_site;
mod routes;
mod sealed;
mod session;
mod throttle;

// What pages share.
mod analytics_query;
mod chart;
mod concurrent_edit;
mod connect;
mod diff;
mod error;
mod file;
mod filter;
mod flash;
mod form;
mod limits;
mod names;
mod page;
mod paging;
mod range;
mod sort;
mod transcript;

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
