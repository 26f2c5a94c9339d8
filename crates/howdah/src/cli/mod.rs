//! The command line. Names and meanings of `run`, `php-server`, `php-cli`, `validate`, `fmt` and
//! `version` are FrankenPHP's and Caddy's, so that scripts and habits carry over.

mod limit_flags;
#[cfg(test)]
mod reference;

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use howdah_config::model::{CONCURRENCY_MAX, FRONT_THREADS_MAX, Preload, User, WORKERS_MAX};
use howdah_observe::admin::AdminAddress;

use self::limit_flags::LimitFlags;

/// What `--watch` without a pattern watches: `FrankenPHP`'s default.
pub(crate) const WATCHED: &str = "./**/*.{env,php,twig,yaml,yml}";

/// A PHP application server on the stock PHP of the distribution.
#[derive(Debug, Parser)]
#[command(
    name = "howdah",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a PHP application without a configuration file
    PhpServer(Box<PhpServer>),
    /// Serve what a Caddyfile says
    Run(Run),
    /// Run a PHP script as the php command does
    PhpCli(PhpCli),
    /// Check a Caddyfile and say what is wrong with it
    Validate(ConfigFile),
    /// Format a Caddyfile
    Fmt(Fmt),
    /// Check PHP, files, ports and limits before the server starts, and whether the application is safe with
    /// `concurrency`
    Doctor(Doctor),
    /// Read the Caddyfile again and restart PHP in a running server, without losing a request
    Reload(Reload),
    /// End a running server when it has answered what it works on
    Stop(Remote),
    /// Show what a running server does
    Status(Status),
    /// Show the reports of PHP processes that crashed
    Crashes(Crashes),
    /// Show what a running server does, again and again
    Top(Top),
    /// Have this machine trust the certificates that `tls internal` makes: put the root of the
    /// server's own authority into the system's list
    Trust(Trust),
    /// Take that root out of the system's list
    Untrust,
    /// Print the versions of howdah and of the PHP that it runs
    Version,
    /// Print what this program was built from
    BuildInfo,
    /// What a server starts beside itself
    #[command(hide = true)]
    Monitor(Monitor),
}

#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct PhpServer {
    /// Document root [default: public if it exists, else the current directory; with --worker: the
    /// folder of FILE if that is public, else the public beside FILE, else the folder of FILE]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Address to listen on, HOST:PORT or :PORT [default: :8080; with --domain: :443, and :80 to redirect]
    #[arg(short, long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Answer only requests for this host name, with HTTPS and a certificate of its own unless --listen
    /// says where
    #[arg(short, long, value_name = "NAME")]
    pub(crate) domain: Option<String>,
    /// Worker script: N processes boot it once, and it answers every request that is not for a
    /// static file [default of N: two for each core, at least four]
    #[arg(short, long, value_name = "FILE[,N]", value_parser = worker)]
    pub(crate) worker: Option<Worker>,
    /// Restart the worker when a file that matches the pattern changes; may be given again
    /// [default pattern: ./**/*.{env,php,twig,yaml,yml}]
    #[arg(long, value_name = "GLOB", num_args = 0..=1, require_equals = true,
        default_missing_value = WATCHED, hide_default_value = true, requires = "worker")]
    pub(crate) watch: Vec<String>,
    /// Requests that a process of the worker script runs at a time: it goes on with the others while one
    /// waits; then N of --worker is the number of cores, at least two [default: one]
    #[arg(long, value_name = "N", value_parser = concurrency, requires = "worker")]
    pub(crate) concurrency: Option<u32>,
    /// Log what requests of the worker script leave behind for later ones, and send the number of such leaks in
    /// the header X-Howdah-Leaks; for development
    #[arg(long, requires = "worker", conflicts_with = "concurrency")]
    pub(crate) detect_leaks: bool,
    /// PHP processes of classic mode [default: two for each core, at least
    /// four; with --worker: one]
    #[arg(long, value_name = "N", value_parser = processes)]
    pub(crate) workers: Option<usize>,
    /// Threads that serve connections [default: one for each core, 1 to 16]
    #[arg(long, value_name = "N", value_parser = front_threads)]
    pub(crate) front_threads: Option<usize>,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    /// How long everything is served as before after the order to stop, readiness apart, so that load balancers
    /// turn away [default: 7s if one polls readiness, else 0]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) shutdown_delay: Option<Duration>,
    /// How long requests may go on after the order to stop
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) grace_period: Duration,
    /// Become this user once started by root, with all PHP processes [default: www-data, or nobody; root where
    /// that user does not reach the document root]
    #[arg(long, value_name = "NAME[:GROUP]")]
    pub(crate) user: Option<User>,
    /// Set a php.ini value; may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = ini_setting)]
    pub(crate) php_ini: Vec<(String, String)>,
    /// Set a php.ini value that neither scripts nor .user.ini files can change; may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = ini_setting)]
    pub(crate) php_admin_ini: Vec<(String, String)>,
    /// Start PHP another time with the classes that requests have used: auto for files that an autoloader has
    /// included and that only declare classes, all for whatever was used
    #[arg(long, value_name = "auto|all|off", default_value = "off", value_parser = preload)]
    pub(crate) preload: Preload,
    /// Take orders and tell about the server at this address, HOST:PORT or unix//PATH [default: off]
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<AdminAddress>,
    /// The howdah-php to run [default: the one beside this executable, then on PATH]
    #[arg(long, value_name = "FILE")]
    pub(crate) php: Option<PathBuf>,
    /// Log each request
    #[arg(short, long)]
    pub(crate) access_log: bool,
    /// Log in detail
    #[arg(short = 'v', long = "debug")]
    pub(crate) debug: bool,
    /// Push updates to browsers: a Mercure hub, its keys in the environment variables
    /// `MERCURE_PUBLISHER_JWT_KEY` and `MERCURE_SUBSCRIBER_JWT_KEY`
    #[arg(short, long)]
    pub(crate) mercure: bool,
    /// Send responses as they are; without it they are compressed for clients that take zstd, br or gzip
    #[arg(long)]
    pub(crate) no_compress: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigFile {
    /// The Caddyfile
    #[arg(short, long, value_name = "FILE", default_value = "Caddyfile")]
    pub(crate) config: PathBuf,
    #[command(flatten)]
    format: Format,
}

/// Caddy's option, which commands written for it and for `FrankenPHP` have.
#[derive(Debug, Args)]
struct Format {
    /// The format of the configuration: a Caddyfile, the one that there is
    #[arg(short, long, value_name = "NAME")]
    adapter: Option<Adapter>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Adapter {
    Caddyfile,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The Caddyfile [default: Caddyfile, if there is one]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["worker", "root"])]
    pub(crate) config: Option<PathBuf>,
    /// Check what `howdah php-server --worker FILE` would serve
    #[arg(short, long, value_name = "FILE")]
    pub(crate) worker: Option<PathBuf>,
    /// Check what `howdah php-server --root DIR` would serve
    #[arg(short, long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Look whether the application is safe with `concurrency`; done without it where a worker has that
    #[arg(long)]
    pub(crate) coroutines: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The howdah-php to check [default: that of the Caddyfile, else the one beside this executable,
    /// then on PATH]
    #[arg(long, value_name = "FILE")]
    pub(crate) php: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The Caddyfile that names the storage of certificates [default: Caddyfile, if there is one]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the root in PEM and change nothing
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    /// Read environment variables from a file of NAME=VALUE lines first
    #[arg(short, long, value_name = "FILE")]
    pub(crate) envfile: Vec<PathBuf>,
    /// Restart workers when PHP files below the current directory change, for worker blocks
    /// without `watch`; and reload when the Caddyfile changes
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Print the environment first, with what is secret in it, as Caddy does
    #[arg(long)]
    pub(crate) environ: bool,
}

/// Which running server.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The Caddyfile that names its admin address, and which `reload` has it serve [default: Caddyfile, if
    /// there is one]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Its admin address, HOST:PORT or unix//PATH [default: that of the Caddyfile, else localhost:2019]
    #[arg(long, value_name = "ADDR")]
    pub(crate) address: Option<AdminAddress>,
}

#[derive(Debug, Args)]
pub(crate) struct Reload {
    #[command(flatten)]
    pub(crate) server: Remote,
    #[command(flatten)]
    format: Format,
    /// Only PHP in this pool
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// Reload although nothing changed, which is what always happens; Caddy has this option
    #[arg(short, long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) server: Remote,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The files that PHP was started with, and why others were not
    #[arg(long)]
    pub(crate) preload: bool,
    /// The requests under way: where each is, and what it waits for
    #[arg(long, conflicts_with = "preload")]
    pub(crate) requests: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Crashes {
    /// What to do with the reports
    #[arg(
        value_enum,
        value_name = "list|show|clear",
        hide_possible_values = true,
        default_value = "list"
    )]
    pub(crate) action: CrashesAction,
    /// The number of the report that is to be shown
    #[arg(value_name = "N")]
    pub(crate) number: Option<u64>,
    #[command(flatten)]
    pub(crate) server: Remote,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CrashesAction {
    List,
    Show,
    Clear,
}

#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    pub(crate) server: Remote,
    /// Seconds between two looks
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) interval: u32,
    /// Look once, for scripts
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The Caddyfile; - for standard input
    #[arg(default_value = "Caddyfile")]
    pub(crate) file: PathBuf,
    /// Write the result back to the file
    #[arg(short = 'w', long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Monitor {
    /// The server's command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct PhpCli {
    /// Script and its arguments, or options of the php command: -r CODE, -i, -m, -v, -d NAME=VALUE
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "SCRIPT"
    )]
    pub(crate) arguments: Vec<OsString>,
}

/// `500ms`, `5s`, `2m`, `1h`; a bare number is an error, because nobody remembers its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number
        .parse()
        .map_err(|_| "expected a time such as 500ms, 5s or 2m")?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        "" => return Err(format!("{text} has no unit; write {text}s or {text}ms")),
        _ => return Err("expected a time such as 500ms, 5s or 2m".into()),
    };
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| "too long".into())
}

/// A worker script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) file: PathBuf,
    /// Processes.
    pub(crate) count: Option<usize>,
}

/// `FILE` or `FILE,N`.
fn worker(text: &str) -> Result<Worker, String> {
    let (file, count) = match text.rsplit_once(',') {
        Some((file, count)) => (file, Some(processes(count)?)),
        None => (text, None),
    };
    if file.is_empty() {
        return Err("expected FILE or FILE,N".into());
    }
    Ok(Worker {
        file: file.into(),
        count,
    })
}

fn processes(text: &str) -> Result<usize, String> {
    bounded(text, &WORKERS_MAX)
}

fn preload(text: &str) -> Result<Preload, String> {
    Preload::named(text).ok_or_else(|| "it is auto, all or off".into())
}

fn concurrency(text: &str) -> Result<u32, String> {
    bounded(text, &CONCURRENCY_MAX)
}

fn front_threads(text: &str) -> Result<usize, String> {
    bounded(text, &FRONT_THREADS_MAX)
}

fn bounded<T>(text: &str, most: &T) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display + From<u8>,
{
    let number: Option<T> = text.parse().ok();
    number
        .filter(|number| *number >= T::from(1) && number <= most)
        .ok_or_else(|| format!("expected a number from 1 to {most}"))
}

fn ini_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("5"), Err("5 has no unit; write 5s or 5ms".into()));
        for wrong in [
            "",
            "s",
            "1d",
            "-1s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn workers_have_a_file_and_maybe_a_number() {
        let of = |file: &str, count| {
            Ok(Worker {
                file: file.into(),
                count,
            })
        };
        assert_eq!(worker("a.php"), of("a.php", None));
        assert_eq!(worker("a,b.php,4"), of("a,b.php", Some(4)));
        for wrong in ["", ",4", "a.php,", "a.php,0", "a.php,256", "a.php,x"] {
            assert!(worker(wrong).is_err(), "{wrong}");
        }
        assert_eq!(concurrency("1024"), Ok(1024));
        assert!(concurrency("0").is_err() && concurrency("1025").is_err());
        assert_eq!(front_threads("16"), Ok(16));
        assert!(front_threads("17").is_err());
    }

    #[test]
    fn watching_wants_something_to_boot() {
        let parse = |arguments: &[&str]| {
            Cli::try_parse_from(["howdah", "php-server"].iter().chain(arguments))
        };
        assert!(parse(&["--watch"]).is_err());
        assert!(parse(&["--watch", "-w", "a.php"]).is_ok());
        assert!(parse(&["--mercurial"]).is_err());
    }

    #[test]
    fn commands_for_caddy_are_understood() {
        for line in [
            "run --config /etc/caddy/Caddyfile --adapter caddyfile",
            "run --environ --config /etc/frankenphp/Caddyfile",
            "validate -c Caddyfile -a caddyfile",
            "reload --config /etc/frankenphp/Caddyfile --adapter caddyfile --force",
            "fmt --overwrite Caddyfile",
        ] {
            let words = std::iter::once("howdah").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(["howdah", "run", "--adapter", "json"]).is_err());
    }

    #[test]
    fn options_of_a_script_are_not_ours() {
        let cli =
            Cli::try_parse_from(["howdah", "php-cli", "x.php", "--help", "-v"]).expect("parsed");
        let Command::PhpCli(PhpCli { arguments }) = cli.command else {
            panic!("php-cli")
        };
        assert_eq!(arguments, ["x.php", "--help", "-v"]);
    }
}
