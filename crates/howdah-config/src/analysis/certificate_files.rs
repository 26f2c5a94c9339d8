//! Files with certificates and keys in a configuration: a server that is not root may need help to open them.

use std::path::PathBuf;

use crate::model::{CertificateFiles, Config, Handler, Issuer, ReverseProxy, each_handler};

impl Config {
    /// Files of certificates, keys and authorities, as written. May contain duplicates.
    #[must_use]
    pub fn certificate_files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let https = &self.global.https;
        files.extend(https.acme.root.clone());
        files.extend(
            https
                .redis
                .as_ref()
                .and_then(|redis| redis.tls_roots.clone()),
        );
        for site in &self.sites {
            files.extend(site.tls.files.iter().flat_map(pair));
            let clients = site.tls.client_auth.iter();
            files.extend(clients.flat_map(|auth| auth.roots.iter().cloned()));
            if let Some(Issuer::Acme(acme)) = &site.tls.issuer {
                files.extend(acme.root.clone());
            }
            for routes in site.all_routes() {
                each_handler(routes, &mut |handler| match handler {
                    Handler::ReverseProxy(proxy) => files.extend(of_upstream(proxy)),
                    Handler::ForwardAuth(auth) => files.extend(of_upstream(&auth.proxy)),
                    _ => {}
                });
            }
        }
        files
    }
}

fn pair(files: &CertificateFiles) -> [PathBuf; 2] {
    [files.certificate.clone(), files.key.clone()]
}

fn of_upstream(proxy: &ReverseProxy) -> Vec<PathBuf> {
    let Some(tls) = &proxy.tls else {
        return Vec::new();
    };
    let own = tls.client.iter().flat_map(pair);
    own.chain(tls.roots.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoFiles, parse};

    #[test]
    fn files_of_sites_and_upstreams_are_found_wherever_they_stand() {
        let text = "{\nacme_ca_root /acme.pem\n}\n\
            a.example {\ntls /a.crt /a.key {\nclient_auth {\nmode require_and_verify\n\
            trust_pool file /clients.pem\n}\n}\n\
            handle /x {\nroute {\nreverse_proxy https://b.example {\ntransport http {\n\
            tls_client_auth /up.crt /up.key\ntls_trust_pool file /up.pem\n}\n}\n}\n}\n}\n";
        let parsed = parse(text, "Caddyfile", &|_| None, &NoFiles).expect("valid");
        let mut files: Vec<_> = parsed.config.certificate_files();
        files.sort();
        files.dedup();
        let names = [
            "/a.crt",
            "/a.key",
            "/acme.pem",
            "/clients.pem",
            "/up.crt",
            "/up.key",
            "/up.pem",
        ];
        assert_eq!(files, names.map(PathBuf::from));
    }
}
