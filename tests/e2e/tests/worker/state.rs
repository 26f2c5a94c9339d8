//! A change by one request is not visible to the next one on the same worker. Each test changes one
//! thing in request A and reads it in request B. tests/worker/state.php has the list.

use howdah_tests::worker::{Mode, Site};
use serde_json::Value;

struct Snapshot {
    pid: Value,
    value: Value,
    text: String,
    headers: Vec<(String, String)>,
}

fn look(site: &Site, query: &str) -> Snapshot {
    let response = site.get(query);
    assert!(
        matches!(response.status(), 200 | 206),
        "{} {}",
        response.status(),
        response.text()
    );
    let text = response.text();
    let end = text.rfind('}').map_or(0, |at| at + 1);
    let json: Value = serde_json::from_str(&text[..end]).expect("JSON");
    let constant = |name: &str| !["date", "set-cookie"].contains(&name);
    Snapshot {
        pid: json["pid"].clone(),
        value: json["seen"].clone(),
        text: text[end..].to_owned(),
        headers: response
            .head
            .headers
            .into_iter()
            .filter(|(name, _)| constant(&name.to_ascii_lowercase()))
            .collect(),
    }
}

/// Checks that a change by request A is restored in request B, and that the change was visible
/// before.
fn is_put_back(what: &str) -> Site {
    let site = Site::start(Mode::Worker, "state.php");
    let (see, change) = (format!("?what={what}"), format!("?what={what}&change"));
    let fresh = look(&site, &see);
    for _ in 0..3 {
        let changed = look(&site, &change);
        assert_ne!(changed.value, fresh.value, "{what} did not change");
        let next = look(&site, &see);
        assert_eq!(next.pid, fresh.pid, "another worker answered");
        assert_eq!(next.value, fresh.value, "{what} of another request");
        assert_eq!(next.text, fresh.text, "{what} of another request");
        assert_eq!(next.headers, fresh.headers, "{what} of another request");
    }
    site
}

macro_rules! put_back {
    ($($what:ident)+) => {$(
        #[test]
        fn $what() {
            is_put_back(stringify!($what));
        }
    )+};
}

put_back! {
    get post cookie files request server env
    session session_name session_cookie
    ini memory_limit display_errors include_path error_reporting time_limit user_abort gc assert
    locale intl_locale timezone cwd umask putenv putenv_path temp_dir
    error_handler exception_handler autoload shutdown tick header_callback
    headers output_buffer rewrite_var last_error
    stream_wrapper stream_wrapper_gone stream_filter stream_context streams
    mbstring libxml random strtok
}

#[test]
fn settings_of_sessions_stay_if_configured() {
    let site = Site::configured("state.php", "keep session");
    for what in ["session_name", "session_cookie"] {
        let changed = look(&site, &format!("?what={what}&change"));
        let next = look(&site, &format!("?what={what}"));
        assert_eq!(
            (next.pid, next.value),
            (changed.pid, changed.value),
            "{what}"
        );
    }
}

#[test]
fn transaction() {
    let site = is_put_back("transaction");
    site.server.expect_log("rolled back a transaction");
}

#[test]
fn nothing_is_kept_of_anything_at_once() {
    let site = Site::start(Mode::Worker, "state.php");
    let text = std::fs::read_to_string(howdah_tests::worker::scripts().join("state.php"));
    let text = text.expect("it can be read");
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("    '")?.split_once("' => [")?.0.into())
        .collect();
    assert!(names.len() > 40, "{names:?}");
    site.server.allow_log("rolled back a transaction");
    let fresh: Vec<Snapshot> = names
        .iter()
        .map(|n| look(&site, &format!("?what={n}")))
        .collect();
    for name in &names {
        look(&site, &format!("?what={name}&change"));
    }
    for (name, fresh) in names.iter().zip(&fresh) {
        let next = look(&site, &format!("?what={name}"));
        assert_eq!(next.pid, fresh.pid, "another worker answered");
        assert_eq!(next.value, fresh.value, "{name} of another request");
    }
}

#[test]
fn keep_leaves_what_it_names() {
    let site = Site::configured("state.php", "keep ini timezone");
    look(&site, "?what=ini&change");
    assert_eq!(look(&site, "?what=ini").value, "3");
    look(&site, "?what=timezone&change");
    assert_eq!(look(&site, "?what=timezone").value[0], "Asia/Kolkata");
    // All other state is restored.
    let fresh = look(&site, "?what=umask").value;
    look(&site, "?what=umask&change");
    assert_eq!(look(&site, "?what=umask").value, fresh);
}

#[test]
fn transactions_are_kept_if_configured() {
    let site = Site::configured("state.php", "rollback off");
    look(&site, "?what=transaction&change");
    assert_eq!(
        look(&site, "?what=transaction").value,
        serde_json::json!([true, 1])
    );
}
