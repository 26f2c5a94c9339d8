//! Each file of `tests/golden` has the resulting Caddyfile next to it. `HOWDAH_BLESS=1` regenerates
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use howdah_config::{Files, NoFiles, parse};
use howdah_import::{Origin, import};

/// Files that a configuration of another server names: password files and includes.
struct Memory(BTreeMap<&'static str, &'static str>);

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<String> {
        let text = path.to_str().and_then(|path| self.0.get(path));
        text.map(|text| (*text).to_owned())
            .ok_or_else(|| io::Error::new(ErrorKind::NotFound, "not found"))
    }

    fn glob(&self, pattern: &str) -> io::Result<Vec<PathBuf>> {
        let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
        let found = self.0.keys();
        let found = found.filter(|name| name.starts_with(start) && name.ends_with(end));
        Ok(found.map(PathBuf::from).collect())
    }
}

fn files() -> Memory {
    Memory(BTreeMap::from([
        (
            "/etc/nginx/passwords",
            "# who\nann:$2y$10$abcdefghijklmnopqrstuuGX3d8yLWjYmVvTxO7Zk0hXcUO1nV8ru\nbob:$apr1$x$y\n",
        ),
        ("/etc/nginx/old-passwords", "bob:$apr1$x$y\n"),
        (
            "/etc/nginx/conf.d/headers.conf",
            "add_header X-Included yes;\n",
        ),
        (
            "/srv/wordpress/.htaccess",
            "RewriteEngine On\nRewriteRule ^old/(.*)$ /new/$1 [R=301,L]\n\
             RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . /index.php [L]\n",
        ),
    ]))
}

/// Environment variables that a file of another server has.
fn variable(name: &str) -> Option<String> {
    let value = match name {
        "HTTP_PORT" => "8000",
        "SITE" => "example.com",
        "DATABASE" => "app",
        _ => return None,
    };
    Some(value.to_owned())
}

fn is_blessed() -> bool {
    std::env::var_os("HOWDAH_BLESS").is_some()
}

/// Checks all files of one server.
fn check(folder: &str, origin: Origin) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(folder);
    let mut count = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("readable") {
        let file = entry.expect("readable").path();
        if file
            .extension()
            .is_some_and(|extension| extension == "Caddyfile")
        {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = Path::new(file.file_name().expect("a name"));
        let made = import(origin, &text, name, &files());
        let made = made.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        // Messages of `howdah validate`.
        let parsed = parse(&made.caddyfile, "Caddyfile", &variable, &NoFiles);
        match parsed {
            Ok(parsed) if parsed.warnings.is_empty() => {}
            Ok(parsed) => wrong.push(format!(
                "{}\n{}{:?}",
                file.display(),
                made.caddyfile,
                parsed.warnings
            )),
            Err(errors) => wrong.push(format!("{}\n{}{errors}", file.display(), made.caddyfile)),
        }
        let lines = made.caddyfile.lines().map(str::trim);
        let marked: BTreeSet<_> = lines.filter(|line| line.starts_with("# NOTE: ")).collect();
        assert_eq!(marked.len(), made.notes.len(), "{}", made.caddyfile);
        let golden = file.with_extension("Caddyfile");
        if is_blessed() {
            std::fs::write(&golden, &made.caddyfile).expect("written");
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if expected != made.caddyfile {
            wrong.push(format!("{} is now\n{}", golden.display(), made.caddyfile));
        }
    }
    assert!(count > 0, "{} has files", folder.display());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nginx() {
    check("nginx", Origin::Nginx);
}

#[test]
fn apache() {
    check("apache", Origin::Apache);
}

#[test]
fn roadrunner() {
    check("rr", Origin::RoadRunner);
}

#[test]
fn invalid_configurations_are_refused() {
    for (origin, text, expected) in [
        (Origin::Nginx, "server {", "f:1: `}` is missing at the end"),
        (Origin::Nginx, "user www;", "f: there is no `server` block"),
        (
            Origin::Apache,
            "<VirtualHost *>",
            "f:1: a section is not closed",
        ),
        (Origin::Apache, "# nothing\n", "f: there is no directive"),
        (
            Origin::RoadRunner,
            "rpc:\n  listen: x\n",
            "f: there is no `http` section",
        ),
    ] {
        let error = import(origin, text, Path::new("f"), &NoFiles).expect_err(text);
        assert_eq!(error.to_string(), expected);
    }
}
