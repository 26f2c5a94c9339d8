//! The variables of a request and their values.

use std::collections::BTreeMap;

use howdah_cgi::{Error, Input, decode, encode, max_size};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};

type Change = fn(Input<'_>) -> Input<'_>;

/// A request that each case modifies.
struct Request {
    method: Method,
    target: Uri,
    headers: HeaderMap,
    env: Vec<(String, String)>,
    change: Change,
}

impl Request {
    fn new(target: &str) -> Self {
        Self {
            method: Method::GET,
            target: target.parse().unwrap(),
            headers: HeaderMap::new(),
            env: Vec::new(),
            change: |input| input,
        }
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.headers
            .append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn with(mut self, change: Change) -> Self {
        self.change = change;
        self
    }

    fn encode(&self) -> Result<BTreeMap<String, String>, Error> {
        let input = Input {
            id: 0xabc,
            method: &self.method,
            target: &self.target,
            query: self.target.query().unwrap_or_default(),
            version: Version::HTTP_11,
            headers: &self.headers,
            remote: "192.0.2.7:40000".parse().unwrap(),
            local: "198.51.100.1:8080".parse().unwrap(),
            scheme: "http",
            root: "/srv/www",
            script_name: "/index.php",
            path_info: "",
            script_filename: None,
            body_size: 0,
            tls_protocol: "",
            tls_cipher: "",
            remote_user: None,
            env: &self.env,
        };
        let input = (self.change)(input);
        let mut out = b"kept".to_vec();
        let result = encode(&input, &mut out);
        assert!(out.starts_with(b"kept"), "what the buffer held is kept");
        assert!(out.len() - 4 <= max_size(&input));
        if let Err(error) = result {
            assert_eq!(out, b"kept", "an error leaves the buffer as it was");
            return Err(error);
        }
        let records = decode(&out[4..]).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // If a name occurs twice, the last value counts, as in PHP's array.
        Ok(records
            .iter()
            .map(|record| (text(record.name), text(record.value)))
            .collect())
    }

    #[track_caller]
    fn expect(&self, expected: &[(&str, &str)]) {
        let variables = self.encode().unwrap();
        for (name, value) in expected {
            assert_eq!(
                variables.get(*name).map(String::as_str),
                Some(*value),
                "{name}"
            );
        }
    }

    #[track_caller]
    fn expect_absent(&self, names: &[&str]) {
        let variables = self.encode().unwrap();
        for name in names {
            assert_eq!(variables.get(*name), None, "{name}");
        }
    }
}

#[test]
fn the_smallest_request_has_what_nginx_sends() {
    let variables = Request::new("/index.php").encode().unwrap();
    let software = concat!("Howdah/", env!("CARGO_PKG_VERSION"), " (like nginx, Caddy)");
    let expected = [
        ("CONTENT_LENGTH", ""),
        ("CONTENT_TYPE", ""),
        ("DOCUMENT_ROOT", "/srv/www"),
        ("DOCUMENT_URI", "/index.php"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("HOWDAH_REQUEST_ID", "0000000000000abc"),
        ("PATH_INFO", ""),
        ("PHP_SELF", "/index.php"),
        ("QUERY_STRING", ""),
        ("REDIRECT_STATUS", "200"),
        ("REMOTE_ADDR", "192.0.2.7"),
        ("REMOTE_HOST", "192.0.2.7"),
        ("REMOTE_PORT", "40000"),
        ("REQUEST_METHOD", "GET"),
        ("REQUEST_SCHEME", "http"),
        ("REQUEST_URI", "/index.php"),
        ("SCRIPT_FILENAME", "/srv/www/index.php"),
        ("SCRIPT_NAME", "/index.php"),
        ("SERVER_ADDR", "198.51.100.1"),
        ("SERVER_NAME", "198.51.100.1"),
        ("SERVER_PORT", "8080"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SERVER_SOFTWARE", software),
    ];
    let expected: BTreeMap<String, String> = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    assert_eq!(variables, expected);
}

#[test]
fn paths() {
    let with_info = Request::new("/app/x?y=1").with(|input| Input {
        script_name: "/sub/index.php",
        path_info: "/a/b c",
        ..input
    });
    with_info.expect(&[
        ("REQUEST_URI", "/app/x?y=1"),
        ("QUERY_STRING", "y=1"),
        ("SCRIPT_NAME", "/sub/index.php"),
        ("SCRIPT_FILENAME", "/srv/www/sub/index.php"),
        ("DOCUMENT_URI", "/sub/index.php"),
        ("PATH_INFO", "/a/b c"),
        ("PATH_TRANSLATED", "/srv/www/a/b c"),
        ("PHP_SELF", "/sub/index.php/a/b c"),
    ]);
    Request::new("/").expect_absent(&["PATH_TRANSLATED"]);
    Request::new("/")
        .with(|input| Input {
            root: "/",
            path_info: "/x",
            ..input
        })
        .expect(&[
            ("DOCUMENT_ROOT", "/"),
            ("SCRIPT_FILENAME", "/index.php"),
            ("PATH_TRANSLATED", "/x"),
        ]);
}

#[test]
fn a_script_that_no_path_names() {
    let outside = Request::new("/any/where?x=1").with(|input| Input {
        script_name: "",
        script_filename: Some("/srv/worker.php"),
        ..input
    });
    outside.expect(&[
        ("REQUEST_URI", "/any/where?x=1"),
        ("QUERY_STRING", "x=1"),
        ("DOCUMENT_ROOT", "/srv/www"),
        ("SCRIPT_FILENAME", "/srv/worker.php"),
        ("SCRIPT_NAME", ""),
        ("DOCUMENT_URI", ""),
        ("PATH_INFO", ""),
        ("PHP_SELF", ""),
    ]);
    outside.expect_absent(&["PATH_TRANSLATED"]);
}

#[test]
fn path_translated_stays_below_the_root() {
    let cases: &[(Change, &str)] = &[
        (
            |input| Input {
                path_info: "/../../etc/passwd",
                ..input
            },
            "/srv/www/etc/passwd",
        ),
        (
            |input| Input {
                path_info: "/a/../b",
                ..input
            },
            "/srv/www/b",
        ),
        (
            |input| Input {
                path_info: "/a/./b//c/",
                ..input
            },
            "/srv/www/a/b/c/",
        ),
        (
            |input| Input {
                path_info: "/..",
                ..input
            },
            "/srv/www",
        ),
        (
            |input| Input {
                path_info: "/a/..",
                ..input
            },
            "/srv/www",
        ),
        (
            |input| Input {
                path_info: "/",
                ..input
            },
            "/srv/www/",
        ),
        (
            |input| Input {
                path_info: "/..a/b..",
                ..input
            },
            "/srv/www/..a/b..",
        ),
    ];
    for (change, expected) in cases {
        Request::new("/")
            .with(*change)
            .expect(&[("PATH_TRANSLATED", expected)]);
    }
}

#[test]
fn rewrites_leave_the_request_uri() {
    let rewritten = Request::new("/old?a=1").with(|input| Input {
        query: "b=2",
        ..input
    });
    rewritten.expect(&[("REQUEST_URI", "/old?a=1"), ("QUERY_STRING", "b=2")]);
    Request::new("/%7Euser/%2e?").expect(&[("REQUEST_URI", "/%7Euser/%2e?"), ("QUERY_STRING", "")]);
    Request::new("*").expect(&[("REQUEST_URI", "*")]);
}

#[test]
fn host_and_port() {
    let cases = [
        ("example.com", "example.com", "example.com", "80"),
        (
            "example.com:8443",
            "example.com:8443",
            "example.com",
            "8443",
        ),
        ("example.com:", "example.com:", "example.com", "80"),
        ("[2001:db8::1]", "[2001:db8::1]", "[2001:db8::1]", "80"),
        (
            "[2001:db8::1]:81",
            "[2001:db8::1]:81",
            "[2001:db8::1]",
            "81",
        ),
        // Hostile values do not reach PHP. The name of the listener is used instead.
        ("example.com\"><script>", "", "198.51.100.1", "8080"),
        ("a b", "", "198.51.100.1", "8080"),
        ("../../etc", "", "198.51.100.1", "8080"),
        ("user@example.com", "", "198.51.100.1", "8080"),
        ("example.com:99999", "", "198.51.100.1", "8080"),
        ("b\u{fc}cher.example", "", "198.51.100.1", "8080"),
        ("", "", "198.51.100.1", "8080"),
    ];
    for (host, http_host, name, port) in cases {
        let request = Request::new("/").header("host", host);
        request.expect(&[("SERVER_NAME", name), ("SERVER_PORT", port)]);
        if http_host.is_empty() {
            request.expect_absent(&["HTTP_HOST"]);
        } else {
            request.expect(&[("HTTP_HOST", http_host)]);
        }
    }
    let secure = Request::new("/").header("host", "a.test");
    secure
        .with(|input| Input {
            scheme: "https",
            ..input
        })
        .expect(&[("SERVER_PORT", "443")]);
    let two = Request::new("/")
        .header("host", "a.test")
        .header("host", "b.test");
    two.expect(&[("SERVER_NAME", "198.51.100.1")]);
    two.expect_absent(&["HTTP_HOST"]);
    let v6 = Request::new("/").with(|input| Input {
        local: "[::1]:81".parse().unwrap(),
        ..input
    });
    v6.expect(&[
        ("SERVER_NAME", "[::1]"),
        ("SERVER_ADDR", "::1"),
        ("SERVER_PORT", "81"),
    ]);
}

#[test]
fn the_authority_of_the_target_comes_before_the_host_header() {
    Request::new("http://user:pw@real.test:90/p?q")
        .header("host", "fake.test")
        .expect(&[
            ("HTTP_HOST", "real.test:90"),
            ("SERVER_NAME", "real.test"),
            ("SERVER_PORT", "90"),
            ("REQUEST_URI", "/p?q"),
        ]);
    Request::new("http://real.test").expect(&[("REQUEST_URI", "/"), ("HTTP_HOST", "real.test")]);
    Request::new("http://real.test?q=1").expect(&[("REQUEST_URI", "/?q=1")]);
    Request::new("http://real.test?").expect(&[("REQUEST_URI", "/?")]);
    Request::new("http://a'b/")
        .header("host", "fake.test")
        .expect_absent(&["HTTP_HOST"]);
}

#[test]
fn header_fields() {
    Request::new("/")
        .header("accept", "text/html")
        .header("x-own-field", "1")
        .header("x-own-field", "")
        .header("x-own-field", "3")
        .header("cookie", "a=1")
        .header("cookie", "b=2; c=3")
        .header("accept", "*/*")
        .header("x-latin", "caf\u{e9}\t!")
        .header("authorization", "Basic eDp5")
        .expect(&[
            ("HTTP_ACCEPT", "text/html, */*"),
            ("HTTP_X_OWN_FIELD", "1, , 3"),
            ("HTTP_COOKIE", "a=1; b=2; c=3"),
            ("HTTP_X_LATIN", "caf\u{e9}\t!"),
            ("HTTP_AUTHORIZATION", "Basic eDp5"),
        ]);
    // A name in a header field is not authentication.
    Request::new("/")
        .header("authorization", "Basic eDp5")
        .expect_absent(&["REMOTE_USER"]);
}

#[test]
fn names_that_would_pass_for_others_are_dropped() {
    let request = Request::new("/")
        .header("proxy", "http://evil.test")
        .header("x_forwarded_for", "spoofed")
        .header("x.forwarded.for", "spoofed")
        .header("x-forwarded-for", "192.0.2.1")
        .header("x_forwarded-for", "spoofed")
        .header("content_length", "7")
        .header("transfer-encoding", "chunked");
    request.expect(&[
        ("HTTP_X_FORWARDED_FOR", "192.0.2.1"),
        ("CONTENT_LENGTH", ""),
    ]);
    request.expect_absent(&[
        "HTTP_PROXY",
        "HTTP_X.FORWARDED.FOR",
        "HTTP_CONTENT_LENGTH",
        "HTTP_TRANSFER_ENCODING",
    ]);
    Request::new("/")
        .header("proxy-connection", "close")
        .expect(&[("HTTP_PROXY_CONNECTION", "close")]);
}

#[test]
fn bodies() {
    Request::new("/")
        .header("content-type", "text/plain")
        .header("content-length", "5")
        .with(|input| Input {
            body_size: 5,
            ..input
        })
        .expect(&[
            ("CONTENT_TYPE", "text/plain"),
            ("HTTP_CONTENT_TYPE", "text/plain"),
            ("CONTENT_LENGTH", "5"),
            ("HTTP_CONTENT_LENGTH", "5"),
        ]);
    // A chunked body: the received size.
    let chunked = Request::new("/").header("transfer-encoding", "chunked");
    let chunked = chunked.with(|input| Input {
        body_size: u64::MAX,
        ..input
    });
    chunked.expect(&[
        ("CONTENT_LENGTH", "18446744073709551615"),
        ("CONTENT_TYPE", ""),
    ]);
    chunked.expect_absent(&["HTTP_CONTENT_LENGTH"]);
    Request::new("/")
        .header("content-length", "0")
        .expect(&[("CONTENT_LENGTH", "0")]);
    let twice = Request::new("/")
        .header("content-type", "a/b")
        .header("content-type", "c/d");
    twice.expect(&[("CONTENT_TYPE", "a/b"), ("HTTP_CONTENT_TYPE", "a/b, c/d")]);
}

#[test]
fn connection() {
    let request = Request::new("/")
        .header("host", "a.test")
        .with(|input| Input {
            scheme: "https",
            version: Version::HTTP_2,
            tls_protocol: "TLSv1.3",
            tls_cipher: "TLS_AES_128_GCM_SHA256",
            remote_user: Some("alice"),
            remote: "[::ffff:192.0.2.9]:5".parse().unwrap(),
            ..input
        });
    request.expect(&[
        ("HTTPS", "on"),
        ("REQUEST_SCHEME", "https"),
        ("SERVER_PROTOCOL", "HTTP/2.0"),
        ("SSL_PROTOCOL", "TLSv1.3"),
        ("SSL_CIPHER", "TLS_AES_128_GCM_SHA256"),
        ("REMOTE_USER", "alice"),
        ("REMOTE_ADDR", "192.0.2.9"),
        ("REMOTE_PORT", "5"),
    ]);
    // Applications check whether they are set.
    Request::new("/").expect_absent(&["HTTPS", "SSL_PROTOCOL", "SSL_CIPHER", "AUTH_TYPE"]);
    Request::new("/")
        .with(|input| Input {
            version: Version::HTTP_10,
            ..input
        })
        .expect(&[("SERVER_PROTOCOL", "HTTP/1.0")]);
    Request::new("/")
        .with(|input| Input {
            version: Version::HTTP_3,
            ..input
        })
        .expect(&[("SERVER_PROTOCOL", "HTTP/3.0")]);
}

#[test]
fn env_comes_last() {
    Request::new("/")
        .header("x-a", "header")
        .env("APP_ENV", "dev")
        .env("APP_ENV", "prod")
        .env("SERVER_NAME", "configured.test")
        .env("HTTP_X_A", "configured")
        .env("HTTP_PROXY", "http://allowed-since-configured.test")
        .env("EMPTY", "")
        .expect(&[
            ("APP_ENV", "prod"),
            ("SERVER_NAME", "configured.test"),
            ("HTTP_X_A", "configured"),
            ("HTTP_PROXY", "http://allowed-since-configured.test"),
            ("EMPTY", ""),
        ]);
    assert_eq!(Request::new("/").env("", "x").encode(), Err(Error::NoName));
    assert_eq!(
        Request::new("/").env(&"N".repeat(65536), "x").encode(),
        Err(Error::NameTooLong)
    );
}

#[test]
fn nul_bytes_are_refused() {
    let nul = |name: &str| {
        Err(Error::Nul {
            name: name.to_owned(),
        })
    };
    let cases: &[(&str, Change)] = &[
        ("SCRIPT_NAME", |input| Input {
            script_name: "/upload.txt\0.php",
            ..input
        }),
        ("PATH_INFO", |input| Input {
            path_info: "/\0",
            ..input
        }),
        ("SCRIPT_FILENAME", |input| Input {
            script_filename: Some("/srv/\0"),
            ..input
        }),
        ("QUERY_STRING", |input| Input {
            query: "\0",
            ..input
        }),
        ("DOCUMENT_ROOT", |input| Input {
            root: "/srv\0",
            ..input
        }),
        ("REQUEST_SCHEME", |input| Input {
            scheme: "http\0",
            ..input
        }),
        ("REMOTE_USER", |input| Input {
            remote_user: Some("a\0b"),
            ..input
        }),
        ("SSL_CIPHER", |input| Input {
            scheme: "https",
            tls_cipher: "\0",
            ..input
        }),
        ("SSL_PROTOCOL", |input| Input {
            scheme: "https",
            tls_protocol: "\0",
            ..input
        }),
    ];
    for (name, change) in cases {
        assert_eq!(Request::new("/").with(*change).encode(), nul(name));
    }
    assert_eq!(Request::new("/").env("A", "x\0").encode(), nul("A"));
    assert_eq!(Request::new("/").env("B\0", "x").encode(), nul("B\0"));
}
