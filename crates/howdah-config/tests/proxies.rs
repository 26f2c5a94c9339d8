//! `reverse_proxy` and `php_fastcgi`: where requests go, and how.

mod common;

use std::time::Duration;

use common::{full, handler};
use howdah_config::model::{CertificateFiles, Handler, ReverseProxy, Upstream, UpstreamTls};

fn proxy(directive: &str) -> ReverseProxy {
    match handler(directive) {
        Handler::ReverseProxy(proxy) => *proxy,
        Handler::ForwardAuth(auth) => auth.proxy,
        other => panic!("{directive}: {other:?}"),
    }
}

fn tcp(host: &str, port: u16) -> Upstream {
    Upstream::Tcp {
        host: host.into(),
        port,
    }
}

#[test]
fn a_scheme_says_port_and_encryption() {
    for (directive, upstreams, is_encrypted) in [
        ("reverse_proxy a", vec![tcp("a", 80)], false),
        ("reverse_proxy http://a", vec![tcp("a", 80)], false),
        ("reverse_proxy a:443", vec![tcp("a", 443)], false),
        ("reverse_proxy https://a", vec![tcp("a", 443)], true),
        (
            "reverse_proxy https://a:8443 {\nto https://[::1]\n}",
            vec![tcp("a", 8443), tcp("::1", 443)],
            true,
        ),
        // As in Caddy: the port comes from the scheme, not from the transport.
        (
            "reverse_proxy a b:8443 {\ntransport http {\ntls\n}\n}",
            vec![tcp("a", 80), tcp("b", 8443)],
            true,
        ),
        (
            "reverse_proxy unix//a.sock {\ntransport http {\ntls_server_name a.test\n}\n}",
            vec![Upstream::Unix("/a.sock".into())],
            true,
        ),
        (
            "forward_auth https://a {\nuri /\n}",
            vec![tcp("a", 443)],
            true,
        ),
    ] {
        let proxy = proxy(directive);
        assert_eq!(proxy.upstreams, upstreams, "{directive}");
        assert_eq!(proxy.tls.is_some(), is_encrypted, "{directive}");
    }
}

#[test]
fn options_of_encryption() {
    let tls = |options: &str| {
        proxy(&format!(
            "reverse_proxy a:8443 {{\ntransport http {{\n{options}\n}}\n}}"
        ))
        .tls
    };
    assert_eq!(tls("dial_timeout 1s"), None);
    assert_eq!(tls("tls"), Some(UpstreamTls::default()));
    let all = tls(
        "tls_server_name App.Example\ntls_trust_pool file a.pem b.pem {\npem_file c.pem\n}\n\
         tls_trusted_ca_certs d.pem\ntls_client_auth own.pem own.key\ntls_timeout 2s",
    );
    assert_eq!(
        all,
        Some(UpstreamTls {
            server_name: Some("app.example".into()),
            insecure: false,
            roots: ["a.pem", "b.pem", "c.pem", "d.pem"]
                .map(Into::into)
                .to_vec(),
            client: Some(CertificateFiles {
                certificate: "own.pem".into(),
                key: "own.key".into(),
            }),
            timeout: Some(Duration::from_secs(2)),
        })
    );
    assert!(tls("tls_insecure_skip_verify").is_some_and(|tls| tls.insecure));
}

#[test]
fn authorities_that_nobody_asks_are_a_warning() {
    let text = ":80 {\nreverse_proxy a {\ntransport http {\ntls_insecure_skip_verify\n\
                tls_trust_pool file a.pem\n}\n}\n}\n";
    let parsed = full(text).unwrap();
    let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "Caddyfile:3:1: `tls_insecure_skip_verify` takes any certificate, whatever authorities are named"
        ]
    );
}
