//! Errors of a configuration that its text and the files that it names show. Does not access storage or network.

use howdah_config::model::{Config, Site, Source, acme_authority, source};

use crate::ask::AskEndpoint;
use crate::authority_client;
use crate::error::TlsError;
use crate::remote::Remote;
use crate::server_config::{self, authorities};
use crate::tls::{check_names, load_files};

/// All errors that would prevent this configuration from being served.
pub fn check(config: &Config) -> Vec<TlsError> {
    let is_encrypted = |site: &&Site| site.addresses.iter().any(|address| address.tls);
    let mut errors: Vec<TlsError> = Vec::new();
    let mut note = |result: Result<(), TlsError>| {
        if let Err(error) = result
            && !errors
                .iter()
                .any(|known| known.to_string() == error.to_string())
        {
            errors.push(error);
        }
    };
    let mut sites = config.sites.iter().filter(is_encrypted).peekable();
    if sites.peek().is_none() {
        return Vec::new();
    }
    note(check_names(config));
    let https = &config.global.https;
    if let Some(ask) = &https.ask {
        note(AskEndpoint::new(ask).map(drop));
    }
    if let Some(redis) = &https.redis {
        note(Remote::new(redis).map(drop).map_err(TlsError::Redis));
    }
    let provider = server_config::provider();
    for site in sites {
        if let Some(files) = &site.tls.files {
            note(
                load_files(files, &provider)
                    .map(drop)
                    .map_err(TlsError::from),
            );
        }
        if let Some(auth) = &site.tls.client_auth {
            let roots = authorities(&auth.roots, |file, reason| TlsError::ClientRoots {
                file,
                reason,
            });
            note(roots.map(drop));
        }
        for address in site.addresses.iter().filter(|address| address.tls) {
            let acme = match source(address.host.as_deref(), &site.tls, https) {
                Ok(Source::Acme(acme)) => Some(acme),
                Ok(Source::OnDemand) => acme_authority(&site.tls, https),
                Ok(Source::Files(_) | Source::Internal(_)) | Err(_) => None,
            };
            if let Some(root) = acme.and_then(|acme| acme.root.as_deref()) {
                note(authority_client::roots(Some(root)).map(drop));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use howdah_config::model::{Acme, Address, CertificateFiles, ClientAuth, Issuer};

    use super::*;

    #[test]
    fn every_fault_is_reported_once() {
        let mut site = Site::default();
        for host in ["shop.example.com", "www.example.com"] {
            site.addresses.push(Address {
                host: Some(host.into()),
                port: 443,
                tls: true,
            });
        }
        let mut config = Config::default();
        config.sites.push(site.clone());
        assert!(check(&config).is_empty());
        site.tls.issuer = Some(Issuer::Acme(Acme {
            root: Some("/nope/root.pem".into()),
            ..Acme::default()
        }));
        let mut other = config.sites[0].clone();
        other.tls.files = Some(CertificateFiles {
            certificate: "/nope/c.pem".into(),
            key: "/nope/k.pem".into(),
        });
        other.tls.client_auth = Some(ClientAuth {
            roots: vec!["/nope/clients.pem".into()],
            optional: false,
        });
        config.sites = vec![site, other];
        config.global.https.default_sni = Some("nosuch.test".into());
        let found: Vec<String> = check(&config).iter().map(ToString::to_string).collect();
        let expected = [
            "`default_sni nosuch.test`",
            "/nope/root.pem: ",
            "cannot read /nope/c.pem",
            "/nope/clients.pem: ",
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
        for site in &mut config.sites {
            for address in &mut site.addresses {
                address.tls = false;
            }
        }
        assert!(check(&config).is_empty(), "nothing is encrypted");
    }
}
