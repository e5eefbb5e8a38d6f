use std::ffi::OsStr;
use std::path::Path;

use super::abort::AbortSignal;
use super::environment::{Environment, lookup};
use super::error::SubprocessError;

/// The rules of an operating system's paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flavour {
    Posix,
    Windows,
}

/// What Windows tries when `PATHEXT` is unset.
const DEFAULT_PATHEXT: &str = ".COM;.EXE;.BAT;.CMD";

/// Finds the program among the candidates, in order. Blocks on the file system.
pub(super) fn find(
    command: &str,
    environment: &Environment,
    signal: Option<&AbortSignal>,
) -> Result<String, SubprocessError> {
    let check_signal = || match signal.and_then(AbortSignal::reason) {
        Some(reason) => Err(SubprocessError::Aborted(reason)),
        None => Ok(()),
    };
    let flavour = if cfg!(windows) {
        Flavour::Windows
    } else {
        Flavour::Posix
    };
    if command.is_empty() {
        return Err(SubprocessError::EmptyCommand);
    }
    check_signal()?;
    let text = |name| lookup(environment, name).map(OsStr::to_string_lossy);
    let path = text("PATH").unwrap_or_default();
    let extensions = text("PATHEXT");
    for candidate in candidates(command, &path, extensions.as_deref(), flavour)? {
        let found = is_executable_file(Path::new(&candidate));
        check_signal()?;
        if found {
            return Ok(candidate);
        }
    }
    let command = command.to_owned();
    Err(if is_absolute(&command, flavour) {
        SubprocessError::NotExecutable { command }
    } else {
        SubprocessError::NotFound { command }
    })
}

/// Every path at which the program may be, in order of preference. Relative directories of `PATH` stay relative, so they
/// count from the host's working directory. Empty ones are skipped: a program that happens to lie in that directory must
/// not be run for a stray colon.
fn candidates(
    command: &str,
    path: &str,
    extensions: Option<&str>,
    flavour: Flavour,
) -> Result<Vec<String>, SubprocessError> {
    let (list_separator, separator, separators): (char, char, &[char]) = match flavour {
        Flavour::Posix => (':', '/', &['/']),
        Flavour::Windows => (';', '\\', &['/', '\\']),
    };
    let bases = if is_absolute(command, flavour) {
        vec![command.to_owned()]
    } else if command.contains(separators) {
        return Err(SubprocessError::RelativeCommand {
            command: command.to_owned(),
        });
    } else {
        path.split(list_separator)
            .filter(|directory| !directory.is_empty())
            .map(|directory| match directory.ends_with(separators) {
                true => format!("{directory}{command}"),
                false => format!("{directory}{separator}{command}"),
            })
            .collect()
    };
    let has_extension = Path::new(command).extension().is_some();
    if flavour == Flavour::Posix || has_extension {
        return Ok(bases);
    }
    let extensions = extensions.unwrap_or(DEFAULT_PATHEXT);
    Ok(bases
        .iter()
        .flat_map(|base| {
            extensions
                .split(';')
                .filter(|extension| !extension.is_empty())
                .map(move |extension| format!("{base}{extension}"))
        })
        .collect())
}

fn is_absolute(command: &str, flavour: Flavour) -> bool {
    match flavour {
        Flavour::Posix => command.starts_with('/'),
        Flavour::Windows => match command.as_bytes() {
            [b'\\' | b'/', b'\\' | b'/', ..] => true,
            [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
            _ => false,
        },
    }
}

/// Follows links: a program may be a link.
fn is_executable_file(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    #[cfg(unix)]
    {
        is_file && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    }
    #[cfg(not(unix))]
    {
        is_file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posix(command: &str, path: &str) -> Vec<String> {
        candidates(command, path, None, Flavour::Posix).unwrap()
    }

    fn windows(command: &str, path: &str, extensions: Option<&str>) -> Vec<String> {
        candidates(command, path, extensions, Flavour::Windows).unwrap()
    }

    #[test]
    fn an_absolute_path_is_the_only_candidate() {
        assert_eq!(posix("/opt/a/../x", "/bin"), ["/opt/a/../x"]);
        assert_eq!(windows(r"C:\x.exe", r"C:\bin", None), [r"C:\x.exe"]);
        assert_eq!(
            windows(r"\\srv\share\x.exe", "", None),
            [r"\\srv\share\x.exe"]
        );
    }

    #[test]
    fn a_bare_name_is_tried_in_every_directory_and_empty_entries_are_skipped() {
        assert_eq!(posix("x", "/a::b:/c/:"), ["/a/x", "b/x", "/c/x"]);
        assert!(posix("x", "").is_empty());
    }

    #[test]
    fn a_relative_path_is_refused() {
        for (command, flavour) in [
            ("./x", Flavour::Posix),
            ("a/x", Flavour::Posix),
            (r".\x", Flavour::Windows),
            ("a/x", Flavour::Windows),
            ("C:x/y", Flavour::Windows),
        ] {
            let error = candidates(command, "/bin", None, flavour).unwrap_err();
            assert!(error.to_string().contains("relative path"), "{error}");
        }
    }

    #[test]
    fn windows_tries_the_extensions_unless_the_name_has_one() {
        assert_eq!(
            windows("node", r"C:\a;;C:\b\", None),
            [
                r"C:\a\node.COM",
                r"C:\a\node.EXE",
                r"C:\a\node.BAT",
                r"C:\a\node.CMD",
                r"C:\b\node.COM",
                r"C:\b\node.EXE",
                r"C:\b\node.BAT",
                r"C:\b\node.CMD",
            ]
        );
        assert_eq!(windows("node", r"C:\a", Some(".EXE;")), [r"C:\a\node.EXE"]);
        assert_eq!(windows("node.cmd", r"C:\a", None), [r"C:\a\node.cmd"]);
        assert_eq!(windows(r"C:\a\node", "", Some(".EXE")), [r"C:\a\node.EXE"]);
    }
}
