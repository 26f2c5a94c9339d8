//! Checks whether a page depends on previous requests. Parts that differ between two consecutive requests (times,
//! tokens) are not compared.

use std::collections::BTreeSet;

use super::response::Response;

/// The responses of one page.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Response to the first request, when no page has been requested twice.
    pub(super) first: Response,
    /// Responses to three consecutive requests. The first of them receives what other pages left behind.
    pub(super) consecutive: [Response; 3],
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

/// The differences of a page.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// After other pages.
    pub(super) after: Difference,
    /// If other pages were requested first: at the last visit, and at the first one.
    pub(super) by_order: [Difference; 2],
}

/// How a response differs from what two others have in common.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// Its status, and that of the others.
    statuses: Option<(u16, u16)>,
    missing: BTreeSet<String>,
    new: BTreeSet<String>,
    /// As many lines may be new as differ between the others.
    tolerated: usize,
}

/// Header fields that are specific to one response.
const VOLATILE: [&str; 5] = ["date", "age", "server-timing", "content-length", "etag"];
/// Characters of a line that are shown.
const SHOWN: usize = 120;

impl Page {
    pub(super) fn differences(&self) -> Differences {
        let [_, first, second] = &self.consecutive;
        let by_order = self.new_servers.as_ref().map(|new| {
            let (same, reverse) = (&new.same_order, &new.reverse_order);
            [
                Difference::new([second, &same.last], &reverse.last),
                Difference::new([&self.first, &same.first], &reverse.first),
            ]
        });
        Differences {
            after: Difference::new([first, second], &self.after),
            by_order: by_order.unwrap_or_default(),
        }
    }

    pub(super) fn responses(&self) -> impl Iterator<Item = &Response> {
        let new = self.new_servers.iter();
        let visits = new.flat_map(|new| [&new.same_order, &new.reverse_order]);
        [&self.first, &self.after]
            .into_iter()
            .chain(&self.consecutive)
            .chain(visits.flat_map(|visits| [&visits.first, &visits.last]))
    }
}

impl Differences {
    pub(super) fn is_empty(&self) -> bool {
        self.all().all(|difference| difference.text().is_none())
    }

    /// Those that a repetition has too, and that responses without state of a worker do not explain.
    pub(super) fn confirmed_by(self, again: &Self, stateless: &[Response]) -> Self {
        let [last, first] = self.by_order;
        let [again_last, again_first] = &again.by_order;
        Self {
            after: self.after.confirmed_by(&again.after, stateless),
            by_order: [
                last.confirmed_by(again_last, stateless),
                first.confirmed_by(again_first, stateless),
            ],
        }
    }

    fn all(&self) -> impl Iterator<Item = &Difference> {
        std::iter::once(&self.after).chain(&self.by_order)
    }
}

impl Difference {
    fn new(others: [&Response; 2], response: &Response) -> Self {
        let [first, second] = others;
        let is_other = first.status == second.status && second.status != response.status;
        let [first_lines, second_lines, lines] = [first, second, response].map(lines);
        let common = first_lines.intersection(&second_lines);
        let is_new = |line: &&String| !first_lines.contains(*line) && !second_lines.contains(*line);
        Self {
            statuses: is_other.then_some((response.status, second.status)),
            missing: common
                .filter(|line| !lines.contains(*line))
                .cloned()
                .collect(),
            new: lines.iter().filter(is_new).cloned().collect(),
            tolerated: second_lines.difference(&first_lines).count(),
        }
    }

    /// The difference in a few words.
    pub(super) fn text(&self) -> Option<String> {
        if let Some((status, others)) = self.statuses {
            return Some(format!("status {status} instead of {others}"));
        }
        let missing = self.missing.first().map(|line| ("without", line));
        let (word, line) = missing.or_else(|| {
            let new = self.new.iter().nth(self.tolerated);
            new.map(|line| ("with", line))
        })?;
        Some(format!("{word} {}", display(line)))
    }

    /// What is here and in a repetition. A line or status that comes and goes without state of a worker is left out.
    fn confirmed_by(self, again: &Self, stateless: &[Response]) -> Self {
        if self.text().is_none() || again.text().is_none() {
            return Self::default();
        }
        let pages: Vec<BTreeSet<String>> = stateless.iter().map(lines).collect();
        let in_pages = |line: &String| pages.iter().filter(|page| page.contains(line)).count();
        let is_steady = |line: &String| [0, pages.len()].contains(&in_pages(line));
        let statuses = self.statuses.filter(|statuses| {
            let explained = stateless.iter().any(|other| other.status == statuses.0);
            again.statuses == Some(*statuses) && !explained
        });
        let mut missing = &self.missing & &again.missing;
        missing.retain(is_steady);
        let mut new = &self.new & &again.new;
        new.retain(|line| in_pages(line) == 0);
        Self {
            statuses,
            missing,
            new,
            // Lines that differ by themselves are not in both.
            tolerated: 0,
        }
    }
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
#[path = "compare_tests.rs"]
mod tests;
