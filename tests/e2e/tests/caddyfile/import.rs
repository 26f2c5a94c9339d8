//! `howdah import`: the Caddyfile behaves like the original. The tests compare with nginx where it
//! is installed.

use std::net::SocketAddr;
use std::path::Path;

use howdah_testkit::{Connection, Request, Response, Server, ServerBuilder, Www, free_ports};
use howdah_tests::nginx::Nginx;

/// Expected response to a request.
struct Case {
    method: &'static str,
    path: &'static str,
    status: u16,
    /// A part of the body, or the whole `Location`.
    text: &'static str,
    header: Option<(&'static str, &'static str)>,
}

const fn case(path: &'static str, status: u16, text: &'static str) -> Case {
    Case {
        method: "GET",
        path,
        status,
        text,
        header: None,
    }
}

const fn with(path: &'static str, status: u16, header: (&'static str, &'static str)) -> Case {
    Case {
        method: "GET",
        path,
        status,
        text: "",
        header: Some(header),
    }
}

#[track_caller]
fn check(what: &str, address: SocketAddr, cases: &[Case]) {
    for case in cases {
        let request = Request::new(case.method, case.path).host("example.com");
        let mut connection = Connection::open(address).expect("it connects");
        let response: Response = connection.exchange(&request).expect("a response");
        let (method, path) = (case.method, case.path);
        let text = response
            .header("Location")
            .map_or_else(|| response.text(), str::to_owned);
        assert_eq!(
            response.status(),
            case.status,
            "{what}: {method} {path}: {text}"
        );
        assert!(text.contains(case.text), "{what}: {method} {path}: {text}");
        if let Some((name, value)) = case.header {
            assert_eq!(
                response.header(name),
                Some(value),
                "{what}: {method} {path}"
            );
        }
    }
}

/// Imports a file that must cause no notes, and serves the resulting Caddyfile in this folder.
#[track_caller]
fn imported(origin: &str, file: &Path, folder: &Path) -> Server {
    let made = ServerBuilder::command(["import", origin]).arg(file).run();
    made.assert(0, "was carried over");
    let lines = made.lines.iter().map(|line| line.raw.as_str());
    let text: Vec<_> = lines.filter(|line| !line.starts_with("howdah: ")).collect();
    // The default address is free for only one test, and tests run at the same time.
    let text = format!("{{\n\tadmin off\n}}\n{}\n", text.join("\n"));
    Server::caddyfile(text).current_dir(folder).start()
}

const SHOW: &str = "<?php echo basename(__FILE__), ' ', $_SERVER['REQUEST_URI'], ' ', http_build_query($_GET), ' ', \
                    ($_SERVER['PATH_INFO'] ?? '') ?: '-', ' ', $_SERVER['APP_ENV'] ?? '-';";

const NGINX: &str = r#"
server {
    listen 127.0.0.1:PORT;
    server_name example.com;
    root ROOT;
    index index.php index.html;
    add_header X-Frame-Options SAMEORIGIN;

    location / { try_files $uri $uri/ /index.php?$query_string; }
    location = /exact { return 200 "exactly"; }
    location /plain { try_files $uri =404; }
    location ^~ /first/ { expires 30d; }
    location ~* \.(css|png)$ { expires 1h; add_header X-Kind static; }
    location /old { return 301 /new$is_args$args; }
    location /gone { return 410; }
    location /closed/ { allow 192.0.2.0/24; deny all; }
    location /read/ { limit_except GET { deny all; } }
    location /files/ { alias ROOT/elsewhere/; }
    location /back/ { try_files $uri @front; }
    location @front { rewrite ^ /index.php?from=named last; }
    rewrite ^/item/([0-9]+)$ /index.php?id=$1 last;
    rewrite ^/moved/(.*)$ /item/$1 permanent;
    if ($request_method = DELETE) { return 405; }
    error_page 404 /404.html;
    location ~ /\.(?!well-known).* { deny all; }
    location ~ ^(.+\.php)(/|$) {
        fastcgi_split_path_info ^(.+\.php)(/.*)$;
        include fastcgi_params;
        fastcgi_param PATH_INFO $fastcgi_path_info;
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
        fastcgi_param APP_ENV tested;
        fastcgi_pass unix:SOCKET;
    }
}
"#;

const CASES: &[Case] = &[
    case("/", 200, "index.php /  - tested"),
    case(
        "/some/page?a=1",
        200,
        "index.php /some/page?a=1 a=1 - tested",
    ),
    case("/other.php?b=2", 200, "other.php /other.php?b=2 b=2"),
    case("/other.php/info", 200, "other.php /other.php/info  /info"),
    case("/folder/", 200, "a folder"),
    case("/hello.txt", 200, "hello"),
    case("/exact", 200, "exactly"),
    case("/exact/not", 200, "index.php"),
    case("/plain.txt", 200, "plain"),
    case("/plain-not", 404, "a page for 404"),
    with("/first/a.css", 200, ("cache-control", "max-age=2592000")),
    with("/style.css", 200, ("cache-control", "max-age=3600")),
    with("/style.CSS", 200, ("x-kind", "static")),
    with("/some/page", 200, ("x-frame-options", "SAMEORIGIN")),
    case("/missing.png", 404, "a page for 404"),
    case("/old?x=1", 301, "/new?x=1"),
    case("/gone", 410, ""),
    case("/closed/x", 403, ""),
    case("/read/a.txt", 200, "readable"),
    Case {
        method: "POST",
        ..case("/read/a.txt", 403, "")
    },
    Case {
        method: "DELETE",
        ..case("/", 405, "")
    },
    Case {
        method: "POST",
        ..case("/some/page", 200, "index.php")
    },
    case("/files/far.txt", 200, "far away"),
    case("/back/near.txt", 200, "near"),
    case("/back/none", 200, "from=named"),
    case("/item/42?c=3", 200, "id=42&c=3"),
    case("/moved/7?d=4", 301, "/item/7?d=4"),
    case("/.env", 403, ""),
    case("/.git/config", 403, ""),
    case("/folder/.hidden", 403, ""),
];

fn site() -> Www {
    Www::new()
        .file("index.php", SHOW)
        .file("other.php", SHOW)
        .file("folder/index.html", "a folder")
        .file("hello.txt", "hello")
        .file("plain.txt", "plain")
        .file("first/a.css", "a")
        .file("style.css", "b")
        .file("style.CSS", "b")
        .file("read/a.txt", "readable")
        .file("elsewhere/far.txt", "far away")
        .file("back/near.txt", "near")
        .file("404.html", "a page for 404")
        .file(".env", "secret")
        .file(".git/config", "secret")
        .file("folder/.hidden", "secret")
}

#[test]
fn the_file_of_nginx_does_what_nginx_does() {
    let www = site();
    let [port, other] = free_ports();
    let root = www.path().display().to_string();
    let text = |port: u16, socket: &str| {
        let text = NGINX.replace("PORT", &port.to_string());
        text.replace("ROOT", &root).replace("SOCKET", socket)
    };
    if Nginx::is_there() {
        let nginx = Nginx::with(|socket| {
            let text = text(other, &socket.display().to_string());
            text.replace(
                "include fastcgi_params",
                "include /etc/nginx/fastcgi_params",
            )
        });
        check("nginx", SocketAddr::from(([127, 0, 0, 1], other)), CASES);
        drop(nginx);
    }
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("site.conf");
    std::fs::write(&file, text(port, "/run/php-fpm.sock")).expect("written");
    let server = imported("nginx", &file, folder.path());
    check("howdah", server.address(), CASES);
}

const HTACCESS: &str = r#"
DirectoryIndex index.php index.html
<IfModule mod_rewrite.c>
    RewriteEngine On
    RewriteCond %{HTTP:Authorization} .
    RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
    RewriteCond %{REQUEST_FILENAME} !-d
    RewriteCond %{REQUEST_URI} (.+)/$
    RewriteRule ^ %1 [L,R=301]
    RewriteRule ^item/([0-9]+)$ other.php?id=$1 [L,QSA]
    RewriteRule ^moved/(.*)$ /item/$1 [R=302,L]
    RewriteRule ^private - [F]
    RewriteCond %{REQUEST_FILENAME} !-d
    RewriteCond %{REQUEST_FILENAME} !-f
    RewriteRule ^ index.php [L]
</IfModule>
<FilesMatch "\.(bak|sql)$">
    Require all denied
</FilesMatch>
Redirect 301 /was /is
Header set X-Kind "of the file"
SetEnv APP_ENV tested
php_value memory_limit 77M
"#;

#[test]
fn the_file_of_apache_does_what_apache_does() {
    let www = site()
        .file(".htaccess", HTACCESS)
        .file("dump.sql", "secret")
        .file("limit.php", "<?php echo ini_get('memory_limit');");
    let file = www.path().join(".htaccess");
    let made = ServerBuilder::command(["import", "apache"])
        .arg(&file)
        .run();
    made.assert(0, "was carried over");
    let lines = made.lines.iter().map(|line| line.raw.as_str());
    let text: Vec<_> = lines.filter(|line| !line.starts_with("howdah: ")).collect();
    let text = text
        .join("\n")
        .replace("http://:8080 {", "http://:0 {\nbind 127.0.0.1");
    let server = Server::caddyfile(format!("{{\n\tadmin off\n}}\n{text}\n")).start();
    check(
        "howdah",
        server.address(),
        &[
            case("/", 200, "index.php /  - tested"),
            case(
                "/some/page?a=1",
                200,
                "index.php /some/page?a=1 a=1 - tested",
            ),
            case("/other.php?b=2", 200, "other.php /other.php?b=2 b=2"),
            case("/hello.txt", 200, "hello"),
            case("/folder/", 200, "a folder"),
            case("/a/b/", 301, "/a/b"),
            case("/item/42?c=3", 200, "other.php /item/42?c=3 id=42&c=3"),
            case("/moved/7?d=4", 302, "/item/7?d=4"),
            case("/private/x", 403, ""),
            case("/dump.sql", 403, ""),
            case("/was/here?e=5", 301, "/is/here?e=5"),
            case("/limit.php", 200, "77M"),
            case("/.htaccess", 404, ""),
            with("/hello.txt", 200, ("x-kind", "of the file")),
        ],
    );
}

const ROADRUNNER: &str = r#"
version: "3"
server:
  command: "php -d memory_limit=99M worker.php"
  env:
    APP_ENV: tested
http:
  address: 127.0.0.1:PORT
  max_request_size: 1
  middleware: ["headers", "static"]
  headers:
    response: { X-Kind: of the file }
  static:
    dir: FOLDER
    forbid: [".php"]
  pool:
    num_workers: 1
    max_jobs: 100
"#;

#[test]
fn the_file_of_roadrunner_serves_with_a_worker() {
    let www = Www::new().file("hello.txt", "hello").file(
        "worker.php",
        "<?php while (frankenphp_handle_request(function (): void {
            echo $_SERVER['REQUEST_URI'], ' ', $_SERVER['APP_ENV'], ' ', ini_get('memory_limit');
        })) {}",
    );
    let [port] = free_ports();
    let text = ROADRUNNER.replace("PORT", &port.to_string());
    let text = text.replace("FOLDER", &www.path().display().to_string());
    let file = www.write("rr.yaml", text);
    let server = imported("rr", &file, www.path());
    let big = Request::new("POST", "/big").body("x".repeat(1_100_000));
    server.send(&big).assert_status(413);
    check(
        "howdah",
        server.address(),
        &[
            case("/any/path?a=1", 200, "/any/path?a=1 tested 99M"),
            case("/hello.txt", 200, "hello"),
            case("/worker.php", 200, "/worker.php tested"),
            with("/any", 200, ("x-kind", "of the file")),
        ],
    );
}

#[test]
fn a_file_is_never_overwritten() {
    let www = Www::new()
        .file("site.conf", "server { listen 80; sub_filter a b; }")
        .file("Caddyfile", "mine");
    let run = |output: &str| {
        ServerBuilder::command(["import", "nginx"])
            .arg(www.path().join("site.conf"))
            .arg("--output")
            .arg(www.path().join(output))
            .run()
    };
    run("Caddyfile").assert(2, "File exists");
    run("new").assert(0, "line 1: sub_filter a b");
    let text = std::fs::read_to_string(www.path().join("new")).expect("readable");
    assert!(text.contains("# NOTE: line 1: sub_filter a b"), "{text}");
    ServerBuilder::command(["import", "nginx", "/nowhere/nginx.conf"])
        .run()
        .assert(2, "/nowhere/nginx.conf: No such file");
}
