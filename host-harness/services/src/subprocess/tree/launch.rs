use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// What to start, checked by the host: no string holds a NUL, `argv` is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::subprocess) struct Launch {
    pub(in crate::subprocess) argv: Vec<OsString>,
    pub(in crate::subprocess) cwd: PathBuf,
    /// The whole environment.
    pub(in crate::subprocess) env: Vec<(OsString, OsString)>,
    /// Between the request to end and the kill.
    pub(in crate::subprocess) grace: Duration,
}

/// The child's ends of its pipes.
#[derive(Debug)]
pub(in crate::subprocess) struct ChildStdio {
    /// None for end of file.
    pub(in crate::subprocess) stdin: Option<OwnedFd>,
    pub(in crate::subprocess) stdout: OwnedFd,
    pub(in crate::subprocess) stderr: OwnedFd,
}

/// The first byte on a supervisor's socket; the pipes travel with it.
const START_WITHOUT_STDIN: u8 = b'n';
const START_WITH_STDIN: u8 = b's';

impl Launch {
    /// Starts the program in a process group of its own and drops this side's copies of its pipes. Returns the pid.
    pub(super) fn start(&self, stdio: ChildStdio) -> io::Result<u32> {
        let [program, arguments @ ..] = self.argv.as_slice() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let child = Command::new(program)
            .args(arguments)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(stdio.stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(stdio.stdout)
            .stderr(stdio.stderr)
            .process_group(0)
            .spawn()?;
        // The keeper waits for it by its identifier; the handle itself has nothing to clean up.
        Ok(child.id())
    }

    /// The bytes that follow the first one: a length, then strings that each end in NUL.
    pub(in crate::subprocess) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut put = |text: &OsStr| {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        };
        put(OsStr::new(&self.grace.as_millis().to_string()));
        put(self.cwd.as_os_str());
        put(OsStr::new(&self.argv.len().to_string()));
        self.argv.iter().for_each(|argument| put(argument));
        for (name, value) in &self.env {
            put(name);
            put(value);
        }
        let mut message = (body.len() as u64).to_be_bytes().to_vec();
        message.append(&mut body);
        message
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = body.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let mut next = || {
            fields
                .next()
                .map(|field| OsString::from_vec(field.to_vec()))
        };
        let number = |field: OsString| field.to_str()?.parse::<u64>().ok();
        let grace = Duration::from_millis(number(next()?)?);
        let cwd = next()?.into();
        let argv = (0..number(next()?)?)
            .map(|_| next())
            .collect::<Option<_>>()?;
        let mut env = Vec::new();
        while let Some(name) = next() {
            env.push((name, next()?));
        }
        Some(Self {
            argv,
            cwd,
            env,
            grace,
        })
    }

    /// The supervisor's side of [`send_stdio`] and [`Launch::encode`].
    pub(in crate::subprocess) fn receive(
        mut socket: &UnixStream,
    ) -> io::Result<(Self, ChildStdio)> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let stdio = receive_stdio(socket)?;
        let mut length = [0; 8];
        socket.read_exact(&mut length)?;
        let length = usize::try_from(u64::from_be_bytes(length)).map_err(|_| invalid())?;
        let mut body = vec![0; length];
        socket.read_exact(&mut body)?;
        Ok((Self::decode(&body).ok_or_else(invalid)?, stdio))
    }
}

/// Sends the first byte and the pipes. A socket that has no room for it answers `WouldBlock`.
pub(in crate::subprocess) fn send_stdio(socket: impl AsFd, stdio: &ChildStdio) -> io::Result<()> {
    let mut descriptors: Vec<BorrowedFd<'_>> = vec![stdio.stdout.as_fd(), stdio.stderr.as_fd()];
    descriptors.extend(stdio.stdin.as_ref().map(AsFd::as_fd));
    let first = match stdio.stdin {
        Some(_) => START_WITH_STDIN,
        None => START_WITHOUT_STDIN,
    };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    rustix::net::sendmsg(
        socket,
        &[IoSlice::new(&[first])],
        &mut control,
        SendFlags::empty(),
    )?;
    Ok(())
}

fn receive_stdio(socket: &UnixStream) -> io::Result<ChildStdio> {
    let mut first = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut first)],
        &mut control,
        CLOSE_ON_EXEC,
    )?;
    let mut descriptors: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    let mut descriptors = descriptors.into_iter();
    let stdio = (descriptors.next(), descriptors.next(), descriptors.next());
    match (first, stdio) {
        ([START_WITHOUT_STDIN], (Some(stdout), Some(stderr), None)) => Ok(ChildStdio {
            stdin: None,
            stdout,
            stderr,
        }),
        ([START_WITH_STDIN], (Some(stdout), Some(stderr), stdin @ Some(_))) => Ok(ChildStdio {
            stdin,
            stdout,
            stderr,
        }),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Where the system cannot set it on receipt, the pipes are still handed to one program only: the supervisor starts no
/// other.
#[cfg(not(target_vendor = "apple"))]
const CLOSE_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(target_vendor = "apple")]
const CLOSE_ON_EXEC: RecvFlags = RecvFlags::empty();

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn launch() -> Launch {
        Launch {
            argv: vec!["/bin/x".into(), "".into(), "a b\n".into()],
            cwd: "/tmp".into(),
            env: vec![
                ("A".into(), "".into()),
                ("B".into(), OsString::from_vec(vec![0xff])),
            ],
            grace: Duration::from_millis(2_147_483_647),
        }
    }

    #[test]
    fn a_launch_survives_the_wire() {
        for env in [vec![], launch().env] {
            let launch = Launch { env, ..launch() };
            let message = launch.encode();
            assert_eq!(message[..8], (message.len() as u64 - 8).to_be_bytes());
            assert_eq!(Launch::decode(&message[8..]), Some(launch));
        }
    }

    #[test]
    fn a_damaged_launch_is_none() {
        let message = launch().encode();
        for body in [
            &b""[..],
            b"\0",
            b"x\0/\x000\0",
            b"1\0/\x009\0a\0",
            &message[8..message.len() - 1],
        ] {
            assert_eq!(Launch::decode(body), None, "{body:?}");
        }
    }

    #[test]
    fn the_pipes_travel_with_the_launch() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        for with_stdin in [true, false] {
            let (stdin, mut to_child) = io::pipe().unwrap();
            let (mut from_child, stdout) = io::pipe().unwrap();
            let (_stderr, stderr) = io::pipe().unwrap();
            let stdio = ChildStdio {
                stdin: with_stdin.then(|| stdin.into()),
                stdout: stdout.into(),
                stderr: stderr.into(),
            };
            send_stdio(&ours, &stdio).unwrap();
            (&ours).write_all(&launch().encode()).unwrap();
            drop(stdio);
            let (received, stdio) = Launch::receive(&theirs).unwrap();
            assert_eq!(received, launch());
            assert_eq!(stdio.stdin.is_some(), with_stdin);
            std::fs::File::from(stdio.stdout).write_all(b"out").unwrap();
            let mut text = String::new();
            from_child.read_to_string(&mut text).unwrap();
            assert_eq!(text, "out");
            if let Some(stdin) = stdio.stdin {
                to_child.write_all(b"in").unwrap();
                drop(to_child);
                let mut text = String::new();
                std::fs::File::from(stdin)
                    .read_to_string(&mut text)
                    .unwrap();
                assert_eq!(text, "in");
            }
        }
    }

    #[test]
    fn a_stranger_on_the_socket_is_refused() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"s").unwrap();
        assert_eq!(
            Launch::receive(&theirs).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        drop(ours);
        assert_eq!(
            Launch::receive(&theirs).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}
