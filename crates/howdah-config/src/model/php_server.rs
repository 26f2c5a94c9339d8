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
    /// `try_files`: default `{path} {path}/{index} {index}`, without `{path}` when there is no file
    /// server, none at all with `index off`. A directory's path without its slash is redirected only
    /// if `{path}/{index}` is among them, and a last candidate that ends in `.php` is taken without
    /// a look at the disk: both as FrankenPHP.
    pub try_files: TryFiles,
    /// `file_server off` makes this `None`.
    pub files: Option<FileServer>,
    /// `php_fastcgi`: what runs the script in place of this server's PHP.
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

/// How a PHP script is found in a path and what it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct PhpScript {
    /// `root`: overrides the site's (only for the bare `php` directive).
    pub root: Option<Template>,
    /// `split`: where `SCRIPT_NAME` ends and `PATH_INFO` begins; default `.php`. ASCII case-insensitive.
    pub split: Vec<String>,
    /// `env NAME VALUE`: additional variables, override all others.
    pub env: Vec<(String, Template)>,
    /// `resolve_root_symlink`: default true, as FrankenPHP.
    pub resolve_root_symlink: bool,
    /// `early_hints learn`: default false. What answers ask browsers to fetch is sent as 103 to the next ones.
    pub learn_hints: bool,
    /// The worker pools that its requests may go to: its own (`worker`), then those of the global
    /// block. The first whose `match` fits the path, otherwise whose file is the script; otherwise
    /// the script is run by the classic pool.
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

/// Variables of [`PhpScript::env`] that are PHP settings, lines as php.ini has them. What placeholders stand for
/// in them is in single quotes, and has to stay there.
pub const PHP_SETTINGS: [&str; 2] = ["PHP_VALUE", "PHP_ADMIN_VALUE"];
