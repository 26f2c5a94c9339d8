//! Replaced responses: `handle_errors`, `intercept`, and files that PHP names.

use howdah_testkit::{Request, Server, Www, free_ports};
use howdah_tests::caddyfile;

fn serve(www: &Www, site: &str) -> Server {
    let site = site.replace("{site}", &www.path().display().to_string());
    Server::caddyfile(caddyfile("", &site)).start()
}

#[test]
fn a_php_script_forms_errors() {
    let www = Www::new()
        .file("index.php", "<?php echo 'index';")
        .file(
            "error.php",
            "<?php http_response_code(404); echo 'no ', $_SERVER['REQUEST_URI'], ' ', $_GET['code'];",
        )
        .file("crash.php", "<?php posix_kill(getmypid(), SIGKILL);")
        .file("down.html", "down");
    let server = serve(
        &www,
        "root * {site}\n handle /app* {\n php_server\n }\n handle {\n php\n file_server\n }\n \
         handle_errors 404 {\n rewrite * /error.php?code={err.status_code}\n php\n }\n \
         handle_errors 5xx {\n rewrite * /down.html\n file_server\n }",
    );
    server.get("/none.txt").assert(404, "no /none.txt 404");
    server.get("/app").assert(200, "index");
    server.expect_log("the PHP process crashed");
    server.expect_log("worker died");
    // A request with an unsafe method is not run again.
    server
        .send(&Request::new("POST", "/crash.php").body("a"))
        .assert(502, "down");
}

#[test]
fn the_page_of_an_error_may_come_from_an_upstream() {
    let [port] = free_ports();
    let pages = format!("\n:{port} {{\n bind 127.0.0.1\n respond \"page {{path}}\"\n}}\n");
    let directives = format!(
        "error /down 503\n error /none 404\n respond fine\n handle_errors {{\n rewrite * /{{err.status_code}}\n \
         reverse_proxy 127.0.0.1:{port} {{\n header_up Host {{upstream_hostport}}\n \
         replace_status {{err.status_code}}\n }}\n }}"
    );
    let server = Server::caddyfile(caddyfile("", &directives) + &pages).start();
    server.get("/ok").assert(200, "fine");
    server.get("/down").assert(503, "page /503");
    server.get("/none").assert(404, "page /404");
}

#[test]
fn downloads_do_not_hold_php() {
    let www = Www::new()
        .file(
            "public/index.php",
            "<?php header('X-Accel-Redirect: /private' . $_GET['file']); \
             header('Content-Type: application/pdf'); setcookie('a', 'b'); \
             echo $_SERVER['HTTP_X_SENDFILE_TYPE'];",
        )
        .file("files/private/big.bin", vec![b'z'; 3_000_000])
        .file("files/other.txt", "other");
    let server = serve(
        &www,
        "root * {site}/public\n request_header X-Sendfile-Type x-accel-redirect\n intercept {\n \
         @accel header X-Accel-Redirect *\n handle_response @accel {\n root * {site}/files\n \
         rewrite * {resp.header.X-Accel-Redirect}\n method * GET\n header -X-Accel-Redirect\n file_server\n }\n }\n \
         php_server",
    );
    let response = server.get("/?file=/big.bin");
    response.assert_status(200);
    assert_eq!(response.text().len(), 3_000_000);
    assert_eq!(response.header("content-type"), Some("application/pdf"));
    assert_eq!(response.header("set-cookie"), Some("a=b"));
    assert_eq!(response.header("x-accel-redirect"), None);
    let part = server.send(&Request::get("/?file=/big.bin").header("Range", "bytes=10-19"));
    part.assert(206, "zzzzzzzzzz");
    server
        .send(&Request::new("POST", "/?file=/big.bin").body("abc"))
        .assert_status(200);
    server.get("/?file=/none").assert_status(404);
    server
        .get("/?file=/../../public/index.php")
        .assert_status(404);
}
