//! Password files, as `htpasswd` writes them.

use std::path::Path;

use howdah_config::Files;

use crate::output::{FORBIDDEN, Lines, Notes, block, word};

/// Requires a password. Without users whose passwords can be checked, access is denied.
pub(crate) fn basic_auth(
    file: Option<&str>,
    realm: Option<&str>,
    line: usize,
    files: &dyn Files,
    notes: &mut Notes,
) -> Lines {
    let Some(file) = file else {
        let why = "the password file is missing; responses are 403 until `basic_auth` names users";
        return vec![notes.add(line, "a password", why), FORBIDDEN.to_owned()];
    };
    let mut lines = Vec::new();
    let mut users = Vec::new();
    match files.read(Path::new(file)) {
        Ok(text) => {
            for entry in text.lines().map(str::trim) {
                let Some((name, hash)) = entry.split_once(':').filter(|_| !entry.starts_with('#'))
                else {
                    continue;
                };
                let hash = hash.split(':').next().unwrap_or_default();
                if ["$2y$", "$2a$", "$2b$"]
                    .iter()
                    .any(|kind| hash.starts_with(kind))
                {
                    users.push(format!("{} {hash}", word(name)));
                } else {
                    let why = format!(
                        "the password of {name} is not hashed with bcrypt; hash it with `howdah hash-password`"
                    );
                    lines.push(notes.add(line, file, &why));
                }
            }
        }
        Err(error) => {
            let why = format!("{error}; copy its users to `basic_auth`");
            lines.push(notes.add(line, file, &why));
        }
    }
    if users.is_empty() {
        lines.push("# All requests are denied until `basic_auth` has a user.".to_owned());
        lines.push(FORBIDDEN.to_owned());
        return lines;
    }
    let head = match realm {
        Some(realm) => format!("basic_auth bcrypt {}", word(realm)),
        None => "basic_auth".to_owned(),
    };
    lines.extend(block(&head, users));
    lines
}
