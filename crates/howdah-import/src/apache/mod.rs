//! Apache: virtual hosts become sites; `.htaccess` becomes the site of its folder.

mod expiry;
mod header;
mod php;
mod proxy;
mod redirect;
mod rewrite;
mod rule_flags;
mod section;
mod site;
mod syntax;

use std::path::Path;

use howdah_config::Files;

use self::site::Site;
use crate::ImportError;
use crate::directive::Directive;
use crate::output::{Lines, Notes, block, word};

pub(crate) fn convert(
    text: &str,
    file: &Path,
    files: &dyn Files,
) -> Result<(Lines, Notes), ImportError> {
    let directives = syntax::parse(text, file)?;
    let mut notes = Notes::default();
    let (mut hosts, mut rest) = (Vec::new(), Vec::new());
    separate(directives, &mut hosts, &mut rest);
    let mut lines = Lines::new();
    let has_root = rest
        .iter()
        .any(|own| own.name.eq_ignore_ascii_case("DocumentRoot"));
    if hosts.is_empty() {
        if rest.is_empty() {
            return Err(ImportError::Empty {
                file: file.display().to_string(),
                reason: "there is no directive",
            });
        }
        let mut site = Site::new(files, &mut notes, !has_root);
        site.roots(&rest);
        site.read(&rest);
        let mut own = site.lines();
        if !has_root {
            let folder = file
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.map_or(".".to_owned(), |folder| folder.display().to_string());
            own.insert(0, format!("root * {}", word(&folder)));
        }
        lines.extend(block("http://:8080", own));
        return Ok((lines, notes));
    }
    for host in hosts {
        let mut site = Site::new(files, &mut notes, false);
        site.addresses(&host);
        site.roots(&rest);
        site.roots(host.children());
        site.read(&rest);
        site.read(host.children());
        site.read_override_file();
        let head = site.head();
        let own = site.lines();
        lines.extend(block(&head, own));
    }
    Ok((lines, notes))
}

/// Virtual hosts, also those within conditions such as `<IfModule mod_ssl.c>`, and all other directives.
fn separate(directives: Vec<Directive>, hosts: &mut Vec<Directive>, rest: &mut Vec<Directive>) {
    for mut directive in directives {
        let is = |name: &str| directive.name.eq_ignore_ascii_case(name);
        if is("VirtualHost") {
            hosts.push(directive);
        } else if site::is_condition(&directive) {
            let mut own = Vec::new();
            separate(directive.block.take().unwrap_or_default(), hosts, &mut own);
            directive.block = Some(own);
            rest.push(directive);
        } else {
            rest.push(directive);
        }
    }
}
