//! Compares `$_SERVER` with PHP-FPM behind nginx: the same keys are set to the same values, except
//! for intended differences.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use howdah_testkit::{Connection, Request, Server, free_ports};
use howdah_tests::caddyfile;
use howdah_tests::nginx::Nginx;
use serde_json::Value;
use tempfile::TempDir;

const DUMP: &str =
    "<?php echo json_encode($_SERVER, JSON_INVALID_UTF8_SUBSTITUTE | JSON_FORCE_OBJECT);";
const WORKER: &str = "<?php while (frankenphp_handle_request(function (): void { require __DIR__ . '/dump.inc'; })) {}";

/// Variables that are set only here, and why.
const ONLY_HERE: [(&str, &str); 3] = [
    ("HOWDAH_REQUEST_ID", "names the request in the logs"),
    (
        "REMOTE_HOST",
        "of the CGI; FrankenPHP has it, as the address",
    ),
    ("PATH_TRANSLATED", "of the CGI, with a PATH_INFO"),
];
/// Variables that are set only there, and why.
const ONLY_THERE: [(&str, &str); 5] = [
    ("FCGI_ROLE", "there is no FastCGI here"),
    ("HOME", "PHP-FPM's pool sets it"),
    ("USER", "PHP-FPM's pool sets it"),
    (
        "REMOTE_USER",
        "nginx sends it empty; applications ask whether it is set",
    ),
    (
        "HTTP_HOST",
        "Debian's nginx makes one up where the request names none",
    ),
];
/// Variables with a different value, and why.
const OTHERWISE: [(&str, &str); 7] = [
    ("SERVER_SOFTWARE", "its own name"),
    (
        "SERVER_NAME",
        "follows the request, as the CGI has it; nginx's is that of its configuration",
    ),
    (
        "SERVER_PORT",
        "follows the request, or is the scheme's; nginx's is the listener's",
    ),
    ("HTTP_HOST", "as sent; Debian's nginx leaves the port out"),
    (
        "HTTP_X_A",
        "fields of one name are joined; nginx joins them since 1.23, before the last one wins",
    ),
    ("REMOTE_PORT", "another connection"),
    (
        "DOCUMENT_URI",
        "the script without PATH_INFO, as FrankenPHP; nginx's has it with it",
    ),
];

fn requests() -> Vec<(&'static str, Request)> {
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n";
    vec![
        ("get", Request::get("/dump.php")),
        ("query", Request::get("/dump.php?a=1&b=%20x")),
        ("empty query", Request::get("/dump.php?")),
        ("form", Request::form("/dump.php", "a=1&b=2")),
        (
            "multipart",
            Request::new("POST", "/dump.php")
                .header("Content-Type", "multipart/form-data; boundary=b")
                .body(multipart),
        ),
        (
            "json",
            Request::new("PUT", "/dump.php")
                .header("Content-Type", "application/json")
                .body("{}"),
        ),
        ("empty post", Request::new("POST", "/dump.php").body("")),
        ("delete", Request::new("DELETE", "/dump.php")),
        ("options", Request::new("OPTIONS", "/dump.php")),
        ("path info", Request::get("/dump.php/a/b?x=1")),
        ("encoded path info", Request::get("/dump.php/a%20b/%C3%BC")),
        ("directory", Request::get("/")),
        ("folder", Request::get("/folder/")),
        ("front controller", Request::get("/some/page?x=1")),
        ("encoded path", Request::get("/some%20page")),
        ("port", Request::get("/dump.php").host("example.test:8080")),
        ("no host", Request::get("/dump.php").without("Host").http10()),
        (
            "basic",
            Request::get("/dump.php").header("Authorization", "Basic YTpi"),
        ),
        (
            "digest",
            Request::get("/dump.php").header(
                "Authorization",
                "Digest username=\"a\", realm=\"r\", nonce=\"n\", uri=\"/dump.php\", response=\"x\"",
            ),
        ),
        (
            "bearer",
            Request::get("/dump.php").header("Authorization", "Bearer abc"),
        ),
        (
            "cookies",
            Request::get("/dump.php").header("Cookie", "a=1; b=2"),
        ),
        (
            "fields twice",
            Request::get("/dump.php")
                .header("X-A", "1")
                .header("X-A", "2"),
        ),
        (
            "names that PHP would mistake",
            Request::get("/dump.php")
                .header("X_A", "1")
                .header("Proxy", "http://evil.test"),
        ),
        (
            "forwarded",
            Request::get("/dump.php")
                .header("X-Forwarded-For", "192.0.2.1")
                .header("X-Forwarded-Proto", "https")
                .header("X-Forwarded-Host", "other.test"),
        ),
    ]
}

type Variables = BTreeMap<String, Value>;

fn ask(address: SocketAddr, request: &Request) -> Variables {
    let mut connection = Connection::open(address).expect("it connects");
    let response = connection.exchange(request).expect("a response");
    response.assert_status(200);
    let Value::Object(variables) = response.json() else {
        panic!("no object: {}", response.text());
    };
    variables.into_iter().collect()
}

/// A document root that contains the script in all its places.
fn root() -> TempDir {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(root.path().join("folder")).expect("a directory");
    for name in ["dump.php", "dump.inc", "index.php", "folder/index.php"] {
        std::fs::write(root.path().join(name), DUMP).expect("written");
    }
    std::fs::write(root.path().join("worker.php"), WORKER).expect("written");
    root
}

fn serve(root: &Path, php: &str) -> Server {
    let php = php.replace("WORKER", &format!("{}/worker.php", root.display()));
    let global = format!("admin off\nfrankenphp {{\nnum_threads 1\n{php}\n}}");
    let site = format!("root * {}\nphp_server", root.display());
    Server::caddyfile(caddyfile(&global, &site)).start()
}

fn named(list: &[(&str, &str)], name: &str) -> bool {
    list.iter().any(|(known, _)| *known == name)
}

#[test]
fn variables_are_those_of_php_fpm_behind_nginx() {
    if !Nginx::is_there() {
        return;
    }
    let root = root();
    let [port] = free_ports();
    let nginx = SocketAddr::from(([127, 0, 0, 1], port));
    let _running = Nginx::start(root.path(), &[(format!("listen {nginx};"), "")]);
    let server = serve(root.path(), "");
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (what, request) in requests() {
        let there = ask(nginx, &request);
        let here = ask(server.address(), &request);
        let clock = |name: &&String| name.starts_with("REQUEST_TIME");
        let names = there.keys().chain(here.keys());
        let names: BTreeSet<_> = names.filter(|name| !clock(name)).collect();
        for name in names {
            let (there, here) = (there.get(name), here.get(name));
            let allowed = match (there, here) {
                (None, Some(_)) => named(&ONLY_HERE, name),
                (Some(_), None) => named(&ONLY_THERE, name),
                (there, here) if there != here => named(&OTHERWISE, name),
                _ => continue,
            };
            used.insert(name.clone());
            if !allowed {
                wrong.push(format!("{what}: {name}: {there:?} there, {here:?} here"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Versions of nginx treat repeated header fields and the host differently.
    let varies = |name: &str| matches!(name, "HTTP_X_A" | "HTTP_HOST");
    let all = ONLY_HERE.iter().chain(&ONLY_THERE).chain(&OTHERWISE);
    let unused: Vec<_> = all
        .filter(|(name, _)| !used.contains(*name) && !varies(name))
        .collect();
    assert!(unused.is_empty(), "no difference: {unused:?}");
}

#[test]
fn each_mode_has_the_same_variables() {
    let root = root();
    let classic = serve(root.path(), "");
    let keys = |server: &Server, request: &Request| -> BTreeSet<String> {
        ask(server.address(), request).into_keys().collect()
    };
    let concurrent = "worker {\nfile WORKER\nnum 1\nconcurrency 4\n}";
    let one_shot = "worker {\nfile WORKER\nnum 1\nisolation request\n}";
    for worker in ["worker WORKER 1", concurrent, one_shot] {
        let server = serve(root.path(), worker);
        let with = |path: &str| {
            [
                Request::get(format!("{path}?x=1")),
                Request::form(format!("{path}/info"), "a=1"),
                Request::get(path).header("Authorization", "Basic YTpi"),
                Request::get(path).without("Host").http10(),
            ]
        };
        for (own, known) in with("/worker.php").iter().zip(with("/dump.php")) {
            let (mut found, known) = (keys(&server, own), keys(&classic, &known));
            // As in FrankenPHP, worker mode has the environment of the server.
            found.retain(|name| {
                let is_environment = name.starts_with("HOWDAH_TEST_")
                    || name == "TMPDIR"
                    || name == "STATE_DIRECTORY"
                    || std::env::var_os(name).is_some();
                known.contains(name) || !is_environment
            });
            assert_eq!(found, known, "{worker}: {}", own.target());
            assert!(!found.contains("HTTPS"), "{worker}");
        }
    }
}
