//! A small HTTP/1.1 client over a plain socket: it sends exactly the bytes it is given, wrong ones included.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::PATIENCE;

/// Each cause of an error that any test meets stands there.
const ERRORS: &str = include_str!("../../../../../docs/reference/errors.md");

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case, in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Response {
    /// The header called `name` (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The header called `name` as a number.
    pub fn number(&self, name: &str) -> i64 {
        let value = self.header(name).unwrap_or_else(|| panic!("no header {name} in {self:?}"));
        value.parse().unwrap_or_else(|_| panic!("header {name} is no integer: {value}"))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("status {}, body is not JSON ({error}): {}", self.status, self.text())
        })
    }

    /// The `detail` of an error, after checking the status and that the body is `{"detail": string}` and nothing
    /// else.
    #[track_caller]
    pub fn detail(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "{self:?}");
        let body = self.json();
        let members = body.as_object().unwrap_or_else(|| panic!("not an object: {body}"));
        assert_eq!(members.keys().collect::<Vec<_>>(), ["detail"], "{body}");
        members["detail"].as_str().unwrap_or_else(|| panic!("detail is not a string: {body}")).to_owned()
    }
}

/// A connection that is kept open between requests.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Reads one answer, no more than `most` bytes before each pause.
    pub fn receive_slowly(&mut self, most: usize, mut pause: impl FnMut()) -> io::Result<Response> {
        let mut bytes = vec![0; most];
        loop {
            let read = self.stream.read(&mut bytes)?;
            self.buffer.extend_from_slice(&bytes[..read]);
            let head = find(&self.buffer, b"\r\n\r\n");
            let length = head.and_then(|end| {
                let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
                Some(end + 4 + length.trim().parse::<usize>().ok()?)
            });
            if read == 0 || length.is_some_and(|length| self.buffer.len() >= length) {
                return self.receive();
            }
            pause();
        }
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a request, or the rest of one, and reads its answer.
    #[track_caller]
    pub fn ask(&mut self, request: &[u8]) -> Response {
        self.send(request).unwrap();
        self.receive().unwrap()
    }

    /// Reads one answer.
    pub fn receive(&mut self) -> io::Result<Response> {
        self.receive_to(false)
    }

    /// Reads one answer; `head` says that the request was a HEAD, whose answer has no body.
    pub fn receive_to(&mut self, head: bool) -> io::Result<Response> {
        let end = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end;
            }
            self.more()?;
        };
        let text = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let mut lines = text.split("\r\n");
        let status_line = lines.next().unwrap_or_default();
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status line: {status_line:?}")))?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut response = Response { status, headers, body: Vec::new() };
        if let Some(cause) = response.header("x-deja-error") {
            let documented = |row: &str| {
                row.split(" | ").next().is_some_and(|causes| causes.contains(&format!("`{cause}`")))
            };
            assert!(
                status >= 400 && ERRORS.lines().any(documented),
                "docs/reference/errors.md has no {cause} ({status})"
            );
        }
        if !head && status >= 200 && status != 204 && status != 304 {
            response.body = self.body(&response)?;
        }
        if (100..200).contains(&status) { self.receive_to(head) } else { Ok(response) }
    }

    fn body(&mut self, response: &Response) -> io::Result<Vec<u8>> {
        if let Some(length) = response.header("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            return self.take(length);
        }
        let mut body = Vec::new();
        if response.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            loop {
                let end = loop {
                    if let Some(end) = find(&self.buffer, b"\r\n") {
                        break end;
                    }
                    self.more()?;
                };
                let line = String::from_utf8_lossy(&self.take(end + 2)?).into_owned();
                let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
                let chunk = self.take(size + 2)?;
                if size == 0 {
                    return Ok(body);
                }
                body.extend_from_slice(&chunk[..size]);
            }
        }
        while self.more().is_ok() {}
        body.append(&mut self.buffer);
        Ok(body)
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.more()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn more(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let n = self.stream.read(&mut chunk)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(&chunk[..n]);
        Ok(())
    }
}

impl From<TcpStream> for Connection {
    fn from(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }
}

/// Where `needle` begins in `haystack`.
pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: deja.test\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    if !body.is_empty() || method == "POST" {
        write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

/// The bytes of a request that posts JSON, with a key.
pub fn post(key: &str, path: &str, body: &str) -> Vec<u8> {
    let authorization = format!("Bearer {key}");
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    request("POST", path, &headers, body.as_bytes())
}

/// Sends one request over a connection of its own.
pub fn once(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Response> {
    let mut connection = Connection::open(address)?;
    connection.send(&request(method, path, headers, body))?;
    connection.receive_to(method == "HEAD")
}
