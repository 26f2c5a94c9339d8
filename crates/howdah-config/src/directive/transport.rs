//! `transport http`: how `reverse_proxy` connects to its upstreams.

use super::tls::trust_pool;
use super::upstream::DIAL_TIMEOUT;
use crate::https::options::{file, server_name};
use crate::model::{
    CertificateFiles, ProxyHeaderVersion, ReverseProxy, UpstreamTls, UpstreamVersions,
};
use crate::syntax::tree::Word;
use crate::table::value::{duration, optional_duration, unless_zero};
use crate::table::{Entry, Item, Table, bad_value, unsupported};

/// Names of the block of `transport http`.
pub(crate) const TRANSPORT: Table<ReverseProxy> = Table {
    kind: "option of `transport http`",
    items: &[
        Item::Supported(DIAL_TIMEOUT, |_, call, proxy| {
            proxy.dial_timeout = duration(call)?;
            Ok(())
        }),
        Item::Supported(
            Entry {
                name: "response_header_timeout",
                syntax: "response_header_timeout DURATION",
                default: "no limit",
                about: "How long an upstream may take to respond after it got the request; then the client gets a \
                    504. The time in which the client sends the body does not count.",
                differs: "",
                example: "response_header_timeout 30s",
            },
            |_, call, proxy| {
                proxy.response_header_timeout = unless_zero(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "read_timeout",
                syntax: "read_timeout DURATION",
                default: "no limit",
                about: "How long an upstream may send nothing while it responds. Before the header the client gets a \
                    504, afterwards the response is cut off. WebSockets have no such limit.",
                differs: "The time in which the client sends the body does not count.",
                example: "read_timeout 1m",
            },
            |_, call, proxy| {
                proxy.read_timeout = unless_zero(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "write_timeout",
                syntax: "write_timeout DURATION",
                default: "no limit",
                about: "How long an upstream may take to accept a part of the request; then the client gets a 504.",
                differs: "",
                example: "write_timeout 30s",
            },
            |_, call, proxy| {
                proxy.write_timeout = unless_zero(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "keepalive",
                syntax: "keepalive DURATION|off",
                default: "`2m`",
                about: "How long a connection to an upstream stays open without a request.",
                differs: "",
                example: "keepalive 30s",
            },
            |_, call, proxy| {
                proxy.keepalive = optional_duration(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls",
                syntax: "tls",
                default: "on if upstreams are `https://` or one of the other `tls_` options is here",
                about: "Connects to upstreams by HTTPS. Their certificates are checked, by the authorities \
                        that the system trusts unless `tls_trust_pool` names others, and requests have the \
                        upstream's address as their `Host`, as in Caddy since 2.11.",
                differs: "With a Unix socket the client's `Host` stays.",
                example: "tls",
            },
            |_, call, proxy| {
                call.arguments(0, 0)?;
                tls(proxy);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_server_name",
                syntax: "tls_server_name NAME",
                default: "the host of the upstream's address",
                about: "Upstream server name: sent as SNI, and the name that upstreams' certificates must match.",
                differs: "No placeholders.",
                example: "tls_server_name app.example.com",
            },
            |_, call, proxy| {
                tls(proxy).server_name = Some(server_name(call)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_insecure_skip_verify",
                syntax: "tls_insecure_skip_verify",
                default: "off",
                about: "Accepts any certificate: anyone on the network path can read and change everything. For \
                    tests only; `tls_trust_pool` is as easy.",
                differs: "",
                example: "tls_insecure_skip_verify",
            },
            |_, call, proxy| {
                call.arguments(0, 0)?;
                tls(proxy).insecure = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_trust_pool",
                syntax: "tls_trust_pool file PEM…",
                default: "the authorities that the system trusts",
                about: "PEM files with the authorities that issue the upstreams' certificates, or with the \
                    certificates themselves if they are self-signed (and `CA:FALSE`). Only these are trusted.",
                differs: "Only files.",
                example: "tls_trust_pool file upstream-ca.pem",
            },
            |_, call, proxy| {
                tls(proxy).roots.extend(trust_pool(call)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_trusted_ca_certs",
                syntax: "tls_trusted_ca_certs PEM…",
                default: "",
                about: "Older name of `tls_trust_pool file`.",
                differs: "",
                example: "tls_trusted_ca_certs upstream-ca.pem",
            },
            |_, call, proxy| {
                for word in call.arguments(1, usize::MAX)? {
                    tls(proxy).roots.push(file(word)?);
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_client_auth",
                syntax: "tls_client_auth CERT KEY",
                default: "no client certificate",
                about: "PEM files with the client certificate for upstreams that request one, and with its key. They \
                        are read with the configuration.",
                differs: "Not by the name of a host.",
                example: "tls_client_auth client.pem client-key.pem",
            },
            |_, call, proxy| {
                let [certificate, key] = call.arguments(1, 2)? else {
                    return Err(unsupported(
                        &call.arguments[0],
                        "write `tls_client_auth CERT KEY`, two files",
                    ));
                };
                tls(proxy).client = Some(CertificateFiles {
                    certificate: file(certificate)?,
                    key: file(key)?,
                });
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "tls_timeout",
                syntax: "tls_timeout DURATION",
                default: "as `dial_timeout`",
                about: "How long the TLS handshake may take.",
                differs: "Caddy has no limit by default.",
                example: "tls_timeout 5s",
            },
            |_, call, proxy| {
                tls(proxy).timeout = Some(duration(call)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "versions",
                syntax: "versions VERSION…",
                default: "`1.1`, and `h2c` with `h2c://`",
                about: "The versions of HTTP that may be used to upstreams. With `h2c` all requests to upstreams \
                    without TLS are HTTP/2 with prior knowledge; with `2`, and without `1.1`, all requests to upstreams \
                    with TLS are HTTP/2.",
                differs: "HTTP/1.1 is preferred if it is named along with `2`. Without it, an upstream with TLS must \
                    have HTTP/2. No HTTP/3.",
                example: "versions h2c 2",
            },
            |_, call, proxy| {
                let words = call.arguments(1, usize::MAX)?;
                let has = |version: &str| words.iter().any(|word| word.text == version);
                let wrong = |word: &&Word| !["1.1", "2", "h2c", "3"].contains(&word.text.as_str());
                if let Some(word) = words.iter().find(wrong) {
                    return Err(bad_value(
                        &word.position,
                        format!("`{}` is not a version of HTTP", word.text),
                        "write `1.1`, `2` or `h2c`",
                    ));
                }
                if words.iter().all(|word| word.text == "3") {
                    return Err(unsupported(&words[0], "add `1.1`, `2` or `h2c`"));
                }
                proxy.versions = UpstreamVersions {
                    http1: has("1.1"),
                    http2: has("2"),
                    h2c: has("h2c"),
                };
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "proxy_protocol",
                syntax: "proxy_protocol v1|v2",
                default: "off",
                about: "Connections start with the client's address in the PROXY protocol (behind trusted proxies, the \
                    address that they send), for upstreams that expect it. Each client has its own connections.",
                differs: "Connections of health checks name no client. Per front thread, connections of 100 clients are \
                    kept.",
                example: "proxy_protocol v2",
            },
            |_, call, proxy| {
                let word = &call.arguments(1, 1)?[0];
                proxy.proxy_protocol = Some(match word.text.as_str() {
                    "v1" => ProxyHeaderVersion::V1,
                    "v2" => ProxyHeaderVersion::V2,
                    text => {
                        return Err(bad_value(
                            &word.position,
                            format!("`{text}` is not a version of the PROXY protocol"),
                            "write `v1` or `v2`",
                        ));
                    }
                });
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "local_address",
                syntax: "local_address IP",
                default: "as the system chooses",
                about: "The address of this machine from which connections to upstreams are made.",
                differs: "No port, name or Unix socket.",
                example: "local_address 10.0.0.5",
            },
            |_, call, proxy| {
                let word = &call.arguments(1, 1)?[0];
                let address = word.text.parse().map_err(|_| {
                    bad_value(
                        &word.position,
                        format!("`{}` is not an IP address", word.text),
                        "write an address of this machine, without a port",
                    )
                })?;
                proxy.local_address = Some(address);
                Ok(())
            },
        ),
        Item::Unsupported("max_response_header", ""),
        Item::Unsupported("resolvers", ""),
        Item::Unsupported("tls_curves", "X25519, P-256 and P-384 are always on"),
        Item::Unsupported(
            "tls_renegotiation",
            "TLS is never renegotiated, as by default in Caddy",
        ),
        Item::Unsupported(
            "tls_except_ports",
            "give upstreams without TLS a `reverse_proxy` of their own",
        ),
        Item::Unsupported("network_proxy", "name the upstream itself"),
        Item::Unsupported(
            "max_conns_per_host",
            "each front thread has its own connections; `unhealthy_request_count` limits the requests in flight",
        ),
    ],
};

/// Each of its options enables TLS.
fn tls(proxy: &mut ReverseProxy) -> &mut UpstreamTls {
    proxy.tls.get_or_insert_default()
}
