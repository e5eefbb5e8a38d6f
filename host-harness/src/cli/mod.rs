//! Command line: results on standard output, logs on standard error. Exit 0 success, 1 the tool answered an error, 2 wrong usage or
//! configuration.

mod bench;
mod bridge;
mod call;
mod complete;
mod demo;
mod demo_history;
mod demo_symbols;
mod export;
mod history;
mod mcp;
mod plugins;
mod prompt;
mod query;
mod read_event;
mod session;
mod sessions;
mod standard_streams;
mod style;
mod tools;

use clap::{CommandFactory, Parser, Subcommand};
use std::fmt;
use std::io::{Read, Write};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// Runs DSH plugins as sandboxed WebAssembly components.
#[derive(Parser)]
#[command(
    name = "dsh-host",
    version,
    propagate_version = true,
    max_term_width = 110
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the plugins at work on a directory
    Demo(demo::Arguments),
    /// List the plugins: what each is, imports, may touch and may use up
    Plugins(plugins::Arguments),
    /// List the tools that a model would be offered
    Tools(tools::Arguments),
    /// Call a tool and print exactly the text that the model would see
    Call(call::Arguments),
    /// Complete an @path mention
    Complete(complete::Arguments),
    /// Print the sections that plugins add to the system prompt
    Prompt(prompt::Arguments),
    /// List the recorded sessions
    Sessions(sessions::Arguments),
    /// Find events of a recorded session
    Query(query::Arguments),
    /// Read one event of a recorded session, and its neighbours
    ReadEvent(read_event::Arguments),
    /// Serve the tools to an MCP client on standard input and output
    Mcp(mcp::Arguments),
    /// Serve a running DSH through its plugin dsh-components
    Bridge(bridge::Arguments),
    /// Measure
    #[command(subcommand)]
    Bench(bench::Command),
    /// Write the bundled components to a directory, with checksums
    Export(export::Arguments),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  dsh-host completions bash > ~/.local/share/bash-completion/completions/dsh-host"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Why a command ends without success.
pub(crate) enum Stop {
    /// Wrong usage or configuration.
    Usage(String),
    /// The tool answered an error; it has been printed.
    ToolError,
    /// A service answered this error.
    Failed(String),
    /// Standard output was closed by its reader, which is no error.
    Closed,
}

impl Stop {
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::usage(error)
        }
    }
}

pub(crate) type Outcome = Result<(), Stop>;

/// The most that is read in the place of an argument. None is longer; a pipe that never ends is left.
const MAX_STDIN: u64 = 16 << 20;

/// Standard input in the place of the argument of this name.
fn read_stdin(argument: &str) -> Result<String, Stop> {
    std::io::read_to_string(std::io::stdin().take(MAX_STDIN))
        .map_err(|error| Stop::usage(format!("{argument}: standard input: {error}")))
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_env("DSH_HOST_LOG")
        .unwrap_or_else(|_| EnvFilter::new("warn,rmcp=error"));
    let colour = style::stderr_has_colour();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour)
        .without_time()
        .init();
    let outcome = match arguments.command {
        Command::Completions { shell } => completions(shell),
        command => in_runtime(command),
    };
    match outcome {
        Ok(()) | Err(Stop::Closed) => ExitCode::SUCCESS,
        Err(Stop::ToolError) => ExitCode::from(1),
        Err(Stop::Failed(message)) => report(&message, 1),
        Err(Stop::Usage(message)) => report(&message, 2),
    }
}

fn report(message: &str, code: u8) -> ExitCode {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(
        anstream::stderr(),
        "{}error:{} {message}",
        style::ERROR,
        style::RESET
    );
    ExitCode::from(code)
}

fn in_runtime(command: Command) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        match command {
            Command::Demo(arguments) => demo::run(arguments).await,
            Command::Plugins(arguments) => plugins::run(arguments).await,
            Command::Tools(arguments) => tools::run(arguments).await,
            Command::Call(arguments) => call::run(arguments).await,
            Command::Complete(arguments) => complete::run(arguments).await,
            Command::Prompt(arguments) => prompt::run(arguments).await,
            Command::Sessions(arguments) => sessions::run(&arguments),
            Command::Query(arguments) => query::run(&arguments),
            Command::ReadEvent(arguments) => read_event::run(&arguments),
            Command::Mcp(arguments) => mcp::run(arguments).await,
            Command::Bridge(arguments) => bridge::run(&arguments).await,
            Command::Bench(command) => bench::run(command).await,
            Command::Export(arguments) => export::run(&arguments),
            Command::Completions { shell } => completions(shell),
        }
    });
    // A directory on a dead network file system may hold a reading thread for ever; the process does not wait for it.
    runtime.shutdown_background();
    outcome
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "dsh-host", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_an_example() {
        let command = Arguments::command();
        command.clone().debug_assert();
        let mut waiting: Vec<_> = command.get_subcommands().collect();
        while let Some(command) = waiting.pop() {
            if command.has_subcommands() {
                waiting.extend(command.get_subcommands());
            } else {
                let help = command
                    .get_after_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                assert!(
                    help.contains("Example"),
                    "{} has no example in its help",
                    command.get_name()
                );
            }
        }
    }
}
