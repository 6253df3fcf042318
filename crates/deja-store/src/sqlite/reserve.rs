//! Room on the disk for what must be written when it is full: that a key is revoked, that entries are purged.
//!
//! A file is nothing but room, and is given back when the disk is full. From then on only what an operator does and what
//! makes room is written, until there is as much room again and as much beside it, or free pages in the database.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;

use super::lock::open_private;
use super::open::PAGE;
use crate::OpenError;

/// The write-ahead log at its largest (`wal_autocheckpoint`) and half of it: its pages move into the database, which
/// grows by so much at most, and then there is the log's own room to write in.
const RESERVE: u64 = 24 << 20;
/// Less is a full disk.
const LOW: u64 = 1 << 20;
/// Pages of the database that are free: so many are used again before it grows.
const FREE_PAGES: i64 = (LOW / PAGE).cast_signed();
/// How often a full disk is looked at.
const AGAIN: Duration = Duration::from_secs(1);

/// The file, and whether its room was given back.
pub(super) struct Reserve {
    file: File,
    given_back: bool,
    looked: Instant,
}

impl Reserve {
    /// Takes the room, if it is there. Before the database is opened, which needs some of it.
    pub(super) fn take(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join("deja.reserve");
        let unusable = |reason| OpenError::DataDir { path: path.clone(), reason };
        let file = open_private(&path).map_err(unusable)?;
        let held = file.metadata().map_err(unusable)?.len() >= RESERVE;
        let mut reserve = Self { file, given_back: true, looked: Instant::now() };
        // What was held before is no reason to ask for twice as much.
        reserve.hold(if held { RESERVE } else { 2 * RESERVE });
        Ok(reserve)
    }

    /// Whether there is room for what can be done without, in the file system or in the database.
    pub(super) fn has_room(&mut self, database: &Connection) -> bool {
        if !self.given_back && self.is_low() {
            self.give_back();
        } else if self.given_back && self.looked.elapsed() >= AGAIN {
            self.hold(2 * RESERVE);
        }
        let free_pages = || database.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
        !self.given_back || free_pages().is_ok_and(|free| free >= FREE_PAGES)
    }

    /// Whether the disk is full.
    pub(super) fn is_given_back(&self) -> bool {
        self.given_back
    }

    /// Gives the room to the next writes.
    pub(super) fn give_back(&mut self) {
        if !self.given_back {
            tracing::error!(
                "the disk of the data directory is full: no answer is stored until {} MB of it are free, or entries are purged",
                (2 * RESERVE) >> 20
            );
        }
        self.given_back = true;
        self.looked = Instant::now();
        self.keep(0);
    }

    /// Takes the room if there is so much in all.
    fn hold(&mut self, room: u64) {
        self.looked = Instant::now();
        let taken = fallocate(&self.file, FallocateFlags::empty(), 0, room);
        if matches!(taken, Err(Errno::NOSPC | Errno::DQUOT)) || self.is_low() {
            return self.give_back();
        }
        if let Err(error) = taken {
            tracing::debug!(%error, "no room can be held here");
        }
        self.keep(if taken.is_ok() { RESERVE } else { 0 });
        self.given_back = false;
    }

    fn keep(&self, bytes: u64) {
        if let Err(error) = self.file.set_len(bytes) {
            tracing::warn!(%error, "deja.reserve keeps its size");
        }
    }

    /// Beside what is held. Not known: a write will tell.
    fn is_low(&self) -> bool {
        fstatvfs(&self.file).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < LOW)
    }
}
