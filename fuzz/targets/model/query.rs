//! Reference implementation of a query parser.

use howdah_cgi::text_of;
use percent_encoding::percent_decode_str;

/// Decoded names and values of a query. Invalid UTF-8 is converted as by [`text_of`].
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        let bytes: Vec<u8> = percent_decode_str(&text).collect();
        text_of(&bytes).into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}
