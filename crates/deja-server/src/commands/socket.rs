//! The way from the command line into the running server: a Unix domain socket in the data directory.
//!
//! One line of JSON asks, one line answers. The socket is for the server's own user (and root) only: it has
//! mode 0600, and the other end's user is checked besides.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deja_core::admin::{Admin, AdminError};
use deja_core::audit::Actor;
use deja_store::OpenError;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Command, Reply, execute};
use crate::listener::Accepting;

const FILE: &str = "deja.sock";
const LOCK: &str = "deja.sock.lock";
/// Longest request line: an entry to import may be long.
pub const MAX_LINE: u64 = 64 << 20;
/// Longest answer that is read back: a page of an export, or ten thousand projects, are a few megabytes.
const MAX_REPLY: u64 = 128 << 20;
/// What a socket address holds on Linux, its final zero excluded.
const MAX_ADDRESS: usize = 107;
/// For a request line to arrive, and for an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(10);
/// For a command to be done: deleting a million entries takes minutes.
const CALL_TIMEOUT: Duration = Duration::from_hours(1);

/// A server of another version could overlook an option that it does not know.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a line asks, the version of who asks, and the PostgreSQL that it is meant for; `None` is whatever the server
/// works on.
#[derive(Serialize, Deserialize)]
struct Asked<C> {
    #[serde(default)]
    version: String,
    database: Option<String>,
    command: C,
}

/// What connecting says where no server listens, or nothing is there at all.
const NOBODY: [ErrorKind; 3] = [ErrorKind::NotFound, ErrorKind::ConnectionRefused, ErrorKind::NotADirectory];

/// The socket of the server that uses `data_dir`.
pub fn path_in(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// The data directory of a running server: commands for the directory go to that server.
///
/// The lock of the embedded store will not do: replicas on PostgreSQL have no such store, and two of them in one
/// directory would take each other's socket. The kernel drops the lock when the process ends, however it ends.
pub struct OwnDirectory {
    path: PathBuf,
    lock: File,
}

impl OwnDirectory {
    /// Makes the directory if it is not there, with access for its owner only, and takes it.
    pub fn take(path: &Path) -> Result<Self, OpenError> {
        let unusable = |reason| OpenError::DataDir { path: path.into(), reason };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(path.join(LOCK)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.into(), lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: path.into() }),
            Err(TryLockError::Error(reason)) => Err(unusable(reason)),
        }
    }

    /// Binds the socket, in place of a leftover. Needs a Tokio runtime.
    pub fn listen(self) -> Result<AdminSocket, OpenError> {
        let path = path_in(&self.path);
        let bound = bind(&path).map_err(|reason| OpenError::DataDir { path: path.clone(), reason });
        bound.map(|(listener, owner)| AdminSocket { listener, path, owner, _lock: self.lock })
    }
}

fn bind(path: &Path) -> io::Result<(UnixListener, u32)> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    let listener = with_short_path(path, |short| UnixListener::bind(short))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok((listener, fs::metadata(path)?.uid()))
}

/// A socket that was bound and is not served yet: requests wait.
pub struct AdminSocket {
    listener: UnixListener,
    path: PathBuf,
    owner: u32,
    _lock: File,
}

impl AdminSocket {
    /// Takes commands until `shutdown`, ends the ones under way and removes the socket. `database` is the PostgreSQL that
    /// the server works on, if it does.
    pub async fn serve(self, admin: Arc<Admin>, database: Option<String>, shutdown: CancellationToken) {
        let database: Option<Arc<str>> = database.map(Arc::from);
        let calls = TaskTracker::new();
        let mut accepting = Accepting::of("the admin socket");
        while let Some(accepted) = shutdown.run_until_cancelled(self.listener.accept()).await {
            let Some((stream, _)) = accepting.note(accepted).await else { continue };
            let (admin, database, owner) = (admin.clone(), database.clone(), self.owner);
            calls.spawn(async move {
                if let Err(error) = answer(&admin, database.as_deref(), stream, owner).await {
                    tracing::debug!(%error, "a caller of the admin socket went away");
                }
            });
        }
        calls.close();
        calls.wait().await;
        let _already_gone = fs::remove_file(&self.path);
    }
}

async fn answer(admin: &Admin, database: Option<&str>, mut stream: UnixStream, owner: u32) -> io::Result<()> {
    let caller = stream.peer_cred()?.uid();
    let result = if caller == owner || caller == 0 {
        match tokio::time::timeout(PATIENCE, read_command(&mut stream)).await {
            Ok(Ok(asked)) => match meant_for(asked, database) {
                Ok(command) => execute(&admin.acting(Actor::Cli), command).await,
                Err(error) => Err(error),
            },
            Ok(Err(error)) => Err(error),
            Err(_) => return Ok(()),
        }
    } else {
        Err(AdminError::Invalid("the server belongs to another user".into()))
    };
    let mut line = serde_json::to_vec(&result)?;
    line.push(b'\n');
    tokio::time::timeout(PATIENCE, stream.write_all(&line)).await??;
    stream.shutdown().await
}

/// The command, unless it comes from another version or is meant for another database than `own`.
fn meant_for(asked: Asked<Command>, own: Option<&str>) -> Result<Command, AdminError> {
    if asked.version != VERSION {
        return Err(AdminError::Invalid(format!(
            "the running server is deja {VERSION}, and this command another version: use the binary of the server"
        )));
    }
    match asked.database {
        Some(meant) if own != Some(meant.as_str()) => Err(AdminError::Invalid(format!(
            "the server in the data directory works on {}, not on {meant} (DEJA_DATABASE_URL): unset that to have it done \
             there, or choose another directory (DEJA_DATA_DIR)",
            own.unwrap_or("its embedded database")
        ))),
        _ => Ok(asked.command),
    }
}

async fn read_command(stream: &mut UnixStream) -> Result<Asked<Command>, AdminError> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(stream.take(MAX_LINE + 1));
    reader.read_until(b'\n', &mut line).await.map_err(|error| AdminError::Failed(error.to_string()))?;
    if line.len() as u64 > MAX_LINE {
        return Err(AdminError::Invalid(format!("a command may have {MAX_LINE} bytes at most")));
    }
    // The line may hold a secret: its text goes nowhere.
    serde_json::from_slice(&line).map_err(|_| {
        AdminError::Invalid(
            "the running server does not know this command: is it another version of deja?".into(),
        )
    })
}

/// Sends `command` to the server at `path`, which refuses it if a `database` is given and the server works on another.
/// `None` if no server listens there.
pub fn call(
    path: &Path,
    database: Option<String>,
    command: &Command,
) -> io::Result<Option<Result<Reply, AdminError>>> {
    let stream = match with_short_path(path, |short| BlockingStream::connect(short)) {
        Ok(stream) => stream,
        Err(error) if NOBODY.contains(&error.kind()) => return Ok(None),
        Err(error) => {
            let text = format!(
                "the running server cannot be reached at {} (are you its user?): {error}",
                path.display()
            );
            return Err(io::Error::new(error.kind(), text));
        }
    };
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(CALL_TIMEOUT))?;
    let mut line = serde_json::to_vec(&Asked { version: VERSION.into(), database, command })?;
    line.push(b'\n');
    let reply = exchange(&stream, &line).map_err(in_words)?;
    serde_json::from_slice(&reply).map(Some).map_err(|_| {
        io::Error::new(ErrorKind::InvalidData, "its answer cannot be read: is it another version of deja?")
    })
}

/// What became of the command, for all that is known.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => {
            let text = "the server ended before it answered: look whether the command was done";
            io::Error::new(error.kind(), text)
        }
        // The kernel's words for a read that takes too long: "Resource temporarily unavailable".
        ErrorKind::WouldBlock => {
            let text =
                "the server has not answered yet, and may go on: look later whether the command was done";
            io::Error::new(ErrorKind::TimedOut, text)
        }
        _ => error,
    }
}

/// Sends a line and reads one.
fn exchange(mut stream: &BlockingStream, line: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(line)?;
    let mut reply = Vec::new();
    io::BufReader::new(stream).take(MAX_REPLY).read_until(b'\n', &mut reply)?;
    if reply.is_empty() { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(reply) }
}

/// Calls `use_it` with a path to the same socket that fits a socket address: a long one goes through the open
/// directory.
fn with_short_path<T>(path: &Path, use_it: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().as_bytes().len() <= MAX_ADDRESS {
        return use_it(path);
    }
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "the socket has no directory"));
    };
    let directory = File::open(directory)?;
    use_it(&Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_takes_too_long_is_told_of_in_words() {
        let (command_line, _server) = BlockingStream::pair().unwrap();
        command_line.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        let error = in_words(exchange(&command_line, b"{}\n").unwrap_err());
        assert!(error.to_string().starts_with("the server has not answered yet"), "{error}");
    }
}
