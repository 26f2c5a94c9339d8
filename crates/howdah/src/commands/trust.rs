//! `trust` and `untrust`: the internal authority's root certificate in the system's trust store.

use std::path::{Path, PathBuf};
use std::process::Command;

use howdah_config::Strictness;
use howdah_config::model::Config;

use crate::cli;
use crate::config::source;
use crate::failure::{Failure, Outcome, setup};
use crate::output::printed;
use crate::rights::privileges;

const FILE: &str = "howdah-local-authority.crt";
/// The link that `update-ca-certificates` creates for it.
const LINK: &str = "howdah-local-authority.pem";

/// The folder for additional authorities on a system, and the command that updates its trust store.
#[derive(Debug, Clone)]
struct Store {
    directory: PathBuf,
    update: &'static str,
    /// Folder in which the command leaves dangling links.
    links: Option<PathBuf>,
}

const STORES: [(&str, &str, Option<&str>); 3] = [
    (
        "/usr/local/share/ca-certificates",
        "update-ca-certificates",
        Some("/etc/ssl/certs"),
    ),
    ("/etc/pki/ca-trust/source/anchors", "update-ca-trust", None),
    (
        "/etc/ca-certificates/trust-source/anchors",
        "update-ca-trust",
        None,
    ),
];

/// `howdah trust`.
pub(crate) fn trust(options: &cli::Trust) -> Outcome {
    let config = config(options)?;
    // If the authority is created now, the user of the certificate storage must own it.
    let root = privileges::as_keeper(&config, || howdah_tls::authority_root(&config.global.https));
    let (file, pem) = root?.map_err(setup)?;
    if options.print {
        return printed(pem);
    }
    let store = store()?;
    let installed = store.install(&pem)?;
    printed(format!(
        "{} is now {}\n\
         {} was run: programs that use the system's list trust the sites of this server\n\
         browsers with their own certificate store must import the file; `howdah untrust` removes it\n",
        file.display(),
        installed.display(),
        store.update
    ))
}

/// `howdah untrust`.
pub(crate) fn untrust() -> Outcome {
    let store = store()?;
    let text = match store.remove()? {
        Some(removed) => format!(
            "{} was removed, and {} run\n",
            removed.display(),
            store.update
        ),
        None => "no authority of howdah is installed\n".to_owned(),
    };
    printed(text)
}

fn config(options: &cli::Trust) -> Result<Config, Failure> {
    let default = Path::new("Caddyfile");
    let file = match &options.config {
        Some(file) => file,
        None if default.exists() => default,
        None => return Ok(Config::default()),
    };
    let parsed = source::look(file, Strictness::Lenient).map_err(setup)?;
    Ok(parsed.config)
}

fn store() -> Result<Store, Failure> {
    let stores = STORES.map(|(directory, update, links)| Store {
        directory: directory.into(),
        update,
        links: links.map(PathBuf::from),
    });
    let found = stores.into_iter().find(|store| store.directory.is_dir());
    found.ok_or_else(|| {
        setup("this system's list of authorities was not found; on Debian and Ubuntu install the package ca-certificates, elsewhere give your programs the output of `howdah trust --print`")
    })
}

impl Store {
    fn install(&self, pem: &str) -> Result<PathBuf, Failure> {
        let file = self.directory.join(FILE);
        std::fs::write(&file, pem).map_err(|error| failed(&file, &error))?;
        self.update()?;
        Ok(file)
    }

    fn remove(&self) -> Result<Option<PathBuf>, Failure> {
        let file = self.directory.join(FILE);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|error| failed(&file, &error))?,
        }
        self.remove_links(&file)?;
        self.update()?;
        Ok(Some(file))
    }

    /// Removes the links to the file, by its name and by its hash.
    fn remove_links(&self, file: &Path) -> Result<(), Failure> {
        let Some(links) = &self.links else {
            return Ok(());
        };
        let entries = std::fs::read_dir(links).map_err(|error| failed(links, &error))?;
        for entry in entries.flatten() {
            let link = entry.path();
            let is_ours = std::fs::read_link(&link)
                .is_ok_and(|target| target == file || target.file_name() == Some(LINK.as_ref()));
            if is_ours {
                std::fs::remove_file(&link).map_err(|error| failed(&link, &error))?;
            }
        }
        Ok(())
    }

    fn update(&self) -> Result<(), Failure> {
        let status = Command::new(self.update)
            .stdout(std::process::Stdio::null())
            .status()
            .map_err(|error| setup(format_args!("cannot run {}: {error}", self.update)))?;
        if !status.success() {
            return Err(Failure::Runtime(format!(
                "{} failed: {status}",
                self.update
            )));
        }
        Ok(())
    }
}

fn failed(file: &Path, error: &std::io::Error) -> Failure {
    let hint = if error.kind() == std::io::ErrorKind::PermissionDenied {
        "; run it as root, with -c and the server's Caddyfile or with its XDG_DATA_HOME"
    } else {
        ""
    };
    setup(format_args!("{}: {error}{hint}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_certificates_are_removed() {
        let [directory, links] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let store = Store {
            directory: directory.path().to_owned(),
            update: "true",
            links: Some(links.path().to_owned()),
        };
        let file = store.install("PEM").expect("installed");
        assert_eq!(std::fs::read_to_string(&file).expect("readable"), "PEM");
        // As `update-ca-certificates` does.
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, links.path().join(name)).expect("made");
        };
        link(&file, LINK);
        link(Path::new(LINK), "0a1b2c3d.0");
        link(Path::new("other.pem"), "4e5f6071.0");
        assert_eq!(store.remove().expect("removed"), Some(file));
        let left = std::fs::read_dir(links.path()).expect("readable").flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["4e5f6071.0"]);
        assert_eq!(store.remove().expect("nothing there"), None);
    }

    #[test]
    fn a_list_that_cannot_be_written_is_reported() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = |update| Store {
            directory: directory.path().to_owned(),
            update,
            links: None,
        };
        let failed = store("false").install("PEM").expect_err("it fails");
        assert!(failed.to_string().starts_with("false failed"), "{failed}");
        let missing = store("howdah-no-such-command")
            .install("PEM")
            .expect_err("it is missing");
        assert!(missing.to_string().contains("cannot run"), "{missing}");
    }
}
