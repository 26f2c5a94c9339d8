//! The document roots that a configuration names.

use std::path::Path;

use crate::model::{Config, Handler, PhpWorker, Route, Site, Template, WorkerPool, each_handler};
use crate::source::absolute;

impl Config {
    /// Document roots without placeholders, in the order of the file: they can be checked before a
    /// server starts. Relative ones are relative to the working directory.
    #[must_use]
    pub fn constant_roots(&self) -> Vec<&str> {
        let mut roots = Vec::new();
        for routes in self.sites.iter().flat_map(Site::all_routes) {
            collect(routes, &mut roots);
        }
        roots.into_iter().filter_map(Template::as_text).collect()
    }
}

/// The roots of worker pools, as determined by `php_server` blocks and their sites.
struct BootRoots<'a> {
    folder: &'a Path,
    /// Pools that belong to one application: without the first `global` ones.
    pools: &'a mut [WorkerPool],
    global: usize,
    /// Known roots of applications, which global workers below them get.
    applications: Vec<String>,
}

impl Config {
    /// Sets the root of each pool, for the request with which a worker script boots: the root of its application, or
    /// the first root that contains the file of a global worker.
    pub(crate) fn find_boot_roots(&mut self, folder: &Path, global: usize) {
        let mut roots = BootRoots {
            folder,
            pools: &mut self.workers,
            global,
            applications: Vec::new(),
        };
        for site in &self.sites {
            let mut root = Some(".".to_owned());
            roots.visit(&site.routes, &mut root);
            for errors in &site.errors {
                roots.visit(&errors.routes, &mut root.clone());
            }
        }
        let applications = roots.applications;
        for pool in self.workers.iter_mut().take(global) {
            let mut above = applications
                .iter()
                .filter(|root| Path::new(&pool.file).starts_with(root));
            pool.root = above.next().cloned();
        }
    }
}

impl BootRoots<'_> {
    /// `root`: the current root, if it is the same for all requests.
    fn visit(&mut self, routes: &[Route], root: &mut Option<String>) {
        for route in routes {
            for routes in route.handler.nested_routes() {
                self.visit(routes, &mut root.clone());
            }
            match &route.handler {
                Handler::Root(new) if route.matcher.is_none() => {
                    *root = new.as_text().map(str::to_owned);
                }
                Handler::PhpServer(server) => {
                    let own = server.root.as_ref().or(server.script.root.as_ref());
                    self.application(&server.script.workers, own, root.as_deref());
                }
                Handler::Php(script) => {
                    self.application(&script.workers, script.root.as_ref(), root.as_deref());
                }
                _ => {}
            }
        }
    }

    fn application(&mut self, workers: &[PhpWorker], own: Option<&Template>, site: Option<&str>) {
        let Some(root) = own.map_or(site, Template::as_text) else {
            return;
        };
        let root = absolute(self.folder, root);
        for worker in workers {
            if worker.pool >= self.global
                && let Some(pool) = self.pools.get_mut(worker.pool)
            {
                pool.root = Some(root.clone());
            }
        }
        self.applications.push(root);
    }
}

fn collect<'a>(routes: &'a [Route], roots: &mut Vec<&'a Template>) {
    each_handler(routes, &mut |handler| match handler {
        Handler::Root(root) => roots.push(root),
        Handler::PhpServer(server) => {
            let files = server.files.as_ref().and_then(|files| files.root.as_ref());
            let own = [server.root.as_ref(), server.script.root.as_ref(), files];
            roots.extend(own.into_iter().flatten());
        }
        Handler::Php(script) => roots.extend(&script.root),
        Handler::FileServer(files) => roots.extend(&files.root),
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    use crate::{NoFiles, parse};

    #[test]
    fn roots_are_found_wherever_they_stand() {
        let text = ":80 {\n root * /a\n handle /x {\n  root * /b\n  php_server {\n   root /c\n  }\n }\n \
                    handle {\n  root * /{host}\n  file_server {\n   root /d\n  }\n }\n}";
        let parsed = parse(text, "Caddyfile", &|_| None, &NoFiles).expect("valid");
        assert_eq!(parsed.config.constant_roots(), ["/a", "/b", "/c", "/d"]);
    }
}
