//! Compares `$_SERVER` with PHP-FPM behind nginx for all kinds of connections: different listeners,
//! TLS, HTTP/2, a trusted proxy, an error page.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use howdah_testkit::{Server, free_ports};
use howdah_tests::nginx::Nginx;
use howdah_tests::tls::{Authority, Pair};
use serde_json::Value;
use tempfile::TempDir;

/// Sends the variables as the body, or as a header field if the response has no body.
const DUMP: &str = "<?php
$dump = json_encode($_SERVER, JSON_FORCE_OBJECT);
if ($_SERVER['REQUEST_METHOD'] === 'HEAD') { header('X-Dump: ' . $dump); }
echo $dump;";

/// Variables that differ for all requests. [`super::nginx`] has the reasons.
const ALWAYS: [&str; 9] = [
    "HOWDAH_REQUEST_ID",
    "REMOTE_HOST",
    "FCGI_ROLE",
    "HOME",
    "USER",
    "REMOTE_USER",
    "SERVER_SOFTWARE",
    "SERVER_NAME",
    "SERVER_PORT",
];

/// A kind of connection.
struct Way {
    name: &'static str,
    /// The `server` block of nginx: its listener and additional variables for PHP.
    nginx: String,
    parameters: &'static str,
    /// The site: its address and its directives, and global options.
    site: String,
    global: &'static str,
    php: &'static str,
    /// Arguments of curl. `PORT` is replaced by the port.
    curl: Vec<String>,
    /// Variables that differ, and their values here if they are fixed.
    differs: &'static [(&'static str, Option<&'static str>)],
}

/// Parameters from nginx's documentation for applications that check for encryption.
const OF_TLS: &str =
    "fastcgi_param SSL_PROTOCOL $ssl_protocol;\nfastcgi_param SSL_CIPHER $ssl_cipher;";
/// And for applications that check certificates of clients.
const OF_CLIENT: &str = "fastcgi_param SSL_PROTOCOL $ssl_protocol;\nfastcgi_param SSL_CIPHER $ssl_cipher;\n\
    fastcgi_param SSL_CLIENT_VERIFY $ssl_client_verify;\nfastcgi_param SSL_CLIENT_S_DN $ssl_client_s_dn if_not_empty;\n\
    fastcgi_param SSL_CLIENT_I_DN $ssl_client_i_dn if_not_empty;\n\
    fastcgi_param SSL_CLIENT_M_SERIAL $ssl_client_serial if_not_empty;";
/// Here, an error page has the original request, as in Caddy. nginx changes the request.
const OF_ERROR: &[(&str, Option<&str>)] = &[("QUERY_STRING", Some("a=1"))];
const OF_ERROR_FOR_POST: &[(&str, Option<&str>)] = &[
    ("QUERY_STRING", Some("a=1")),
    ("REQUEST_METHOD", Some("POST")),
];

type Variables = BTreeMap<String, Value>;

/// Sends a request with curl.
#[track_caller]
fn ask(way: &Way, port: u16, socket: &Path) -> Variables {
    let arguments = way.curl.iter().map(|text| {
        text.replace("PORT", &port.to_string())
            .replace("SOCKET", &socket.display().to_string())
    });
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "60"])
        .args(arguments)
        .output()
        .expect("curl (apt install curl)");
    let text = String::from_utf8_lossy(&output.stdout);
    let field = text.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("x-dump").then_some(value)
    });
    let parsed = serde_json::from_str(field.unwrap_or(&text));
    let Ok(Value::Object(variables)) = parsed else {
        let error = String::from_utf8_lossy(&output.stderr);
        panic!("{}: {text}{error}", way.name);
    };
    variables.into_iter().collect()
}

fn root() -> TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for name in ["dump.php", "index.php", "error.php"] {
        std::fs::write(root.path().join(name), DUMP).expect("written");
    }
    root
}

/// Name of the server, and the certificates of the server and of the client.
struct Certificates {
    authority: Authority,
    server: Pair,
    client: Pair,
}

impl Certificates {
    fn new(directory: &Path) -> Self {
        let authority = Authority::new();
        std::fs::write(directory.join("roots"), authority.pem()).expect("written");
        let client = authority.issue_with(directory, "client", &["client"], |params| {
            let name = &mut params.distinguished_name;
            *name = rcgen::DistinguishedName::new();
            name.push(rcgen::DnType::OrganizationName, "Members, Ltd.");
            name.push(rcgen::DnType::CommonName, "ann");
            params.serial_number = Some(0x0a_bc_de_u64.into());
        });
        Self {
            server: authority.issue(directory, "server", &["localhost"]),
            client,
            authority,
        }
    }
}

fn text(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn ways(directory: &Path) -> Vec<Way> {
    let Certificates {
        authority,
        server,
        client,
    } = Certificates::new(directory);
    let roots = directory.join("roots");
    std::fs::write(&roots, authority.pem()).expect("written");
    let roots = roots.display();
    let plain = "listen 127.0.0.1:PORT;".to_owned();
    let tls = format!(
        "ssl_certificate {};\nssl_certificate_key {};\nssl_client_certificate {roots};\n\
         ssl_verify_client optional;\nssl_protocols TLSv1.2 TLSv1.3;",
        server.certificate.display(),
        server.key.display(),
    );
    let site = "http://:0 {\nbind 127.0.0.1".to_owned();
    let encrypted = format!("https://localhost:0 {{\nbind 127.0.0.1\ntls {server}");
    let asks = format!(
        "https://localhost:0 {{\nbind 127.0.0.1\ntls {server} {{\nclient_auth {{\nmode verify_if_given\n\
         trusted_ca_cert_file {roots}\n}}\n}}"
    );
    let secure = |more: &[&str]| {
        let roots = roots.to_string();
        let own = ["--cacert", &roots, "https://localhost:PORT/dump.php?a=1"];
        text(&[&own[..], more].concat())
    };
    let url = "http://127.0.0.1:PORT/dump.php?a=1";
    let shown = [
        "--cert",
        &client.certificate.display().to_string(),
        "--key",
        &client.key.display().to_string(),
    ]
    .map(str::to_owned);
    let real_ip = "set_real_ip_from 127.0.0.1;\nreal_ip_header X-Forwarded-For;";
    let trusted = "servers {\ntrusted_proxies static 127.0.0.1\n}";
    let forwarded = text(&[
        "--header",
        "X-Forwarded-For: 192.0.2.1",
        "--header",
        "X-Forwarded-Proto: https",
        "--header",
        "X-Forwarded-Host: shop.test",
        url,
    ]);
    let way = |name, curl| Way {
        php: "",
        name,
        nginx: plain.clone(),
        site: site.clone(),
        parameters: "",
        global: "",
        curl,
        differs: &[],
    };
    vec![
        Way {
            nginx: "listen [::1]:PORT;".into(),
            site: "http://:0 {\nbind ::1".into(),
            ..way("IPv6", text(&["http://[::1]:PORT/dump.php?a=1"]))
        },
        Way {
            nginx: "listen unix:DIRECTORY/web.sock;".into(),
            site: "http://:80 {\nbind unix/SOCKET".into(),
            differs: &[
                ("REMOTE_ADDR", Some("127.0.0.1")),
                ("REMOTE_PORT", Some("0")),
                ("SERVER_ADDR", Some("127.0.0.1")),
            ],
            ..way(
                "a Unix socket",
                text(&["--unix-socket", "SOCKET", "http://a.test/dump.php?a=1"]),
            )
        },
        way("HEAD", text(&["--head", url])),
        way(
            "HEAD of a page",
            text(&["--head", "http://127.0.0.1:PORT/some/page"]),
        ),
        Way {
            differs: OF_ERROR,
            ..way(
                "an error page",
                text(&["http://127.0.0.1:PORT/missing.txt?a=1"]),
            )
        },
        Way {
            differs: OF_ERROR_FOR_POST,
            ..way(
                "an error page for POST",
                text(&["--data", "a=1&b=2", "http://127.0.0.1:PORT/missing.txt?a=1"]),
            )
        },
        Way {
            nginx: format!("listen 127.0.0.1:PORT ssl;\n{tls}"),
            site: encrypted.clone(),
            parameters: OF_TLS,
            ..way("TLS", secure(&["--http1.1"]))
        },
        Way {
            nginx: format!("listen 127.0.0.1:PORT ssl;\n{tls}"),
            site: encrypted.clone(),
            parameters: OF_TLS,
            // IANA's name of the cipher, which is the same everywhere in TLS 1.3.
            differs: &[("SSL_CIPHER", None)],
            ..way("TLS 1.2", secure(&["--http1.1", "--tls-max", "1.2"]))
        },
        Way {
            nginx: format!("listen 127.0.0.1:PORT ssl http2;\n{tls}"),
            site: encrypted.clone(),
            parameters: OF_TLS,
            ..way("HTTP/2", secure(&["--http2"]))
        },
        Way {
            nginx: format!("listen 127.0.0.1:PORT ssl http2;\n{tls}"),
            site: encrypted,
            parameters: OF_TLS,
            ..way(
                "HTTP/2 with cookies and a body",
                secure(&[
                    "--http2",
                    "--header",
                    "Cookie: a=1",
                    "--header",
                    "Cookie: b=2",
                    "--data",
                    "a=1",
                ]),
            )
        },
        Way {
            nginx: format!("listen 127.0.0.1:PORT ssl;\n{tls}"),
            site: asks.clone(),
            parameters: OF_CLIENT,
            ..way("TLS that asks for a certificate", secure(&["--http1.1"]))
        },
        Way {
            nginx: format!("listen 127.0.0.1:PORT ssl;\n{tls}"),
            site: asks,
            parameters: OF_CLIENT,
            ..way(
                "TLS with a certificate",
                [secure(&["--http1.1"]), shown.to_vec()].concat(),
            )
        },
        // PHP sees the address of the proxy, as in Caddy and FrankenPHP. Applications read the
        // proxy's fields.
        Way {
            nginx: format!("{plain}\n{real_ip}"),
            global: trusted,
            differs: &[("REMOTE_ADDR", Some("127.0.0.1")), ("REMOTE_PORT", None)],
            ..way("a trusted proxy", forwarded.clone())
        },
        // nginx does not get the client's port.
        Way {
            nginx: format!("{plain}\n{real_ip}"),
            global: trusted,
            php: "env REMOTE_ADDR {client_ip}",
            differs: &[("REMOTE_PORT", None)],
            ..way("a trusted proxy's client", forwarded)
        },
    ]
}

#[test]
fn each_way_has_the_same_variables() {
    if !Nginx::is_there() {
        return;
    }
    let (root, directory) = (root(), tempfile::tempdir().expect("a directory"));
    let ways = ways(directory.path());
    let ports = free_ports::<16>();
    let listeners: Vec<(String, &str)> = ways
        .iter()
        .zip(&ports)
        .map(|(way, port)| {
            let listens = way.nginx.replace("PORT", &port.to_string());
            (listens, way.parameters)
        })
        .collect();
    let nginx = Nginx::start(root.path(), &listeners);
    let socket = directory.path().join("web.sock");
    let mut wrong = Vec::new();
    for (way, port) in ways.iter().zip(ports) {
        let there = ask(way, port, &nginx.directory().join("web.sock"));
        let site = way.site.replace("SOCKET", &socket.display().to_string());
        let folder = directory.path().display();
        let server = Server::caddyfile(format!(
            "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {folder}/storage\n\
             frankenphp {{\nnum_threads 1\n}}\n{}\n}}\n{site}\nroot * {}\nerror /missing.txt 404\n\
             handle_errors {{\nrewrite * /error.php\nphp_server\n}}\nphp_server {{\n{}\n}}\n}}\n",
            way.global,
            root.path().display(),
            way.php
        ))
        .start();
        let port = server
            .addresses()
            .first()
            .map_or(0, std::net::SocketAddr::port);
        let here = ask(way, port, &socket);
        wrong.extend(differences(way, &there, &here));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn differences(way: &Way, there: &Variables, here: &Variables) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used = Vec::new();
    // These values differ for each connection, and so does the port of the server.
    let own = |name: &str, value: &Value| match (name, value) {
        ("REMOTE_PORT", Value::String(port)) if port.parse::<u16>().is_ok_and(|port| port > 0) => {
            Value::from("a port")
        }
        ("HTTP_HOST", Value::String(host)) => {
            // Debian's nginx omits the port.
            let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
            let bare = if port.parse::<u16>().is_ok() {
                name
            } else {
                host
            };
            Value::from(bare)
        }
        (_, value) => value.clone(),
    };
    let names: std::collections::BTreeSet<_> = there.keys().chain(here.keys()).collect();
    for name in names {
        if ALWAYS.contains(&name.as_str()) || name.starts_with("REQUEST_TIME") {
            continue;
        }
        let value = |variables: &Variables| variables.get(name).map(|value| own(name, value));
        let (there, here) = (value(there), value(here));
        if there == here {
            continue;
        }
        let known = way.differs.iter().find(|(known, _)| known == name);
        used.extend(known.map(|(name, _)| *name));
        let is_right = known.is_some_and(|(_, expected)| {
            expected.is_none_or(|expected| here == Some(Value::from(expected)))
        });
        if !is_right {
            wrong.push(format!(
                "{}: {name}: {there:?} there, {here:?} here",
                way.name
            ));
        }
    }
    let unused = way.differs.iter().filter(|(name, _)| !used.contains(name));
    wrong.extend(unused.map(|(name, _)| format!("{}: {name} does not differ", way.name)));
    wrong
}
