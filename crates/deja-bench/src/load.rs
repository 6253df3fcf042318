//! The load generator: a closed loop over kept-alive connections on one thread.
//!
//! On a machine with few cores the generator competes with the server, so it does as little as possible:
//! requests are built before the clock starts, a round trip costs it one `read`, one `write` and a share of one
//! `epoll_wait`, and of an answer it reads status, length and the first member of the body. It treats every
//! server alike.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use serde::{Deserialize, Serialize};

use crate::process::{self, Server};

/// What to send. The bodies are sent in turn, again from the first when all were sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) address: String,
    pub(crate) key: String,
    pub(crate) connections: usize,
    pub(crate) bodies: Vec<String>,
    /// Stops after this many requests.
    pub(crate) requests: usize,
    /// Stops after this time.
    pub(crate) seconds: f64,
}

/// What came back.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Answers with status 200.
    pub(crate) requests: usize,
    pub(crate) seconds: f64,
    /// Of the answers, how many say `cache_hit: true`.
    pub(crate) hits: usize,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Processor time of the server for each request, in microseconds.
    #[serde(default)]
    pub(crate) cpu_us: f64,
}

impl Outcome {
    pub(crate) fn per_second(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    pub(crate) fn hit_share(&self) -> f64 {
        self.hits as f64 / self.requests as f64
    }
}

/// Runs `job` against `server` in a process of its own.
pub(crate) fn against(me: &Path, server: &mut Server, job: &Job) -> Result<Outcome> {
    let before = server.cpu()?;
    let mut outcome: Outcome = process::job(me, "load", job)?;
    server.check()?;
    let spent = server.cpu()?.saturating_sub(before);
    outcome.cpu_us = spent.as_secs_f64() * 1e6 / outcome.requests as f64;
    Ok(outcome)
}

/// The generator's side.
pub(crate) fn run(job: &Path) -> Result<()> {
    let job: Job = process::read_job(job)?;
    let requests: Vec<Vec<u8>> = job.bodies.iter().map(|body| request(&job, body)).collect();
    anyhow::ensure!(!requests.is_empty() && job.connections > 0, "nothing to send");
    println!("{}", serde_json::to_string(&drive(&job, &requests)?)?);
    Ok(())
}

fn request(job: &Job, body: &str) -> Vec<u8> {
    let Job { address, key, .. } = job;
    let length = body.len();
    format!(
        "POST /v1/cache/query HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

struct Connection {
    stream: TcpStream,
    /// What of the answer has come.
    answer: Vec<u8>,
    sent: Instant,
}

impl Connection {
    fn open(address: &str, poll: &Poll, token: Token) -> Result<Self> {
        let stream =
            std::net::TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, token, Interest::READABLE)?;
        Ok(Self { stream, answer: Vec::with_capacity(4096), sent: Instant::now() })
    }

    fn send(&mut self, request: &[u8]) -> Result<()> {
        self.answer.clear();
        self.sent = Instant::now();
        // A request is far smaller than a socket's buffer, and the buffer is empty.
        let written = self.stream.write(request)?;
        anyhow::ensure!(written == request.len(), "a request did not fit the socket's buffer");
        Ok(())
    }

    /// Reads what has come; the answer, once it is whole.
    fn receive(&mut self) -> Result<Option<Answer>> {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => bail!("the server closed a connection"),
                Ok(count) => self.answer.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            // One request at a time: after a whole answer nothing more comes, so the edge is consumed.
            if let Some(answer) = Answer::parse(&self.answer)? {
                return Ok(Some(answer));
            }
        }
    }
}

/// What the generator looks at in an answer.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    ok: bool,
    hit: bool,
}

impl Answer {
    /// `None` while the answer is not whole.
    fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        const LENGTH: &[u8] = b"content-length: ";
        let Some(end) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
        let (head, body) = (&bytes[..end], &bytes[end + 4..]);
        let at = find(head, LENGTH).context("an answer without content-length")? + LENGTH.len();
        let digits = head[at..].iter().take_while(|b| b.is_ascii_digit());
        let length = digits.fold(0_usize, |length, digit| length * 10 + usize::from(digit - b'0'));
        if body.len() < length {
            return Ok(None);
        }
        let ok = head.get(9..12) == Some(b"200");
        Ok(Some(Self { ok, hit: ok && body.starts_with(br#"{"cache_hit":true"#) }))
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn drive(job: &Job, requests: &[Vec<u8>]) -> Result<Outcome> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(job.connections);
    let mut connections = Vec::with_capacity(job.connections);
    for token in 0..job.connections {
        connections.push(Connection::open(&job.address, &poll, Token(token))?);
    }
    let limit = Duration::from_secs_f64(job.seconds);
    let mut next = 0..job.requests;
    let mut latencies = Vec::with_capacity(job.requests.min(1_000_000));
    let (mut hits, mut waiting) = (0, 0);

    let started = Instant::now();
    for (connection, index) in connections.iter_mut().zip(next.by_ref()) {
        connection.send(&requests[index % requests.len()])?;
        waiting += 1;
    }
    while waiting > 0 {
        poll.poll(&mut events, Some(Duration::from_secs(30)))?;
        anyhow::ensure!(!events.is_empty(), "no answer for 30 seconds");
        for event in &events {
            let connection = &mut connections[event.token().0];
            let Some(answer) = connection.receive()? else { continue };
            let now = Instant::now();
            if !answer.ok {
                bail!("refused: {}", String::from_utf8_lossy(&connection.answer));
            }
            latencies.push(now - connection.sent);
            hits += usize::from(answer.hit);
            let more = if now - started < limit { next.next() } else { None };
            match more {
                Some(request) => connection.send(&requests[request % requests.len()])?,
                None => waiting -= 1,
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let quantile = |q: f64| {
        let index = (latencies.len() as f64 * q) as usize;
        latencies
            .get(index.min(latencies.len().saturating_sub(1)))
            .map_or(f64::NAN, |l| l.as_secs_f64() * 1e3)
    };
    let (p50_ms, p99_ms) = (quantile(0.5), quantile(0.99));
    Ok(Outcome { requests: latencies.len(), seconds, hits, p50_ms, p99_ms, cpu_us: 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_to_their_end() {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\n{\"cache_hit\":true}";
        for cut in 0..whole.len() {
            assert_eq!(Answer::parse(&whole[..cut]).unwrap(), None, "{cut}");
        }
        assert_eq!(Answer::parse(whole).unwrap(), Some(Answer { ok: true, hit: true }));
        let refused = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(Answer::parse(refused).unwrap(), Some(Answer { ok: false, hit: false }));
    }
}
