//! What must not be read by whoever gets the database: secrets are sealed, passwords hashed.

pub mod passwords;
pub mod vault;
