//! `preload`: the files that PHP preloads, and the application of each pool, whose classes no other application may
//! see.

use crate::error::{Error, ErrorKind, Position};
use crate::model::{CLASSIC_POOL, Config, Handler, PhpScript, Preload, Route, Template};
use crate::source::absolute;
use crate::table::{Call, Entry, bad_value};
use std::path::Path;

pub(crate) const ENTRY: Entry = Entry {
    name: "preload",
    syntax: "preload auto|all|off",
    default: "`off`",
    about: "Restarts PHP in the background with the classes preloaded that requests have used. `auto`: classes of \
        files that an autoloader included and that only declare classes. `all`: all files that were used, whatever \
        they declare; for applications that support this. All PHP of the server must be one application, with one \
        document root. See [preloading](../guides/preloading.md).",
    differs: "Not in FrankenPHP.",
    example: "preload auto",
};

pub(crate) fn read(call: &Call<'_>) -> Result<Preload, Error> {
    let word = call.one()?;
    Preload::named(&word.text).ok_or_else(|| {
        bad_value(
            &word.position,
            format!("`{}` is not a preload mode", word.text),
            "write `auto`, `all` or `off`",
        )
    })
}

/// The document root of each pool's application, in the order of [`Config::applications`]: preloaded classes exist in
/// all processes of a tree, so each application has a separate tree, and a pool has one application. The roots of
/// worker pools are already known.
///
/// # Errors
/// A pool has more than one document root, or its root is unknown before the request.
pub(crate) fn applications(
    config: &Config,
    folder: &Path,
    position: &Position,
) -> Result<Vec<String>, Error> {
    let conflict =
        |message: String, hint: &str| Error::new(ErrorKind::Conflict, position, message, hint);
    if config.global.php.preloads_itself() {
        return Err(conflict(
            "`preload` and `php_ini opcache.preload` both select the preloaded files".into(),
            "remove one of them",
        ));
    }
    let mut applications = of_classic_pools(config, folder, &conflict)?;
    applications.extend(config.workers.iter().map(|pool| pool.root.clone()));
    let first = applications.iter().flatten().next().cloned();
    let first = first.unwrap_or_else(|| absolute(folder, "."));
    if applications.iter().flatten().any(|root| *root != first)
        && let Some(pool) = config.workers.iter().find(|pool| pool.root.is_none())
    {
        return Err(conflict(
            format!(
                "`preload` cannot determine the application of the worker `{}`: its script is not below any document root",
                pool.file
            ),
            "write the `worker` in the `php_server` of its site",
        ));
    }
    // Pools that no site uses belong to the first application.
    let applications = applications.into_iter();
    Ok(applications
        .map(|root| root.unwrap_or_else(|| first.clone()))
        .collect())
}

/// The document roots of the pool of all sites and of each configured pool, if they have requests.
fn of_classic_pools(
    config: &Config,
    folder: &Path,
    conflict: &dyn Fn(String, &str) -> Error,
) -> Result<Vec<Option<String>>, Error> {
    let mut applications = vec![None; 1 + config.pools.len()];
    for (pool, root) in Roots::of_classic_pools(config) {
        let known: &mut Option<String> = &mut applications[pool];
        let name = || {
            let own = pool.checked_sub(1).map(|own| &config.pools[own].name);
            own.map_or(CLASSIC_POOL, String::as_str)
        };
        let Root::Is(root) = root else {
            return Err(conflict(
                format!(
                    "`preload` needs the same document root for all requests of the pool `{}`: classes of one \
                    application must not be visible to another",
                    name()
                ),
                "give each document root a site and a pool of its own (`pool` in its `php_server`), or write \
                `preload off`",
            ));
        };
        let root = absolute(folder, &root);
        if let Some(other) = known.as_ref().filter(|other| **other != root) {
            return Err(conflict(
                format!(
                    "`preload` needs one application for each pool, and the pool `{}` has PHP below {other} and \
                    below {root}: classes of one must not be visible to the other",
                    name()
                ),
                "give one of the sites a pool of its own (`pool` in its `php_server`), or write `preload off`",
            ));
        }
        *known = Some(root);
    }
    Ok(applications)
}

/// A document root.
#[derive(Debug, Clone, PartialEq)]
enum Root {
    Is(String),
    /// It depends on the request.
    Varies,
}

impl From<&Template> for Root {
    fn from(template: &Template) -> Self {
        template
            .as_text()
            .map_or(Self::Varies, |text| Self::Is(text.to_owned()))
    }
}

/// The document roots of requests for PHP.
#[derive(Default)]
struct Roots {
    /// Numbers of classic pools, that of all sites first, with roots of their requests.
    of_pools: Vec<(usize, Root)>,
}

impl Roots {
    fn of_classic_pools(config: &Config) -> Vec<(usize, Root)> {
        let mut roots = Self::default();
        for site in &config.sites {
            let mut root = Root::Is(".".to_owned());
            roots.visit(&site.routes, &mut root);
            for errors in &site.errors {
                roots.visit(&errors.routes, &mut root.clone());
            }
        }
        roots.of_pools
    }

    fn visit(&mut self, routes: &[Route], root: &mut Root) {
        let varies = varies(routes, root);
        if varies {
            *root = Root::Varies;
        }
        for route in routes {
            for routes in route.handler.nested_routes() {
                self.visit(routes, &mut root.clone());
            }
            match &route.handler {
                Handler::Root(new) if route.matcher.is_none() && !varies => *root = new.into(),
                Handler::PhpServer(server) if server.fastcgi.is_none() => {
                    let own = server.root.as_ref().or(server.script.root.as_ref());
                    self.add(&server.script, own, root);
                }
                Handler::Php(script) => {
                    self.add(script, script.root.as_ref(), root);
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, script: &PhpScript, own: Option<&Template>, root: &Root) {
        let pool = script.pool.map_or(0, |pool| usize::from(pool) + 1);
        let root = own.map_or_else(|| root.clone(), Root::from);
        self.of_pools.push((pool, root));
    }
}

/// Whether these routes set different roots for different requests, in whatever order. `before`: the root of requests
/// for which no route sets one.
fn varies(routes: &[Route], before: &Root) -> bool {
    let roots = || {
        routes.iter().filter_map(|route| match &route.handler {
            Handler::Root(new) => Some((Root::from(new), route.matcher.is_some())),
            _ => None,
        })
    };
    let for_all = roots().any(|(_, for_some)| !for_some);
    let differs =
        |root: &Root| (!for_all && root != before) || roots().any(|(other, _)| other != *root);
    roots().any(|(root, for_some)| for_some && differs(&root))
}

#[cfg(test)]
mod tests {
    use crate::model::{Config, Preload};
    use crate::{NoFiles, parse};

    fn config(global: &str, sites: &str) -> Result<Config, String> {
        let text = format!("{{\n\tfrankenphp {{\n{global}\n\t}}\n}}\n{sites}");
        let parsed = parse(&text, "Caddyfile", &|_| None, &NoFiles);
        parsed
            .map(|parsed| parsed.config)
            .map_err(|errors| errors.to_string())
    }

    fn outcome(global: &str, sites: &str) -> Result<Preload, String> {
        config(global, sites).map(|config| config.global.php.preload)
    }

    #[test]
    fn one_application_may_be_preloaded() {
        let table = [
            "",
            ":80 {\n\troot /a\n\tphp_server\n}",
            ":80 {\n\troot /a\n\tphp_server\n}\n:81 {\n\tphp_server {\n\t\troot /a/\n\t}\n}",
            ":80 {\n\troot /a\n\tphp_server {\n\t\tworker /a/w.php\n\t}\n\thandle /x {\n\t\troot /a\n\t\tphp\n\t}\n}",
            ":80 {\n\troot /a\n\tphp_server\n}\n:81 {\n\troot /b\n\tfile_server\n}",
            ":80 {\n\troot /a\n\tphp_server\n}\n:81 {\n\troot /b\n\tphp_fastcgi 127.0.0.1:9000\n}",
        ];
        for sites in table {
            for preload in [Preload::Auto, Preload::All] {
                let global = format!("preload {}", preload.name());
                assert_eq!(outcome(&global, sites), Ok(preload), "{sites}");
            }
        }
    }

    #[test]
    fn each_pool_has_its_application() {
        let table: [(&str, &str, &[&str]); 4] = [
            ("", "", &["/"]),
            (
                "worker /elsewhere/w.php",
                ":80 {\n\troot /a\n\tphp_server\n}",
                &["/a", "/a"],
            ),
            (
                "pool blog",
                ":80 {\n\troot /a\n\tphp_server\n}\n\
                 :81 {\n\troot /b\n\tphp_server {\n\t\tpool blog\n\t\tworker /b/w.php\n\t}\n}",
                &["/a", "/b", "/b"],
            ),
            (
                "pool blog\nworker /b/w.php\npool unused\npool third",
                ":80 {\n\troot /a\n\tphp_server\n}\n\
                 :81 {\n\tphp_server {\n\t\troot c\n\t\tpool blog\n\t}\n}\n\
                 :82 {\n\troot /b\n\thandle {\n\t\tphp {\n\t\t\tpool third\n\t\t}\n\t}\n}",
                &["/a", "/c", "/a", "/b", "/b"],
            ),
        ];
        for (global, sites, expected) in table {
            let global = format!("preload auto\n{global}");
            let config = config(&global, sites).expect(sites);
            assert_eq!(config.applications, expected, "{sites}");
        }
        let off = config("", ":80 {\n\troot /a\n\tphp_server\n}").expect("valid");
        assert_eq!(off.applications, [""; 0]);
    }

    #[test]
    fn a_pool_of_several_applications_is_an_error() {
        let table = [
            (
                ":80 {\n\troot /a\n\tphp_server\n}\n:81 {\n\troot /b\n\tphp_server\n}",
                "below /a and below /b",
            ),
            (
                ":80 {\n\troot /a/{host}\n\tphp_server\n}",
                "the same document root",
            ),
            (
                ":80 {\n\troot /a\n\troot /api* /b\n\tphp_server\n}",
                "the same document root",
            ),
            (
                ":80 {\n\troot /api* /b\n\tphp_server\n}",
                "the same document root",
            ),
            (
                ":80 {\n\troot /a\n\tphp_server\n\thandle_errors {\n\t\tphp {\n\t\t\troot /e\n\t\t}\n\t}\n}",
                "below /a and below /e",
            ),
        ];
        for (sites, expected) in table {
            let error = outcome("preload auto", sites).expect_err(sites);
            assert!(
                error.contains(expected) && error.contains("Caddyfile:3:"),
                "{error}"
            );
            assert_eq!(outcome("preload off", sites), Ok(Preload::Off));
        }
    }

    #[test]
    fn unknown_applications_and_another_preload_are_errors() {
        let site = ":80 {\n\troot /a\n\tphp_server\n}";
        let error = outcome("preload auto\nphp_ini opcache.preload /p.php", site).expect_err("two");
        assert!(error.contains("opcache.preload"), "{error}");
        let workers = "preload auto\npool b\nworker /elsewhere/w.php";
        let sites = format!("{site}\n:81 {{\n\troot /b\n\tphp_server {{\n\t\tpool b\n\t}}\n}}");
        let error = outcome(workers, &sites).expect_err("it may belong to either");
        assert!(error.contains("the worker `/elsewhere/w.php`"), "{error}");
        let error = outcome("preload yes", site).expect_err("no word");
        assert!(error.contains("`auto`, `all` or `off`"), "{error}");
    }
}
