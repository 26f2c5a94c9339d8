//! nginx in front of PHP-FPM: the reference for `$_SERVER`.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howdah_testkit::fpm::{Fpm, Options};
use howdah_testkit::{PATIENCE, Signal, free_ports, process};
use tempfile::TempDir;

const PROGRAM: &str = "/usr/sbin/nginx";
/// Debian's FastCGI parameters. They are nginx's, except for `HTTP_HOST`.
const PARAMETERS: &str = "/etc/nginx/fastcgi_params";

/// A running nginx. It is stopped with its PHP-FPM when it is dropped.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    _fpm: Fpm,
    directory: TempDir,
}

impl Nginx {
    /// Whether nginx is installed. If not, prints a note about the skipped test.
    pub fn is_there() -> bool {
        let is_there = Path::new(PROGRAM).exists() && Path::new(PARAMETERS).exists();
        if !is_there {
            eprintln!("skipped: there is no {PROGRAM} (nginx-light)");
        }
        is_there
    }

    /// Starts nginx. It serves `root` as Debian's `snippets/fastcgi-php.conf` does, with one
    /// `server` block for each of `listeners`. A listener consists of `listen` and further
    /// directives, and of additional FastCGI parameters. `DIRECTORY` in them is replaced by a
    /// private directory.
    ///
    /// # Panics
    /// Panics if nginx does not start.
    pub fn start(root: &Path, listeners: &[(String, &str)]) -> Self {
        Self::with(|socket| {
            let servers = listeners.iter();
            servers
                .map(|(own, parameters)| server(root, socket, own, parameters))
                .collect()
        })
    }

    /// Starts nginx with these `server` blocks, which get the socket of its PHP-FPM. `DIRECTORY` in
    /// them is replaced by a private directory.
    ///
    /// # Panics
    /// Panics if nginx does not start.
    pub fn with(servers: impl FnOnce(&Path) -> String) -> Self {
        let fpm = Fpm::start(&Options::default());
        let directory = tempfile::tempdir().expect("a directory");
        let folder = directory.path().display().to_string();
        let servers = servers(fpm.socket().as_path());
        // nginx is ready when it listens on all of these sockets.
        let [port] = free_ports();
        let text = format!(
            "user root;\ndaemon off;\nworker_processes 1;\nerror_log {folder}/error.log;\npid {folder}/pid;\nevents {{}}\n\
             http {{\naccess_log off;\nclient_body_temp_path {folder}/body;\nproxy_temp_path {folder}/proxy;\n\
             fastcgi_temp_path {folder}/fastcgi;\nuwsgi_temp_path {folder}/uwsgi;\nscgi_temp_path {folder}/scgi;\n\
             fastcgi_buffer_size 32k;\nfastcgi_buffers 8 32k;\n{servers}server {{ listen 127.0.0.1:{port}; }}\n}}\n"
        )
        .replace("DIRECTORY", &folder);
        let config = directory.path().join("nginx.conf");
        std::fs::write(&config, text).expect("written");
        let mut command = Command::new(PROGRAM);
        command.arg("-c").arg(&config).arg("-e").arg("stderr");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nginx starts");
        let mut nginx = Self {
            child,
            _fpm: fpm,
            directory,
        };
        let begun = || {
            let ended = matches!(nginx.child.try_wait(), Ok(Some(_)));
            ended || TcpStream::connect(("127.0.0.1", port)).is_ok()
        };
        let begun = process::wait_until(PATIENCE, begun);
        let ended = matches!(nginx.child.try_wait(), Ok(Some(_)));
        assert!(
            begun && !ended,
            "nginx does not listen: {}",
            config.display()
        );
        nginx
    }

    /// The private directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

fn server(root: &Path, socket: &Path, own: &str, parameters: &str) -> String {
    format!(
        "server {{\n{own}\nserver_name _;\nroot {};\nindex index.php;\nerror_page 404 /error.php;\n\
         location = /missing.txt {{ return 404; }}\n\
         location / {{ try_files $uri $uri/ /index.php$is_args$args; }}\n\
         location ~ [^/]\\.php(/|$) {{\nfastcgi_split_path_info ^(.+?\\.php)(/.*)$;\n\
         set $path_info $fastcgi_path_info;\nfastcgi_param PATH_INFO $path_info;\n\
         fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\ninclude {PARAMETERS};\n{parameters}\n\
         fastcgi_pass unix:{};\n}}\n}}\n",
        root.display(),
        socket.display()
    )
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if let Err(error) = process::kill(self.child.id(), Signal::TERM) {
            eprintln!("nginx cannot be ended: {error}");
        }
        if let Err(error) = self.child.wait() {
            eprintln!("nginx cannot be waited for: {error}");
        }
    }
}
