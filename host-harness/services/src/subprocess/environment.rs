use std::ffi::{OsStr, OsString};

use super::contract::EnvChange;
use super::error::SubprocessError;

/// Names and values, each name once.
pub(super) type Environment = Vec<(OsString, OsString)>;

/// Whether names that differ in case alone are the same variable.
const FOLDS_CASE: bool = cfg!(windows);

/// Refuses what no environment can carry.
pub(super) fn validate(changes: &[EnvChange]) -> Result<(), SubprocessError> {
    let invalid = |name: &str, reason| SubprocessError::InvalidEnv {
        name: name.to_owned(),
        reason,
    };
    for EnvChange { name, value } in changes {
        if name.is_empty() {
            return Err(invalid(name, "the name must be non-empty"));
        }
        if name.contains(['=', '\0']) {
            return Err(invalid(name, "the name must not contain `=` or NUL"));
        }
        if value.as_deref().is_some_and(|value| value.contains('\0')) {
            return Err(invalid(name, "the value must not contain NUL"));
        }
    }
    Ok(())
}

/// The environment of a child: `base` without what looks like a credential or belongs to DSH, then `changes` in order.
pub(super) fn child_environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    changes: &[EnvChange],
) -> Environment {
    merge(base, changes, FOLDS_CASE)
}

/// The value of a variable.
pub(super) fn lookup<'a>(environment: &'a Environment, name: &str) -> Option<&'a OsStr> {
    environment
        .iter()
        .find(|(candidate, _)| same_name(candidate, OsStr::new(name), FOLDS_CASE))
        .map(|(_, value)| value.as_os_str())
}

fn merge(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    changes: &[EnvChange],
    folds_case: bool,
) -> Environment {
    let mut environment: Environment = base
        .into_iter()
        .filter(|(name, _)| !is_withheld(name))
        .collect();
    for change in changes {
        let name = OsStr::new(&change.name);
        environment.retain(|(present, _)| !same_name(present, name, folds_case));
        if let Some(value) = &change.value {
            environment.push((name.to_owned(), value.into()));
        }
    }
    environment
}

fn same_name(a: &OsStr, b: &OsStr, folds_case: bool) -> bool {
    if folds_case {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}

/// Matches anywhere in the name, so that `KEYBOARD` and `TOKENIZERS_PARALLELISM` are withheld as well: DSH prefers a
/// variable too few to a secret too many, and a configuration can name what it needs.
fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.starts_with("DSH_")
        || ["KEY", "PASSWORD", "SECRET", "TOKEN"]
            .iter()
            .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(entries: &[(&str, &str)]) -> Environment {
        entries
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    #[test]
    fn credential_shaped_and_dsh_names_are_withheld_in_any_case() {
        let base = pairs(&[
            ("HOME", "/h"),
            ("API_KEY", "1"),
            ("monkey_x", "1"),
            ("KEYBOARD", "1"),
            ("my_Password_2", "1"),
            ("client_secret", "1"),
            ("TOKENIZERS_PARALLELISM", "1"),
            ("DSH_HOME", "1"),
            ("dsh_lower", "1"),
            ("MY_DSH_VALUE", "kept"),
        ]);
        assert_eq!(
            merge(base, &[], false),
            pairs(&[("HOME", "/h"), ("MY_DSH_VALUE", "kept")])
        );
    }

    #[test]
    fn an_explicit_entry_overrides_adds_withheld_names_back_or_removes() {
        let base = pairs(&[("A", "1"), ("B", "2"), ("API_KEY", "ambient")]);
        let changes = [
            EnvChange::set("A", "explicit"),
            EnvChange::remove("B"),
            EnvChange::set("API_KEY", "explicit"),
            EnvChange::set("DSH_X", "y"),
            EnvChange::remove("ABSENT"),
        ];
        assert_eq!(
            merge(base, &changes, false),
            pairs(&[("A", "explicit"), ("API_KEY", "explicit"), ("DSH_X", "y")])
        );
    }

    #[test]
    fn the_last_change_of_a_name_wins() {
        let changes = [
            EnvChange::set("A", "1"),
            EnvChange::remove("A"),
            EnvChange::set("A", "2"),
        ];
        assert_eq!(merge(pairs(&[]), &changes, false), pairs(&[("A", "2")]));
    }

    #[test]
    fn where_case_is_folded_the_explicit_spelling_replaces_the_ambient_one() {
        let base = pairs(&[("Path", "ambient"), ("A", "1")]);
        let changes = [EnvChange::set("PATH", "explicit")];
        assert_eq!(
            merge(base.clone(), &changes, true),
            pairs(&[("A", "1"), ("PATH", "explicit")])
        );
        assert_eq!(
            merge(base, &changes, false),
            pairs(&[("Path", "ambient"), ("A", "1"), ("PATH", "explicit")])
        );
    }

    #[test]
    fn what_no_environment_can_carry_is_refused_by_name() {
        for (change, wanted) in [
            (
                EnvChange::set("", "x"),
                "invalid env entry \"\": the name must be non-empty",
            ),
            (
                EnvChange::set("A=B", "x"),
                "invalid env entry \"A=B\": the name must not contain `=` or NUL",
            ),
            (
                EnvChange::remove("A\0"),
                "invalid env entry \"A\\0\": the name must not contain `=` or NUL",
            ),
            (
                EnvChange::set("A", "\0"),
                "invalid env entry \"A\": the value must not contain NUL",
            ),
        ] {
            assert_eq!(validate(&[change]).unwrap_err().to_string(), wanted);
        }
        assert_eq!(validate(&[EnvChange::set("A", "=")]), Ok(()));
    }
}
