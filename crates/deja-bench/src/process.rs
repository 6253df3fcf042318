//! Child processes: started, measured from /proc, and ended with their owner.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A running server. Dropping it kills the process: nothing a benchmark leaves behind is worth an orderly end.
pub(crate) struct Server {
    child: Child,
    /// Held open: our own servers end when it closes, so that none survives a harness that was killed.
    _stdin: Option<ChildStdin>,
}

impl Server {
    /// Starts `command`.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let stdin = child.stdin.take();
        Ok(Self { child, _stdin: stdin })
    }

    /// Starts one of our own servers; its first line of output is its address.
    pub(crate) fn part(me: &Path, arguments: &[&str]) -> Result<(Self, String)> {
        let mut server = Self::start(Command::new(me).args(arguments).stdout(Stdio::piped()))?;
        let stdout = server.child.stdout.take().context("no output")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address)?;
        anyhow::ensure!(!address.is_empty(), "{arguments:?} ended before it was ready");
        Ok((server, address.trim().to_owned()))
    }

    /// Fails if the process has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the server ended: {status}"),
            None => Ok(()),
        }
    }

    /// The processor time it took up to now, in user and kernel mode, all threads. The kernel counts in
    /// hundredths of a second here, so measure over a second or more.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        cpu_of(&self.child.id().to_string())
    }

    /// Resident memory, in bytes. Pages of the binary that were touched count, the built-in weights among them.
    pub(crate) fn resident(&self) -> Result<u64> {
        resident(&self.child.id().to_string())
    }

    /// Measures the peak of resident memory from here on.
    pub(crate) fn forget_peak(&self) -> Result<()> {
        // proc_pid_clear_refs(5): 5 sets VmHWM to what is resident now.
        Ok(std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")?)
    }

    /// The peak of resident memory, in bytes.
    pub(crate) fn peak(&self) -> Result<u64> {
        memory(&self.child.id().to_string(), "VmHWM:")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Resident memory of `process`, a number or `self`, in bytes.
pub(crate) fn resident(process: &str) -> Result<u64> {
    memory(process, "VmRSS:")
}

fn memory(process: &str, member: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(member));
    let line = line.with_context(|| format!("no {member}"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

/// The processor time of this process, as [`Server::cpu`].
pub(crate) fn own_cpu() -> Result<Duration> {
    cpu_of("self")
}

fn cpu_of(process: &str) -> Result<Duration> {
    Ok(Stat::of(process)?.own)
}

/// The processor time up to now of all processes below `process`, ended ones included.
pub(crate) fn cpu_below(process: u32) -> Result<Duration> {
    let mut children: HashMap<u32, Vec<(u32, Duration)>> = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process that ended meanwhile is in the time of its parent.
        let Ok(stat) = Stat::of(&format!("{number}")) else { continue };
        children.entry(stat.parent).or_default().push((number, stat.own + stat.ended));
    }
    let (mut below, mut cpu) = (vec![process], Duration::ZERO);
    while let Some(parent) = below.pop() {
        for (child, time) in children.remove(&parent).unwrap_or_default() {
            below.push(child);
            cpu += time;
        }
    }
    Ok(cpu)
}

/// Some fields of proc_pid_stat(5).
struct Stat {
    parent: u32,
    /// Processor time in user and kernel mode.
    own: Duration,
    /// The same of its children that ended.
    ended: Duration,
}

impl Stat {
    fn of(process: &str) -> Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The second field is the name in parentheses and may hold spaces.
        let (_, fields) = stat.rsplit_once(')').context("unreadable /proc/pid/stat")?;
        let field = |number: usize| -> Result<u64> {
            let field = fields.split_ascii_whitespace().nth(number - 3);
            Ok(field.context("short /proc/pid/stat")?.parse()?)
        };
        // In ticks of 1/100 s (`USER_HZ`, the same on every Linux that Rust runs on but Alpha's).
        let time = |user, kernel| anyhow::Ok(Duration::from_millis((field(user)? + field(kernel)?) * 10));
        Ok(Self { parent: field(4)?.try_into()?, own: time(14, 15)?, ended: time(16, 17)? })
    }
}

/// Runs a subcommand of our own on a job file, and reads its result.
pub(crate) fn job<J: Serialize, R: DeserializeOwned>(me: &Path, name: &str, job: &J) -> Result<R> {
    let mut file = tempfile::NamedTempFile::new()?;
    serde_json::to_writer(std::io::BufWriter::new(file.as_file_mut()), job)?;
    let output = Command::new(me).arg(name).arg(file.path()).stderr(Stdio::inherit()).output()?;
    anyhow::ensure!(output.status.success(), "{name}: {}", output.status);
    serde_json::from_slice(&output.stdout).with_context(|| format!("{name}: unreadable result"))
}

/// Reads the job file of a subcommand.
pub(crate) fn read_job<J: DeserializeOwned>(path: &Path) -> Result<J> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Waits until standard input closes: the harness has ended. Blocks its thread.
pub(crate) fn wait_for_harness() {
    // Any end of the pipe means the same.
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
}
