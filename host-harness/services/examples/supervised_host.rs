//! A host in miniature for the tests: as a supervisor it keeps one process tree, otherwise it starts a shell script
//! through itself, prints the script's process identifier and output, and waits to be killed.
//!
//! `supervised_host SCRIPT`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dsh_services::subprocess::{
    LocalSubprocess, SpawnSpec, Subprocess, maybe_run_supervisor, own_executable,
};
use tokio::io::AsyncReadExt;

fn main() {
    maybe_run_supervisor();
    let script = std::env::args()
        .nth(1)
        .expect("usage: supervised_host SCRIPT");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = LocalSubprocess::new(Some(own_executable().unwrap()));
        let process = service
            .spawn(SpawnSpec {
                argv: vec!["/bin/sh".into(), "-c".into(), script],
                cwd: "/".into(),
                stdin: false,
                stderr_max_bytes: 1000,
                grace_ms: 60_000,
                env: vec![],
                signal: None,
            })
            .await
            .unwrap();
        println!("{}", process.pid().unwrap());
        let mut stdout = process.take_stdout().unwrap();
        let mut byte = [0];
        while stdout.read(&mut byte).await.unwrap() > 0 {
            print!("{}", char::from(byte[0]));
        }
        println!("{:?}", process.done().await);
        std::future::pending::<()>().await;
    });
}
