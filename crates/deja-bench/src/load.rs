//! The load generator: a closed loop over kept-alive connections on one thread.
//!
//! On a machine with few cores the generator competes with the server, so it does as little as possible:
//! requests are built before the clock starts, a round trip costs it one `read`, one `write` and a share of one
//! `epoll_wait`, and of an answer it reads the head, and where it ends. It treats every server alike.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use memchr::memmem;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use serde::{Deserialize, Serialize};

use crate::process::{self, Server};
use crate::prompts;

/// Connections of every figure that says nothing else.
pub(crate) const CONNECTIONS: usize = 64;
/// How long a run of a fixed number of requests may take at most, in seconds.
const PATIENCE: f64 = 300.0;
/// Longest wait for a byte of any answer.
const SILENCE: Duration = Duration::from_secs(30);

/// Where requests go, and what is looked for in their answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Route {
    pub(crate) address: String,
    pub(crate) path: String,
    pub(crate) key: String,
    /// More headers, each with its line end.
    pub(crate) headers: String,
    /// What stands in an answer that is a hit.
    pub(crate) hit: String,
}

impl Route {
    /// Deja's own API.
    pub(crate) fn query(address: &str, key: &str) -> Self {
        Self::to(address, "/v1/cache/query", key, r#""cache_hit":true"#)
    }

    /// Chat completions in OpenAI's format.
    pub(crate) fn chat(address: &str, key: &str) -> Self {
        Self::to(address, "/v1/chat/completions", key, "x-deja-cache: hit")
    }

    fn to(address: &str, path: &str, key: &str, hit: &str) -> Self {
        let [address, path, key, hit] = [address, path, key, hit].map(str::to_owned);
        Self { address, path, key, headers: String::new(), hit }
    }
}

/// What to send. The bodies are sent in turn, again from the first when all were sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) route: Route,
    pub(crate) connections: usize,
    /// The connections begin one after the other within so many seconds.
    pub(crate) begin_within: f64,
    pub(crate) bodies: Vec<String>,
    /// Seconds from one turn of a connection to its next; a turn is left out while an answer is awaited. So connections
    /// keep their distance. If they rested after each answer instead, those that were answered together would go on
    /// together, and all of them would be one burst after some seconds.
    #[serde(default)]
    pub(crate) every: f64,
    /// Answers with status 429 or 503 are counted apart. Otherwise they end the run, as all others than 200 do.
    #[serde(default)]
    pub(crate) refusals: bool,
    /// Stops after this many requests.
    pub(crate) requests: usize,
    /// Stops after this time.
    pub(crate) seconds: f64,
}

impl Job {
    /// A job that sends these bodies in turn for so many seconds, over [`CONNECTIONS`] connections.
    pub(crate) const fn new(route: Route, bodies: Vec<String>, seconds: f64) -> Self {
        let (connections, requests) = (CONNECTIONS, usize::MAX);
        Self { route, connections, begin_within: 0.0, bodies, every: 0.0, refusals: false, requests, seconds }
    }

    /// Each body once.
    pub(crate) fn once(route: Route, bodies: Vec<String>) -> Self {
        let requests = bodies.len();
        Self { requests, ..Self::new(route, bodies, PATIENCE) }
    }
}

/// What came back.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Answers with status 200.
    pub(crate) requests: usize,
    pub(crate) seconds: f64,
    /// Answers that are hits.
    pub(crate) hits: usize,
    /// Until the first byte of a body.
    pub(crate) first_p50_ms: f64,
    pub(crate) first_p99_ms: f64,
    /// Until its last.
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Refusals, and how long they took; `None` of none.
    pub(crate) refused: usize,
    pub(crate) refused_p50_ms: Option<f64>,
    pub(crate) refused_p99_ms: Option<f64>,
    /// Processor time of the generator, in seconds.
    pub(crate) generator_s: f64,
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
    let mut outcome = generate(me, job)?;
    server.check()?;
    let spent = server.cpu()?.saturating_sub(before);
    outcome.cpu_us = spent.as_secs_f64() * 1e6 / outcome.requests as f64;
    Ok(outcome)
}

/// The same against whatever is there.
pub(crate) fn generate(me: &Path, job: &Job) -> Result<Outcome> {
    process::job(me, "load", job)
}

/// Many streams at once, and the server's memory in bytes: before, and the peak from then on.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) outcome: Outcome,
    before: u64,
    pub(crate) peak: u64,
}

impl Streams {
    /// The streams begin one after the other within so many seconds.
    const BEGIN_WITHIN: f64 = 10.0;

    /// Asks for `count` streams; before that for `warm_up`, so that what the first request takes for good is not counted as
    /// a stream's.
    pub(crate) fn run(
        me: &Path,
        server: &mut Server,
        route: Route,
        count: usize,
        warm_up: usize,
    ) -> Result<Self> {
        let body = |number| prompts::chat(&prompts::unlike(number), true);
        let first = Job::once(route.clone(), (count..count + warm_up).map(body).collect());
        against(me, server, &Job { connections: warm_up, ..first })?;
        let job = Job::once(route, (0..count).map(body).collect());
        let before = server.resident()?;
        server.forget_peak()?;
        let job = Job { connections: count, begin_within: Self::BEGIN_WITHIN, ..job };
        let outcome = against(me, server, &job).context("streams at once")?;
        Ok(Self { outcome, before, peak: server.peak()? })
    }

    /// Memory of one of `count`, in KB.
    pub(crate) fn each_kb(&self, count: usize) -> f64 {
        self.peak.saturating_sub(self.before) as f64 / 1024.0 / count as f64
    }

    pub(crate) fn before_mb(&self) -> f64 {
        self.before as f64 / 1e6
    }
}

/// The generator's side.
pub(crate) fn run(job: &Path) -> Result<()> {
    let job: Job = process::read_job(job)?;
    let requests: Vec<Vec<u8>> = job.bodies.iter().map(|body| request(&job.route, body)).collect();
    anyhow::ensure!(!requests.is_empty() && job.connections > 0, "nothing to send");
    println!("{}", serde_json::to_string(&drive(&job, &requests)?)?);
    Ok(())
}

pub(crate) fn request(route: &Route, body: &str) -> Vec<u8> {
    let Route { address, path, key, headers, .. } = route;
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

struct Connection {
    stream: TcpStream,
    /// What of the answer has come.
    answer: Vec<u8>,
    head: Option<Head>,
    sent: Instant,
    /// When its turn comes.
    due: Instant,
    /// When the first byte of the body came.
    first: Option<Instant>,
    /// Whether no answer is awaited: then the server may close the connection.
    is_idle: bool,
}

impl Connection {
    fn open(address: &str, poll: &Poll, token: Token) -> Result<Self> {
        let stream =
            std::net::TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, token, Interest::READABLE)?;
        let answer = Vec::with_capacity(4096);
        let now = Instant::now();
        Ok(Self { stream, answer, head: None, sent: now, due: now, first: None, is_idle: true })
    }

    fn send(&mut self, request: &[u8]) -> Result<()> {
        self.answer.clear();
        (self.head, self.first, self.sent, self.is_idle) = (None, None, Instant::now(), false);
        // A request is far smaller than a socket's buffer, and the buffer is empty.
        let written = self.stream.write(request)?;
        anyhow::ensure!(written == request.len(), "a request did not fit the socket's buffer");
        Ok(())
    }

    /// Reads what has come. The status of the answer, once it is whole; an error if it is none, or breaks off, or is
    /// another than 200, or one of a refusal where there may be `refusals`.
    fn receive(&mut self, refusals: bool) -> Result<Option<u16>> {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) if self.is_idle => return Ok(None),
                Ok(0) => bail!("the server closed a connection: {}", self.said()),
                Ok(count) => self.answer.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            if self.head.is_none() {
                self.head = Head::parse(&self.answer)?;
            }
            let Some(head) = &self.head else { continue };
            if self.first.is_none() && self.answer.len() > head.length {
                self.first = Some(Instant::now());
            }
            // One request at a time: after a whole answer nothing more comes, so the edge is consumed.
            if head.ends(&self.answer) {
                let refused = refusals && matches!(head.status, 429 | 503);
                anyhow::ensure!(
                    refused || head.is_good(&self.answer),
                    "refused, or broken off: {}",
                    self.said()
                );
                self.is_idle = true;
                return Ok(Some(head.status));
            }
        }
    }

    /// The end of what has come.
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.answer[self.answer.len().saturating_sub(2_000)..]).into_owned()
    }
}

/// What the generator looks at in the head of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    /// Where the body begins.
    length: usize,
    status: u16,
    /// The length of the body; `None` if it comes in chunks.
    body: Option<usize>,
}

impl Head {
    /// `None` while it is not whole.
    fn parse(answer: &[u8]) -> Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(length) = response.parse(answer)? else { return Ok(None) };
        let value = |name: &str| {
            response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|h| h.value)
        };
        let body = match (value("content-length"), value("transfer-encoding")) {
            (Some(length), _) => Some(std::str::from_utf8(length)?.parse()?),
            (None, Some(b"chunked")) => None,
            (None, _) => bail!("an answer without an end"),
        };
        Ok(Some(Self { length, status: response.code.context("no status")?, body }))
    }

    /// Whether all of `answer` is there.
    fn ends(&self, answer: &[u8]) -> bool {
        match self.body {
            Some(body) => answer.len() >= self.length + body,
            None => answer[self.length..].ends_with(b"\r\n0\r\n\r\n"),
        }
    }

    /// Whether a whole answer is a good one: of events, if it is a stream, the last as well.
    fn is_good(&self, answer: &[u8]) -> bool {
        let body = &answer[self.length..];
        let is_stream = memmem::find(&body[..body.len().min(32)], b"data: ").is_some();
        self.status == 200 && (!is_stream || memmem::rfind(body, b"data: [DONE]").is_some())
    }
}

fn drive(job: &Job, requests: &[Vec<u8>]) -> Result<Outcome> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(job.connections);
    let mut connections: Vec<Connection> = Vec::with_capacity(job.connections);
    let hit = memmem::Finder::new(&job.route.hit);
    let limit = Duration::from_secs_f64(job.seconds);
    let mut next = 0..job.requests;
    let (mut firsts, mut wholes, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let (mut hits, mut waiting) = (0, 0);
    // Connections that wait for their turn.
    let mut resting: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
    let every = Duration::from_secs_f64(job.every);

    let (started, spent) = (Instant::now(), process::own_cpu()?);
    let begins = |number: usize| {
        started + Duration::from_secs_f64(job.begin_within * number as f64 / job.connections as f64)
    };
    loop {
        while connections.len() < job.connections
            && begins(connections.len()) <= Instant::now()
            && let Some(index) = next.next()
        {
            let mut connection = Connection::open(&job.route.address, &poll, Token(connections.len()))?;
            connection.send(&requests[index % requests.len()])?;
            connections.push(connection);
            waiting += 1;
        }
        while let Some(Reverse((due, number))) = resting.peek().copied()
            && due <= Instant::now()
        {
            resting.pop();
            if let Some(request) = next.next().filter(|_| started.elapsed() < limit) {
                connections[number].send(&requests[request % requests.len()])?;
                waiting += 1;
            }
        }
        let later =
            (connections.len() < job.connections && !next.is_empty()).then(|| begins(connections.len()));
        let later = later.into_iter().chain(resting.peek().map(|Reverse((due, _))| *due)).min();
        if waiting == 0 && later.is_none() {
            break;
        }
        let patience = later.map_or(SILENCE, |later| later.saturating_duration_since(Instant::now()));
        poll.poll(&mut events, Some(patience))?;
        anyhow::ensure!(later.is_some() || !events.is_empty(), "no answer for {SILENCE:?}");
        for event in &events {
            let number = event.token().0;
            let connection = &mut connections[number];
            let Some(status) = connection.receive(job.refusals)? else { continue };
            let now = Instant::now();
            if status == 200 {
                firsts.push(connection.first.unwrap_or(now) - connection.sent);
                wholes.push(now - connection.sent);
                hits += usize::from(hit.find(&connection.answer).is_some());
            } else {
                refused.push(now - connection.sent);
            }
            if !every.is_zero() {
                while connection.due <= now {
                    connection.due += every;
                }
                resting.push(Reverse((connection.due, number)));
                waiting -= 1;
                continue;
            }
            let more = if now - started < limit { next.next() } else { None };
            match more {
                Some(request) => connection.send(&requests[request % requests.len()])?,
                None => waiting -= 1,
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let generator_s = process::own_cpu()?.saturating_sub(spent).as_secs_f64();
    let [first_p50_ms, first_p99_ms] = quantiles(&mut firsts).context("no answer")?;
    let [p50_ms, p99_ms] = quantiles(&mut wholes).context("no answer")?;
    let [refused_p50_ms, refused_p99_ms] = quantiles(&mut refused).map_or([None; 2], |times| times.map(Some));
    Ok(Outcome {
        requests: wholes.len(),
        seconds,
        hits,
        first_p50_ms,
        first_p99_ms,
        p50_ms,
        p99_ms,
        refused: refused.len(),
        refused_p50_ms,
        refused_p99_ms,
        generator_s,
        cpu_us: 0.0,
    })
}

/// Median and 99th percentile, in milliseconds; `None` of none.
fn quantiles(times: &mut [Duration]) -> Option<[f64; 2]> {
    times.sort_unstable();
    let last = times.len().checked_sub(1)?;
    Some([0.5, 0.99].map(|q| times[last.min((times.len() as f64 * q) as usize)].as_secs_f64() * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the answer is good, once it is whole.
    fn read(answer: &[u8]) -> Option<bool> {
        let head = Head::parse(answer).unwrap()?;
        head.ends(answer).then(|| head.is_good(answer))
    }

    #[test]
    fn answers_are_read_to_their_end() {
        for whole in [
            "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"cache_hit\":true}",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nE\r\ndata: [DONE]\n\n\r\n0\r\n\r\n",
        ] {
            for cut in 0..whole.len() {
                assert_eq!(read(&whole.as_bytes()[..cut]), None, "{cut} of {whole}");
            }
            assert_eq!(read(whole.as_bytes()), Some(true), "{whole}");
        }
    }

    #[test]
    fn nothing_has_no_quantiles() {
        assert_eq!(quantiles(&mut []), None);
        let mut times: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(quantiles(&mut times), Some([51.0, 100.0]));
        assert_eq!(quantiles(&mut times[..1]), Some([1.0, 1.0]));
    }

    #[test]
    fn a_refusal_and_a_stream_that_broke_off_are_not_good() {
        let refused = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(read(refused), Some(false));
        let broken =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\ndata: {\"error\":1}\r\n0\r\n\r\n";
        assert_eq!(read(broken), Some(false));
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err(), "no end");
    }
}
