//! h2spec (<https://github.com/summerwind/h2spec>), if it is installed: `make h2spec` installs and runs it.

use std::path::PathBuf;
use std::process::Command;

use howdah_testkit::Server;
use howdah_tests::tls::Authority;
use howdah_tests::www;

/// The program: `HOWDAH_H2SPEC`, or `h2spec` in `PATH`.
fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("HOWDAH_H2SPEC") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("h2spec"))
        .find(|file| file.is_file())
}

/// Output of the program. `None` if it is not installed.
fn run(server: &Server, tls: bool) -> Option<String> {
    let Some(program) = program() else {
        println!("skipped: h2spec is not installed (make h2spec)");
        return None;
    };
    let port = server.address().port().to_string();
    let mut command = Command::new(program);
    command.args([
        "-h",
        "localhost",
        "-P",
        "/hello.php",
        "-o",
        "20",
        "-p",
        &port,
    ]);
    if tls {
        command.args(["-t", "-k"]);
    }
    let output = command.output().expect("h2spec runs");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn all_but_one_without_tls() {
    let server = Server::builder(www()).workers(2).start();
    if let Some(text) = run(&server, false) {
        // An invalid HTTP/2 preface is handled as HTTP/1.1, which the port supports too.
        let (_, failures) = text.split_once("Failures:").expect("one failure");
        assert!(
            failures.contains("Sends invalid connection preface"),
            "{text}"
        );
        assert!(failures.contains(" 0 skipped, 1 failed"), "{text}");
    }
}

#[test]
fn all_with_tls() {
    let directory = tempfile::tempdir().expect("a directory");
    let pair = Authority::new().issue(directory.path(), "a", &["localhost"]);
    let text = format!(
        "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {}\n}}\n\
         https://localhost:0 {{\nbind 127.0.0.1\ntls {pair}\nroot * {}\nphp_server\n}}\n",
        directory.path().display(),
        www().display(),
    );
    let server = Server::caddyfile(text).start();
    if let Some(text) = run(&server, true) {
        assert!(text.contains(" 0 skipped, 0 failed"), "{text}");
    }
}
