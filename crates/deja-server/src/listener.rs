//! The accept loop: bounded connections, bounds on clients that do nothing, graceful end.
//!
//! Our own instead of `axum::serve`, which has neither a timeout for request heads nor a deadline for shutdown.

mod exchange;
mod refusal;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::add_extension::AddExtension;

use exchange::{Exchanges, Exchanging};
use stream::ClientStream;

/// How long a stop waits for the first request of a connection: a client that connected a moment ago has sent it already.
const FIRST_REQUEST: Duration = Duration::from_secs(2);

/// How long a stop waits for the error of a request that is cut to be written.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How many bytes the kernel holds for a client that it has not sent yet. By itself it would hold some megabytes, and only
/// when a slow client has taken a third of them does anybody see that it takes something.
const UNSENT: u32 = 64 * 1024;

/// The largest head of a request, in bytes. hyper's own bound is 400 KB, which deja would keep for each connection, with no key
/// asked for.
const HEAD: usize = 64 * 1024;

/// The other end of a request's connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Bounds of the listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenerLimits {
    /// Connections at the same time; more wait in the kernel's backlog.
    pub connections: usize,
    /// How long the head of a request may take to arrive, from its first byte on.
    pub head_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub idle_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_timeout: Duration,
    /// How long deja reads, and throws away, what a handler left of a request's body.
    pub rest_timeout: Duration,
}

/// Accepts connections until `stop`, then lets requests under way finish until `cut`.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ListenerLimits,
    stop: CancellationToken,
    cut: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let connections = TaskTracker::new();
    let mut http = http1::Builder::new();
    // hyper has one timeout for idle connections and for heads: `ClientStream` has one for each.
    http.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEAD);
    let mut accepting = Accepting::of("the listener");
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &slots, &mut accepting) => accepted,
        };
        let Some((stream, peer, slot)) = accepted else { continue };
        let exchanges = Arc::new(Exchanges::default());
        let stream = ClientStream::new(stream, limits, exchanges.clone());
        let service = AddExtension::new(router.clone(), Peer(peer));
        let service = Exchanging::new(service, exchanges.clone(), limits.rest_timeout);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let (stop, cut) = (stop.clone(), cut.clone());
        connections.spawn(async move {
            let _slot = slot;
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                // Errors of a connection are the client's: it hung up, or did not speak HTTP.
                _ = connection.as_mut() => return,
                () = stop.cancelled() => {}
            }
            if exchanges.begun() == 0 && timeout(FIRST_REQUEST, connection.as_mut()).await.is_ok() {
                return;
            }
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                _ = connection.as_mut() => return,
                () = cut.cancelled() => {}
            }
            let _cut_where_it_is = timeout(LAST_WORDS, connection).await;
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
    accepting: &mut Accepting,
) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.ok()?;
    let (stream, peer) = accepting.note(listener.accept().await).await?;
    // Answers are written in one piece: waiting for more would only delay them.
    let narrowed = SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT);
    if let Err(error) = stream.set_nodelay(true).and(narrowed) {
        tracing::debug!(error = %error, "a connection went away while it was accepted");
    }
    Some((stream, peer, slot))
}

/// Whether connections to a socket can be accepted, so that the log says it once.
pub(crate) struct Accepting {
    socket: &'static str,
    works: bool,
}

impl Accepting {
    /// Of a socket of which nothing is known yet.
    pub(crate) const fn of(socket: &'static str) -> Self {
        Self { socket, works: true }
    }

    /// What was accepted. Waits a moment after an error.
    pub(crate) async fn note<T>(&mut self, accepted: io::Result<T>) -> Option<T> {
        let (socket, worked) = (self.socket, self.works);
        self.works = accepted.is_ok();
        match accepted {
            Ok(accepted) => {
                if !worked {
                    tracing::info!(socket, "connections are accepted again");
                }
                Some(accepted)
            }
            Err(error) => {
                if worked {
                    tracing::warn!(socket, %error, "connections cannot be accepted; deja goes on trying");
                }
                // Out of file descriptors, or a connection that died in the backlog. Going on at once would spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
                None
            }
        }
    }
}
