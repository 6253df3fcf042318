//! A proxy between deja and PostgreSQL that breaks the connection in every way a network can.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the proxy does to the connections through it, the present ones and new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Nothing.
    Fair,
    /// Each piece comes late.
    Slow,
    /// Each byte comes alone and late.
    Drip,
    /// Connections are closed in order, new ones at once.
    Cut,
    /// Connections are reset.
    Reset,
    /// What deja sends arrives, what comes back does not.
    HalfOpen,
    /// Nothing arrives, either way, and nobody is told.
    Blackhole,
}

impl Weather {
    /// Whether connections end.
    fn breaks(self) -> bool {
        matches!(self, Self::Cut | Self::Reset)
    }

    /// Whether what deja sends arrives.
    fn carries_there(self) -> bool {
        !self.breaks() && self != Self::Blackhole
    }

    /// Whether what PostgreSQL sends arrives.
    fn carries_back(self) -> bool {
        self.carries_there() && self != Self::HalfOpen
    }
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    weather: watch::Sender<Weather>,
    accepted: Arc<AtomicUsize>,
    /// Connections with a lower number are forgotten.
    forgotten: watch::Sender<usize>,
    swallowed: Arc<AtomicUsize>,
    /// Ends with the proxy, and all connections with it.
    _accepting: JoinSet<()>,
}

impl Proxy {
    /// A proxy to `server`, an address of a URL.
    pub(crate) async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (weather, changes) = watch::channel(Weather::Fair);
        let server: Arc<str> = server.into();
        let accepted = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&accepted);
        let (forgotten, forgets) = watch::channel(0);
        let swallowed = Arc::<AtomicUsize>::default();
        let swallows = Arc::clone(&swallowed);
        let accepting = async move {
            let mut carried = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::Relaxed);
                let (mut forgets, swallows) = (forgets.clone(), Arc::clone(&swallows));
                let is_forgotten =
                    async move { forgets.wait_for(|first| number < *first).await.map(|_| ()).is_ok() };
                carried.spawn(carry(client, Arc::clone(&server), changes.clone(), is_forgotten, swallows));
            }
        };
        let mut task = JoinSet::new();
        task.spawn(accepting);
        Self { address, weather, accepted, forgotten, swallowed, _accepting: task }
    }

    pub(crate) fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// From now on nothing arrives on the present connections, either way, and nobody is told: as with a router that was
    /// restarted. New ones work.
    pub(crate) fn forget(&self) {
        self.forgotten.send_replace(self.accepted());
    }

    /// How many pieces were sent on forgotten connections.
    pub(crate) fn swallowed(&self) -> usize {
        self.swallowed.load(Ordering::Relaxed)
    }

    /// How many connections were made through it, ever.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }
}

async fn carry(
    mut client: TcpStream,
    server: Arc<str>,
    mut weather: watch::Receiver<Weather>,
    is_forgotten: impl Future<Output = bool>,
    swallowed: Arc<AtomicUsize>,
) {
    let now = *weather.borrow();
    // The server may be down: then the connection closes, as it would without a proxy.
    if !now.breaks()
        && let Ok(mut server) = TcpStream::connect(&*server).await
    {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let forgotten = tokio::select! {
            _ = pump(from_client, to_server, weather.clone(), Weather::carries_there) => false,
            _ = pump(from_server, to_client, weather.clone(), Weather::carries_back) => false,
            _ = weather.wait_for(|weather| weather.breaks()) => false,
            forgotten = is_forgotten => forgotten,
        };
        let mut buffer = [0; 1024];
        while forgotten && client.read(&mut buffer).await.is_ok_and(|length| length > 0) {
            swallowed.fetch_add(1, Ordering::Relaxed);
        }
    }
    if *weather.borrow() == Weather::Reset {
        client.set_zero_linger().unwrap();
    }
}

/// Carries bytes one way until an end closes. The weather is looked at between reading and writing, so
/// that nothing that was read after a change passes as if before it, however the tasks are scheduled.
async fn pump(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    mut weather: watch::Receiver<Weather>,
    carries: impl Fn(Weather) -> bool,
) -> Option<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await.ok().filter(|length| *length > 0)?;
        let mut rest = &buffer[..length];
        while !rest.is_empty() {
            let now = *weather.wait_for(|weather| carries(*weather)).await.ok()?;
            let piece = if now == Weather::Drip { 1 } else { rest.len() };
            if matches!(now, Weather::Slow | Weather::Drip) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            to.write_all(&rest[..piece]).await.ok()?;
            rest = &rest[piece..];
        }
    }
}
