//! `dsh-host bridge`.

use super::{Outcome, Stop, standard_streams};
use clap::Args;
use dsh_host::{HostOptions, bridge};
use std::io::IsTerminal;

/// Serves a running DSH: speaks the protocol of the DSH plugin `dsh-components` on standard input and output.
#[derive(Args)]
#[command(
    after_help = "Started by the plugin in host-harness/dsh-plugin, whose PROTOCOL.md documents what is spoken. It ends with its standard input.

Example:
  echo '{\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1}}' | dsh-host bridge"
)]
pub(crate) struct Arguments {}

pub(crate) async fn run(_: &Arguments) -> Outcome {
    if std::io::stdin().is_terminal() {
        return Err(Stop::usage(
            "this command is started by a DSH plugin and not by people; see dsh-host bridge --help",
        ));
    }
    // DSH in a terminal gets Ctrl-C too, and decides what it means: while DSH lives, so does its host.
    standard_streams::ignore_interrupts();
    let stop = standard_streams::terminated();
    let (input, output) = standard_streams::open();
    bridge::serve(input, output, HostOptions::default(), stop)
        .await
        .map_err(Stop::usage)
}
