//! `tls`: how a site is encrypted.

use std::path::PathBuf;
use std::time::Duration;

use super::only_in_site;
use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::https::options::{directory, eab, email, file};
use crate::model::{
    Acme, Alpn, CertificateFiles, CipherSuite, ClientAuth, Curve, INTERNAL_LIFETIME, Issuer,
    SiteTls, TlsVersion,
};
use crate::syntax::tree::Word;
use crate::table::value::duration;
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

/// A `tls` directive as written; `issuer` and the global options are merged at its end.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    tls: SiteTls,
    /// `ca`, `ca_root` and `eab`, for a `tls` without `issuer`.
    acme: Acme,
    asks_acme: bool,
    /// `tls EMAIL`.
    email: Option<String>,
}

const DNS: &str = "the DNS challenge is not part of this version; use `tls CERT KEY`";

/// Names of the block of `tls`.
pub(crate) const TLS: Table<Draft> = Table {
    kind: "subdirective of `tls`",
    items: &[
        Item::Supported(
            Entry {
                name: "protocols",
                syntax: "protocols MIN [MAX]",
                default: "`tls1.2 tls1.3`",
                about: "The oldest and the newest supported version of TLS.",
                differs: "",
                example: "protocols tls1.3",
            },
            |_, call, draft| {
                let words = call.arguments(1, 2)?;
                draft.tls.min_version = version(&words[0])?;
                if let Some(max) = words.get(1) {
                    let newest = version(max)?;
                    if newest < draft.tls.min_version {
                        return Err(bad_value(
                            &max.position,
                            "the newest version is older than the oldest".into(),
                            "write `protocols tls1.2 tls1.3`",
                        ));
                    }
                    draft.tls.no_tls13 = newest == TlsVersion::Tls12;
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "ciphers",
                syntax: "ciphers SUITE…",
                default: "all of these",
                about: "Cipher suites of TLS 1.2, in order of preference: \
                        `TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384`, \
                        `TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256`, \
                        `TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256`, and the same with `RSA` instead of `ECDSA`. \
                        Those of TLS 1.3 are always on.",
                differs: "No suite without forward secrecy or with CBC.",
                example: "ciphers TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            },
            |_, call, draft| {
                for word in call.arguments(1, usize::MAX)? {
                    draft.tls.ciphers.push(suite(word)?);
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "curves",
                syntax: "curves CURVE…",
                default: "`x25519 secp256r1 secp384r1`",
                about: "Elliptic curves of the key exchange, in order of preference.",
                differs: "`secp521r1` and `x25519mlkem768` are left out with a warning; one of the others is needed.",
                example: "curves x25519 secp384r1",
            },
            |cx, call, draft| {
                let words = call.arguments(1, usize::MAX)?;
                for word in words {
                    match curve(word)? {
                        Some(curve) => draft.tls.curves.push(curve),
                        None => cx.warn(
                            &word.position,
                            format!("the curve `{}` is not offered by this version", word.text),
                        ),
                    }
                }
                if draft.tls.curves.is_empty() {
                    return Err(bad_value(
                        &words[0].position,
                        "no curve is left".into(),
                        "add `x25519`, `secp256r1` or `secp384r1`",
                    ));
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "alpn",
                syntax: "alpn PROTOCOL…",
                default: "`h2 http/1.1`",
                about: "The protocols that are offered in the TLS handshake, in order of preference.",
                differs: "",
                example: "alpn http/1.1",
            },
            |_, call, draft| {
                let read = |word: &Word| match word.text.as_str() {
                    "h2" => Ok(Alpn::Http2),
                    "http/1.1" => Ok(Alpn::Http1),
                    other => Err(bad_value(
                        &word.position,
                        format!("`{other}` is not a protocol of this server"),
                        "write `alpn h2 http/1.1`",
                    )),
                };
                let words = call.arguments(1, usize::MAX)?.iter();
                draft.tls.alpn = Some(words.map(read).collect::<Result<_, _>>()?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "client_auth",
                syntax: "client_auth { … }",
                default: "no client certificates",
                about: "Requests certificates from clients. A request whose `Host` differs from the server name of \
                    its connection then gets a 421.",
                differs: "",
                example: "client_auth {\n\ttrusted_ca_cert_file clients.pem\n}",
            },
            |cx, call, draft| {
                call.count(0, 0)?;
                let mut auth = ClientAuthDraft::default();
                let wrong = cx.errors.len();
                cx.read(&CLIENT_AUTH, call.block()?, &mut auth);
                if auth.roots.is_empty() && cx.errors.len() == wrong {
                    return Err(call.error(
                        ErrorKind::Arguments,
                        "`client_auth` has no trusted certificates".into(),
                        "add `trusted_ca_cert_file FILE`",
                    ));
                }
                draft.tls.client_auth = Some(ClientAuth {
                    roots: auth.roots,
                    optional: auth.optional,
                });
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "issuer",
                syntax: "issuer internal|acme [DIRECTORY] [{ … }]",
                default: "`internal` for local names, else `acme`",
                about: "Who issues the certificate: this server's own authority, or one that speaks \
                        ACME.",
                differs: "One issuer, and not `zerossl`, which is `issuer acme` with its directory and \
                          `eab`.",
                example: "issuer internal {\n\tlifetime 1d\n}",
            },
            issuer,
        ),
        Item::Supported(
            Entry {
                name: "ca",
                syntax: "ca DIRECTORY",
                default: "the global option `acme_ca`",
                about: "The URL of the ACME directory.",
                differs: "",
                example: "ca https://acme-staging-v02.api.letsencrypt.org/directory",
            },
            |_, call, draft| {
                draft.acme.directory = Some(directory(call.one()?)?);
                draft.asks_acme = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "ca_root",
                syntax: "ca_root FILE",
                default: "the global option `acme_ca_root`",
                about: "A PEM file with the root certificate that the ACME server's own certificate is verified with.",
                differs: "",
                example: "ca_root ca.pem",
            },
            |_, call, draft| {
                draft.acme.root = Some(file(call.one()?)?);
                draft.asks_acme = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "eab",
                syntax: "eab KEY_ID MAC_KEY",
                default: "",
                about: "The external account binding that some authorities require.",
                differs: "",
                example: "eab kid-1 zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W",
            },
            |_, call, draft| {
                let words = call.arguments(2, 2)?;
                draft.acme.eab = Some(eab(&words[0], &words[1])?);
                draft.asks_acme = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "on_demand",
                syntax: "on_demand",
                default: "certificates are obtained in advance",
                about: "Obtains the certificate of a name during the first handshake for it, which waits. For sites \
                    whose names are not known in advance, `https://` and `https://*.example.com`: each name that \
                    clients request gets a certificate, if `on_demand_tls` allows it.",
                differs: "A name without a handshake for a day is forgotten until the next one, and permission is \
                    checked again at least every six hours. HTTP/3 obtains no certificates, but uses existing ones; \
                    they have no OCSP.",
                example: "on_demand",
            },
            |_, call, draft| {
                draft.tls.on_demand = true;
                call.arguments(0, 0).map(drop)
            },
        ),
        Item::Unsupported("load", "give each pair of files with `tls CERT KEY`"),
        Item::Unsupported("dns", DNS),
        Item::Unsupported("dns_ttl", DNS),
        Item::Unsupported("dns_challenge_override_domain", DNS),
        Item::Unsupported("propagation_delay", DNS),
        Item::Unsupported("propagation_timeout", DNS),
        Item::Unsupported("resolvers", DNS),
        Item::Unsupported(
            "get_certificate",
            "write `tls CERT KEY`, whose files are read again at a reload, or `on_demand`",
        ),
        Item::Unsupported("reuse_private_keys", "each certificate has a new key"),
        Item::Unsupported(
            "renewal_window_ratio",
            "a certificate is renewed after two thirds of its life",
        ),
        Item::Unsupported(
            "insecure_secrets_log",
            "keys of connections are not written",
        ),
    ],
};

/// `client_auth` while it is read.
#[derive(Debug, Default)]
pub(crate) struct ClientAuthDraft {
    roots: Vec<PathBuf>,
    optional: bool,
}

const LEAF: &str = "name the authority that issued them: `trusted_ca_cert_file FILE`";

/// Names of the block of `client_auth`.
pub(crate) const CLIENT_AUTH: Table<ClientAuthDraft> = Table {
    kind: "option of `client_auth`",
    items: &[
        Item::Supported(
            Entry {
                name: "mode",
                syntax: "mode require_and_verify|verify_if_given",
                default: "`require_and_verify`",
                about: "Whether a client needs a certificate. An invalid one is always refused.",
                differs: "No `request` and `require`, which accept unverified certificates.",
                example: "mode verify_if_given",
            },
            |_, call, auth| {
                let word = call.one()?;
                auth.optional = match word.text.as_str() {
                    "require_and_verify" => false,
                    "verify_if_given" => true,
                    "request" | "require" => {
                        return Err(unsupported(
                            word,
                            "an unverified certificate proves nothing; write `verify_if_given` or \
                            `require_and_verify`",
                        ));
                    }
                    other => {
                        return Err(bad_value(
                            &word.position,
                            format!("`{other}` is not a mode"),
                            "write `verify_if_given` or `require_and_verify`",
                        ));
                    }
                };
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "trusted_ca_cert_file",
                syntax: "trusted_ca_cert_file FILE",
                default: "",
                about: "A PEM file with trusted authorities. May be given several times.",
                differs: "",
                example: "trusted_ca_cert_file clients.pem",
            },
            |_, call, auth| {
                auth.roots.push(file(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "trust_pool",
                syntax: "trust_pool file FILE…",
                default: "",
                about: "Same as `trusted_ca_cert_file` for each of the files.",
                differs: "Only files.",
                example: "trust_pool file clients.pem",
            },
            |_, call, auth| {
                auth.roots.extend(trust_pool(call)?);
                Ok(())
            },
        ),
        Item::Unsupported("trusted_ca_cert", "write `trusted_ca_cert_file FILE`"),
        Item::Unsupported("trusted_leaf_cert", LEAF),
        Item::Unsupported("trusted_leaf_cert_file", LEAF),
        Item::Unsupported("verifier", LEAF),
    ],
};

/// `file FILE… { pem_file FILE… }`, of `trust_pool` and `tls_trust_pool`.
pub(super) fn trust_pool(call: &Call<'_>) -> Result<Vec<PathBuf>, Error> {
    let name = call.entry.name;
    let hint = format!("write `{name} file FILE`");
    let words = call.count(1, usize::MAX)?;
    if words[0].text != "file" {
        return Err(unsupported(&words[0], &hint));
    }
    let mut files: Vec<&Word> = words[1..].iter().collect();
    for statement in call.block.unwrap_or_default() {
        if statement.name.text != "pem_file" {
            return Err(unsupported(&statement.name, "write `pem_file FILE`"));
        }
        files.extend(&statement.arguments);
    }
    if files.is_empty() {
        return Err(call.error(
            ErrorKind::Arguments,
            format!("`{name} file` needs a file"),
            hint,
        ));
    }
    files.into_iter().map(file).collect()
}

/// Names of the block of `issuer internal`.
pub(crate) const INTERNAL: Table<Duration> = Table {
    kind: "option of `issuer internal`",
    items: &[
        Item::Supported(
            Entry {
                name: "lifetime",
                syntax: "lifetime DURATION",
                default: "`12h`",
                about: "How long a certificate is valid, from a minute to five days.",
                differs: "",
                example: "lifetime 1d",
            },
            |_, call, lifetime| {
                *lifetime = duration(call)?;
                let limits = Duration::from_secs(60)..=Duration::from_secs(5 * 86_400);
                if !limits.contains(lifetime) {
                    return Err(bad_value(
                        &call.arguments[0].position,
                        format!("`{}` is not a lifetime here", call.arguments[0].text),
                        "give a duration from `1m` to `5d`",
                    ));
                }
                Ok(())
            },
        ),
        Item::Unsupported("ca", "there is one internal authority"),
        Item::Unsupported("sign_with_root", ""),
    ],
};

/// Names of the block of `issuer acme`.
pub(crate) const ACME: Table<Acme> = Table {
    kind: "option of `issuer acme`",
    items: &[
        Item::Supported(
            Entry {
                name: "dir",
                syntax: "dir DIRECTORY",
                default: "the global option `acme_ca`",
                about: "The URL of the ACME directory.",
                differs: "",
                example: "dir https://acme-staging-v02.api.letsencrypt.org/directory",
            },
            |_, call, acme| {
                acme.directory = Some(directory(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "email",
                syntax: "email ADDRESS",
                default: "the global option `email`",
                about: "Email address for notices of the authority.",
                differs: "",
                example: "email admin@example.com",
            },
            |_, call, acme| {
                acme.email = Some(email(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "trusted_roots",
                syntax: "trusted_roots FILE",
                default: "the global option `acme_ca_root`",
                about: "A PEM file with the root certificate that the ACME server's own certificate is verified with.",
                differs: "One file.",
                example: "trusted_roots ca.pem",
            },
            |_, call, acme| {
                acme.root = Some(file(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "eab",
                syntax: "eab KEY_ID MAC_KEY",
                default: "",
                about: "The external account binding that some authorities require.",
                differs: "",
                example: "eab kid-1 zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W",
            },
            |_, call, acme| {
                let words = call.arguments(2, 2)?;
                acme.eab = Some(eab(&words[0], &words[1])?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "disable_http_challenge",
                syntax: "disable_http_challenge",
                default: "off",
                about: "Does not use the HTTP challenge, a request of the authority to the HTTP port.",
                differs: "",
                example: "disable_http_challenge",
            },
            |_, call, acme| {
                acme.no_http = true;
                call.arguments(0, 0).map(drop)
            },
        ),
        Item::Supported(
            Entry {
                name: "disable_tlsalpn_challenge",
                syntax: "disable_tlsalpn_challenge",
                default: "off",
                about: "Does not use the TLS-ALPN challenge, a connection of the authority to the HTTPS port.",
                differs: "",
                example: "disable_tlsalpn_challenge",
            },
            |_, call, acme| {
                acme.no_tls_alpn = true;
                call.arguments(0, 0).map(drop)
            },
        ),
        Item::Supported(
            Entry {
                name: "profile",
                syntax: "profile NAME",
                default: "the authority's default",
                about: "The certificate profile to request, as the authority names it: Let's Encrypt has \
                        `classic`, `tlsserver` and `shortlived`.",
                differs: "",
                example: "profile tlsserver",
            },
            |_, call, acme| {
                acme.profile = Some(call.one()?.text.clone());
                Ok(())
            },
        ),
        Item::Unsupported("test_dir", ""),
        Item::Unsupported("timeout", ""),
        Item::Unsupported("alt_http_port", ""),
        Item::Unsupported("alt_tlsalpn_port", ""),
        Item::Unsupported("dns", DNS),
        Item::Unsupported("propagation_delay", DNS),
        Item::Unsupported("propagation_timeout", DNS),
        Item::Unsupported("resolvers", DNS),
        Item::Unsupported("dns_ttl", DNS),
        Item::Unsupported("dns_challenge_override_domain", DNS),
    ],
};

/// The directive itself.
pub(super) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let Some(site) = &mut scope.site else {
        return Err(only_in_site(call));
    };
    if site.tls.is_some() {
        return Err(call.error(
            ErrorKind::Conflict,
            "`tls` is given twice".into(),
            "put all of it in one `tls CERT KEY { … }`",
        ));
    }
    // An invalid one is stored, so that the site's address causes no second error.
    let mut draft = Draft::default();
    let result = arguments(cx, call, &mut draft);
    let given = draft.tls.files.is_some();
    let conflict = if draft.tls.issuer.is_some() && draft.asks_acme {
        Some("`ca`, `ca_root` and `eab` are for `tls` without an issuer")
    } else if given && (draft.tls.issuer.is_some() || draft.asks_acme) {
        Some("the certificate is given, and an issuer too")
    } else if given && draft.tls.on_demand {
        Some("the certificate is given, and `on_demand` too")
    } else {
        None
    };
    if draft.tls.issuer.is_none() && (draft.asks_acme || draft.email.is_some()) {
        draft.tls.issuer = Some(Issuer::Acme(draft.acme));
    }
    if let Some(Issuer::Acme(acme)) = &mut draft.tls.issuer {
        acme.email = acme.email.take().or(draft.email);
        inherit(acme, &cx.https.acme);
    }
    site.tls = Some(draft.tls);
    result?;
    if let Some(message) = conflict {
        return Err(call.error(ErrorKind::Conflict, message.into(), "remove one of them"));
    }
    Ok(())
}

fn arguments(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    match call.count(0, 2)? {
        [certificate, key] => {
            draft.tls.files = Some(CertificateFiles {
                certificate: file(certificate)?,
                key: file(key)?,
            });
        }
        [word] if word.text == "internal" => draft.tls.issuer = Some(Issuer::internal()),
        [word] if word.text.contains('@') => {
            draft.email = Some(email(word)?);
        }
        [word] if word.text == "force_automate" => return Err(unsupported(word, "")),
        [word] => {
            return Err(bad_value(
                &word.position,
                format!("`{}` is neither `internal` nor a mail address", word.text),
                "write `tls CERT KEY`, `tls internal` or `tls admin@example.com`",
            ));
        }
        _ => {}
    }
    cx.read(&TLS, call.block.unwrap_or_default(), draft);
    Ok(())
}

fn issuer(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let words = call.count(1, 2)?;
    if draft.tls.issuer.is_some() {
        return Err(call.error(
            ErrorKind::Conflict,
            "there is an issuer already".into(),
            "remove one of them",
        ));
    }
    let block = call.block.unwrap_or_default();
    match (words[0].text.as_str(), words.get(1)) {
        ("internal", None) => {
            let mut lifetime = INTERNAL_LIFETIME;
            cx.read(&INTERNAL, block, &mut lifetime);
            draft.tls.issuer = Some(Issuer::Internal { lifetime });
        }
        ("internal", Some(extra)) => {
            return Err(bad_value(
                &extra.position,
                "`issuer internal` takes no argument".into(),
                "write `issuer internal`",
            ));
        }
        ("acme", url) => {
            let mut acme = Acme {
                directory: url.map(directory).transpose()?,
                ..Acme::default()
            };
            cx.read(&ACME, block, &mut acme);
            if acme.no_http && acme.no_tls_alpn {
                return Err(call.error(
                    ErrorKind::Conflict,
                    "both challenges are disabled".into(),
                    "enable one of them",
                ));
            }
            draft.tls.issuer = Some(Issuer::Acme(acme));
        }
        ("zerossl", _) => {
            return Err(unsupported(
                &words[0],
                "write `issuer acme https://acme.zerossl.com/v2/DV90` with `eab KEY_ID MAC_KEY`",
            ));
        }
        (other, _) => {
            return Err(bad_value(
                &words[0].position,
                format!("`{other}` is not an issuer"),
                "write `issuer internal` or `issuer acme`",
            ));
        }
    }
    Ok(())
}

/// Completes `acme` with the global options.
fn inherit(acme: &mut Acme, global: &Acme) {
    if acme.directory.is_none() {
        // Root and account binding belong to the authority.
        acme.directory.clone_from(&global.directory);
        acme.root = acme.root.take().or_else(|| global.root.clone());
        acme.eab = acme.eab.take().or_else(|| global.eab.clone());
    }
    acme.email = acme.email.take().or_else(|| global.email.clone());
}

fn version(word: &Word) -> Result<TlsVersion, Error> {
    match word.text.as_str() {
        "tls1.2" => Ok(TlsVersion::Tls12),
        "tls1.3" => Ok(TlsVersion::Tls13),
        other => Err(bad_value(
            &word.position,
            format!("`{other}` is not a supported version of TLS"),
            "write `tls1.2` or `tls1.3`; older ones are broken",
        )),
    }
}

/// `None`: a secure one that this server lacks.
fn curve(word: &Word) -> Result<Option<Curve>, Error> {
    Ok(Some(match word.text.as_str() {
        "x25519" => Curve::X25519,
        "secp256r1" => Curve::Secp256r1,
        "secp384r1" => Curve::Secp384r1,
        "secp521r1" | "x25519mlkem768" => return Ok(None),
        other => {
            return Err(bad_value(
                &word.position,
                format!("unknown curve `{other}`"),
                "write `x25519`, `secp256r1` or `secp384r1`",
            ));
        }
    }))
}

fn suite(word: &Word) -> Result<CipherSuite, Error> {
    Ok(match word.text.as_str() {
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" => CipherSuite::EcdheEcdsaAes256,
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" => CipherSuite::EcdheEcdsaAes128,
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" => CipherSuite::EcdheEcdsaChacha20,
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384" => CipherSuite::EcdheRsaAes256,
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" => CipherSuite::EcdheRsaAes128,
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256" => CipherSuite::EcdheRsaChacha20,
        other => {
            return Err(bad_value(
                &word.position,
                format!("unknown cipher suite `{other}`"),
                "the list is in the reference; without `ciphers` all secure ones are on",
            ));
        }
    })
}
