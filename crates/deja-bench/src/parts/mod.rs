//! What deja is measured against and with: each is a process of its own.

pub(crate) mod bare;
pub(crate) mod completion;
pub(crate) mod embed;
pub(crate) mod provider;
pub(crate) mod search;
