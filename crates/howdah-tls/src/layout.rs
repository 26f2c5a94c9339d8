//! Names of ACME files in the storage. They are the same as in Caddy, so that either server can use
//! the other's.
//!
//! ```text
//! certificates/ISSUER/NAME/NAME.key      the private key
//! certificates/ISSUER/NAME/NAME.crt      its certificate, with all that leads to the root
//! certificates/ISSUER/NAME/NAME.json     for which names it is, and who issued it
//! acme/ISSUER/users/EMAIL/USER.key       the key of the account
//! acme/ISSUER/users/EMAIL/USER.json      the account, as the authority knows it
//! acme/ISSUER/NAME.failed                this server's own: see `failures`
//! ```

use std::path::{Path, PathBuf};

use crate::storage::file_name;

/// The folder of an account without an address.
const NO_EMAIL: &str = "default";

/// Paths of a certificate and its key, relative to the storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificatePlace {
    pub(crate) key: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) facts: PathBuf,
}

impl CertificatePlace {
    /// Files of this host, issued by the authority with this directory.
    pub(crate) fn new(directory: &str, host: &str) -> Self {
        let name = safe(host);
        let folder = Path::new("certificates")
            .join(issuer(directory))
            .join(&name);
        let file = |end: &str| folder.join(format!("{name}.{end}"));
        Self {
            key: file("key"),
            certificate: file("crt"),
            facts: file("json"),
        }
    }
}

/// Paths of an ACME account, relative to the storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccountPlace {
    pub(crate) key: PathBuf,
    pub(crate) registration: PathBuf,
}

impl AccountPlace {
    /// Files of the account with this address at the authority with this directory.
    pub(crate) fn new(directory: &str, email: Option<&str>) -> Self {
        let email = email.unwrap_or(NO_EMAIL);
        // `@example.com` is a user too: the one of this name.
        let user = match email.split_once('@') {
            Some(("", domain)) => domain,
            Some((user, _)) => user,
            None => email,
        };
        Self::named(directory, email, &safe(user))
    }

    /// An alternative to an account that cannot be used here.
    pub(crate) fn alternative(directory: &str, email: Option<&str>) -> Self {
        Self::named(directory, email.unwrap_or(NO_EMAIL), "howdah-account")
    }

    fn named(directory: &str, email: &str, name: &str) -> Self {
        let folder = authority(directory).join("users").join(safe(email));
        Self {
            key: folder.join(format!("{name}.key")),
            registration: folder.join(format!("{name}.json")),
        }
    }
}

/// Where the failures of this host are counted.
pub(crate) fn failures(directory: &str, host: &str) -> PathBuf {
    authority(directory).join(format!("{}.failed", safe(host)))
}

/// The place of a certificate with its key in earlier versions.
pub(crate) fn old_certificate(directory: &str, host: &str) -> PathBuf {
    old_authority(directory).join(format!("{}.pem", file_name(host)))
}

/// The place of an account in earlier versions.
pub(crate) fn old_account(directory: &str, email: Option<&str>) -> PathBuf {
    let email = email.unwrap_or("nobody");
    old_authority(directory).join(format!("account-{}.json", file_name(email)))
}

fn authority(directory: &str) -> PathBuf {
    Path::new("acme").join(issuer(directory))
}

fn old_authority(directory: &str) -> PathBuf {
    let name = directory.strip_prefix("https://").unwrap_or(directory);
    Path::new("acme").join(file_name(name))
}

/// The name of an authority: host, port and path of its directory, with hyphens between them.
fn issuer(directory: &str) -> String {
    let rest = directory
        .split_once("://")
        .map_or(directory, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.replace(['/', '\\'], "-");
    match path.trim_matches('-') {
        "" => safe(host),
        path => safe(&format!("{host}-{path}")),
    }
}

/// Converts a text to the name of a file or folder.
fn safe(text: &str) -> String {
    let text = text.to_lowercase();
    let mut rest = text.trim();
    let mut name = String::with_capacity(rest.len());
    while let Some(char) = rest.chars().next() {
        // From left to right, so of three dots one stays.
        if let Some(after) = rest.strip_prefix("..") {
            rest = after;
            continue;
        }
        match char {
            ' ' => name.push('_'),
            '+' => name.push_str("_plus_"),
            '*' => name.push_str("wildcard_"),
            ':' => name.push('-'),
            'a'..='z' | '0'..='9' | '_' | '@' | '.' | '-' => name.push(char),
            _ => {}
        }
        rest = &rest[char.len_utf8()..];
    }
    // Removed characters may have separated two dots: a name must not leave its folder.
    match name.as_str() {
        "" | "." | ".." => "_".into(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

    #[test]
    fn authorities_have_the_names_that_caddy_gives_them() {
        for (directory, name) in [
            (LETS_ENCRYPT, "acme-v02.api.letsencrypt.org-directory"),
            (
                "https://acme.zerossl.com/v2/DV90",
                "acme.zerossl.com-v2-dv90",
            ),
            (
                "https://ca.internal:9000/acme/acme/directory/",
                "ca.internal-9000-acme-acme-directory",
            ),
            ("https://127.0.0.1:14000/dir?x=/y#z", "127.0.0.1-14000-dir"),
            ("https://user@ca.test", "ca.test"),
            ("https://[::1]:14000/", "--1-14000"),
        ] {
            assert_eq!(issuer(directory), name, "{directory}");
        }
    }

    #[test]
    fn names_are_those_that_caddy_gives() {
        for (text, name) in [
            ("Example.com", "example.com"),
            ("*.example.com", "wildcard_.example.com"),
            ("2001:db8::1", "2001-db8--1"),
            (" admin+Shop@example.com ", "admin_plus_shop@example.com"),
            ("a b/c\\d%e", "a_bcde"),
            ("a..b...c", "ab.c"),
            ("bücher", "bcher"),
            // Caddy would leave the folder with these.
            ("./.", "_"),
            ("..", "_"),
            ("", "_"),
        ] {
            assert_eq!(safe(text), name, "{text}");
            assert_eq!(safe(&safe(text)), name, "{text}");
        }
    }

    #[test]
    fn certificates_and_accounts_have_their_places() {
        let place = CertificatePlace::new(LETS_ENCRYPT, "*.example.com");
        let folder = "certificates/acme-v02.api.letsencrypt.org-directory/wildcard_.example.com";
        let file = |end: &str| PathBuf::from(format!("{folder}/wildcard_.example.com.{end}"));
        assert_eq!(
            [place.key, place.certificate, place.facts],
            [file("key"), file("crt"), file("json")]
        );
        for (email, file) in [
            (Some("Admin@example.com"), "admin@example.com/admin"),
            (Some("@example.com"), "@example.com/example.com"),
            (Some("nobody"), "nobody/nobody"),
            (None, "default/default"),
        ] {
            let place = AccountPlace::new(LETS_ENCRYPT, email);
            let path = format!("acme/acme-v02.api.letsencrypt.org-directory/users/{file}");
            assert_eq!(place.key, PathBuf::from(format!("{path}.key")));
            assert_eq!(place.registration, PathBuf::from(format!("{path}.json")));
        }
        let own = AccountPlace::alternative(LETS_ENCRYPT, None);
        assert_ne!(own, AccountPlace::new(LETS_ENCRYPT, None));
    }

    #[test]
    fn earlier_versions_had_others() {
        let server = Path::new("acme/acme-v02.api.letsencrypt.org_directory");
        assert_eq!(
            old_certificate(LETS_ENCRYPT, "a.example.com"),
            server.join("a.example.com.pem")
        );
        assert_eq!(
            old_account(LETS_ENCRYPT, Some("admin@example.com")),
            server.join("account-admin_example.com.json")
        );
        assert_eq!(
            old_account(LETS_ENCRYPT, None),
            server.join("account-nobody.json")
        );
        assert_eq!(
            failures(LETS_ENCRYPT, "a.example.com"),
            Path::new("acme/acme-v02.api.letsencrypt.org-directory/a.example.com.failed")
        );
    }
}
