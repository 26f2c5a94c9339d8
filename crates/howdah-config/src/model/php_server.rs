//! `php_server`, `php` and `php_fastcgi`.

use super::files::{FileServer, TryFiles};
use super::placeholder::{Part, Placeholder, Template};
use super::proxy::FastCgi;
use super::worker_pool::PhpWorker;

/// `php_server [MATCHER] { root index split try_files env file_server … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct PhpServer {
    /// How a script is found and called.
    pub script: PhpScript,
    /// `root`: overrides the site's.
    pub root: Option<Template>,
    /// `index`: the front controller, default `index.php`; `None`: `index off`.
    pub index: Option<String>,
    /// `try_files`: default `{path} {path}/{index} {index}`, without `{path}` when there is no file server, none at all
    /// with `index off`. A directory's path without its slash is redirected only if `{path}/{index}` is included, and a
    /// last candidate that ends in `.php` is used without a check of the disk: both as in FrankenPHP.
    pub try_files: TryFiles,
    /// `None` with `file_server off`.
    pub files: Option<FileServer>,
    /// `php_fastcgi`: the server that runs the script in place of this server's PHP.
    pub fastcgi: Option<Box<FastCgi>>,
}

impl Default for PhpServer {
    fn default() -> Self {
        let path = || Part::Placeholder(Placeholder::Path);
        let candidates = vec![
            Template {
                parts: vec![path()],
            },
            Template {
                parts: vec![path(), Part::Text("/index.php".into())],
            },
            Template::text("index.php"),
        ];
        Self {
            script: PhpScript::default(),
            root: None,
            index: Some("index.php".into()),
            try_files: TryFiles {
                candidates,
                fallback_status: None,
            },
            files: Some(FileServer::default()),
            fastcgi: None,
        }
    }
}

/// How a PHP script is found in a path, and its variables.
#[derive(Debug, Clone, PartialEq)]
pub struct PhpScript {
    /// `root`: overrides the site's (only for the bare `php` directive).
    pub root: Option<Template>,
    /// `split`: where `SCRIPT_NAME` ends and `PATH_INFO` begins; default `.php`. ASCII case-insensitive.
    pub split: Vec<String>,
    /// `env NAME VALUE`: additional variables, which override all others.
    pub env: Vec<(String, Template)>,
    /// `resolve_root_symlink`: default true, as in FrankenPHP.
    pub resolve_root_symlink: bool,
    /// `early_hints learn`: default false. The links in a response are sent as 103 to the next clients.
    pub learn_hints: bool,
    /// The worker pools that may handle its requests: its own (`worker`), then those of the global
    /// block. The first whose `match` matches the path, otherwise the one whose file is the script;
    /// otherwise the classic pool runs the script.
    pub workers: Vec<PhpWorker>,
    /// `pool`: the classic pool, by its index in [`Config::pools`](super::Config::pools); `None`: that of all sites.
    pub pool: Option<u16>,
}

impl Default for PhpScript {
    fn default() -> Self {
        Self {
            root: None,
            split: vec![".php".into()],
            env: Vec::new(),
            resolve_root_symlink: true,
            learn_hints: false,
            workers: Vec::new(),
            pool: None,
        }
    }
}

/// Variables of [`PhpScript::env`] that are PHP settings: lines in the syntax of php.ini. Values of placeholders in
/// them are within single quotes, and must stay there.
pub const PHP_SETTINGS: [&str; 2] = ["PHP_VALUE", "PHP_ADMIN_VALUE"];
