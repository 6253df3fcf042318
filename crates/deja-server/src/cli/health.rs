//! `deja health`: asks the server of these settings whether a query would work. For container engines, whose image
//! has no other program to ask with.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context as _;

use crate::config::Config;

const PATIENCE: Duration = Duration::from_secs(5);
/// The beginning of the answer that is wanted.
const FINE: &[u8] = b"HTTP/1.1 200 ";

pub(super) fn ask(config: &Config) -> anyhow::Result<()> {
    let address = reachable(config.listen);
    let answer = get(address).with_context(|| format!("no answer from {address}"))?;
    anyhow::ensure!(answer.starts_with(FINE), "the server at {address} is not ready");
    Ok(())
}

fn get(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = vec![0; FINE.len()];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// 0.0.0.0 is where to listen, not where to go.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
