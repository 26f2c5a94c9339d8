//! Options of `reverse_proxy` that several servers have.

/// Whether `reverse_proxy` sends the header by default.
pub(crate) fn is_sent_anyway(name: &str) -> bool {
    const SENT: [&str; 6] = [
        "connection",
        "upgrade",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "proxy",
    ];
    SENT.contains(&name.to_ascii_lowercase().as_str())
}

/// A time in seconds unless a unit is given, as in nginx and Apache.
pub(crate) fn duration(text: &str) -> String {
    if text.ends_with(|c: char| c.is_ascii_digit()) {
        format!("{text}s")
    } else {
        text.to_owned()
    }
}

/// A size such as `20m` or `1024`.
pub(crate) fn size(text: &str) -> Option<String> {
    let (number, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], "KiB"),
        (at, 'm' | 'M') => (&text[..at], "MiB"),
        (at, 'g' | 'G') => (&text[..at], "GiB"),
        _ => (text, "B"),
    };
    let number: u64 = number.parse().ok()?;
    Some(format!("{number}{unit}"))
}
