//! Colours, and what decides whether there are any. `anstream` strips them for pipes and under `NO_COLOR`.

use anstyle::{AnsiColor, Reset, Style};

pub(crate) const RESET: Reset = Reset;
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HEADING: Style = Style::new().bold().underline();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
pub(crate) const DIRECTORY: Style = AnsiColor::Blue.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Whether logs may be coloured.
pub(crate) fn stderr_has_colour() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// A spinner with a message while something long is under way; nothing when standard error is no terminal.
pub(crate) fn spinner(message: &'static str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new_spinner().with_message(message);
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    bar
}

/// A number with thousands separated, for people.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_separated() {
        let shown = [0, 12, 999, 1_000, 110_800, 1_234_567].map(super::grouped);
        assert_eq!(shown, ["0", "12", "999", "1,000", "110,800", "1,234,567"]);
    }
}
