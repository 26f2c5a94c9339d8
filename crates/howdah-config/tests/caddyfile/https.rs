//! HTTPS: encrypted addresses, their ports, their issuers, and redirects.

use std::time::Duration;

use crate::common::{config, errors};
use howdah_config::Config;
use howdah_config::model::{
    Acme, Alpn, CertificateFiles, CipherSuite, ClientAuth, Curve, ExternalAccount, Handler,
    INTERNAL_LIFETIME, Issuer, Placeholder, Redis, SiteTls, Source, TlsVersion, on_demand_source,
    source,
};

/// `host:port` of all sites, with `+` for HTTPS and an arrow for redirects.
fn listed(config: &Config) -> Vec<String> {
    let sites = config.sites.iter().flat_map(|site| {
        let redirects = site.routes.iter().any(
            |route| matches!(&route.handler, Handler::Redirect { status, .. } if *status == 308),
        );
        site.addresses.iter().map(move |address| {
            let host = address.host.as_deref().unwrap_or("*");
            let tls = if address.tls { "+" } else { "" };
            let arrow = if redirects { "->" } else { "" };
            format!("{host}:{}{tls}{arrow}", address.port)
        })
    });
    sites.collect()
}

#[test]
fn addresses_by_port_and_scheme() {
    for (text, expected) in [
        ("example.com", &["example.com:443+", "example.com:80->"][..]),
        (
            "https://example.com",
            &["example.com:443+", "example.com:80->"],
        ),
        ("http://example.com", &["example.com:80"]),
        ("example.com:80", &["example.com:80"]),
        (
            "example.com:8443",
            &["example.com:8443+", "example.com:80->"],
        ),
        (":8080", &["*:8080"]),
        (":80", &["*:80"]),
        (
            "localhost, 127.0.0.1",
            &[
                "localhost:443+",
                "127.0.0.1:443+",
                "localhost:80->",
                "127.0.0.1:80->",
            ],
        ),
        // A host on the HTTP port is configured by its site alone.
        ("a.test, http://a.test", &["a.test:443+", "a.test:80"]),
        (
            "a.test, http://b.test",
            &["a.test:443+", "b.test:80", "a.test:80->"],
        ),
        (
            "a.test {\n}\n:80 {\n}",
            &["a.test:443+", "*:80", "a.test:80->"],
        ),
        (":443 {\ntls c k\n}", &["*:443+", "*:80->"]),
        (":8443 {\ntls c k\n}", &["*:8443+", "*:80->"]),
        // One address on this port uses HTTPS, so all addresses on it do.
        (
            "a.test:9000 {\n}\n:9000 {\n}",
            &["a.test:9000+", "*:9000+", "a.test:80->", "*:80->"],
        ),
        ("https://localhost:0", &["localhost:0+"]),
        (
            "{\nhttp_port 8080\nhttps_port 8443\n}\na.test {\n}",
            &["a.test:8443+", "a.test:8080->"],
        ),
        (
            "{\nauto_https disable_redirects\n}\na.test {\n}",
            &["a.test:443+"],
        ),
        (
            "{\nauto_https off\n}\na.test {\ntls internal\n}",
            &["a.test:443+"],
        ),
        ("{\nauto_https off\n}\na.test:8080 {\n}", &["a.test:8080"]),
        ("{\nauto_https off\n}\n:80, :443 {\n}", &["*:80", "*:443"]),
        (
            "{\nauto_https off\n}\n:443 {\n}\na.test {\ntls internal\n}",
            &["*:443+", "a.test:443+"],
        ),
        // For the other addresses, no certificate is possible.
        (":443, :80, :8080 {\n}", &["*:80", "*:8080"]),
        (
            "{\nauto_https off\n}\nhttp://a.test, b.test, http://c.test {\n}",
            &["a.test:80", "c.test:80"],
        ),
        ("{\nauto_https disable_certs\n}\n:443, :80 {\n}", &["*:80"]),
        (
            "{\nauto_https disable_redirects\nauto_https off\n}\n:443 {\n}",
            &["*:443"],
        ),
        (
            "{\nauto_https off\nauto_https disable_redirects\n}\na.test {\n}",
            &["a.test:443+"],
        ),
        (
            "{\nauto_https disable_certs\n}\na.test {\ntls c k\n}",
            &["a.test:443+", "a.test:80->"],
        ),
    ] {
        assert_eq!(listed(&config(text)), expected, "{text}");
    }
}

#[test]
fn binds_are_distinguished() {
    let apart = "http://:9000 {\nbind 127.0.0.1\n}\na.test:9000 {\nbind 127.0.0.2\n}";
    assert_eq!(
        listed(&config(apart)),
        ["*:9000", "a.test:9000+", "a.test:80->"]
    );
    let together = apart.replace("bind 127.0.0.2", "");
    assert!(errors(&together)[0].contains("is served without encryption on a port that has HTTPS"));
    let redirect = config("a.test {\nbind 127.0.0.1\n}").sites[1].clone();
    assert_eq!(
        redirect.bind,
        ["127.0.0.1".parse::<std::net::IpAddr>().expect("valid")]
    );
}

#[test]
fn unix_sockets_are_apart_from_ports() {
    let sites = config(
        "http://a.test {\nbind unix//run/a.sock|0222 ::1 unix//run/b.sock unix//run/b.sock\n}\n\
         http://b.test:9000 {\nbind unix//run/a.sock|0222\n}\nb.test:9000\n",
    )
    .sites;
    let sockets = |site: usize| {
        let sockets = sites[site].unix_sockets.iter();
        let sockets = sockets.map(|one| (one.path.to_str().expect("text").to_owned(), one.mode));
        sockets.collect::<Vec<_>>()
    };
    let (a, b) = ("/run/a.sock".to_owned(), "/run/b.sock".to_owned());
    assert_eq!(sockets(0), [(a.clone(), 0o222), (b, 0o200)]);
    assert_eq!(sites[0].bind.len(), 1);
    assert_eq!((sockets(1), sites[1].bind.len()), (vec![(a, 0o222)], 0));
    // No site uses the port of the second one, so the third may use HTTPS there.
    assert!(sites[2].addresses[0].tls);

    for (text, message) in [
        (
            "a.test {\nbind unix//run/a.sock\n}",
            "1:1: the address `a.test` has HTTPS, which a Unix socket cannot have; write `http://a.test` in a separate site",
        ),
        (
            ":80 {\nbind unix//run/a.sock\n}\n:81 {\nbind unix//run/a.sock\n}",
            "4:1: the address `:81` is served twice on the Unix socket `/run/a.sock`; the other one is at Caddyfile:1:1",
        ),
        (
            ":80 {\nbind unix//run/a.sock\n}\nhttp://a.test {\nbind unix//run/a.sock|0222\n}",
            "4:1: the Unix socket `/run/a.sock` has the mode 0222 here; it is 0200 for the address at Caddyfile:1:1",
        ),
        (
            ":80 {\nbind unix//run/a.sock\n}\n:80 {\nbind unix//run/a.sock\n}",
            "4:1: the address `:80` is served twice; the other one is at Caddyfile:1:1",
        ),
    ] {
        assert_eq!(errors(text), [format!("Caddyfile:{message}")], "{text}");
    }
}

#[test]
fn redirects_name_the_port_only_if_it_is_not_the_usual_one() {
    for (text, port) in [
        ("a.test", None),
        ("a.test:8443", Some(":8443")),
        ("{\nhttps_port 8443\n}\na.test {\n}", None),
    ] {
        let config = config(text);
        let Handler::Redirect { to, .. } = &config.sites[1].routes[0].handler else {
            panic!("a redirect: {config:?}")
        };
        let shown: Vec<_> = to
            .parts
            .iter()
            .map(|part| match part {
                howdah_config::model::Part::Text(text) => text.as_str(),
                howdah_config::model::Part::Placeholder(Placeholder::Host) => "{host}",
                howdah_config::model::Part::Placeholder(Placeholder::OrigUri) => "{uri}",
                howdah_config::model::Part::Placeholder(_) => "?",
            })
            .collect();
        let expected = ["https://", "{host}", port.unwrap_or_default(), "{uri}"].concat();
        assert_eq!(shown.concat(), expected, "{text}");
    }
}

#[test]
fn tls_of_a_site() {
    let tls = |text: &str| {
        config(&format!("a.example {{\n{text}\n}}")).sites[0]
            .tls
            .clone()
    };
    let files = CertificateFiles {
        certificate: "c.pem".into(),
        key: "k.pem".into(),
    };
    assert_eq!(tls(""), SiteTls::default());
    assert_eq!(tls("tls"), SiteTls::default());
    assert_eq!(tls("tls c.pem k.pem").files, Some(files));
    assert_eq!(tls("tls internal").issuer, Some(Issuer::internal()));
    let acme = |acme: Acme| Some(Issuer::Acme(acme));
    let email = Some("a@b.example".to_owned());
    assert_eq!(
        tls("tls a@b.example").issuer,
        acme(Acme {
            email: email.clone(),
            ..Acme::default()
        })
    );
    assert_eq!(
        tls("tls a@b.example {\nca https://ca.example/dir\nca_root r.pem\neab id a2V5\n}").issuer,
        acme(Acme {
            directory: Some("https://ca.example/dir".into()),
            root: Some("r.pem".into()),
            eab: Some(ExternalAccount {
                key_id: "id".into(),
                mac_key: "a2V5".into(),
            }),
            email,
            ..Acme::default()
        })
    );
    assert_eq!(
        tls("tls {\nissuer acme {\ndir https://ca.example/dir\ndisable_http_challenge\n}\n}")
            .issuer,
        acme(Acme {
            directory: Some("https://ca.example/dir".into()),
            no_http: true,
            ..Acme::default()
        })
    );
    let all = tls(
        "tls {\nprotocols tls1.2 tls1.2\nciphers TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\ncurves x25519mlkem768 secp384r1 x25519\nalpn http/1.1\n\
         client_auth {\nmode verify_if_given\ntrusted_ca_cert_file a.pem\ntrust_pool file b.pem {\npem_file c.pem\n}\n}\n}",
    );
    assert_eq!(
        all,
        SiteTls {
            min_version: TlsVersion::Tls12,
            no_tls13: true,
            ciphers: vec![CipherSuite::EcdheRsaAes128],
            curves: vec![Curve::Secp384r1, Curve::X25519],
            alpn: Some(vec![Alpn::Http1]),
            client_auth: Some(ClientAuth {
                roots: vec!["a.pem".into(), "b.pem".into(), "c.pem".into()],
                optional: true,
            }),
            ..SiteTls::default()
        }
    );
}

#[test]
fn global_options_are_the_defaults_of_sites() {
    let text = "{\nemail a@b.example\nacme_ca https://ca.example/dir\nacme_ca_root r.pem\ndefault_sni A.example\n\
                fallback_sni b.example\nstorage file_system /data\nacme_eab {\nkey_id id\nmac_key a2V5\n}\n}\n\
                a.example {\n}\nb.example {\ntls c@d.example\n}\nc.example {\ntls {\nca https://other.example/dir\n}\n}";
    let config = config(text);
    let https = &config.global.https;
    assert_eq!(https.default_sni.as_deref(), Some("a.example"));
    assert_eq!(https.fallback_sni.as_deref(), Some("b.example"));
    assert_eq!(https.storage.as_deref(), Some("/data".as_ref()));
    let of = |index: usize| {
        let site = &config.sites[index];
        match source(site.addresses[0].host.as_deref(), &site.tls, https) {
            Ok(Source::Acme(acme)) => acme.clone(),
            other => panic!("{other:?}"),
        }
    };
    let whole = Acme {
        directory: Some("https://ca.example/dir".into()),
        root: Some("r.pem".into()),
        email: Some("a@b.example".into()),
        eab: Some(ExternalAccount {
            key_id: "id".into(),
            mac_key: "a2V5".into(),
        }),
        ..Acme::default()
    };
    assert_eq!(of(0), whole);
    assert_eq!(
        of(1),
        Acme {
            email: Some("c@d.example".into()),
            ..whole
        }
    );
    // A different authority has a different root certificate and account.
    let other = Acme {
        directory: Some("https://other.example/dir".into()),
        email: Some("a@b.example".into()),
        ..Acme::default()
    };
    assert_eq!(of(2), other);
    let local = self::config("{\nlocal_certs\nskip_install_trust\n}\na.example {\n}");
    let site = &local.sites[0];
    let found = source(Some("a.example"), &site.tls, &local.global.https);
    assert_eq!(found, Ok(Source::Internal(INTERNAL_LIFETIME)));
}

#[test]
fn mistakes_are_reported() {
    for (text, expected) in [
        (
            "a.example {\ntls x\n}",
            "2:5: `x` is neither `internal` nor a mail address; write `tls CERT KEY`, `tls internal` or `tls admin@example.com`",
        ),
        (
            "a.example {\ntls internal\ntls c k\n}",
            "3:1: `tls` is given twice; put all of it in one `tls CERT KEY { … }`",
        ),
        (
            "a.example {\ntls c k {\nissuer internal\n}\n}",
            "2:1: the certificate is given, and an issuer too; remove one of them",
        ),
        (
            "a.example {\ntls internal {\nca https://ca.example/dir\n}\n}",
            "2:1: `ca`, `ca_root` and `eab` are for `tls` without an issuer; remove one of them",
        ),
        (
            "a.example {\ntls {\nprotocols tls1.1\n}\n}",
            "3:11: `tls1.1` is not a supported version of TLS; write `tls1.2` or `tls1.3`; older ones are broken",
        ),
        (
            "a.example {\ntls {\nprotocols tls1.3 tls1.2\n}\n}",
            "3:18: the newest version is older than the oldest; write `protocols tls1.2 tls1.3`",
        ),
        (
            "a.example {\ntls {\ncurves secp521r1\n}\n}",
            "3:8: no curve is left; add `x25519`, `secp256r1` or `secp384r1`",
        ),
        (
            "a.example {\ntls {\ncurves p256\n}\n}",
            "3:8: unknown curve `p256`; write `x25519`, `secp256r1` or `secp384r1`",
        ),
        (
            "a.example {\ntls {\nciphers TLS_RSA_WITH_AES_128_CBC_SHA\n}\n}",
            "3:9: unknown cipher suite `TLS_RSA_WITH_AES_128_CBC_SHA`; the list is in the reference; without `ciphers` all secure ones are on",
        ),
        (
            "a.example {\ntls {\nclient_auth {\nmode verify_if_given\n}\n}\n}",
            "3:1: `client_auth` has no trusted certificates; add `trusted_ca_cert_file FILE`",
        ),
        (
            "a.example {\ntls {\nclient_auth {\nmode request\ntrusted_ca_cert_file a.pem\n}\n}\n}",
            "4:6: `request` is not supported in this version; an unverified certificate proves nothing; write \
            `verify_if_given` or `require_and_verify`",
        ),
        (
            "a.example {\ntls {\nissuer internal {\nlifetime 10s\n}\n}\n}",
            "4:10: `10s` is not a lifetime here; give a duration from `1m` to `5d`",
        ),
        (
            "a.example {\ntls {\nissuer acme {\ndisable_http_challenge\ndisable_tlsalpn_challenge\n}\n}\n}",
            "3:1: both challenges are disabled; enable one of them",
        ),
        (
            "a.example {\ntls {\nprotocls tls1.3\n}\n}",
            "3:1: unknown subdirective of `tls` `protocls`; did you mean `protocols`?",
        ),
        (
            "https:// {\ntls {\non_demand\n}\n}",
            "1:1: no certificate is possible for the address `https://`: with `on_demand`, clients could request a certificate for any name; add an `ask` endpoint in the global options: `on_demand_tls { ask URL }`",
        ),
        (
            "a.example {\ntls a.pem a.key {\non_demand\n}\n}",
            "2:1: the certificate is given, and `on_demand` too; remove one of them",
        ),
        (
            "{\non_demand_tls {\nask localhost/ask\n}\n}\n:80 {\n}",
            "3:5: `localhost/ask` is not a valid URL of an `ask` endpoint; write for example `http://localhost:8000/is-a-shop`",
        ),
        (
            "{\non_demand_tls {\npermission tailscale a\n}\n}\n:80 {\n}",
            "3:12: `tailscale` is not supported in this version; write `ask URL`",
        ),
        (
            "{\non_demand_tls {\ninterval 2m\n}\n}\n:80 {\n}",
            "3:1: `interval` is not supported in this version; the `ask` endpoint decides how often",
        ),
        (
            "a.example {\nhandle {\ntls internal\n}\n}",
            "3:1: `tls` is inside of another directive; put it directly in the block of the site",
        ),
        (
            "{\nauto_https maybe\n}\n:80 {\n}",
            "2:12: `maybe` is not a value of `auto_https`; write `off`, `disable_redirects` or `disable_certs`",
        ),
        (
            "{\nacme_ca http://ca.example/dir\n}\n:80 {\n}",
            "2:9: `http://ca.example/dir` is not the URL of an ACME directory; write for example `https://acme-staging-v02.api.letsencrypt.org/directory`",
        ),
        (
            "{\nemail nobody\n}\n:80 {\n}",
            "2:7: `nobody` is not a mail address; write for example `admin@example.com`",
        ),
        (
            "{\nstorage s3\n}\n:80 {\n}",
            "2:9: `s3` is not supported in this version; write `storage file_system PATH` or `storage redis { … }`",
        ),
    ] {
        assert_eq!(errors(text), [format!("Caddyfile:{expected}")], "{text}");
    }
}

#[test]
fn certificates_on_demand() {
    let asked = "{\non_demand_tls {\nask http://localhost:8000/ask?a=1\n}\n}\n";
    let on_demand = "tls {\non_demand\n}";
    let found = config(&format!("{asked}https:// {{\n{on_demand}\n}}"));
    let https = &found.global.https;
    assert_eq!(https.ask.as_deref(), Some("http://localhost:8000/ask?a=1"));
    let tls = &found.sites[0].tls;
    assert_eq!(source(None, tls, https), Ok(Source::OnDemand));
    // Each name is treated as if it were in the configuration.
    assert_eq!(
        on_demand_source("a.example", tls, https),
        Ok(Source::Acme(&https.acme))
    );
    let internal = Ok(Source::Internal(INTERNAL_LIFETIME));
    assert_eq!(on_demand_source("a.test", tls, https), internal);
    // Plain requests for any name are redirected, as for configured names.
    let redirect = &found.sites[1].addresses[0];
    assert_eq!(
        (&redirect.host, redirect.port, redirect.tls),
        (&None, 80, false)
    );

    // Names in the configuration, and the built-in authority, need no `ask` endpoint.
    for text in [
        format!("a.example {{\n{on_demand}\n}}"),
        "https://*.a.example {\ntls internal {\non_demand\n}\n}".to_owned(),
        format!("{{\nlocal_certs\n}}\nhttps:// {{\n{on_demand}\n}}"),
    ] {
        let found = config(&text);
        let (site, https) = (&found.sites[0], &found.global.https);
        let host = site.addresses[0].host.as_deref();
        assert_eq!(
            source(host, &site.tls, https),
            Ok(Source::OnDemand),
            "{text}"
        );
    }
    let other = "{\non_demand_tls {\npermission http https://a.example/ask\n}\n}\n";
    let found = config(&format!("{other}https://*.a.example {{\n{on_demand}\n}}"));
    assert_eq!(
        found.global.https.ask.as_deref(),
        Some("https://a.example/ask")
    );
}

#[test]
fn storage_in_redis() {
    let https = |block: &str| {
        let text = format!("{{\nstorage redis {block}\n}}\na.example {{\n}}");
        config(&text).global.https
    };
    assert_eq!(https("").redis, Some(Redis::default()));
    let all = "{\nhost ignored\nport 1\naddress [::1]:6380\nusername howdah\npassword \"open sesame\"\ndb 3\n\
               key_prefix shop/tls\ntimeout 3\ntls_enabled true\ntls_server_certs_path r.pem\nroot /copies\n}";
    let found = https(all);
    assert_eq!(
        found.redis,
        Some(Redis {
            host: "::1".into(),
            port: 6380,
            username: Some("howdah".into()),
            password: Some("open sesame".into()),
            db: 3,
            key_prefix: "shop/tls".into(),
            timeout: Duration::from_secs(3),
            tls: true,
            tls_roots: Some("r.pem".into()),
        })
    );
    assert_eq!(found.storage.as_deref(), Some("/copies".as_ref()));
    // An empty variable.
    assert_eq!(https("{\npassword \"\"\n}").redis, Some(Redis::default()));
    let named = https("{\nhost redis.internal\nport 7000\ntimeout 1m\n}");
    let named = named.redis.expect("given");
    assert_eq!((named.host.as_str(), named.port), ("redis.internal", 7000));
    assert_eq!(named.timeout, Duration::from_secs(60));

    for (block, expected) in [
        ("cluster {\n}", "`cluster` is not supported"),
        ("{\naddress redis\n}", "`redis` has no port"),
        ("{\naddress ::1:6379\n}", "in brackets"),
        ("{\nhost a b\n}", "takes 1 argument"),
        ("{\nhost a/b\n}", "is not a host"),
        ("{\nusername a\n}", "`username` needs `password`"),
        ("{\npassword {http.X}\n}", "placeholder"),
        ("{\nkey_prefix a/\n}", "not a prefix"),
        ("{\nkey_prefix a/../b\n}", "not a prefix"),
        ("{\ntls_enabled\n}", "takes 1 argument"),
        ("{\ntls_enabled yes\n}", "neither `true` nor `false`"),
        ("{\ntls_insecure true\n}", "`tls_insecure` is not supported"),
        (
            "{\ntls_server_certs_path r.pem\n}",
            "needs `tls_enabled true`",
        ),
        ("{\ntimeout 2h\n}", "longer than a minute"),
        ("{\ndb -1\n}", "not a whole number"),
    ] {
        let text = format!("{{\nstorage redis {block}\n}}\na.example {{\n}}");
        let found = errors(&text);
        assert!(found[0].contains(expected), "{block}: {found:?}");
    }
}
