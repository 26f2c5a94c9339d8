//! The commands that are not a server, and how the two that are find their configuration.

use std::fmt;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use howdah_config::model::{AccessLog, Address, Config, Handler, PhpServer, Route, Site, Template};

use crate::{cli, php, serve};

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The configuration, the command line or the installation is wrong: exit code 2.
    Setup(String),
    /// It went wrong while running: exit code 1.
    Runtime(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Setup(_) => ExitCode::from(2),
            Self::Runtime(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(text) | Self::Runtime(text) => f.write_str(text),
        }
    }
}

pub(crate) type Outcome = Result<ExitCode, Failure>;

fn setup(error: impl fmt::Display) -> Failure {
    Failure::Setup(error.to_string())
}

/// `howdah php-server`.
pub(crate) fn php_server(options: cli::PhpServer) -> Outcome {
    serve::serve(&php_server_config(options)?)
}

/// `howdah run`.
pub(crate) fn run(options: &cli::Run) -> Outcome {
    if let Some(file) = options.envfile.first() {
        let text = std::fs::read_to_string(file)
            .map_err(|error| setup(format_args!("{}: {error}", file.display())))?;
        // The variables must be in our own environment: PHP inherits it. Starting over is the one way
        // to set it that is safe whatever threads a library may have started.
        return restart_with(&env_lines(&text, file)?, options);
    }
    let parsed = howdah_config::load(&options.file.config).map_err(setup)?;
    for warning in &parsed.warnings {
        eprintln!("howdah: warning: {warning}");
    }
    serve::serve(&parsed.config)
}

/// `howdah validate`.
pub(crate) fn validate(options: &cli::ConfigFile) -> Outcome {
    let parsed = howdah_config::load(&options.config).map_err(setup)?;
    for warning in &parsed.warnings {
        eprintln!("warning: {warning}");
    }
    println!("{}: valid", options.config.display());
    Ok(ExitCode::SUCCESS)
}

/// `howdah fmt`.
pub(crate) fn fmt(options: &cli::Fmt) -> Outcome {
    let from_stdin = options.file.as_os_str() == "-";
    let named = |error| setup(format_args!("{}: {error}", options.file.display()));
    let text = if from_stdin {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(named)?;
        text
    } else {
        std::fs::read_to_string(&options.file).map_err(named)?
    };
    let formatted = howdah_config::fmt(&text);
    if options.overwrite && !from_stdin {
        if formatted != text {
            std::fs::write(&options.file, &formatted).map_err(named)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    std::io::stdout()
        .write_all(formatted.as_bytes())
        .map_err(|error| Failure::Runtime(error.to_string()))?;
    // As `caddy fmt`: 1 says that the file is not formatted, so that scripts can check it.
    Ok(ExitCode::from(u8::from(!from_stdin && formatted != text)))
}

/// `howdah php-cli`: becomes PHP.
pub(crate) fn php_cli(options: &cli::PhpCli) -> Outcome {
    let executable = php::executable(None);
    let error = Command::new(&executable)
        .arg("cli")
        .args(&options.arguments)
        .exec();
    Err(setup(format_args!(
        "cannot run {}: {error}; build it with `make build`",
        executable.display()
    )))
}

/// `howdah version`.
pub(crate) fn version() -> ExitCode {
    println!("howdah {}", env!("CARGO_PKG_VERSION"));
    match howdah_pool::php_info(&php::executable(None)) {
        Ok(info) => println!(
            "PHP {} ({})",
            info.php,
            if info.zts { "ZTS" } else { "NTS" }
        ),
        // Still an answer: what is missing is what one wants to know.
        Err(error) => println!("no PHP: {error}"),
    }
    ExitCode::SUCCESS
}

/// The configuration that the flags of `php-server` mean.
fn php_server_config(options: cli::PhpServer) -> Result<Config, Failure> {
    let root = match options.root {
        Some(root) => root,
        None if Path::new("public").is_dir() => "public".into(),
        None => ".".into(),
    };
    let (bind, port) = listen_address(options.listen.as_deref().unwrap_or(":8080"))?;
    let site = Site {
        addresses: vec![Address {
            host: options.domain.map(|name| name.to_lowercase()),
            port,
        }],
        bind: bind.into_iter().collect(),
        access_log: options.access_log.then(AccessLog::default),
        routes: vec![Route {
            matcher: None,
            handler: Handler::PhpServer(PhpServer {
                root: Some(Template::text(utf8(&root)?)),
                ..PhpServer::default()
            }),
            group: None,
        }],
    };
    let mut config = Config {
        sites: vec![site],
        ..Config::default()
    };
    config.global.debug = options.debug;
    config.global.grace_period = Some(options.grace_period);
    let settings = &mut config.global.php;
    settings.executable = options.php;
    settings.workers = options.workers;
    settings.front_threads = options.front_threads;
    settings.max_requests = options.max_requests;
    settings.queue_length = options.queue_length;
    settings.max_wait_time = options.max_wait_time;
    settings.request_timeout = options.request_timeout;
    settings.ini = options.php_ini;
    Ok(config)
}

fn utf8(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        setup(format_args!(
            "{}: a document root must have a UTF-8 name",
            path.display()
        ))
    })
}

/// `HOST:PORT`, `:PORT` or `HOST`; `localhost` is 127.0.0.1.
fn listen_address(text: &str) -> Result<(Option<IpAddr>, u16), Failure> {
    let wrong = || {
        setup(format_args!(
            "--listen {text}: expected HOST:PORT or :PORT, such as 127.0.0.1:8080"
        ))
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip = match host {
        "" => None,
        "localhost" => Some(IpAddr::from([127, 0, 0, 1])),
        _ => Some(host.parse().map_err(|_| wrong())?),
    };
    Ok((ip, port))
}

/// `NAME=VALUE` lines; `#` starts a comment line, quotes around a value are removed.
fn env_lines(text: &str, file: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut variables = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            return Err(setup(format_args!(
                "{}:{}: expected NAME=VALUE",
                file.display(),
                number + 1
            )));
        };
        let value = value.trim();
        let unquoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
            .unwrap_or(value);
        variables.push((name.trim().to_owned(), unquoted.to_owned()));
    }
    Ok(variables)
}

/// Runs this program again with further variables and without the files they came from.
fn restart_with(variables: &[(String, String)], options: &cli::Run) -> Outcome {
    let own: PathBuf = std::env::current_exe().map_err(setup)?;
    let mut command = Command::new(own);
    command.arg("run").arg("--config").arg(&options.file.config);
    for file in options.envfile.iter().skip(1) {
        command.arg("--envfile").arg(file);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    Err(setup(command.exec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses() {
        let table = [
            (":8080", None, 8080),
            ("127.0.0.1:0", Some("127.0.0.1"), 0),
            ("localhost:80", Some("127.0.0.1"), 80),
            ("[::1]:443", Some("::1"), 443),
        ];
        for (text, ip, port) in table {
            let expected = (ip.map(|ip| ip.parse().expect("an address")), port);
            assert_eq!(listen_address(text).expect(text), expected);
        }
        for wrong in ["8080", ":", ":99999", "nowhere:80", ""] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn env_files() {
        let text = "# comment\n\nA=1\nexport B=\"two words\"\nC='x=y'\n";
        let variables = env_lines(text, Path::new(".env")).expect("valid");
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y")];
        assert_eq!(
            variables,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        let error = env_lines("A=1\nnonsense\n", Path::new(".env")).expect_err("no value");
        assert_eq!(error.to_string(), ".env:2: expected NAME=VALUE");
    }
}
