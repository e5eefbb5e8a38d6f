//! What goes through a child's pipes.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use dsh_services::subprocess::SpawnSpec;

use crate::support::*;

#[tokio::test]
async fn without_a_pipe_standard_input_is_at_its_end() {
    for service in services() {
        let process = start(&service, spec(&["/bin/cat"])).await;
        assert!(process.take_stdin().is_none());
        assert_eq!(output(process.as_ref()).await, "");
        assert_eq!(soon(process.done()).await, code(0));
    }
}

#[tokio::test]
async fn what_is_written_comes_back_through_the_pipes() {
    for service in services() {
        let process = start(
            &service,
            SpawnSpec {
                stdin: true,
                ..spec(&["/bin/cat"])
            },
        )
        .await;
        let mut stdin = process.take_stdin().unwrap();
        assert!(process.take_stdin().is_none());
        let mut stdout = process.take_stdout().unwrap();
        assert!(process.take_stdout().is_none());
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| ((i * 31) >> 3) as u8).collect();
        let mut back = Vec::new();
        let write = async {
            stdin.write_all(&bytes).await.unwrap();
            stdin.shutdown().await.unwrap();
            assert!(stdin.write_all(b"x").await.is_err());
        };
        let (_, read) = soon(async { tokio::join!(write, stdout.read_to_end(&mut back)) }).await;
        read.unwrap();
        assert!(back == bytes);
        assert_eq!(soon(process.done()).await, code(0));
    }
}

#[tokio::test]
async fn input_that_nobody_reads_does_not_fail_the_process() {
    for service in services() {
        let process = start(
            &service,
            SpawnSpec {
                stdin: true,
                ..sh("exit 3")
            },
        )
        .await;
        drop(process.take_stdout());
        let mut stdin = process.take_stdin().unwrap();
        let error = soon(stdin.write_all(&vec![0; 1 << 20])).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert_eq!(soon(process.done()).await, code(3));
    }
}

#[tokio::test]
async fn exactly_the_last_bytes_of_standard_error_are_kept() {
    for service in services() {
        for (written, kept) in [("12345", "12345"), ("123456", "23456"), ("", "")] {
            let spec = SpawnSpec {
                stderr_max_bytes: 5,
                ..sh(&format!("printf '{written}' >&2"))
            };
            let process = start(&service, spec).await;
            drop(process.take_stdout());
            assert_eq!(soon(process.done()).await, code(0));
            assert_eq!(process.stderr_tail(), kept);
            let window = process.stderr_from(0);
            assert_eq!(window.lossy, written.len() > 5);
            assert_eq!(window.next_offset, written.len() as u64);
            assert_eq!(process.stderr_from(window.next_offset).text, "");
        }
    }
}

#[tokio::test]
async fn standard_error_is_drained_whatever_its_size() {
    for service in services() {
        let script = "head -c 30000000 /dev/zero | tr '\\0' x >&2; printf end >&2";
        let process = start(
            &service,
            SpawnSpec {
                stderr_max_bytes: 10,
                ..sh(script)
            },
        )
        .await;
        drop(process.take_stdout());
        assert_eq!(soon(process.done()).await, code(0));
        assert_eq!(process.stderr_tail(), "xxxxxxxend");
        assert_eq!(process.stderr_from(0).next_offset, 30_000_003);
    }
}
