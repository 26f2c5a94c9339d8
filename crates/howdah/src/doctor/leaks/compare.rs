//! Checks whether a page depends on previous requests. Parts that differ between two consecutive requests (times,
//! tokens) are not compared.

use std::collections::BTreeSet;

use super::server::Response;

/// The responses of one page.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Response to the first request, when no page has been requested twice.
    pub(super) first: Response,
    /// Responses to two consecutive requests.
    pub(super) before: [Response; 2],
    /// Response after other pages.
    pub(super) after: Response,
    /// Responses of new servers, if there are several pages.
    pub(super) new_servers: Option<NewServers>,
}

/// Responses of two new servers. State that the first request of all sets for good shows only here, and so does state
/// that one page sets and others show.
#[derive(Debug, Default)]
pub(super) struct NewServers {
    /// With the pages in the order of the first server: what differs here differs by itself.
    pub(super) same_order: Visits,
    pub(super) reverse_order: Visits,
}

#[derive(Debug, Default)]
pub(super) struct Visits {
    /// Response to the first request of the page.
    pub(super) first: Response,
    /// Response after all pages were requested once.
    pub(super) last: Response,
}

/// Header fields that are specific to one response.
const VOLATILE: [&str; 6] = [
    "date",
    "age",
    "x-howdah-leaks",
    "server-timing",
    "content-length",
    "etag",
];
/// Characters of a line that are shown.
const SHOWN: usize = 120;

impl Page {
    /// The difference after other pages, in a few words.
    pub(super) fn difference(&self) -> Option<String> {
        let [first, second] = &self.before;
        difference([first, second], &self.after)
    }

    /// The difference if other pages were requested first.
    pub(super) fn difference_by_order(&self) -> Option<String> {
        let new = self.new_servers.as_ref()?;
        let (same, reverse) = (&new.same_order, &new.reverse_order);
        difference([&self.before[1], &same.last], &reverse.last)
            .or_else(|| difference([&self.first, &same.first], &reverse.first))
    }
}

/// How `after` differs from what `before` have in common.
fn difference(before: [&Response; 2], after: &Response) -> Option<String> {
    let [first, second] = before;
    if first.status == second.status && second.status != after.status {
        return Some(format!(
            "status {} instead of {}",
            after.status, second.status
        ));
    }
    let [first, second, after] = [first, second, after].map(lines);
    if let Some(missing) = first
        .intersection(&second)
        .find(|line| !after.contains(*line))
    {
        return Some(format!("without {}", display(missing)));
    }
    // As many lines may be different as differ between the two.
    let own = second.difference(&first).count();
    let mut new = after
        .iter()
        .filter(|line| !first.contains(*line) && !second.contains(*line));
    new.nth(own).map(|line| format!("with {}", display(line)))
}

fn lines(response: &Response) -> BTreeSet<String> {
    let headers = response.headers.iter();
    let headers = headers
        .filter(|(name, _)| !VOLATILE.contains(&&**name))
        .map(|(name, value)| {
            // The session's id is always different; whether there is a session is compared.
            let value = match &**name {
                "set-cookie" => value.split('=').next().unwrap_or_default(),
                _ => value,
            };
            format!("{name}: {value}")
        });
    let body = response.body.lines().map(|line| line.trim().to_owned());
    headers
        .chain(body)
        .filter(|line| !line.is_empty())
        .collect()
}

fn display(line: &str) -> String {
    let cut: String = line.chars().take(SHOWN).collect();
    let dots = if cut.len() < line.len() { "…" } else { "" };
    format!("`{cut}{dots}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &str) -> Response {
        Response {
            status,
            headers: vec![("date".into(), body.len().to_string())],
            body: body.into(),
        }
    }

    fn difference(before: [&str; 2], after: &str) -> Option<String> {
        let page = Page {
            first: Response::default(),
            before: before.map(|body| response(200, body)),
            after: response(200, after),
            new_servers: None,
        };
        page.difference()
    }

    #[test]
    fn parts_that_differ_by_themselves_are_not_compared() {
        assert_eq!(difference(["a\ntoken 1", "a\ntoken 2"], "a\ntoken 3"), None);
        assert_eq!(difference(["a", "a"], "a"), None);
    }

    #[test]
    fn a_line_that_other_pages_add_or_remove_is_a_difference() {
        let with = difference(["a\n1", "a\n2"], "a\n3\nHello Alice");
        assert_eq!(with.as_deref(), Some("with `Hello Alice`"));
        let without = difference(["Login\nx", "Login\nx"], "x");
        assert_eq!(without.as_deref(), Some("without `Login`"));
    }

    #[test]
    fn a_status_that_changes_is_a_difference() {
        let page = Page {
            first: Response::default(),
            before: [response(200, ""), response(200, "")],
            after: response(403, ""),
            new_servers: None,
        };
        let difference = page.difference().expect("a difference");
        assert_eq!(difference, "status 403 instead of 200");
    }

    #[test]
    fn that_a_cookie_is_set_counts_and_its_value_does_not() {
        let with = |value: &str| Response {
            headers: vec![("set-cookie".into(), format!("session={value}"))],
            ..response(200, "a")
        };
        let mut page = Page {
            first: Response::default(),
            before: [with("1"), with("2")],
            after: with("3"),
            new_servers: None,
        };
        assert_eq!(page.difference(), None);
        page.after = response(200, "a");
        assert!(page.difference().is_some());
    }

    /// The difference by order, of the first visits and of the last ones: at the first server, at a new one with the
    /// same order, and with the reverse order.
    fn by_order(first: [&str; 3], last: [&str; 3]) -> Option<String> {
        let visits = |server: usize| Visits {
            first: response(200, first[server]),
            last: response(200, last[server]),
        };
        let page = Page {
            first: response(200, first[0]),
            before: [response(200, last[0]), response(200, last[0])],
            after: response(200, last[0]),
            new_servers: Some(NewServers {
                same_order: visits(1),
                reverse_order: visits(2),
            }),
        };
        assert_eq!(page.difference(), None);
        page.difference_by_order()
    }

    #[test]
    fn a_line_that_depends_on_the_first_page_is_a_difference() {
        let alice = ["Hello Alice", "Hello Alice", "Hello Bob"];
        let alice = by_order(alice, alice);
        assert_eq!(alice.as_deref(), Some("without `Hello Alice`"));
        let own = ["a\nserver 1", "a\nserver 2", "a\nserver 3"];
        assert_eq!(by_order(own, own), None, "each server has its own");
    }

    #[test]
    fn a_line_that_a_later_page_adds_for_good_is_a_difference() {
        let set = ["Hello Alice"; 3];
        let shown = by_order(["Login", "Login", "Hello Alice"], set);
        assert_eq!(shown.as_deref(), Some("without `Login`"));
        let created = by_order(["empty", "1 entry", "1 entry"], ["1 entry"; 3]);
        assert_eq!(created, None, "data that the first server created");
    }
}
