//! An application on CodeIgniter 4.7.1 or later, from a folder that `HOWDAH_CODEIGNITER` names, with the files that
//! `spark worker:install` generates and the pages of `tests/worker/codeigniter`.

use std::path::{Path, PathBuf};
use std::process::Command;

use howdah_testkit::{Server, Www};

use crate::worker::scripts;

const WANTED: &str = "HOWDAH_CODEIGNITER";

/// The application, with these lines in its `.env`, or nothing where there is no CodeIgniter.
///
/// # Panics
/// If it cannot be made of what is there.
pub fn application(settings: &str) -> Option<Www> {
    let www = Www::new();
    install(www.path(), settings)?;
    Some(www)
}

/// Makes the application in this folder. Answers with its document root.
///
/// # Panics
/// If it cannot be made of what is there.
pub fn install(folder: &Path, settings: &str) -> Option<PathBuf> {
    let Some(source) = std::env::var_os(WANTED).map(PathBuf::from) else {
        println!("skipped: {WANTED} does not name a folder of CodeIgniter");
        return None;
    };
    copy(&source, folder);
    copy(&scripts().join("codeigniter/app"), &folder.join("app"));
    let read = |path: PathBuf| std::fs::read_to_string(&path).expect("it can be read");
    let write = |name, text: String| std::fs::write(folder.join(name), text).expect("written");
    let routes = read(folder.join("app/Config/Routes.php"));
    let more = read(scripts().join("codeigniter/routes.inc"));
    write("app/Config/Routes.php", format!("{routes}{more}"));
    write(
        ".env",
        format!("CI_ENVIRONMENT = production\napp.indexPage = ''\n{settings}"),
    );
    let installed = Command::new("php")
        .args(["spark", "worker:install", "--force"])
        .current_dir(folder)
        .output()
        .expect("php can be run");
    let root = folder.join("public");
    assert!(
        root.join("frankenphp-worker.php").is_file(),
        "{}{}",
        String::from_utf8_lossy(&installed.stdout),
        String::from_utf8_lossy(&installed.stderr),
    );
    Some(root)
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp")
        .args(["-a", "--no-preserve=ownership"])
        .arg(from.join("."))
        .arg(to)
        .status()
        .expect("cp can be run");
    assert!(done.success(), "{} could not be copied", from.display());
}

/// Its generated Caddyfile with `workers` processes on a free port, where requests may wait for a busy machine.
///
/// # Panics
/// If the file is not what was generated once, or the server does not start.
pub fn serve(www: &Www, workers: usize) -> Server {
    serve_with(www, workers, "")
}

/// The same with these lines in the block of its worker.
///
/// # Panics
/// If the file is not what was generated once, or the server does not start.
pub fn serve_with(www: &Www, workers: usize, lines: &str) -> Server {
    let text = std::fs::read_to_string(www.path().join("Caddyfile")).expect("it was generated");
    assert!(
        text.contains("# num 16") && text.contains(":8080 {"),
        "{text}"
    );
    let text = text
        .replace(
            "# num 16",
            &format!("num {workers}\nmax_wait_time 10m\n{lines}"),
        )
        .replace(":8080 {", "http://:0 {\nbind 127.0.0.1");
    let server = Server::caddyfile(text).current_dir(www.path()).start();
    // The file asks for compression.
    server.allow_log("encode");
    server
}
