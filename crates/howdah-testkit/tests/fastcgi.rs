//! The FastCGI client and the private PHP-FPM, tested together.

use howdah_testkit::fastcgi::{Query, send};
use howdah_testkit::fpm::{Fpm, Options};
use howdah_testkit::process::{Process, descendants};
use howdah_testkit::{PATIENCE, Www};

fn query<'a>(root: &'a str, method: &'a str, target: &'a str, body: &'a [u8]) -> Query<'a> {
    Query {
        method,
        target,
        headers: &[],
        body,
        root,
    }
}

#[test]
fn a_request_and_its_answer() {
    let www = Www::new()
        .file(
            "index.php",
            "<?php http_response_code(418); header('X-A: 1'); header('X-A: 2', false);
             echo $_SERVER['REQUEST_METHOD'], ' ', $_SERVER['PATH_INFO'], ' ', $_GET['q'], ' ',
                 strlen(file_get_contents('php://input'));",
        )
        .file(
            "stderr.php",
            "<?php error_log('seen in the log'); echo 'logged';",
        )
        .file("large.php", "<?php echo str_repeat('0123456789', 100_000);");
    let root = www.path().to_str().unwrap().to_owned();
    let fpm = Fpm::start(&Options::default());
    let socket = fpm.socket();

    let body = vec![b'x'; 300_000];
    let answer = send(&socket, &query(&root, "POST", "/index.php/a?q=%2B", &body)).unwrap();
    assert_eq!(answer.status, 418);
    let fields: Vec<&str> = answer
        .headers
        .iter()
        .filter(|(n, _)| n == "X-A")
        .map(|(_, v)| v.as_str())
        .collect();
    assert_eq!(fields, ["1", "2"]);
    assert_eq!(String::from_utf8_lossy(&answer.body), "POST /a + 300000");

    // Neither side reads first: a large response is sent while a large body is not read.
    let answer = send(
        &socket,
        &query(&root, "POST", "/large.php", &vec![b'x'; 4 << 20]),
    )
    .unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 1_000_000));

    let answer = send(&socket, &query(&root, "GET", "/stderr.php", b"")).unwrap();
    assert_eq!(answer.body, b"logged");
    assert!(String::from_utf8_lossy(&answer.stderr).contains("seen in the log"));

    let answer = send(&socket, &query(&root, "GET", "/missing.php", b"")).unwrap();
    assert_eq!(answer.status, 404);
}

#[test]
fn it_ends_with_its_children() {
    let fpm = Fpm::start(&Options {
        children: 3,
        ..Options::default()
    });
    let socket = fpm.socket();
    let master = Process::find(fpm.pid()).expect("the master runs");
    let children = descendants(fpm.pid());
    assert_eq!(children.len(), 3);
    drop(fpm);
    assert!(master.wait_exited(PATIENCE));
    for child in children {
        assert!(child.wait_exited(PATIENCE));
    }
    assert!(!socket.exists());
}

#[test]
fn php_ini_and_its_environment() {
    let www = Www::new()
        .file(
            "ini.php",
            "<?php echo ini_get('highlight.comment'), getenv('HOWDAH_TEST_INI') ? '!' : '.';",
        )
        .file("php.ini", "highlight.comment = \"${HOWDAH_TEST_INI}\"\n");
    let root = www.path().to_str().unwrap().to_owned();
    let fpm = Fpm::start(&Options {
        ini: Some(&www.path().join("php.ini")),
        env: &[("HOWDAH_TEST_INI", "from the environment")],
        ..Options::default()
    });
    let answer = send(&fpm.socket(), &query(&root, "GET", "/ini.php", b"")).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&answer.body),
        "from the environment."
    );
}
