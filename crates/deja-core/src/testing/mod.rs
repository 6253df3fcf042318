//! For tests: the reference store, fakes, the store contract suite.
pub mod contract {
    //! The store contract suite.
}
