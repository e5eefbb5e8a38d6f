use std::fmt;

use super::authorized_paths::AuthorizedPaths;

/// Which arguments a granted program may be given; the program itself, `argv[0]`, does not count.
#[derive(Debug, Clone)]
pub enum ArgvRule {
    /// These and no others.
    Exact(Vec<String>),
    /// These, and then whatever the owner likes.
    Prefix(Vec<String>),
    /// One search by ripgrep in one authorised file, see [`ArgvRule::allows`]. No other option is possible, so none that
    /// starts a program (`--pre`, `--search-zip`) or reads another file (`--file`).
    Ripgrep(AuthorizedPaths),
}

impl ArgvRule {
    /// Whether the rule covers these arguments.
    ///
    /// Ripgrep is held to `--no-config`, then either `--json` or the options that print line numbers and matching parts
    /// only, then `--text --regexp=<pattern> -- <path>`, the path being absolute and authorised at this moment.
    pub fn allows(&self, arguments: &[String]) -> bool {
        match self {
            Self::Exact(wanted) => arguments == wanted,
            Self::Prefix(prefix) => arguments.starts_with(prefix),
            Self::Ripgrep(authorized) => {
                let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let ["--no-config", form @ .., "--text", pattern, "--", path] = words.as_slice()
                else {
                    return false;
                };
                RIPGREP_FORMS.contains(&form)
                    && pattern.starts_with("--regexp=")
                    && path.starts_with('/')
                    && authorized.contains(path)
            }
        }
    }
}

/// The forms of output that ripgrep may be asked for: whole records, or, for a record that is too long, the matching parts.
const RIPGREP_FORMS: [&[&str]; 2] = [
    &["--json"],
    &[
        "--only-matching",
        "--line-number",
        "--no-heading",
        "--no-filename",
        "--color=never",
    ],
];

impl fmt::Display for ArgvRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(arguments) => write!(f, "with exactly {arguments:?}"),
            Self::Prefix(arguments) => write!(f, "with {arguments:?} and more"),
            Self::Ripgrep(_) => f.write_str("to search one file of the call"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn exact_arguments_are_all_of_them_and_a_prefix_is_the_first_ones() {
        let exact = ArgvRule::Exact(strings(&["--stdio", "a"]));
        let prefix = ArgvRule::Prefix(strings(&["--stdio", "a"]));
        for (arguments, by_exact, by_prefix) in [
            (&["--stdio", "a"][..], true, true),
            (&["--stdio", "a", "b"], false, true),
            (&["--stdio"], false, false),
            (&["a", "--stdio"], false, false),
            (&["--stdio", "ab"], false, false),
            (&["--stdio a"], false, false),
            (&[], false, false),
        ] {
            assert_eq!(exact.allows(&strings(arguments)), by_exact, "{arguments:?}");
            assert_eq!(
                prefix.allows(&strings(arguments)),
                by_prefix,
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn ripgrep_is_held_to_one_search_in_an_authorised_file() {
        let authorized = AuthorizedPaths::default();
        let rule = ArgvRule::Ripgrep(authorized.clone());
        let good = [
            "--no-config",
            "--json",
            "--text",
            "--regexp=a b",
            "--",
            "/spill/x",
        ];
        assert!(!rule.allows(&strings(&good)), "nothing is authorised yet");
        let held = authorized.authorize("/spill/x");
        assert!(rule.allows(&strings(&good)));
        let with = |words: &[&str]| {
            let mut all = good[..3].to_vec();
            all.extend(words);
            all.extend(&good[3..]);
            rule.allows(&strings(&all))
        };
        let mut parts = vec!["--no-config"];
        parts.extend(RIPGREP_FORMS[1]);
        parts.extend(&good[2..]);
        assert!(rule.allows(&strings(&parts)));
        assert!(!with(&["--only-matching"]), "the forms do not mix");
        for hostile in [
            "--pre=/bin/sh",
            "--pre",
            "--search-zip",
            "--file=/etc/shadow",
            "-f/etc/shadow",
            "--hostname-bin=/bin/sh",
            "--max-count=",
            "--max-count=1 --pre=x",
            "--regexp=second",
            "--",
            "/etc/shadow",
        ] {
            assert!(!with(&[hostile]), "{hostile}");
        }
        for replaced in [
            (0, "--json"),
            (1, "--pre=/bin/sh"),
            (3, "-eb"),
            (3, "--pre=/bin/sh"),
            (4, "--pre=/bin/sh"),
            (5, "/spill/y"),
            (5, "spill/x"),
            (5, "/spill/../spill/x"),
            (5, ""),
        ] {
            let mut words = good;
            words[replaced.0] = replaced.1;
            assert!(!rule.allows(&strings(&words)), "{words:?}");
        }
        let mut two_paths = good.to_vec();
        two_paths.push("/spill/x");
        assert!(!rule.allows(&strings(&two_paths)));
        drop(held);
        assert!(!rule.allows(&strings(&good)), "the call has ended");
    }
}
