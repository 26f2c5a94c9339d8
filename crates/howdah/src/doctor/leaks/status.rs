//! Pages that are not served: a response without the page shows no leaks.

use std::collections::BTreeSet;

use super::compare::Page;
use super::response::Response;
use crate::doctor::report::Level;

/// A page with responses that do not have a status of success.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) level: Level,
    /// What follows the URL.
    pub(super) text: String,
    pub(super) advice: &'static str,
}

/// The failure of a page, if any response was one.
pub(super) fn failure(page: &Page) -> Option<Failure> {
    let total = page.responses().count();
    let failed: Vec<&Response> = page
        .responses()
        .filter(|response| !response.is_success())
        .collect();
    let (why, advice) = cause(failed.first()?);
    let statuses: BTreeSet<u16> = failed.iter().map(|response| response.status).collect();
    let statuses: Vec<String> = statuses.iter().map(ToString::to_string).collect();
    let statuses = statuses.join(", ");
    let (level, share) = if failed.len() == total {
        (Level::Error, String::new())
    } else {
        let share = format!(" in {} of {total} responses", failed.len());
        (Level::Warning, share)
    };
    Some(Failure {
        level,
        text: format!("has status {statuses}{share}: {why}"),
        advice,
    })
}

fn cause(response: &Response) -> (String, &'static str) {
    let location = response.header("location");
    match (response.status, location) {
        (300..=399, Some(location)) => (
            format!("it redirects to {location}"),
            "give that URL; if it is a login, send the cookie of a session with `--header 'Cookie: NAME=VALUE'`",
        ),
        (401 | 403, _) => (
            "it refuses the request".into(),
            "send what it requires, such as `--header 'Cookie: NAME=VALUE'` or `--header 'Authorization: …'`",
        ),
        (404 | 410, _) => (
            "the page does not exist".into(),
            "correct the path, and give the whole URL if the host matters; directives of sites, such as rewrites, are \
             not applied",
        ),
        (500.., _) => (
            "the application fails".into(),
            "a page that fails shows few leaks: see the log of the application",
        ),
        _ => (
            "it is not a page".into(),
            "give a URL that responds to GET with status 200",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(statuses: [u16; 5], location: Option<&str>) -> Page {
        let [first, second, third, fourth, after] = statuses.map(|status| Response {
            status,
            headers: location
                .map(|location| ("location".to_owned(), location.to_owned()))
                .into_iter()
                .collect(),
            body: String::new(),
        });
        Page {
            first,
            consecutive: [second, third, fourth],
            after,
            new_servers: None,
        }
    }

    fn found(page: &Page) -> Option<(Level, String)> {
        failure(page).map(|failure| (failure.level, failure.text))
    }

    #[test]
    fn a_page_that_is_never_served_is_an_error() {
        assert_eq!(found(&page([200, 201, 204, 200, 200], None)), None);
        let error = |text: &str| Some((Level::Error, text.to_owned()));
        let redirect = page([302; 5], Some("/login"));
        let text = "has status 302: it redirects to /login";
        assert_eq!(found(&redirect), error(text));
        let advice = failure(&redirect).expect("one").advice;
        assert!(advice.contains("--header 'Cookie: "), "{advice}");
        let missing = page([404; 5], None);
        let text = "has status 404: the page does not exist";
        assert_eq!(found(&missing), error(text));
        let broken = page([500, 500, 502, 500, 500], None);
        let text = "has status 500, 502: the application fails";
        assert_eq!(found(&broken), error(text));
        let empty = page([304; 5], None);
        assert_eq!(found(&empty), error("has status 304: it is not a page"));
    }

    #[test]
    fn a_page_that_fails_at_times_is_a_warning() {
        let text = "has status 500 in 2 of 5 responses: the application fails";
        let page = page([200, 500, 200, 500, 200], None);
        assert_eq!(found(&page), Some((Level::Warning, text.to_owned())));
    }
}
