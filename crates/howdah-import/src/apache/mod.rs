//! Apache: virtual hosts become sites; `.htaccess` becomes the site of its folder.

mod php;
mod rewrite;
mod section;
mod site;
mod syntax;

use std::path::Path;

use howdah_config::Files;

use self::site::Site;
use crate::ImportError;
use crate::output::{Lines, Notes, block, word};

pub(crate) fn convert(
    text: &str,
    file: &Path,
    files: &dyn Files,
) -> Result<(Lines, Notes), ImportError> {
    let directives = syntax::parse(text, file)?;
    let mut notes = Notes::default();
    let is_host = |name: &str| name.eq_ignore_ascii_case("VirtualHost");
    let (hosts, rest): (Vec<_>, Vec<_>) = directives
        .into_iter()
        .partition(|directive| is_host(&directive.name));
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
        site.read(&rest);
        site.read(host.children());
        let head = site.head();
        let own = site.lines();
        lines.extend(block(&head, own));
    }
    Ok((lines, notes))
}
