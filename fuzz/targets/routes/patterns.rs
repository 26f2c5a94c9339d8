//! Patterns of paths and hosts, compared with implementations that try all possible matches.

use crate::matcher::HostPattern;
use crate::pattern::Pattern;

/// Part of a pattern: `*`, or something that matches one character.
enum Piece {
    Star,
    Any,
    One(char),
    Class(bool, Vec<(char, char)>),
    /// An unclosed class. It matches no character.
    Nothing,
}

pub(crate) fn paths(pattern: &str, path: &str) {
    // The cost of a match is the length of the pattern times the length of the path.
    if pattern.len() > 200 || path.len() > 400 {
        return;
    }
    let path = path.to_lowercase();
    let found = Pattern::path(pattern).matches(&path);
    let lower = pattern.to_lowercase();
    let inner = lower.trim_matches('*');
    let expected = if inner.contains(['*', '?', '[']) {
        every_way(&pieces(&lower), &path)
    } else {
        // As patterns are meant to be written, with at most one star at each end.
        let open = (lower.starts_with('*'), lower.ends_with('*'));
        if lower.len() - inner.len() > usize::from(open.0) + usize::from(open.1) {
            return;
        }
        match open {
            _ if lower == "*" => true,
            (false, false) => path == inner,
            (false, true) => path.starts_with(inner),
            (true, false) => path.ends_with(inner),
            (true, true) => path.contains(inner),
        }
    };
    assert_eq!(found, expected, "{pattern:?} {path:?}");
}

fn pieces(glob: &str) -> Vec<Piece> {
    let glob: Vec<char> = glob.chars().collect();
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < glob.len() {
        let (piece, length) = match glob[at] {
            '*' => (Piece::Star, 1),
            '?' => (Piece::Any, 1),
            '\\' if at + 1 < glob.len() => (Piece::One(glob[at + 1]), 2),
            '[' => class(&glob[at + 1..]).unwrap_or((Piece::Nothing, 1)),
            one => (Piece::One(one), 1),
        };
        pieces.push(piece);
        at += length;
    }
    pieces
}

/// Parses the rest of a class. Returns it and its number of characters, including the bracket.
fn class(rest: &[char]) -> Option<(Piece, usize)> {
    let negated = rest.first() == Some(&'^');
    let start = usize::from(negated);
    let mut ranges = Vec::new();
    let mut at = start;
    loop {
        match &rest[at..] {
            [] => return None,
            [']', ..] if at > start => break,
            [low, '-', high, ..] if *high != ']' => {
                ranges.push((*low, *high));
                at += 3;
            }
            [one, ..] => {
                ranges.push((*one, *one));
                at += 1;
            }
        }
    }
    Some((Piece::Class(negated, ranges), at + 2))
}

/// Computes all positions in the text that the pieces so far can reach.
fn every_way(pieces: &[Piece], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut places = vec![false; text.len() + 1];
    places[0] = true;
    for piece in pieces {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            let one = text.get(at).copied();
            match piece {
                Piece::Star => {
                    let went_on = at > 0 && next[at - 1] && text[at - 1] != '/';
                    next[at] = places[at] || went_on;
                }
                _ => {
                    if places[at] && one.is_some_and(|one| takes(piece, one)) {
                        next[at + 1] = true;
                    }
                }
            }
        }
        places = next;
    }
    places[text.len()]
}

fn takes(piece: &Piece, one: char) -> bool {
    match piece {
        Piece::Star | Piece::Nothing => false,
        Piece::Any => one != '/',
        Piece::One(wanted) => one == *wanted,
        Piece::Class(negated, ranges) => {
            let within = ranges.iter().any(|(low, high)| *low <= one && one <= *high);
            one != '/' && within != *negated
        }
    }
}

/// A star stands for one label, as in a certificate for `*.a`.
pub(crate) fn hosts(pattern: &str, host: &str) {
    let name = |text: &str| {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        bare.unwrap_or_else(|| text.strip_suffix('.').unwrap_or(text))
            .to_ascii_lowercase()
    };
    let found = HostPattern::new(pattern).matches(host);
    let host = name(host);
    let expected = match pattern.split_once('.') {
        _ if pattern == "*" => !host.is_empty() && !host.contains('.'),
        Some(("*", domain)) => host
            .split_once('.')
            .is_some_and(|(label, rest)| !label.is_empty() && rest == domain.to_ascii_lowercase()),
        _ => host == name(pattern),
    };
    assert_eq!(found, expected, "{pattern:?} {host:?}");
}
