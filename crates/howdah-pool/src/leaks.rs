//! Findings of `detect_leaks` in the workers of a pool: each place once per generation, though every worker finds it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Findings that are listed; further ones are counted and logged.
const LISTED_MAX: usize = 200;
/// Places of one generation that are logged: the limit bounds memory if an application leaks under ever new names.
const PLACES_MAX: usize = 2000;

/// State that a request left behind (`worker/include/howdah_shm.h`, "the log pipe").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Leak {
    /// The kind of its place: `static property`, `global variable`, ….
    pub kind: String,
    /// How it was recognised: `grows`, `counts`, `changes`, `holds request data` or `left behind`.
    pub why: String,
    /// Where it is, such as `$GLOBALS['app']->services['log']->lines`.
    pub path: String,
    /// The declaration that it belongs to, such as `App\\Logger::$lines`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// A short text of the value, without secrets.
    pub value: String,
    /// Elements before the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_before: Option<u64>,
    /// Elements after the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The file that declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the declaration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Method of the request that left it.
    pub method: String,
    /// Its path, without the query.
    pub uri: String,
    /// Its id, 16 hex digits as in the logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// Findings in a pool since the server started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Leaks {
    /// All findings.
    pub found: u64,
    /// Findings of the newest generation, the oldest first; at most 200.
    pub findings: Vec<Leak>,
}

/// Where a worker leaks. Findings at the same place count once.
#[derive(Debug, PartialEq, Eq, Hash)]
struct LeakPlace {
    kind: String,
    /// Its path without the digits of keys.
    path: String,
}

/// A path without digits in brackets. A number in a name belongs to the name.
fn without_numbers(path: &str) -> String {
    let mut depth = 0_i32;
    let mut is_kept = |c: char| {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        depth <= 0 || !c.is_ascii_digit()
    };
    path.chars().filter(|c| is_kept(*c)).collect()
}

#[derive(Debug, Default)]
struct State {
    generation: u32,
    places: HashSet<LeakPlace>,
    leaks: Leaks,
}

/// Findings of one pool's workers. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeakBook(Arc<Mutex<State>>);

impl LeakBook {
    /// Adds a record of a worker of this generation. `None`: it is already known, or is not a valid record.
    pub(crate) fn enter(&self, generation: u32, request: Option<&str>, json: &str) -> Option<Leak> {
        let mut leak: Leak = serde_json::from_str(json).ok()?;
        leak.request = request.map(str::to_owned);
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if generation > state.generation {
            state.generation = generation;
            state.places.clear();
            state.leaks.findings.clear();
        }
        let place = LeakPlace {
            kind: leak.kind.clone(),
            path: without_numbers(&leak.path),
        };
        if state.places.len() >= PLACES_MAX || !state.places.insert(place) {
            return None;
        }
        state.leaks.found += 1;
        if state.leaks.findings.len() < LISTED_MAX {
            state.leaks.findings.push(leak.clone());
        }
        Some(leak)
    }

    pub(crate) fn leaks(&self) -> Leaks {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.leaks.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(path: &str) -> String {
        format!(
            r#"{{"kind":"static property","why":"grows","path":"{path}","value":"array(2)","count_before":1,"count":2,"method":"GET","uri":"/"}}"#
        )
    }

    #[test]
    fn a_place_is_entered_once_in_a_generation() {
        let book = LeakBook::default();
        assert!(book.enter(1, Some("2a"), &json("A::$b[1]")).is_some());
        assert!(
            book.enter(1, Some("2b"), &json("A::$b[2]")).is_none(),
            "another worker"
        );
        assert!(book.enter(1, None, &json("A::$c")).is_some());
        assert_eq!(book.leaks().found, 2);
        let leak = book.enter(2, None, &json("A::$b[1]")).expect("a reload");
        assert_eq!((leak.count_before, leak.count), (Some(1), Some(2)));
        let leaks = book.leaks();
        assert_eq!((leaks.found, leaks.findings.len()), (3, 1));
        assert!(
            book.enter(1, None, &json("A::$b[3]")).is_none(),
            "a generation that drains"
        );
    }

    #[test]
    fn names_that_differ_in_a_number_are_separate_places() {
        let book = LeakBook::default();
        for path in ["Page1::$b", "Page2::$b", "$GLOBALS['v2']->x1['user1']"] {
            assert!(book.enter(1, None, &json(path)).is_some(), "{path}");
        }
        let again = book.enter(1, None, &json("$GLOBALS['v3']->x1['user2']"));
        assert!(again.is_none(), "the numbers of keys");
    }

    #[test]
    fn unfounded_findings_are_dropped() {
        let book = LeakBook::default();
        for text in ["", "{}", "[1]", "{\"kind\":1}", "\u{0}"] {
            assert_eq!(book.enter(1, None, text), None, "{text}");
        }
        assert_eq!(book.leaks(), Leaks::default());
    }

    #[test]
    fn ever_new_places_fill_no_memory() {
        let book = LeakBook::default();
        for number in 0..PLACES_MAX + 10 {
            let name: String = number
                .to_string()
                .bytes()
                .map(|digit| char::from(digit - b'0' + b'a'))
                .collect();
            book.enter(1, None, &json(&name));
        }
        let leaks = book.leaks();
        assert_eq!(
            (leaks.found, leaks.findings.len()),
            (PLACES_MAX as u64, LISTED_MAX)
        );
    }
}
