//! One module a figure.

pub(crate) mod durable;
pub(crate) mod exact;
pub(crate) mod index;
pub(crate) mod neighbour;
pub(crate) mod overload;
mod pair;
pub(crate) mod peers;
pub(crate) mod postgres;
pub(crate) mod semantic;
pub(crate) mod start;
pub(crate) mod wire;
