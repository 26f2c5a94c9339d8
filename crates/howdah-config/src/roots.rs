//! The document roots that a configuration names.

use crate::model::{Config, Handler, Route, Template};

impl Config {
    /// Document roots without placeholders, in the order of the file: they can be checked before a
    /// server starts. Relative ones are relative to the working directory.
    #[must_use]
    pub fn constant_roots(&self) -> Vec<&str> {
        let mut roots = Vec::new();
        for site in &self.sites {
            collect(&site.routes, &mut roots);
        }
        roots.into_iter().filter_map(Template::as_text).collect()
    }
}

fn collect<'a>(routes: &'a [Route], roots: &mut Vec<&'a Template>) {
    for route in routes {
        match &route.handler {
            Handler::Root(root) => roots.push(root),
            Handler::Chain(routes) => collect(routes, roots),
            Handler::PhpServer(server) => {
                let files = server.files.as_ref().and_then(|files| files.root.as_ref());
                roots.extend(
                    [server.root.as_ref(), server.script.root.as_ref(), files]
                        .into_iter()
                        .flatten(),
                );
            }
            Handler::Php(script) => roots.extend(&script.root),
            Handler::FileServer(files) => roots.extend(&files.root),
            _ => {}
        }
    }
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
