//! The command `dsh-host`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The command is also the supervisor of the processes that it starts; as one it does nothing else.
    dsh_services::subprocess::maybe_run_supervisor();
    cli::run()
}
