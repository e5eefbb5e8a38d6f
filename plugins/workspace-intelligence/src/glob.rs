//! The small pattern language of `openFiles` (SPEC 12.4): `*`, `**`, `?` and `{a,b}`, matched segment by segment.

/// Most patterns that the braces of one pattern may stand for.
const MAX_ALTERNATIVES: usize = 64;

/// What is wrong with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Nothing there.
    #[error("must be a non-empty path or glob")]
    Empty,
    /// An absolute path, a backslash, or a `.` or `..` segment.
    #[error(
        "must be relative to the workspace, with \"/\" between names and without \".\" or \"..\""
    )]
    NotRelative,
    /// Braces that do not close, or braces inside braces.
    #[error("has unbalanced or nested braces")]
    Braces,
    /// Braces that multiply out to too much.
    #[error("stands for more than {MAX_ALTERNATIVES} patterns")]
    TooManyAlternatives,
}

/// A pattern for paths relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Each is a list of segments.
    alternatives: Vec<Vec<String>>,
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        let mut alternatives = Vec::new();
        for alternative in expand(text)? {
            let segments: Vec<String> = alternative.split('/').map(str::to_owned).collect();
            let bad = |segment: &String| matches!(segment.as_str(), "" | "." | "..");
            // A colon in second place is a drive.
            if alternative.contains(['\\', '\0'])
                || alternative.get(1..2) == Some(":")
                || segments.iter().any(bad)
            {
                return Err(PatternError::NotRelative);
            }
            alternatives.push(segments);
        }
        Ok(Self { alternatives })
    }

    /// The paths that the pattern names outright, when it has no wildcard.
    pub fn literals(&self) -> Option<Vec<String>> {
        let plain =
            |segments: &Vec<String>| !segments.iter().any(|segment| segment.contains(['*', '?']));
        self.alternatives.iter().all(plain).then(|| {
            self.alternatives
                .iter()
                .map(|segments| segments.join("/"))
                .collect()
        })
    }

    /// Whether the path, with `/` between names, fits the pattern as a whole.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        self.alternatives
            .iter()
            .any(|segments| segments_match(segments, &names))
    }
}

/// Multiplies out the braces.
fn expand(text: &str) -> Result<Vec<String>, PatternError> {
    let mut expanded = vec![String::new()];
    let mut rest = text;
    while let Some(open) = rest.find(['{', '}']) {
        let (before, from_brace) = rest.split_at(open);
        let inner_and_rest = from_brace.strip_prefix('{').ok_or(PatternError::Braces)?;
        let (inner, after) = inner_and_rest.split_once('}').ok_or(PatternError::Braces)?;
        if inner.contains('{') {
            return Err(PatternError::Braces);
        }
        let choices: Vec<&str> = inner.split(',').collect();
        if expanded.len() * choices.len() > MAX_ALTERNATIVES {
            return Err(PatternError::TooManyAlternatives);
        }
        expanded = expanded
            .iter()
            .flat_map(|head| {
                choices
                    .iter()
                    .map(move |choice| format!("{head}{before}{choice}"))
            })
            .collect();
        rest = after;
    }
    Ok(expanded.into_iter().map(|head| head + rest).collect())
}

/// `**` stands for any number of names, none included.
fn segments_match(pattern: &[String], names: &[&str]) -> bool {
    wild_match(
        pattern,
        names,
        |segment| segment == "**",
        |segment, name| {
            let (segment, name): (Vec<char>, Vec<char>) =
                (segment.chars().collect(), name.chars().collect());
            wild_match(
                &segment,
                &name,
                |c| *c == '*',
                |c, other| *c == '?' || c == other,
            )
        },
    )
}

/// Matches a sequence against a pattern in which some elements stand for any run. Going back to the last such element only is enough, so
/// the cost is at most the product of the two lengths.
fn wild_match<P, T>(
    pattern: &[P],
    items: &[T],
    is_run: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut i) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(p), items.get(i)) {
            (None, None) => return true,
            (Some(element), _) if is_run(element) => {
                retry = Some((p + 1, i));
                p += 1;
            }
            (Some(element), Some(item)) if is_one(element, item) => {
                p += 1;
                i += 1;
            }
            _ => match retry {
                Some((after_run, from)) if from < items.len() => {
                    retry = Some((after_run, from + 1));
                    p = after_run;
                    i = from + 1;
                }
                _ => return false,
            },
        }
    }
}
