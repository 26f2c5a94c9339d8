//! A server in front of upstreams.

use howdah_config::{NoFiles, parse};

use super::{Harness, php_site};

/// A server whose site has these directives. `UP` in them is replaced by the address of the
/// upstream.
pub fn front(upstream: &str, global: &str, site: &str) -> Harness {
    front_of_threads(1, upstream, global, site)
}

/// Like `front`, with this number of front threads. The kernel chooses the thread of each
/// connection.
pub fn front_of_threads(threads: usize, upstream: &str, global: &str, site: &str) -> Harness {
    let text = format!(
        "{{\nhowdah {{\nfront_threads {threads}\n}}\n{global}\n}}\n:0 {{\nbind 127.0.0.1\n{site}\n}}\n"
    )
    // Not `UP` alone, because the path of a temporary directory may contain it.
    .replace("reverse_proxy UP", &format!("reverse_proxy {upstream}"))
    .replace(" UP {", &format!(" {upstream} {{"));
    let parsed = parse(&text, "Caddyfile", &|_| None, &NoFiles)
        .unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    Harness::start(&parsed.config)
}

pub struct Back {
    pub harness: Harness,
    _directory: tempfile::TempDir,
}

pub fn back() -> Back {
    let directory = tempfile::tempdir().unwrap();
    Back {
        harness: Harness::start(&php_site(directory.path())),
        _directory: directory,
    }
}

impl Back {
    pub fn address(&self) -> String {
        self.harness.address().to_string()
    }
}
