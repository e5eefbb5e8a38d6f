//! Session logs of both formats, plain and compressed, whole and growing.

use super::logs::{Root, answers, frame};

const V0: &str = r#"{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/work/app","delegationDepth":0}"#;
const V4: &str = r#"{"type":"session","version":4,"id":"s","createdAt":1,"cwd":"/work/app","isSeeded":false,"delegationDepth":0}"#;

thread_local! {
    static ROOTS: [Root; 4] = ["session.jsonl", "session.jsonl.zstd", "session.v4.jsonl", "session.v4.jsonl.zstd"].map(Root::new);
}

/// What is answered, or the code of the refusal.
fn outcome(root: &Root) -> Result<String, Option<String>> {
    answers(&root.service()).map_err(|error| error.code().map(str::to_owned))
}

/// A log is read or refused with a code; what is read is consistent in itself; a service that watched the log grow answers as one that sees it
/// for the first time; and what is read compressed is read alike without.
pub fn session_log(data: &[u8]) {
    let [mode, split, body @ ..] = data else {
        return;
    };
    let (v4, compressed, headless) = (mode & 1 != 0, mode & 2 != 0, mode & 4 != 0);
    let header = if v4 { V4 } else { V0 };
    let header = if headless {
        String::new()
    } else {
        format!("{header}\n")
    };
    let at = body.len() * usize::from(*split) / 256;
    let (head, tail) = body.split_at(at);
    ROOTS.with(|roots| {
        let [plain, packed] = if v4 {
            [&roots[2], &roots[3]]
        } else {
            [&roots[0], &roots[1]]
        };
        let root = if compressed { packed } else { plain };
        // Bytes that are no frame are as likely as frames, so that the reader of frames meets both.
        let start = match (compressed, headless) {
            (true, false) => frame(header.as_bytes()),
            _ => header.clone().into_bytes(),
        };
        root.write(&[&start[..], head].concat());
        let watching = root.service();
        let _ = answers(&watching);
        root.append(tail);
        let grown = answers(&watching).map_err(|error| error.code().map(str::to_owned));
        let fresh = outcome(root);
        assert_eq!(grown, fresh, "growth");
        if let Err(code) = &fresh {
            assert!(code.is_some(), "a refusal has a code");
        }
        if !compressed && body.last() == Some(&b'\n') && !headless {
            let whole_lines = head
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            let (head, tail) = body.split_at(whole_lines);
            // An empty frame is damage to the engines (SPEC-sessions 3.3).
            let parts = [header.as_bytes(), head, tail];
            let frames = parts.into_iter().filter(|part| !part.is_empty());
            packed.write(&frames.flat_map(frame).collect::<Vec<u8>>());
            // A damaged last row may be one that is still being written; in a frame that is complete it is damage.
            if let Ok(answers) = outcome(packed) {
                assert_eq!(Ok(answers), fresh, "compression");
            }
        }
        for root in [plain, packed] {
            root.remove();
        }
    });
}
