//! `howdah validate`: reports what `howdah run` would report about a configuration before it listens or boots anything.

use std::net::ToSocketAddrs;
use std::path::Path;

use howdah_config::model::{Admin, AdminAddress, Config};
use howdah_observe::access;

use crate::config::document_roots::missing_roots;
use crate::config::source::Source;
use crate::failure::{Outcome, setup};
use crate::output::printed;
use crate::php::pools;
use crate::php::root_options::withheld_variables;
use crate::php_executable::{executable, missing_executables};
use crate::rights::{privileges, users};
use crate::server::hubs;
use crate::{cli, watch};

/// The findings. The command often runs as a different user, or on a different machine, than the server: what depends
/// on that is a warning.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) wrong: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn run(options: &cli::ConfigFile) -> Outcome {
    let read = Source::read(&options.config, options.reading(false)).map_err(setup)?;
    let mut found = Findings {
        warnings: read.warnings.iter().map(ToString::to_string).collect(),
        ..Findings::default()
    };
    found.check(&read.config, &read.source);
    for warning in &found.warnings {
        eprintln!("warning: {warning}");
    }
    if !found.wrong.is_empty() {
        return Err(setup(found.wrong.join("\n")));
    }
    let mut text = format!("{}: valid\n", options.config.display());
    if let Some(variables) = withheld_variables(&read.config) {
        text.push_str(&variables);
        text.push('\n');
    }
    printed(text)
}

impl Findings {
    fn check(&mut self, config: &Config, source: &Source) {
        self.warnings.extend(missing_roots(config));
        self.wrong.extend(pools::missing_scripts(config));
        self.users(config);
        self.certificates(config);
        self.logs(config);
        self.parts(config, Some(source));
        self.sockets(config);
        self.warnings.extend(missing_executables(config));
        let php = executable(None);
        if config.global.php.executable.is_none() && !php.is_file() {
            let missing = format!("PHP executable {} not found", php.display());
            self.warnings.push(missing);
        }
    }

    /// Parts that `howdah doctor` does not check itself: watched files, routes and hubs.
    pub(crate) fn parts(&mut self, config: &Config, source: Option<&Source>) {
        self.check_result(watch::watched(config, source));
        self.check_result(howdah_http::check(config));
        for hub in &config.hubs {
            let weaknesses = self.check_result(hubs::check(hub));
            self.warnings.extend(weaknesses.unwrap_or_default());
        }
    }

    /// The result, or an additional error.
    fn check_result<T, E: ToString>(&mut self, result: Result<T, E>) -> Option<T> {
        result
            .map_err(|error| self.wrong.push(error.to_string()))
            .ok()
    }

    fn users(&mut self, config: &Config) {
        let unusable = privileges::unusable(config);
        self.wrong.extend(unusable.wrong);
        self.warnings.extend(unusable.refused);
        // Only root can find out for another user.
        if let Ok(Some(access_problem)) = users::access_problem(config) {
            self.warnings.push(access_problem.advice());
        }
    }

    fn logs(&mut self, config: &Config) {
        let of_sites = config.sites.iter().flat_map(|site| &site.access_logs);
        let outputs = of_sites.map(|log| ("access log", &log.output));
        let of_server = config.global.log_outputs().map(|output| ("log", output));
        for (kind, output) in outputs.chain(of_server) {
            let Err(access::OpenError { path, source }) = access::check(output) else {
                continue;
            };
            let text = format!("{kind} {}: {source}", path.display());
            let list = match source.kind() {
                std::io::ErrorKind::PermissionDenied => &mut self.warnings,
                _ => &mut self.wrong,
            };
            if !list.contains(&text) {
                list.push(text);
            }
        }
    }

    fn certificates(&mut self, config: &Config) {
        for error in howdah_tls::check(config) {
            if error.is_forbidden() {
                self.warnings
                    .push(format!("{error}; the server's user must be allowed to"));
            } else {
                self.wrong.push(error.to_string());
            }
        }
    }

    /// A service manager may create their folders when it starts the server.
    fn sockets(&mut self, config: &Config) {
        let of_sites = config.sites.iter().flat_map(|site| &site.unix_sockets);
        let mut paths: Vec<&Path> = of_sites.map(|socket| socket.path.as_path()).collect();
        match &config.global.admin {
            Admin::On(AdminAddress::Unix(path)) => paths.push(path),
            Admin::On(AdminAddress::Tcp { host, port }) if !host.is_empty() => {
                if let Err(error) = (host.as_str(), *port).to_socket_addrs() {
                    self.warnings.push(format!("admin {host}:{port}: {error}"));
                }
            }
            Admin::On(_) | Admin::Default | Admin::Off => {}
        }
        paths.sort_unstable();
        paths.dedup();
        for path in paths {
            let folder = path.parent().unwrap_or(Path::new("/"));
            if let Err(error) = folder.metadata() {
                let text = format!("socket {}: its folder: {error}", path.display());
                self.warnings.push(text);
            }
        }
    }
}
