//! Values in the superglobals of a script. They contain nothing of other requests.

use howdah_testkit::load::{CONCURRENCY, at_once};
use howdah_testkit::{Request, Server};
use howdah_tests::www;
use serde_json::json;

#[test]
fn describe_the_request() {
    let server = Server::builder(www()).workers(2).start();
    let mut connection = server.connect();
    let client = connection.local_addr().expect("it is connected");
    let request = Request::get("/dump.php/path/info?q=1")
        .host("example.test:8080")
        .header("User-Agent", "test")
        .header("Cookie", "a=1; b=x%20y")
        .header("X-Custom-Name", "value")
        .header("Accept", "a")
        .header("Accept", "b");
    let answer = connection.exchange(&request).expect("a response").json();
    let root = www()
        .canonicalize()
        .expect("it exists")
        .display()
        .to_string();
    let wanted = json!({
        "REQUEST_METHOD": "GET",
        "REQUEST_URI": "/dump.php/path/info?q=1",
        "QUERY_STRING": "q=1",
        "SCRIPT_NAME": "/dump.php",
        "SCRIPT_FILENAME": format!("{root}/dump.php"),
        "DOCUMENT_ROOT": root,
        "PATH_INFO": "/path/info",
        "PHP_SELF": "/dump.php/path/info",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_NAME": "example.test",
        "HTTP_HOST": "example.test:8080",
        "REQUEST_SCHEME": "http",
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_PORT": client.port().to_string(),
        "HTTP_USER_AGENT": "test",
        "HTTP_COOKIE": "a=1; b=x%20y",
        "HTTP_X_CUSTOM_NAME": "value",
        "HTTP_ACCEPT": "a, b",
    });
    for (name, value) in wanted.as_object().expect("an object") {
        assert_eq!(&answer["server"][name], value, "{name}");
    }
    assert_eq!(answer["cookie"], json!({"a": "1", "b": "x y"}));
    assert_eq!(answer["request"], json!({"q": "1"}));
    assert!(answer["server"]["REQUEST_TIME_FLOAT"].is_f64());
    assert!(
        answer["server"]["SERVER_SOFTWARE"]
            .as_str()
            .is_some_and(|s| s.starts_with("Howdah"))
    );
    // Applications read these without checking, and check whether the other variables are set.
    for name in ["CONTENT_TYPE", "CONTENT_LENGTH"] {
        assert_eq!(answer["server"][name], "", "{name}");
    }
    for name in [
        "HTTPS",
        "SSL_PROTOCOL",
        "SSL_CIPHER",
        "AUTH_TYPE",
        "REMOTE_USER",
    ] {
        assert_eq!(answer["server"].get(name), None, "{name}");
    }
}

#[test]
fn cannot_be_forged_by_fields() {
    let server = Server::builder(www()).workers(2).start();
    let request = Request::get("/dump.php")
        .header("Proxy", "http://evil")
        .header("X_Forwarded_For", "1.2.3.4")
        .header("Content-Length", "0")
        .header("Remote-Addr", "1.2.3.4");
    let answer = server.send(&request).json();
    assert_eq!(answer["server"].get("HTTP_PROXY"), None);
    assert_eq!(answer["server"].get("HTTP_X_FORWARDED_FOR"), None);
    assert_eq!(answer["server"]["REMOTE_ADDR"], "127.0.0.1");
    assert_eq!(answer["server"]["HTTP_REMOTE_ADDR"], "1.2.3.4");
}

/// Characters that browsers encode and other clients may not.
#[test]
fn show_odd_bytes_of_targets_encoded() {
    let server = Server::builder(www()).workers(1).start();
    let mut connection = server.connect();
    connection
        .send_bytes(b"GET /dump.php/<a>\xe9?q=\"<b>\"&r=\xff HTTP/1.0\r\nHost: a\r\n\r\n")
        .expect("sent");
    let mut all = Vec::new();
    while let Ok(part) = connection.read_raw(65_536) {
        if part.is_empty() {
            break;
        }
        all.extend(part);
    }
    let all = String::from_utf8_lossy(&all);
    let body = all.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let answer: serde_json::Value = serde_json::from_str(body).expect(&all);
    let uri = "/dump.php/%3Ca%3E%E9?q=%22%3Cb%3E%22&r=%FF";
    assert_eq!(answer["server"]["REQUEST_URI"], uri);
    assert_eq!(answer["server"]["QUERY_STRING"], "q=%22%3Cb%3E%22&r=%FF");
    assert_eq!(answer["get"]["q"], "\"<b>\"");
}

#[test]
fn hold_the_credentials() {
    let server = Server::builder(www()).workers(2).start();
    let request = Request::get("/dump.php").header("Authorization", "Basic dXNlcjpwYTpzcw==");
    let answer = server.send(&request).json();
    assert_eq!(answer["server"]["PHP_AUTH_USER"], "user");
    assert_eq!(answer["server"]["PHP_AUTH_PW"], "pa:ss");
    assert_eq!(
        server.get("/dump.php").json()["server"].get("PHP_AUTH_USER"),
        None
    );
}

#[test]
fn show_the_server_s_environment_to_getenv_only() {
    let server = Server::builder(www())
        .workers(1)
        .env("HOWDAH_SEEN", "yes")
        .start();
    let answer = server.get("/dump.php").json();
    assert_eq!(answer["server"].get("HOWDAH_SEEN"), None);
    assert_eq!(server.get("/leak.php").json()["env"], false);
}

#[test]
fn never_mix_requests_of_one_worker() {
    let server = Server::builder(www()).workers(1).start();
    at_once(CONCURRENCY, |id| {
        let mut connection = server.connect();
        for n in 0..5 {
            let mine = format!("{id}-{n}");
            let request = match n % 2 {
                0 => Request::form(format!("/dump.php?g={mine}"), &format!("p={mine}")),
                _ => Request::get(format!("/dump.php?g={mine}")),
            };
            let request = request
                .header("Cookie", format!("c={mine}"))
                .header("X-Mine", &mine);
            let answer = connection.exchange(&request).expect("a response").json();
            assert_eq!(answer["get"], json!({"g": mine}));
            let post = if n % 2 == 0 {
                json!({"p": mine})
            } else {
                json!([])
            };
            assert_eq!(answer["post"], post);
            assert_eq!(answer["cookie"], json!({"c": mine}));
            assert_eq!(answer["server"]["HTTP_X_MINE"], mine);
        }
    });
}

#[test]
fn nothing_outlives_a_request() {
    let server = Server::builder(www()).workers(1).start();
    let first = server.get("/leak.php").json();
    for _ in 0..3 {
        assert_eq!(server.get("/leak.php").json(), first);
    }
    assert_eq!(first["headers"], json!([]));
    assert_eq!(first["cwd"], true);
}

/// As in nginx and PHP-FPM, the bytes are those on disk.
#[test]
fn take_paths_that_are_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let www = howdah_testkit::Www::new().file("index.php", "<?php echo 'index';");
    let folder = www.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).expect("created");
    let script = "<?php $a = []; foreach (['SCRIPT_FILENAME', 'SCRIPT_NAME', 'PATH_INFO', 'PHP_SELF', \
        'PATH_TRANSLATED', 'DOCUMENT_URI'] as $n) { $a[$n] = bin2hex(str_replace($_SERVER['DOCUMENT_ROOT'], '', \
        $_SERVER[$n] ?? '')); } $a['file'] = __FILE__ === $_SERVER['SCRIPT_FILENAME']; echo json_encode($a);";
    std::fs::write(
        folder.join(std::ffi::OsStr::from_bytes(b"\xfc.php")),
        script,
    )
    .expect("written");
    let server = Server::builder(&www).workers(1).start();
    let hexadecimal = |bytes: &[u8]| -> String {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<Vec<_>>().concat()
    };
    let name = hexadecimal(b"/caf\xe9/\xfc.php");
    assert_eq!(
        server.get("/caf%E9/%FC.php/%E9/%C3%A9").json(),
        json!({
            "SCRIPT_FILENAME": name,
            "SCRIPT_NAME": name,
            "PATH_INFO": hexadecimal(b"/\xe9/\xc3\xa9"),
            "PHP_SELF": hexadecimal(b"/caf\xe9/\xfc.php/\xe9/\xc3\xa9"),
            "PATH_TRANSLATED": hexadecimal(b"/\xe9/\xc3\xa9"),
            "DOCUMENT_URI": name,
            "file": true,
        })
    );
    // The same letters in UTF-8 are a different name.
    server.get("/caf%C3%A9/%FC.php").assert(200, "index");
}

#[test]
fn take_odd_paths() {
    let www = howdah_testkit::Www::new()
        .file(
            "a b/ü.php",
            "<?php echo $_SERVER['SCRIPT_NAME'], '|', $_SERVER['PATH_INFO'];",
        )
        .file("x.php/inner.php", "<?php echo 'inner';");
    let server = Server::builder(&www).workers(1).start();
    server
        .get("/a%20b/%C3%BC.php/p%20q")
        .assert(200, "/a b/ü.php|/p q");
    server.get("/a%20b/%C3%BC.php/").assert(200, "/a b/ü.php|/");
    server
        .get("/a%20b/./../a%20b/%C3%BC.php")
        .assert(200, "/a b/ü.php|");
}
