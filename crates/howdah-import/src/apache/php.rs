//! PHP of a site, and its front controller.

use crate::output::{Lines, block, word};
use crate::pattern::is_script;

/// How a site runs PHP.
#[derive(Debug, Default)]
pub(super) struct Php {
    /// A directive passes scripts to PHP.
    pub(super) runs: bool,
    /// PHP-FPM on another machine.
    pub(super) upstream: Option<String>,
    /// The script that handles all requests that are not for files.
    pub(super) front: Option<String>,
    /// `DirectoryIndex`.
    pub(super) index: Vec<String>,
    pub(super) env: Lines,
    /// `php_value`, and those that scripts cannot change.
    pub(super) values: Vec<String>,
    pub(super) admin_values: Vec<String>,
    pub(super) browse: bool,
}

impl Php {
    pub(super) fn lines(&self) -> Lines {
        let mut options = Lines::new();
        let tried = self.index.iter().map(|name| format!(" {{path}}/{name}"));
        let tried: String = tried.collect();
        let tried = if tried.is_empty() {
            " {path}/index.php"
        } else {
            &tried
        };
        match &self.front {
            Some(script) if script == "index.php" && tried == " {path}/index.php" => {}
            Some(script) => options.push(format!("try_files {{path}}{tried} {script}")),
            None => options.push(format!("try_files {{path}}{tried} =404")),
        }
        options.extend(self.env.iter().cloned());
        for (name, values) in [
            ("PHP_VALUE", &self.values),
            ("PHP_ADMIN_VALUE", &self.admin_values),
        ] {
            if !values.is_empty() {
                options.push(format!("env {name} {}", word(&values.join("\n"))));
            }
        }
        let mut files = Lines::new();
        let plain: Vec<_> = self
            .index
            .iter()
            .filter(|name| !is_script(name))
            .cloned()
            .collect();
        if !plain.is_empty() && plain != ["index.html"] {
            files.push(format!("index {}", plain.join(" ")));
        }
        if self.browse {
            files.push("browse".to_owned());
        }
        if let Some(upstream) = &self.upstream {
            let mut lines =
                vec!["# `php_server` in place of this runs PHP in this server.".to_owned()];
            lines.extend(block(&format!("php_fastcgi {upstream}"), options));
            lines.extend(block("file_server", files));
            return lines;
        }
        if !files.is_empty() {
            options.extend(block("file_server", files));
        }
        block("php_server", options)
    }
}
