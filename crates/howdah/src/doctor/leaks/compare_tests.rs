use super::*;

fn response(status: u16, body: &str) -> Response {
    Response {
        status,
        headers: vec![("date".into(), body.len().to_string())],
        body: body.into(),
    }
}

fn page(before: [Response; 2], after: Response) -> Page {
    let [first, second] = before;
    Page {
        consecutive: [Response::default(), first, second],
        after,
        ..Page::default()
    }
}

fn differences(before: [&str; 2], after: &str) -> Differences {
    page(before.map(|body| response(200, body)), response(200, after)).differences()
}

fn difference(before: [&str; 2], after: &str) -> Option<String> {
    differences(before, after).after.text()
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
    let status = || page([response(200, ""), response(200, "")], response(403, "")).differences();
    let text = status().after.text().expect("a difference");
    assert_eq!(text, "status 403 instead of 200");
    let stable = [response(200, ""), response(200, "")];
    let confirmed = status().confirmed_by(&status(), &stable);
    assert_eq!(confirmed.after.text(), Some(text));
    let flapping = [response(200, ""), response(403, "")];
    assert!(status().confirmed_by(&status(), &flapping).is_empty());
}

#[test]
fn that_a_cookie_is_set_counts_and_its_value_does_not() {
    let with = |value: &str| Response {
        headers: vec![("set-cookie".into(), format!("session={value}"))],
        ..response(200, "a")
    };
    let mut page = page([with("1"), with("2")], with("3"));
    assert!(page.differences().is_empty());
    page.after = response(200, "a");
    assert!(!page.differences().is_empty());
}

/// The differences by order, of the first visits and of the last ones: at the first server, at a new one with the same
/// order, and with the reverse order.
fn by_order(first: [&str; 3], last: [&str; 3]) -> Option<String> {
    let visits = |server: usize| Visits {
        first: response(200, first[server]),
        last: response(200, last[server]),
    };
    let last_at_first = || response(200, last[0]);
    let page = Page {
        first: response(200, first[0]),
        new_servers: Some(NewServers {
            same_order: visits(1),
            reverse_order: visits(2),
        }),
        ..page([last_at_first(), last_at_first()], last_at_first())
    };
    let differences = page.differences();
    assert_eq!(differences.after, Difference::default());
    differences.by_order.iter().find_map(Difference::text)
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

/// What is left of a difference after a repetition and responses without state.
fn confirmed(first: Differences, again: &Differences, stateless: &[&str]) -> Option<String> {
    let stateless: Vec<_> = stateless.iter().map(|body| response(200, body)).collect();
    first.confirmed_by(again, &stateless).after.text()
}

#[test]
fn state_of_the_worker_is_confirmed() {
    let greeted = || differences(["Hello nobody\n1", "Hello nobody\n2"], "Hello Alice\n3");
    let again = differences(["Hello nobody\n4", "Hello nobody\n5"], "Hello Alice\n6");
    let nobody = ["Hello nobody\n7", "Hello nobody\n8"];
    let text = confirmed(greeted(), &again, &nobody);
    assert_eq!(text.as_deref(), Some("without `Hello nobody`"));
    // A counter in the worker's memory: nothing is shown without it.
    let counted = || differences(["1 entry", "1 entry"], "2 entries");
    let text = confirmed(counted(), &counted(), &["0 entries", "0 entries"]);
    assert_eq!(text.as_deref(), Some("without `1 entry`"));
}

#[test]
fn what_comes_and_goes_by_itself_is_not_confirmed() {
    let quoted = || differences(["quote 1", "quote 1"], "quote 2");
    let repeated = quoted();
    let all = ["quote 3", "quote 1", "quote 2"];
    assert_eq!(confirmed(quoted(), &repeated, &all), None);
    let unrepeated = differences(["quote 1", "quote 1"], "quote 1");
    assert_eq!(confirmed(quoted(), &unrepeated, &["quote 1"]), None);
    let clock = |start: u32| {
        let [first, second, after] =
            [start, start, start + 1].map(|second| format!("12:00:{second}"));
        differences([&first, &second], &after)
    };
    assert_eq!(confirmed(clock(10), &clock(12), &["12:00:14"]), None);
}

#[test]
fn data_that_grows_is_not_confirmed() {
    let visits = |number: u32| {
        let [before, after] = [number, number + 1].map(|number| format!("/a: {number} visits"));
        differences([&before, &before], &after)
    };
    assert_eq!(confirmed(visits(3), &visits(9), &["/a: 12 visits"]), None);
    // The last visited page, in a database.
    let last = || differences(["last: /a", "last: /a"], "last: /b");
    let stateless = ["last: /a", "last: /b", "last: /a"];
    assert_eq!(confirmed(last(), &last(), &stateless), None);
}
