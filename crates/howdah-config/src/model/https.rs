//! HTTPS as configured: part of [`model`](crate::model), with the rules for which name gets which
//! certificate.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::placeholder::{Part, Placeholder, Template};
use super::redis::Redis;
use super::route::{Handler, Route};
use super::site::{Address, Site};

/// HTTPS options of the global block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "options that have nothing to do with each other"
)]
pub struct Https {
    /// `auto_https`: plain HTTP requests for names with HTTPS are redirected. Default true.
    pub redirects: bool,
    /// `auto_https`: names get certificates automatically. Default true.
    pub certificates: bool,
    /// `https_port`: the port of addresses without one. Default 443.
    pub port: u16,
    /// `local_certs`: the internal authority issues all certificates. Default false.
    pub local_certs: bool,
    /// `email`, `acme_ca`, `acme_ca_root`, `acme_eab`: defaults for sites.
    pub acme: Acme,
    /// `default_sni`: the name for clients that send none. Lower case. Default: none, then the
    /// address that the client connected to.
    pub default_sni: Option<String>,
    /// `fallback_sni`: the name that is used if no site has the client's. Lower case. Default none.
    pub fallback_sni: Option<String>,
    /// `ocsp_stapling`: handshakes include the authority's OCSP response, if it provides one. Default true.
    pub ocsp_stapling: bool,
    /// `on_demand_tls { ask }`: the endpoint that decides whether a name of a site with `on_demand` may have a
    /// certificate. Default none: such names get a certificate of the internal authority, or must be listed.
    pub ask: Option<String>,
    /// `storage file_system`: where certificates and keys are stored; with `redis`, their local
    /// copies. Default: see the certificates' crate.
    pub storage: Option<PathBuf>,
    /// `storage redis`: certificates and keys are stored there. Default: in the directory.
    pub redis: Option<Redis>,
}

impl Default for Https {
    fn default() -> Self {
        Self {
            redirects: true,
            certificates: true,
            port: 443,
            local_certs: false,
            acme: Acme::default(),
            default_sni: None,
            fallback_sni: None,
            ocsp_stapling: true,
            ask: None,
            storage: None,
            redis: None,
        }
    }
}

/// `tls`: TLS of a site.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteTls {
    /// `tls CERT KEY`.
    pub files: Option<CertificateFiles>,
    /// `tls internal`, `tls EMAIL` and `issuer`. `None`: depends on the name, see [`source`].
    pub issuer: Option<Issuer>,
    /// `on_demand`: a certificate is obtained when a client needs it. Default false.
    pub on_demand: bool,
    /// `protocols MIN`. Default TLS 1.2.
    pub min_version: TlsVersion,
    /// `protocols MIN MAX`: nothing above TLS 1.2. Default false.
    pub no_tls13: bool,
    /// `ciphers`: suites of TLS 1.2 by their IANA names, the preferred first. Empty: all supported
    /// ones. Those of TLS 1.3 are always enabled.
    pub ciphers: Vec<CipherSuite>,
    /// `curves`: of the key exchange, the preferred first. Empty: all supported ones.
    pub curves: Vec<Curve>,
    /// `alpn`: protocols that are offered, the preferred first. Default `h2 http/1.1`.
    pub alpn: Option<Vec<Alpn>>,
    /// `client_auth`.
    pub client_auth: Option<ClientAuth>,
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CertificateFiles {
    /// The certificate and its chain.
    pub certificate: PathBuf,
    /// Its private key; may be the same file.
    pub key: PathBuf,
}

/// Issuer of certificates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Issuer {
    /// The internal authority in the storage directory, whose root clients must trust.
    Internal {
        /// `lifetime`: how long a certificate is valid. Default 12 h.
        lifetime: Duration,
    },
    /// An authority with ACME, such as Let's Encrypt.
    Acme(Acme),
}

/// Default of `issuer internal { lifetime }`.
pub const INTERNAL_LIFETIME: Duration = Duration::from_secs(12 * 3600);

impl Issuer {
    /// The internal authority with its defaults.
    #[must_use]
    pub fn internal() -> Self {
        Self::Internal {
            lifetime: INTERNAL_LIFETIME,
        }
    }
}

/// An external account binding, which some authorities require.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExternalAccount {
    /// Identifier of the key, from the authority.
    pub key_id: String,
    /// In base64url.
    pub mac_key: String,
}

/// An ACME authority and the account there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Acme {
    /// URL of the directory. Default: Let's Encrypt.
    pub directory: Option<String>,
    /// PEM file with the root for the certificate of the authority's own server. Default: the
    /// system's.
    pub root: Option<PathBuf>,
    /// Email address for notices of the authority.
    pub email: Option<String>,
    /// External account binding.
    pub eab: Option<ExternalAccount>,
    /// `profile`: the kind of certificate. Default: the authority's.
    pub profile: Option<String>,
    /// `disable_http_challenge`. Default false.
    pub no_http: bool,
    /// `disable_tlsalpn_challenge`. Default false.
    pub no_tls_alpn: bool,
}

/// A protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum TlsVersion {
    #[default]
    Tls12,
    Tls13,
}

/// A protocol over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Alpn {
    Http2,
    Http1,
}

/// Cipher suites of TLS 1.2; all have forward secrecy and authenticated encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum CipherSuite {
    EcdheEcdsaAes256,
    EcdheEcdsaAes128,
    EcdheEcdsaChacha20,
    EcdheRsaAes256,
    EcdheRsaAes128,
    EcdheRsaChacha20,
}

/// Elliptic curves of the key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Curve {
    X25519,
    Secp256r1,
    Secp384r1,
}

/// `client_auth`: certificates of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAuth {
    /// PEM files with the roots of client certificates. At least one.
    pub roots: Vec<PathBuf>,
    /// A client without a certificate has access; one with an invalid certificate does not. Default false.
    pub optional: bool,
}

/// Where the certificate of a name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// Its files are given.
    Files(&'a CertificateFiles),
    /// The internal authority issues it, for this time.
    Internal(Duration),
    /// An ACME authority issues it.
    Acme(&'a Acme),
    /// See [`on_demand_source`], once a client needs a name.
    OnDemand,
}

/// Why there is no certificate for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSource {
    /// `auto_https` disables it.
    #[error("`auto_https` is off, so no certificate is obtained for it")]
    Off,
    /// The address has no name.
    #[error("there is no host name for a certificate")]
    NoName,
    /// A wildcard needs the DNS challenge.
    #[error("wildcard certificates need the DNS challenge, which this version does not support")]
    Wildcard,
    /// No public authority issues a certificate for this name.
    #[error("no public authority issues certificates for this name")]
    NotPublic,
    /// Any client could make this server request any number of certificates.
    #[error("with `on_demand`, clients could request a certificate for any name")]
    NoAskEndpoint,
}

/// The source of the certificate for a host of a site with this `tls`.
///
/// # Errors
/// There is no source.
pub fn source<'a>(
    host: Option<&str>,
    tls: &'a SiteTls,
    global: &'a Https,
) -> Result<Source<'a>, NoSource> {
    if let Some(files) = &tls.files {
        return Ok(Source::Files(files));
    }
    if tls.on_demand {
        let written = host.is_some_and(|host| !host.starts_with("*."));
        return match &global.ask {
            None if acme_authority(tls, global).is_some() && !written => {
                Err(NoSource::NoAskEndpoint)
            }
            _ => Ok(Source::OnDemand),
        };
    }
    let host = host.ok_or(NoSource::NoName)?;
    match &tls.issuer {
        None if !global.certificates => Err(NoSource::Off),
        _ => on_demand_source(host, tls, global),
    }
}

/// The source for a name that a client needs, at a site with `on_demand`, and for names that are listed at others.
///
/// # Errors
/// There is no source for it.
pub fn on_demand_source<'a>(
    host: &str,
    tls: &'a SiteTls,
    global: &'a Https,
) -> Result<Source<'a>, NoSource> {
    match &tls.issuer {
        Some(Issuer::Internal { lifetime }) => Ok(Source::Internal(*lifetime)),
        Some(Issuer::Acme(acme)) if is_local(host) && acme.directory.is_none() => {
            Err(NoSource::NotPublic)
        }
        Some(Issuer::Acme(acme)) => acme_source(host, acme),
        None if global.local_certs || is_local(host) => Ok(Source::Internal(INTERNAL_LIFETIME)),
        None => acme_source(host, &global.acme),
    }
}

/// The ACME authority for the names of a site with this `tls`, except local ones; `None`: they get certificates from
/// the internal authority.
#[must_use]
pub fn acme_authority<'a>(tls: &'a SiteTls, global: &'a Https) -> Option<&'a Acme> {
    match &tls.issuer {
        Some(Issuer::Acme(acme)) => Some(acme),
        Some(Issuer::Internal { .. }) => None,
        None => (!global.local_certs).then_some(&global.acme),
    }
}

fn acme_source<'a>(host: &str, acme: &'a Acme) -> Result<Source<'a>, NoSource> {
    if host.starts_with("*.") {
        return Err(NoSource::Wildcard);
    }
    Ok(Source::Acme(acme))
}

/// Whether a name is unknown to public authorities: addresses, `localhost`, names without a dot,
/// and names that end in `.localhost`, `.local`, `.internal`, `.home.arpa` or `.test`.
#[must_use]
pub fn is_local(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    if name.parse::<IpAddr>().is_ok() || !name.contains('.') {
        return true;
    }
    ["localhost", "local", "internal", "home.arpa", "test"]
        .iter()
        .any(|suffix| {
            name.strip_suffix(suffix)
                .is_some_and(|rest| rest.ends_with('.'))
        })
}

/// A site that redirects the clients of an address without TLS to the same host with TLS, on `port`
/// if it is not the default one.
#[must_use]
pub fn redirect_to_https(from: Address, port: Option<u16>) -> Site {
    let mut parts = vec![
        Part::Text("https://".into()),
        Part::Placeholder(Placeholder::Host),
    ];
    if let Some(port) = port {
        parts.push(Part::Text(format!(":{port}")));
    }
    parts.push(Part::Placeholder(Placeholder::OrigUri));
    Site {
        addresses: vec![from],
        routes: vec![Route {
            matcher: None,
            handler: Handler::Redirect {
                to: Template { parts },
                status: 308,
            },
            group: None,
        }],
        ..Site::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_are_distinguished_from_public_ones() {
        for local in [
            "localhost",
            "a.localhost",
            "*.localhost",
            "printer.local",
            "db.internal",
            "127.0.0.1",
            "::1",
            "10.1.2.3",
            "203.0.113.5",
            "php",
            "x.home.arpa",
            "shop.test",
        ] {
            assert!(is_local(local), "{local}");
        }
        for public in [
            "example.com",
            "a.b.example.org",
            "mylocal.dev",
            "localhost.example.com",
        ] {
            assert!(!is_local(public), "{public}");
        }
    }

    #[test]
    fn sources_by_name_and_option() {
        let global = Https::default();
        let plain = SiteTls::default();
        let internal = Ok(Source::Internal(INTERNAL_LIFETIME));
        assert_eq!(source(Some("localhost"), &plain, &global), internal);
        assert_eq!(source(Some("*.localhost"), &plain, &global), internal);
        assert_eq!(source(Some("127.0.0.1"), &plain, &global), internal);
        let acme = Ok(Source::Acme(&global.acme));
        assert_eq!(source(Some("example.com"), &plain, &global), acme);
        assert_eq!(
            source(Some("*.example.com"), &plain, &global),
            Err(NoSource::Wildcard)
        );
        assert_eq!(source(None, &plain, &global), Err(NoSource::NoName));

        let local = Https {
            local_certs: true,
            ..Https::default()
        };
        assert_eq!(source(Some("example.com"), &plain, &local), internal);
        let off = Https {
            certificates: false,
            ..Https::default()
        };
        assert_eq!(source(Some("localhost"), &plain, &off), Err(NoSource::Off));

        let hour = Duration::from_secs(3600);
        let asked = SiteTls {
            issuer: Some(Issuer::Internal { lifetime: hour }),
            ..SiteTls::default()
        };
        assert_eq!(
            source(Some("*.example.com"), &asked, &off),
            Ok(Source::Internal(hour))
        );
        let public = SiteTls {
            issuer: Some(Issuer::Acme(Acme::default())),
            ..SiteTls::default()
        };
        assert_eq!(
            source(Some("localhost"), &public, &global),
            Err(NoSource::NotPublic)
        );
        let files = CertificateFiles {
            certificate: "c".into(),
            key: "k".into(),
        };
        let given = SiteTls {
            files: Some(files.clone()),
            ..SiteTls::default()
        };
        assert_eq!(source(None, &given, &off), Ok(Source::Files(&files)));
    }
}
