//! `preload`: which files PHP is started with, and whether the configuration has one application, whose classes
//! no other one may see.

use crate::error::{Error, ErrorKind, Position};
use crate::model::{Config, Handler, Preload, Route, Template, User};
use crate::source::absolute;
use crate::table::{Call, Entry, bad_value};
use std::path::Path;

pub(crate) const ENTRY: Entry = Entry {
    name: "preload",
    syntax: "preload auto|all|off",
    default: "`off`",
    about: "Restarts PHP in the background with the classes preloaded that requests have used. `auto`: classes of \
        files that an autoloader included and that only declare classes. `all`: all files that were used, whatever \
        they declare; for applications that support this. All PHP of the server has to be one application, with one \
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

/// What is wrong with preloading in this configuration, and what to do.
pub(crate) fn check(config: &Config, folder: &Path, position: &Position) -> Result<(), Error> {
    let conflict =
        |message: String, hint: &str| Error::new(ErrorKind::Conflict, position, message, hint);
    if config.global.php.preloads_itself() {
        return Err(conflict(
            "`preload` and `php_ini opcache.preload` both set what is preloaded".into(),
            "take one of them out",
        ));
    }
    let mut roots = Roots::default();
    for site in &config.sites {
        let mut root = Root::Is(".".to_owned());
        roots.visit(&site.routes, &mut root);
        for errors in &site.errors {
            roots.visit(&errors.routes, &mut root.clone());
        }
    }
    let mut known: Vec<String> = Vec::new();
    for root in roots.of_php {
        let Root::Is(root) = root else {
            return Err(conflict(
                "`preload` needs the same document root for all requests: classes of one application must not be \
                visible to another"
                    .into(),
                "give each application a server of its own, or write `preload off`",
            ));
        };
        let root = absolute(folder, &root);
        if !known.contains(&root) {
            known.push(root);
        }
    }
    if let [first, second, ..] = known.as_slice() {
        return Err(conflict(
            format!(
                "`preload` needs one application, and there is PHP below {first} and below {second}: classes of one \
                must not be visible to the other"
            ),
            "give each application a server of its own, or write `preload off`",
        ));
    }
    let mut users: Vec<Option<&User>> = vec![config.global.php.user.as_ref()];
    let classic = config.pools.iter().map(|pool| &pool.settings);
    let workers = config.workers.iter().map(|pool| &pool.settings);
    for settings in classic.chain(workers) {
        let user = settings.user.as_ref().or(users[0]);
        if !users.contains(&user) {
            users.push(user);
        }
    }
    if users.len() > 1 {
        return Err(conflict(
            "`preload` needs one user for all PHP processes: code that one user may read must not be visible to \
            another".into(),
            "take `user` out of the pools, or write `preload off`",
        ));
    }
    Ok(())
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

/// Those that PHP is run with.
#[derive(Default)]
struct Roots {
    of_php: Vec<Root>,
}

impl Roots {
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
                    self.of_php
                        .push(own.map_or_else(|| root.clone(), Root::from));
                }
                Handler::Php(script) => {
                    let own = script.root.as_ref();
                    self.of_php
                        .push(own.map_or_else(|| root.clone(), Root::from));
                }
                _ => {}
            }
        }
    }
}

/// Whether one of these routes has another root for some requests than the others, or than that of `before` where
/// there is no other, whatever their order.
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
    use crate::model::Preload;
    use crate::{NoFiles, parse};

    fn outcome(global: &str, sites: &str) -> Result<Preload, String> {
        let text = format!("{{\n\tfrankenphp {{\n{global}\n\t}}\n}}\n{sites}");
        let parsed = parse(&text, "Caddyfile", &|_| None, &NoFiles);
        parsed
            .map(|parsed| parsed.config.global.php.preload)
            .map_err(|errors| errors.to_string())
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
    fn several_applications_are_told() {
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
    fn users_and_another_preload_are_told() {
        let site = ":80 {\n\troot /a\n\tphp_server\n}";
        let error = outcome("preload auto\nphp_ini opcache.preload /p.php", site).expect_err("two");
        assert!(error.contains("opcache.preload"), "{error}");
        let users = "preload auto\nuser web\nworker {\nfile /a/w.php\nuser other\n}";
        let error = outcome(users, site).expect_err("two users");
        assert!(error.contains("one user"), "{error}");
        let error = outcome("preload yes", site).expect_err("no word");
        assert!(error.contains("`auto`, `all` or `off`"), "{error}");
    }
}
