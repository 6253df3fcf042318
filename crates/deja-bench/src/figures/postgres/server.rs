//! A PostgreSQL of the benchmark's own, with the same durability as one in production.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Error, NoTls};

use crate::process;

/// Ends with its standard input.
pub(super) struct Postgres {
    url: String,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    script: Child,
}

impl Postgres {
    pub(super) fn start() -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.py");
        let mut script = Command::new("python3")
            .arg(script)
            .arg("serve")
            .env("DEJA_TEST_POSTGRES_DURABLE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting scripts/postgres.py")?;
        let mut output = BufReader::new(script.stdout.take().context("no output")?).lines();
        let url = output.next().context("PostgreSQL did not start")??;
        Ok(Self { url, input: script.stdin.take(), output, script })
    }

    /// The URL of an empty database.
    pub(super) fn database(&mut self, name: &str) -> Result<String> {
        self.tell(&format!("create {name}"))?;
        let (base, _) = self.url.rsplit_once('/').context("no database in the URL")?;
        Ok(format!("{base}/{name}"))
    }

    /// The processor time that the database took up to now, all its processes. In steps of a hundredth of a second.
    pub(super) fn cpu(&self) -> Result<Duration> {
        process::cpu_below(self.script.id())
    }

    /// Has the script do something, and waits until it is done.
    pub(super) fn tell(&mut self, command: &str) -> Result<()> {
        writeln!(self.input.as_mut().context("it has ended")?, "{command}")?;
        let said = self.output.next().context("the script ended")??;
        anyhow::ensure!(said == "done", "{command}: {said}");
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.input.take());
        // It removes its files first.
        let _ = self.script.wait();
    }
}

/// A client of the database, while what is beside it is kept.
pub(super) async fn client(url: &str) -> Result<(Client, JoinSet<Result<(), Error>>)> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    Ok((client, driver))
}
