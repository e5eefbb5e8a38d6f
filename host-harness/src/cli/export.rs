//! `dsh-host export`.

use super::{Outcome, Stop, style};
use clap::Args;
use dsh_host::bundled;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

/// Writes the components.
#[derive(Args)]
#[command(
    after_help = "Example:\n  dsh-host export dist && (cd dist && sha256sum --check SHA256SUMS)"
)]
pub(crate) struct Arguments {
    /// Directory to write to; it is created when it is missing
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let directory = &arguments.directory;
    let failed = |error: std::io::Error| Stop::usage(format!("{}: {error}", directory.display()));
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut sums = String::new();
    let mut report = String::new();
    for component in bundled::ALL {
        let file = format!("{}.wasm", component.name);
        std::fs::write(directory.join(&file), component.bytes).map_err(failed)?;
        let sum: String =
            Sha256::digest(component.bytes)
                .iter()
                .fold(String::new(), |mut text, byte| {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{byte:02x}");
                    text
                });
        sums.push_str(&format!("{sum}  {file}\n"));
        let size = style::grouped(u64::try_from(component.bytes.len()).unwrap_or(u64::MAX));
        report.push_str(&format!("{sum}  {size:>9} bytes  {file}\n"));
    }
    std::fs::write(directory.join("SHA256SUMS"), sums).map_err(failed)?;
    // Last, so that a reader who has left does not leave half of the files unwritten.
    anstream::stdout().write_all(report.as_bytes())?;
    Ok(())
}
