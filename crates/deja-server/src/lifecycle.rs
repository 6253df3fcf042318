//! Start and end of the server. To come.

use crate::config::Config;

/// Serves until a signal to stop.
#[expect(clippy::unused_async, reason = "it will wait for connections")]
pub async fn serve(_config: Config) -> anyhow::Result<()> {
    anyhow::bail!("deja serve is not built yet")
}
