//! The limits of a page, for providers whose answers hold whole texts.

use std::ops::Range;

use super::error::SessionQueryError;
use super::filter::EventFilter;
use super::matcher::Matcher;
use super::query::excerpt;
use super::types::PageLimits;

/// Which part of a document's text a page shows.
#[derive(Debug)]
pub struct TextCut {
    hit: Option<Matcher>,
    max: usize,
}

impl TextCut {
    /// Prepares the cut for the documents of one query.
    ///
    /// # Errors
    /// [`SessionQueryError::InvalidFilter`] for a text that cannot be searched.
    pub fn new(filters: &[EventFilter], limits: &PageLimits) -> Result<Self, SessionQueryError> {
        let first = filters.iter().find_map(|filter| match filter {
            EventFilter::Text(text) if limits.centre_on_hit => Some(text),
            _ => None,
        });
        Ok(Self {
            hit: first.map(|text| Matcher::new(text)).transpose()?,
            max: limits.max_text_bytes,
        })
    }

    /// The byte range to show of a text.
    #[must_use]
    pub fn of(&self, text: &str) -> Range<usize> {
        let hit = match &self.hit {
            Some(matcher) if text.len() > self.max => matcher.find(text),
            _ => None,
        };
        excerpt(text, hit, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_is_that_of_the_local_provider() {
        let text = format!("{}Needle{}", "a".repeat(50), "b".repeat(50));
        let cut = |centre_on_hit, max_text_bytes| {
            let limits = PageLimits {
                centre_on_hit,
                max_text_bytes,
                ..PageLimits::NONE
            };
            let filters = [EventFilter::Text("needle".into())];
            TextCut::new(&filters, &limits).expect("a text").of(&text)
        };
        assert_eq!(cut(false, 10), 0..10);
        assert_eq!(cut(true, 10), 48..58);
        assert_eq!(cut(true, 1000), 0..106);
        let blank = [EventFilter::Text(" ".into())];
        let centred = PageLimits {
            centre_on_hit: true,
            ..PageLimits::NONE
        };
        assert!(TextCut::new(&blank, &centred).is_err());
        assert!(TextCut::new(&blank, &PageLimits::NONE).is_ok());
    }
}
