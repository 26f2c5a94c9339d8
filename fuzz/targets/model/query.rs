//! A query, read plainly.

use howdah_cgi::text_of;
use percent_encoding::percent_decode_str;

/// Names and values of a query, decoded. A byte that is not UTF-8 is as [`text_of`] has it.
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
