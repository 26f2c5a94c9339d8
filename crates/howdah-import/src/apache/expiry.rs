//! `ExpiresByType` and `ExpiresDefault`: which files expire, and when.

use crate::directive::Directive;
use crate::output::{Lines, MatcherNames};

/// `ExpiresByType image/png "access plus 1 year"`
pub(super) fn by_type(own: &Directive, names: &mut MatcherNames) -> Option<Lines> {
    let endings = endings(own.argument(0))?;
    let seconds = seconds(&own.arguments[1..])?;
    let name = names.next("type");
    Some(vec![
        format!("@{name} path {endings}"),
        format!("header @{name} Cache-Control max-age={seconds}"),
    ])
}

/// Patterns of the files of a media type.
fn endings(media_type: &str) -> Option<&'static str> {
    Some(match media_type {
        "text/css" => "*.css",
        "text/javascript" | "application/javascript" | "application/x-javascript" => "*.js *.mjs",
        "image/jpeg" | "image/jpg" => "*.jpg *.jpeg",
        "image/png" => "*.png",
        "image/gif" => "*.gif",
        "image/webp" => "*.webp",
        "image/avif" => "*.avif",
        "image/svg+xml" => "*.svg",
        "image/x-icon" | "image/vnd.microsoft.icon" => "*.ico",
        "font/woff" | "application/font-woff" | "application/x-font-woff" => "*.woff",
        "font/woff2" | "application/font-woff2" => "*.woff2",
        "font/ttf" | "application/x-font-ttf" => "*.ttf",
        "video/mp4" => "*.mp4",
        "application/pdf" => "*.pdf",
        "text/html" => "*.html",
        _ => return None,
    })
}

/// `access plus 1 year`, or `A3600`.
pub(super) fn seconds(arguments: &[String]) -> Option<u64> {
    let text = arguments.join(" ");
    if let Some(number) = text.strip_prefix(['A', 'M']) {
        return number.parse().ok();
    }
    let mut words = text.split_whitespace();
    words
        .next()
        .filter(|base| ["access", "now", "modification"].contains(base))?;
    let mut all = 0;
    let mut words = words.filter(|word| *word != "plus");
    while let Some(number) = words.next() {
        let number: u64 = number.parse().ok()?;
        let unit = words.next()?.trim_end_matches('s');
        all += number
            * match unit {
                "second" => 1,
                "minute" => 60,
                "hour" => 3600,
                "day" => 86_400,
                "week" => 7 * 86_400,
                "month" => 30 * 86_400,
                "year" => 365 * 86_400,
                _ => return None,
            };
    }
    Some(all)
}
