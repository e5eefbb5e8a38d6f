use std::fmt;

use rustix::process::Signal;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::subprocess) enum Ending {
    /// It exited with a code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

/// What a keeper tells the host, one line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::subprocess) enum Report {
    /// The program runs, with this process identifier. First, unless `Failed` is.
    Spawned(u32),
    /// The program could not be started, with this error number. Nothing follows.
    Failed(i32),
    /// The program has ended; others of its tree may be left.
    Exited(Ending),
    /// Somebody else took the program's exit status, so it is not known how it ended.
    StatusLost,
    /// No process of the tree is left. Nothing follows.
    Gone,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spawned(pid) => write!(f, "spawned {pid}"),
            Self::Failed(errno) => write!(f, "failed {errno}"),
            Self::Exited(Ending::Code(code)) => write!(f, "exited {code}"),
            Self::Exited(Ending::Signal(signal)) => write!(f, "signalled {signal}"),
            Self::StatusLost => f.write_str("status-lost"),
            Self::Gone => f.write_str("gone"),
        }
    }
}

impl Report {
    /// Reads a line without its end; none when it is no report.
    pub(in crate::subprocess) fn parse(line: &str) -> Option<Self> {
        let (word, number) = line.split_once(' ').unwrap_or((line, ""));
        let number = || number.parse::<i64>().ok();
        let small = || i32::try_from(number()?).ok();
        Some(match word {
            "spawned" => Self::Spawned(u32::try_from(number()?).ok()?),
            "failed" => Self::Failed(small()?),
            "exited" => Self::Exited(Ending::Code(small()?)),
            "signalled" => Self::Exited(Ending::Signal(small()?)),
            "status-lost" => Self::StatusLost,
            "gone" => Self::Gone,
            _ => return None,
        })
    }
}

impl Ending {
    /// The name of the signal, if one ended the process.
    pub(in crate::subprocess) fn signal_name(self) -> Option<String> {
        let Self::Signal(number) = self else {
            return None;
        };
        let name = NAMES.iter().find(|(signal, _)| signal.as_raw() == number);
        Some(name.map_or_else(|| format!("SIG{number}"), |(_, name)| format!("SIG{name}")))
    }
}

const NAMES: [(Signal, &str); 28] = [
    (Signal::HUP, "HUP"),
    (Signal::INT, "INT"),
    (Signal::QUIT, "QUIT"),
    (Signal::ILL, "ILL"),
    (Signal::TRAP, "TRAP"),
    (Signal::ABORT, "ABRT"),
    (Signal::BUS, "BUS"),
    (Signal::FPE, "FPE"),
    (Signal::KILL, "KILL"),
    (Signal::USR1, "USR1"),
    (Signal::SEGV, "SEGV"),
    (Signal::USR2, "USR2"),
    (Signal::PIPE, "PIPE"),
    (Signal::ALARM, "ALRM"),
    (Signal::TERM, "TERM"),
    (Signal::CHILD, "CHLD"),
    (Signal::CONT, "CONT"),
    (Signal::STOP, "STOP"),
    (Signal::TSTP, "TSTP"),
    (Signal::TTIN, "TTIN"),
    (Signal::TTOU, "TTOU"),
    (Signal::URG, "URG"),
    (Signal::XCPU, "XCPU"),
    (Signal::XFSZ, "XFSZ"),
    (Signal::VTALARM, "VTALRM"),
    (Signal::PROF, "PROF"),
    (Signal::WINCH, "WINCH"),
    (Signal::SYS, "SYS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_survives_the_wire_and_nothing_else_is_one() {
        for report in [
            Report::Spawned(4_000_000_000),
            Report::Failed(2),
            Report::Exited(Ending::Code(0)),
            Report::Exited(Ending::Code(-1)),
            Report::Exited(Ending::Signal(9)),
            Report::StatusLost,
            Report::Gone,
        ] {
            assert_eq!(Report::parse(&report.to_string()), Some(report));
        }
        for line in [
            "",
            "spawned",
            "spawned x",
            "spawned -1",
            "exited",
            "Gone",
            "usage: sleep NUMBER",
        ] {
            assert_eq!(Report::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn signals_have_the_names_people_know() {
        assert_eq!(Ending::Signal(15).signal_name().as_deref(), Some("SIGTERM"));
        assert_eq!(Ending::Signal(9).signal_name().as_deref(), Some("SIGKILL"));
        assert_eq!(Ending::Signal(6).signal_name().as_deref(), Some("SIGABRT"));
        assert_eq!(Ending::Signal(64).signal_name().as_deref(), Some("SIG64"));
        assert_eq!(Ending::Code(15).signal_name(), None);
    }
}
