//! Constructs of Caddy's and FrankenPHP's documentation, and their effect on requests.

use std::time::Duration;

use howdah_testkit::{Request, Server, ServerBuilder, Www, free_ports, process};
use howdah_tests::tls::{Authority, Client};
use howdah_tests::{caddyfile, www as www_folder};

fn serve(www: &Www, global: &str, site: &str) -> Server {
    let site = format!("root * {}\n{site}", www.path().display());
    Server::caddyfile(caddyfile(global, &site)).start()
}

#[test]
fn a_site_may_have_several_logs() {
    let www = Www::new();
    let file = |name: &str| www.path().join(name);
    let server = serve(
        &www,
        "",
        &format!(
            "log {{\n output file {}\n}}\n log errors {{\n output file {}\n format console\n}}\n respond OK",
            file("all.log").display(),
            file("console.log").display()
        ),
    );
    server.get("/logged").assert(200, "OK");
    for (name, start) in [("all.log", "{"), ("console.log", "20")] {
        let read = || std::fs::read_to_string(file(name)).unwrap_or_default();
        let done = process::wait_until(Duration::from_secs(10), || read().ends_with('\n'));
        let text = read();
        assert!(
            done && text.starts_with(start) && text.contains("/logged"),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_bare_port_has_a_certificate_for_each_name() {
    let storage = tempfile::tempdir().expect("a directory");
    let server = Server::caddyfile(format!(
        "{{\nadmin off\nskip_install_trust\nstorage file_system {}\n}}\n\
         :0 {{\nbind 127.0.0.1\ntls internal\nrespond \"{{scheme}} {{host}}\"\n}}\n",
        storage.path().display()
    ))
    .start();
    for name in ["one.test", "two.test"] {
        let response = Client::trusting_anyone().get(server.address(), name, "/");
        response
            .expect("a response")
            .assert(200, &format!("https {name}"));
    }
}

#[test]
fn php_server_may_have_options_of_its_file_server() {
    let www = Www::new()
        .file("index.php", "<?php echo 'front controller';")
        .file("a.txt", "text")
        .file("a.bak", "secret")
        .file("style.css", "long")
        .file("style.css.gz", "packed");
    let server = serve(
        &www,
        "",
        "php_server {\n file_server {\n hide *.bak\n precompressed gzip\n}\n}",
    );
    server.get("/a.txt").assert(200, "text");
    let hidden = server.get("/a.bak");
    assert!(!hidden.text().contains("secret"), "{}", hidden.text());
    let packed = Request::get("/style.css").header("Accept-Encoding", "gzip");
    let packed = server.send(&packed);
    packed.assert(200, "packed");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    server.get("/none").assert(200, "front controller");
}

#[test]
fn the_address_of_a_client_is_in_the_configured_field() {
    let www = Www::new();
    let server = serve(
        &www,
        "servers {\n trusted_proxies static 127.0.0.1/32\n client_ip_headers CF-Connecting-IP X-Real-IP\n}",
        "@office client_ip 198.51.100.0/24\n respond @office \"office {client_ip}\"\n \
         respond \"{client_ip} {remote_host}\"",
    );
    let get = |fields: &[(&str, &str)]| {
        let mut request = Request::get("/");
        for (name, value) in fields {
            request = request.header(name, value);
        }
        server.send(&request)
    };
    get(&[("CF-Connecting-IP", "203.0.113.7")]).assert(200, "203.0.113.7 127.0.0.1");
    get(&[
        ("X-Real-IP", "203.0.113.8"),
        ("X-Forwarded-For", "203.0.113.9"),
    ])
    .assert(200, "203.0.113.8 127.0.0.1");
    get(&[("CF-Connecting-IP", "198.51.100.1")]).assert(200, "office 198.51.100.1");
    get(&[("X-Forwarded-For", "203.0.113.9")]).assert(200, "127.0.0.1 127.0.0.1");
}

#[test]
fn push_is_a_warning() {
    let www = Www::new();
    let server = serve(&www, "", "push / /style.css\n push\n respond OK");
    server.expect_log("`push` has no effect");
    server.get("/").assert(200, "OK");
}

#[test]
fn versions_are_negotiated_with_an_encrypted_upstream() {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::new();
    let roots = directory.path().join("roots.pem");
    std::fs::write(&roots, authority.pem()).expect("written");
    let pair = authority.issue(directory.path(), "upstream", &["localhost"]);
    let upstream = Server::caddyfile(format!(
        "{{\nadmin off\nstorage file_system {}\n}}\nhttps://localhost:0 {{\nbind 127.0.0.1\ntls {pair}\n\
         respond {{http.request.proto}}\n}}\n",
        directory.path().join("storage").display()
    ))
    .start();
    let port = upstream.address().port();
    let proxy = |path: &str, versions: &str| {
        format!(
            "reverse_proxy {path} https://localhost:{port} {{\n transport http {{\n {versions}\n \
             tls_trust_pool file {}\n}}\n}}\n",
            roots.display()
        )
    };
    let site = proxy("/both", "versions 1.1 2")
        + &proxy("/two", "versions 2")
        + &proxy("/one", "versions 1.1");
    let server = Server::caddyfile(caddyfile("admin off", &site)).start();
    for (path, protocol) in [("/one", "HTTP/1.1"), ("/two", "HTTP/2.0")] {
        server.get(path).assert(200, protocol);
    }
    let both = server.get("/both");
    both.assert_status(200);
    assert!(both.text().starts_with("HTTP/"), "{}", both.text());
}

#[test]
fn try_files_may_have_patterns() {
    let www = Www::new()
        .file("index.html", "fallback")
        .file("builds/app.1f3c.js", "script")
        .file("builds/README.txt", "text");
    let server = serve(
        &www,
        "",
        "try_files {path} {path}.*.js /index.html\n\n file_server",
    );
    let found = server.get("/builds/app");
    found.assert(200, "script");
    let kind = found.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/javascript"), "{kind}");
    server.get("/builds/README.txt").assert(200, "text");
    server.get("/builds/other").assert(200, "fallback");
    // A pattern of the client is not one.
    server.get("/builds/*").assert(200, "fallback");
}

#[test]
fn expressions_have_functions_of_cel() {
    let www = Www::new();
    let server = serve(
        &www,
        "",
        "@large `int({query.page}) > 100 || size({query.q}) > 10`\n error @large 400\n\
         @legacy `['/old/', '/v1/'].exists(p, {path}.startsWith(p)) && {path}.split('/').size() == 3`\n\
         redir @legacy /new 301\n\
         @name expression {query.name}.lowerAscii().trim() in ['root', 'admin']\n respond @name taken 409\n respond OK",
    );
    server.get("/?page=100&q=0123456789").assert(200, "OK");
    server.get("/?page=101").assert_status(400);
    server.get("/?page=x&q=0123456789a").assert_status(400);
    server.get("/?page=x").assert(200, "OK");
    assert_eq!(server.get("/v1/a").header("location"), Some("/new"));
    server.get("/v1/a/b").assert(200, "OK");
    server.get("/?name=%20Admin").assert(409, "taken");
}

#[test]
fn error_routes_have_the_placeholders_of_caddy() {
    let www = Www::new();
    let server = serve(
        &www,
        "",
        "file_server\n handle_errors {\n header X-Id {err.id}\n \
         respond \"{err.status_code}|{err.status_text}|{http.error.trace}|\"\n}",
    );
    let response = server.get("/none");
    response.assert(404, "404|Not Found||");
    let id = response.header("x-id").unwrap_or_default();
    assert!(
        id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{id}"
    );
}

/// As in Caddy, `NAME FIND REPLACE` finds what exists before the response; with `>` also what PHP sends.
#[test]
fn replacements_in_headers_and_rewrites_with_a_fragment() {
    let www = Www::new().file(
        "index.php",
        "<?php header('X-Php: http://a/http://b'); echo $_SERVER['QUERY_STRING'], ' ', $_SERVER['REQUEST_URI'];",
    );
    let server = serve(
        &www,
        "",
        "header X-Own http://c\n header X-Own http:// https://\n header X-Php ^http ftp\n \
         header /late* >X-Php http:// https://\n header /find* >X-Php {query.find} x\n \
         rewrite /part* /index.php?part={path}#top\n php_server",
    );
    let fields = |target: &str| {
        let response = server.get(target);
        ["x-php", "x-own"].map(|name| response.header(name).unwrap_or("-").to_owned())
    };
    assert_eq!(fields("/"), ["http://a/http://b", "https://c"]);
    assert_eq!(fields("/late"), ["https://a/https://b", "https://c"]);
    assert_eq!(fields("/find?find=/h.*"), ["http://ax", "https://c"]);
    assert_eq!(fields("/find?find=%5B"), ["http://a/http://b", "https://c"]);
    server
        .get("/part?a=b")
        .assert(200, "part=%2Fpart /part?a=b");
}

#[test]
fn upstreams_get_the_client_by_the_proxy_protocol() {
    let [plain, wrapped] = free_ports();
    let back = format!(
        "\n:{plain} {{\n bind 127.0.0.1\n respond {{remote_host}}\n}}\n\
         :{wrapped} {{\n bind 127.0.0.1\n respond \"{{remote}} {{client_ip}}\"\n}}\n"
    );
    let global = format!(
        "servers {{\n trusted_proxies static 127.0.0.0/8\n}}\n servers 127.0.0.1:{wrapped} {{\n listener_wrappers {{\n \
         proxy_protocol {{\n allow 127.0.0.0/8\n fallback_policy reject\n}}\n}}\n}}"
    );
    let transport = |path: &str, port: u16, option: &str| {
        format!("reverse_proxy {path} 127.0.0.1:{port} {{\n transport http {{\n {option}\n}}\n}}\n")
    };
    let site = transport("/local", plain, "local_address 127.0.0.9")
        + &transport("/v1", wrapped, "proxy_protocol v1")
        + &transport(
            "/v2",
            wrapped,
            "proxy_protocol v2\n local_address 127.0.0.9",
        )
        + &transport("/h2c", wrapped, "proxy_protocol v2\n versions h2c");
    let server = Server::caddyfile(caddyfile(&global, &site) + &back).start();
    server.get("/local").assert(200, "127.0.0.9");
    for target in ["/v1", "/v2", "/h2c"] {
        for client in ["192.0.2.7", "2001:db8::7", "192.0.2.8", "192.0.2.7"] {
            let request = Request::get(target).header("X-Forwarded-For", client);
            let remote = if client.contains(':') {
                format!("[{client}]:0 {client}")
            } else {
                format!("{client}:0 {client}")
            };
            server.send(&request).assert(200, &remote);
        }
    }
}

#[test]
fn matchers_of_files_end_in_an_error_and_hosts_have_placeholders() {
    let www = Www::new().file("a.txt", "text");
    let site = format!(
        "root * {}\n@own file {{\n try_files {{path}} {{path}}.txt =410\n}}\n @host host {{$HOST_OF_TEST:none}} {{env.HOST_OF_TEST}} {{query.h}}.example\n \
         handle_path /f/* {{\n rewrite @own {{file_match.relative}}\n file_server\n}}\n \
         respond @host \"host {{host}}\"\n respond other\n handle_errors {{\n respond \"error {{err.status_code}}\"\n}}",
        www.path().display()
    );
    let server = Server::caddyfile(caddyfile("", &site))
        .env("HOST_OF_TEST", "shop.test")
        .start();
    server.get("/f/a").assert(200, "text");
    server.get("/f/b").assert(410, "error 410");
    for (target, host, expected) in [
        ("/", "shop.test", "host shop.test"),
        ("/?h=a", "A.example", "host A.example"),
        ("/?h=a", "b.example", "other"),
        ("/?h=*", "b.example", "other"),
    ] {
        let request = Request::get(target).host(host);
        server.send(&request).assert(200, expected);
    }
}

#[test]
fn templates_are_refused() {
    let refused = Server::caddyfile(caddyfile("", "templates\n respond OK")).run();
    refused.assert(2, "`templates` is not supported in this version");
    refused.assert(2, "pages with parts that change are PHP's");
}

#[test]
fn lists_and_pages_have_no_script_and_are_small() {
    let www = Www::new().file("a.txt", "text").file("b/c.txt", "text");
    let folder = www_folder().join("../../../packaging/welcome");
    let server = serve(&www, "", "file_server browse");
    let page = Request::get("/").header("Accept", "text/html");
    let list = server.send(&page);
    list.assert_status(200);
    let error = server.send(&Request::get("/none").header("Accept", "text/html"));
    error.assert_status(404);
    let welcome = ServerBuilder::php_server(folder).start();
    let welcome = welcome.get("/");
    welcome.assert_status(200);
    for (name, response) in [("list", list), ("error", error), ("welcome", welcome)] {
        let text = response.text();
        assert!(text.contains("<html"), "{name}: {text}");
        for script in [
            "<script",
            "javascript:",
            "onload=",
            "onclick=",
            "http-equiv",
        ] {
            assert!(!text.contains(script), "{name}: {text}");
        }
        assert!(text.len() < 6_000, "{name}: {} bytes", text.len());
        assert!(text.contains("color-scheme"), "{name}: {text}");
    }
}
