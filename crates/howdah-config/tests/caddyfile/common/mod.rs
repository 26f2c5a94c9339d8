//! Shared parts of the tests.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use howdah_config::model::{Handler, Matcher, Part, Placeholder, Route, Template};
use howdah_config::{Config, Errors, Files, ParsedConfig, parse};

/// Files in memory.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) BTreeMap<&'static str, &'static str>);

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<String> {
        let text = path.to_str().and_then(|path| self.0.get(path));
        text.map(|text| (*text).to_owned())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn glob(&self, pattern: &str) -> io::Result<Vec<PathBuf>> {
        let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
        let found = self
            .0
            .keys()
            .filter(|name| name.starts_with(start) && name.ends_with(end));
        Ok(found.map(PathBuf::from).collect())
    }
}

pub(crate) fn environment(name: &str) -> Option<String> {
    match name {
        "PORT" => Some("8080".into()),
        "EMPTY" => Some(String::new()),
        "LINES" => Some("root * public\nphp_server".into()),
        _ => None,
    }
}

pub(crate) fn full(text: &str) -> Result<ParsedConfig, Errors> {
    parse(text, "Caddyfile", &environment, &Memory::default())
}

pub(crate) fn config(text: &str) -> Config {
    full(text)
        .unwrap_or_else(|errors| panic!("{text}\n{errors}"))
        .config
}

/// Error messages for an invalid file.
pub(crate) fn errors(text: &str) -> Vec<String> {
    match full(text) {
        Ok(parsed) => panic!("{text}\nis accepted: {:?}", parsed.config),
        Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
    }
}

/// Routes of one site on port 80 with these directives.
pub(crate) fn routes(directives: &str) -> Vec<Route> {
    config(&format!(":80 {{\n{directives}\n}}\n"))
        .sites
        .remove(0)
        .routes
}

/// Handler of a site with one directive.
pub(crate) fn handler(directive: &str) -> Handler {
    let mut routes = routes(directive);
    assert_eq!(routes.len(), 1, "{directive}");
    routes.remove(0).handler
}

pub(crate) fn matcher(definition: &str) -> Matcher {
    routes(&format!("{definition}\nrespond @a ok"))
        .remove(0)
        .matcher
        .expect("a matcher")
}

pub(crate) fn text(text: &str) -> Template {
    Template::text(text)
}

pub(crate) fn placeholder(placeholder: Placeholder) -> Template {
    Template {
        parts: vec![Part::Placeholder(placeholder)],
    }
}

/// A template of `{path}` and the text after it.
pub(crate) fn path_and(end: &str) -> Template {
    Template {
        parts: vec![Part::Placeholder(Placeholder::Path), Part::Text(end.into())],
    }
}
