//! A server of a few lines, for what deja calls.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use super::http::find;

/// One request, whole.
pub struct Asked {
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    /// The next request of a connection; `None` if there is no whole one.
    pub fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 16 * 1024];
        let end = loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                break end;
            }
            let n = stream.read(&mut chunk).ok().filter(|n| *n > 0)?;
            bytes.extend_from_slice(&chunk[..n]);
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let path = lines.next()?.split(' ').nth(1)?.to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut asked = Self { path, headers, body: bytes.split_off(end + 4) };
        let length = asked.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
        while asked.body.len() < length {
            let n = stream.read(&mut chunk).ok().filter(|n| *n > 0)?;
            asked.body.extend_from_slice(&chunk[..n]);
        }
        Some(asked)
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Answers each request with the bytes that `answer` gives, one request a connection. Ends with the test process.
pub fn listen(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                // A caller that hangs up is none of the server's business.
                let _ = Asked::read(&mut stream).map(|asked| stream.write_all(&answer(&asked)));
            });
        }
    });
    address
}
