//! `deja health`: asks the server of these settings whether it is ready. For container engines, whose image
//! has no other program to ask with.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context as _;

use crate::config::Config;

const PATIENCE: Duration = Duration::from_secs(5);
/// The beginning of the answer that is wanted.
const FINE: &[u8] = b"HTTP/1.1 200 ";

pub(super) fn ask(config: &Config) -> anyhow::Result<()> {
    let address = reachable(config.listen);
    let answer = get(address, PATIENCE).with_context(|| {
        format!("no answer from {address} (DEJA_LISTEN): start deja serve, or name where it listens")
    })?;
    anyhow::ensure!(answer.starts_with(FINE), "the server at {address} is not ready");
    Ok(())
}

fn get(address: SocketAddr, patience: Duration) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = vec![0; FINE.len()];
    stream.read_exact(&mut answer).map_err(|error| match error.kind() {
        // The kernel's words for a read that takes too long: "Resource temporarily unavailable".
        ErrorKind::WouldBlock => {
            io::Error::new(ErrorKind::TimedOut, format!("it said nothing for {patience:?}"))
        }
        _ => error,
    })?;
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_that_says_nothing_is_told_of_in_words() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = get(silent.local_addr().unwrap(), Duration::from_millis(10)).unwrap_err();
        assert_eq!(error.to_string(), "it said nothing for 10ms");
    }
}
