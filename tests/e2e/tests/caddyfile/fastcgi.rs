//! `php_fastcgi`: a server in front of PHP-FPM, with the rules of `php_server`.

use howdah_testkit::fpm::{Fpm, Options, PING};
use howdah_testkit::{Request, Server, Www};
use howdah_tests::caddyfile;

fn application() -> Www {
    Www::new()
        .file(
            "index.php",
            "<?php echo 'index ', $_SERVER['REQUEST_URI'], ' ', $_SERVER['SCRIPT_NAME'], ' ', \
             $_SERVER['PATH_INFO'] ?? '', ' ', $_SERVER['APP'] ?? '';",
        )
        .file(
            "echo.php",
            "<?php header('X-Method: ' . $_SERVER['REQUEST_METHOD']); http_response_code(201); \
             $body = file_get_contents('php://input'); echo strlen($body), ' ', md5($body), ' ', \
             $_SERVER['CONTENT_TYPE'] ?? '', ' ', $_SERVER['REMOTE_USER'] ?? '';",
        )
        .file(
            "large.php",
            "<?php $part = str_repeat('0123456789', 1000); for ($i = 0; $i < 500; $i++) { echo $part; }",
        )
        .file("blog/index.php", "<?php echo 'blog';")
        .file(
            "stderr.php",
            "<?php http_response_code(500); error_log('a message of PHP'); echo 'failed';",
        )
        .file(
            "send.php",
            "<?php header('X-Accel-Redirect: /a.txt'); header('X-Kept: 1'); header('X-Gone: 1'); echo 'php';",
        )
        .file(
            "who.php",
            "<?php foreach (['HTTP_X_FORWARDED_FOR', 'HTTP_X_FORWARDED_PROTO', 'HTTP_X_FORWARDED_HOST', 'HTTPS', \
             'REMOTE_USER'] as $name) { echo $_SERVER[$name] ?? 'none', ' '; }",
        )
        .file(
            "twice.php",
            "<?php header('Content-Type: text/plain'); header('Content-Type: application/json', false); \
             header('Set-Cookie: a=1'); header('Set-Cookie: b=2', false); echo '{}';",
        )
        .file("a.txt", "text")
}

/// Starts a server with one front thread, because each thread finds out separately which upstreams
/// are healthy.
fn serve(www: &Www, fpm: &Fpm, block: &str) -> Server {
    let site = format!(
        "root * {}\n php_fastcgi unix/{} {{\n env APP own\n {block}\n }}\n file_server",
        www.path().display(),
        fpm.socket().display()
    );
    Server::caddyfile(caddyfile("frankenphp {\nfront_threads 1\n}", &site)).start()
}

#[test]
fn scripts_get_the_data_of_the_client() {
    let (www, fpm) = (application(), Fpm::start(&Options::default()));
    let forged = Request::get("/who.php")
        .header("X-Forwarded-For", "6.6.6.6")
        .header("X-Forwarded-Proto", "https")
        .header("X-Forwarded-Host", "shop.example");
    let server = serve(&www, &fpm, "");
    server
        .send(&forged)
        .assert(200, "127.0.0.1 http localhost none none ");
    let site = format!(
        "root * {}\n php_fastcgi unix/{}",
        www.path().display(),
        fpm.socket().display()
    );
    let global = "servers {\n trusted_proxies static private_ranges\n}";
    let trusting = Server::caddyfile(caddyfile(global, &site)).start();
    trusting
        .send(&forged)
        .assert(200, "6.6.6.6, 127.0.0.1 https shop.example none none ");
    let own = serve(&www, &fpm, "trusted_proxies 127.0.0.1");
    own.send(&forged)
        .assert(200, "6.6.6.6, 127.0.0.1 https shop.example none none ");
    let site = format!(
        "root * {}\n php_fastcgi unix/{} {{\n trusted_proxies 192.0.2.1\n }}",
        www.path().display(),
        fpm.socket().display()
    );
    let others = Server::caddyfile(caddyfile(global, &site)).start();
    others
        .send(&forged)
        .assert(200, "127.0.0.1 http localhost none none ");
}

#[test]
fn scripts_files_and_the_front_controller() {
    let (www, fpm) = (application(), Fpm::start(&Options::default()));
    let server = serve(&www, &fpm, "");
    server.get("/").assert(200, "index / /index.php  own");
    server
        .get("/users/7?a=b")
        .assert(200, "index /users/7?a=b /index.php  own");
    server
        .get("/index.php/info?x")
        .assert(200, "index /index.php/info?x /index.php /info own");
    server.get("/blog/").assert(200, "blog");
    let redirect = server.get("/blog?a");
    redirect.assert_status(308);
    assert_eq!(redirect.header("location"), Some("/blog/?a"));
    server.get("/a.txt").assert(200, "text");
    let twice = server.get("/twice.php");
    assert_eq!(twice.head.header_all("content-type"), ["application/json"]);
    assert_eq!(twice.head.header_all("set-cookie"), ["a=1", "b=2"]);
}

/// As in a container that has only static files.
#[test]
fn the_front_controller_may_be_on_another_machine() {
    let (www, fpm) = (application(), Fpm::start(&Options::default()));
    let here = Www::new().file("a.txt", "here");
    let site = format!(
        "root * {}\n php_fastcgi unix/{} {{\n env SCRIPT_FILENAME {}/index.php\n }}\n file_server",
        here.path().display(),
        fpm.socket().display(),
        www.path().display()
    );
    let server = Server::caddyfile(caddyfile("", &site)).start();
    server.get("/a.txt").assert(200, "here");
    for path in ["/", "/a/page", "/none.php", "/a.txt/"] {
        let expected = format!("index {path} /index.php  ");
        server.get(path).assert(200, &expected);
    }
}

#[test]
fn a_response_of_php_names_a_file() {
    let (www, fpm) = (application(), Fpm::start(&Options::default()));
    let server = serve(
        &www,
        &fpm,
        "@accel header X-Accel-Redirect *\n handle_response @accel {\n copy_response_headers {\n include X-Kept\n }\n \
         rewrite * {rp.header.X-Accel-Redirect}\n file_server\n }\n replace_status 202",
    );
    let response = server.get("/send.php");
    response.assert(200, "text");
    assert_eq!(response.header("x-kept"), Some("1"));
    assert_eq!(response.header("x-gone"), None);
    // The first matching rule applies. A file is not a response of PHP.
    server.get("/blog/").assert(202, "blog");
    server.get("/a.txt").assert(200, "text");
}

#[test]
fn bodies_of_all_sizes() {
    let (www, fpm) = (application(), Fpm::start(&Options::default()));
    let server = serve(
        &www,
        &fpm,
        "read_timeout 1m\n write_timeout 1m\n dial_timeout 10s",
    );
    // Bodies in memory, larger than a record, and in a file.
    for size in [0, 1, 40_000, 70_000, 3_000_000] {
        let body = vec![b'x'; size];
        let request = Request::new("POST", "/echo.php")
            .header("Content-Type", "text/x-test")
            .body(&body);
        let response = server.send(&request);
        response.assert_status(201);
        assert_eq!(response.header("x-method"), Some("POST"));
        let text = response.text();
        assert!(text.starts_with(&format!("{size} ")), "{text}");
        assert!(text.contains(" text/x-test "), "{text}");
    }
    let large = server.get("/large.php");
    large.assert_status(200);
    assert_eq!(large.text().len(), 5_000_000);
    let head = server.send(&Request::new("HEAD", "/echo.php"));
    head.assert_status(201);
    assert_eq!(head.text(), "");
}

#[test]
fn errors_of_fpm_are_reported() {
    let (www, fpm) = (application(), Fpm::start(&Options::default()));
    let server = serve(&www, &fpm, "");
    server.expect_log("a message of PHP");
    server.get("/stderr.php").assert(500, "failed");
    server.expect_log("the FastCGI server did not respond");
    drop(fpm);
    server.get("/").assert_status(502);
    // Files that are not scripts are served as well.
    server.get("/a.txt").assert(200, "text");
}

#[test]
fn one_fpm_stands_in_for_another() {
    let www = application();
    let (one, two) = (
        Fpm::start(&Options::default()),
        Fpm::start(&Options::default()),
    );
    let site = format!(
        "root * {}\n php_fastcgi unix/{} unix/{} {{\n lb_policy first\n fail_duration 1h\n }}",
        www.path().display(),
        one.socket().display(),
        two.socket().display()
    );
    let server = Server::caddyfile(caddyfile("", &site)).start();
    server.get("/").assert(200, "index / /index.php  ");
    drop(one);
    server.expect_log("the FastCGI server did not respond: it cannot be reached");
    let body = vec![b'x'; 3_000_000];
    for _ in 0..3 {
        let response = server.send(&Request::new("POST", "/echo.php").body(&body));
        response.assert_status(201);
        assert!(
            response.text().starts_with("3000000 "),
            "{}",
            response.text()
        );
    }
}

#[test]
fn the_health_of_php_fpm_is_checked() {
    let www = application();
    let (one, two) = (
        Fpm::start(&Options::default()),
        Fpm::start(&Options::default()),
    );
    let site = format!(
        "root * {}\n php_fastcgi unix/{} unix/{} {{\n lb_policy first\n health_uri {PING}\n health_interval 20ms\n }}",
        www.path().display(),
        one.socket().display(),
        two.socket().display()
    );
    let server = Server::caddyfile(caddyfile("frankenphp {\nfront_threads 1\n}", &site)).start();
    server.get("/").assert(200, "index / /index.php  ");
    let socket = one.socket();
    drop(one);
    server.expect_log("upstream marked unhealthy");
    let line = server.wait_log("upstream marked unhealthy");
    let name = format!("unix/{}", socket.display());
    assert_eq!(line.text("upstream"), Some(name.as_str()));
    // No attempt to connect fails, because that would log a warning.
    for _ in 0..3 {
        let response = server.send(&Request::new("POST", "/echo.php").body("x"));
        response.assert_status(201);
    }
}

#[test]
fn a_script_may_report_the_health_of_php() {
    let www = application().file(
        "health.php",
        "<?php $ill = is_file(__DIR__ . '/ill') || ($_SERVER['APP'] ?? '') !== 'own' || $_GET !== ['db' => '1'];\n\
         error_log('asked'); http_response_code($ill ? 503 : 200); echo str_repeat('x', 100_000);",
    );
    let fpm = Fpm::start(&Options::default());
    let server = serve(
        &www,
        &fpm,
        "health_uri /health.php?db=1\n health_interval 20ms",
    );
    server.get("/").assert(200, "index / /index.php  own");
    std::fs::write(www.path().join("ill"), "").expect("written");
    server.expect_log("upstream marked unhealthy: it responded with 503");
    server.wait_log("upstream marked unhealthy");
    server.expect_log("no FastCGI server is healthy");
    server.get("/").assert_status(503);
    std::fs::remove_file(www.path().join("ill")).expect("removed");
    server.wait_log("upstream marked healthy again");
    server.get("/").assert(200, "index / /index.php  own");
}
