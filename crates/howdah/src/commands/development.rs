//! `howdah dev`, and `howdah` alone in a folder without a Caddyfile: serves the application in the current folder for
//! development. PHP shows errors in the browser, and pages reload when a file changes.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use howdah_config::model::Config;
use howdah_config::{Disk, Strictness, load_text};

use super::init::application::Application;
use super::php_server::listen_address;
use crate::cli;
use crate::failure::{Failure, Outcome, setup};
use crate::rights::users;
use crate::startup;

/// The configuration's name in messages.
const NAME: &str = "howdah dev";
/// The first free one is used.
const PORTS: RangeInclusive<u16> = 8080..=8099;
/// PHP runs it before each script.
const HOT_RELOAD: &str = include_str!("hot_reload.php");
/// Hint that is shown after the start.
const NEXT: &str = "howdah init writes a Caddyfile for production";

pub(crate) fn run(options: &cli::Dev) -> Outcome {
    let application = find()?;
    let script = PageScript::write()?;
    let (mut config, reason) = config(options, &application, &script.path)?;
    users::settle_php_server(&mut config);
    eprintln!("howdah: {application}, served for development{reason}; next: {NEXT}");
    startup::serve_with(&config, None, Some(NEXT))
}

/// What the monitor of this server may start; only users and programs matter.
pub(super) fn grants(options: &cli::Dev) -> Option<Config> {
    let config = config(options, &find().ok()?, Path::new("/"));
    config.ok().map(|(config, _)| config)
}

fn find() -> Result<Application, Failure> {
    let found = Application::find(Path::new(".")).map_err(setup)?;
    if let Some(script) = found.as_ref().and_then(Application::roadrunner_script) {
        return Err(setup(format_args!(
            "the application is a worker script for RoadRunner, {script}: write a Caddyfile for it with `howdah init`, \
             then `howdah run`"
        )));
    }
    found.ok_or_else(|| {
        setup(
            "the current folder has neither a Caddyfile nor a PHP application (composer.json or index.php, here or in \
             public); change to the application's folder, serve files alone with `howdah php-server`, or see `howdah help`",
        )
    })
}

/// The configuration, and the framework's part of the message about it.
fn config(
    options: &cli::Dev,
    application: &Application,
    script: &Path,
) -> Result<(Config, &'static str), Failure> {
    let (ip, port) = match &options.listen {
        Some(text) => listen_address(text)?,
        None => (Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), free_port()?),
    };
    let bind = ip.map_or_else(String::new, |ip| format!("\tbind {ip}\n"));
    let (environment, reason) = match application.development_variable() {
        Some((name, value)) => (
            format!("\n\t\tenv {name} {value}"),
            " with CI_ENVIRONMENT=development",
        ),
        None => (String::new(), ""),
    };
    let text = format!(
        "{{
	frankenphp {{
		php_ini {{
			display_errors 1
			display_startup_errors 1
			error_reporting 32767
			zend.assertions 1
			opcache.validate_timestamps 1
			opcache.revalidate_freq 0
			auto_prepend_file \"{script}\"
		}}
	}}
}}
http://:{port} {{
{bind}	root * {root}
	encode zstd br gzip
	mercure {{
		anonymous
		publisher_jwt {key}
	}}
{site}	php_server {{
		hot_reload{environment}
	}}
}}
",
        script = script.display(),
        root = application.root,
        key = random_key()?,
        site = application.settings().site(),
    );
    let parsed = load_text(&text, Path::new(NAME), &Disk, Strictness::Strict).map_err(setup)?;
    let mut config = parsed.config;
    config.global.admin = options.admin.setting();
    config.global.php.executable.clone_from(&options.php);
    Ok((config, reason))
}

fn free_port() -> Result<u16, Failure> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    PORTS.into_iter().find(is_free).ok_or_else(|| {
        setup(format_args!(
            "all ports from {} to {} are in use; choose one with `howdah dev --listen :PORT`",
            PORTS.start(),
            PORTS.end()
        ))
    })
}

/// The server is the only publisher.
fn random_key() -> Result<String, Failure> {
    Ok(format!("{:032x}{:032x}", random()?, random()?))
}

fn random() -> Result<u128, Failure> {
    let mut bytes = [0_u8; 16];
    let mut rest = &mut bytes[..];
    while !rest.is_empty() {
        let read = rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty());
        rest = &mut rest[read.map_err(setup)?..];
    }
    Ok(u128::from_ne_bytes(bytes))
}

/// The script for pages, in a file that exists until the server stops.
struct PageScript {
    path: PathBuf,
}

impl PageScript {
    fn write() -> Result<Self, Failure> {
        let name = format!("howdah-dev-{}.php", random_key()?);
        let path = std::env::temp_dir().join(name);
        let mut file = OpenOptions::new();
        let file = file.write(true).create_new(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(HOT_RELOAD.as_bytes()));
        let script = Self { path };
        written.map_err(|error| setup(format_args!("{}: {error}", script.path.display())))?;
        Ok(script)
    }
}

impl Drop for PageScript {
    fn drop(&mut self) {
        // The folder may have been emptied meanwhile.
        let _ = std::fs::remove_file(&self.path);
    }
}
