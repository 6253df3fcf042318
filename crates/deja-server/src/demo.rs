//! `deja demo`. To come.

use crate::config::Config;

/// Runs sample queries, and then serves unless `exit_after`.
#[expect(clippy::unused_async, reason = "it will wait for connections")]
pub async fn run(_config: Config, _exit_after: bool) -> anyhow::Result<()> {
    anyhow::bail!("deja demo is not built yet")
}
