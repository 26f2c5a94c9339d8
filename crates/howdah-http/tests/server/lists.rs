//! Lists of folders, and redirects by a page.

use crate::caddyfile::serve;

#[test]
fn a_list_has_the_configured_order_and_size() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, size) in [("a.txt", 3), ("b.txt", 1), ("C.txt", 2)] {
        std::fs::write(directory.path().join(name), "x".repeat(size)).expect("written");
    }
    std::fs::create_dir(directory.path().join("z")).expect("made");
    let harness = serve(
        directory.path(),
        "handle_path /size/* {\nfile_server {\nbrowse {\nsort size desc\n}\n}\n}\n\
         handle_path /name/* {\nfile_server {\nbrowse {\nsort name\n}\n}\n}\n\
         handle_path /two/* {\nfile_server {\nbrowse {\nfile_limit 2\n}\n}\n}\nfile_server browse",
    );
    let names = |path: &str| -> Vec<String> {
        let reply = harness.get_with(path, "Accept: application/json\r\n");
        let list: serde_json::Value = serde_json::from_slice(&reply.body).expect("JSON");
        let entries = list.as_array().expect("a list").iter();
        entries
            .map(|entry| entry["name"].as_str().unwrap_or_default().to_owned())
            .filter(|name| !name.starts_with('z'))
            .collect()
    };
    assert_eq!(names("/"), ["a.txt", "b.txt", "C.txt"]);
    assert_eq!(names("/size/"), ["a.txt", "C.txt", "b.txt"]);
    assert_eq!(names("/size/?order=asc"), ["b.txt", "C.txt", "a.txt"]);
    assert_eq!(
        names("/size/?sort=name&order=desc"),
        ["C.txt", "b.txt", "a.txt"]
    );
    let order = |path: &str| {
        let reply = harness.get(path);
        let page = reply.text();
        page.find("z/").expect("the folder") < page.find("a.txt").expect("the file")
    };
    assert!(order("/"));
    assert!(!order("/name/"));
    let two = harness.get_with("/two/", "Accept: application/json\r\n");
    let list: serde_json::Value = serde_json::from_slice(&two.body).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_redirect_may_be_a_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let harness = serve(
        directory.path(),
        "redir /old* /new{uri}?back={header.x-back} html",
    );
    let reply = harness.get_with("/old?a=1&b=2", "X-Back: \"><script>'\r\n");
    assert_eq!((reply.status, reply.header("location")), (200, None));
    assert_eq!(
        reply.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let text = reply.text();
    assert!(
        text.contains("content=\"0; URL=/new/old?a=1&amp;b=2?back="),
        "{text}"
    );
    assert!(
        !text.contains("<script") && !text.contains("\">&lt;s"),
        "{text}"
    );
}
