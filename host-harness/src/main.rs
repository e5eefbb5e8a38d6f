//! The command `dsh-host`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
