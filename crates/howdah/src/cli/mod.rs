//! The command line. Names and meanings of `run`, `php-server`, `php-cli`, `validate`, `fmt` and
//! `version` are FrankenPHP's and Caddy's, so that scripts and habits carry over.

mod errors;
mod limit_flags;
#[cfg(test)]
mod reference;
mod value;
mod worker_flags;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use howdah_config::Strictness;
use howdah_config::model::{Admin, FRONT_THREADS_MAX, PhpExecutable, Preload, User, WORKERS_MAX};
use howdah_observe::admin::AdminAddress;

pub(crate) use self::errors::parse;
use self::limit_flags::LimitFlags;
use self::value::{bounded, duration};
use self::worker_flags::WorkerFlags;
use crate::request_header::RequestHeader;

/// A PHP application server on the stock PHP of the distribution.
///
/// Without a command it serves the current folder: its Caddyfile as `howdah run --watch` does, else its application as
/// `howdah dev` does.
#[derive(Debug, Parser)]
#[command(name = "howdah", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

impl Cli {
    /// The command. Without one, the Caddyfile in the current folder is served, else the application in it.
    pub(crate) fn into_command(self) -> Command {
        self.command.unwrap_or_else(|| {
            let dev = Dev {
                listen: None,
                admin: AdminFlag { admin: None },
                php: None,
            };
            if !Path::new(CADDYFILE).is_file() {
                return Command::Dev(dev);
            }
            Command::Run(Run {
                file: ConfigFile {
                    config: CADDYFILE.into(),
                    lenient: false,
                    format: Format { adapter: None },
                },
                envfile: Vec::new(),
                watch: true,
                environ: false,
                pidfile: None,
                detached: false,
            })
        })
    }
}

/// The configuration of a folder.
const CADDYFILE: &str = "Caddyfile";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a PHP application without a configuration file
    PhpServer(Box<PhpServer>),
    /// Serve the sites of a Caddyfile
    Run(Run),
    /// Serve the application in the current folder for development: errors are shown in the browser, which reloads the
    /// page when a file changes
    Dev(Dev),
    /// Find the application in a folder and write a Caddyfile with safe settings for it
    Init(Init),
    /// Convert the configuration of another server to a Caddyfile, with notes on unsupported settings
    Import(Import),
    /// Serve a Caddyfile in the background
    Start(Start),
    /// Run a PHP script like the php command
    PhpCli(PhpCli),
    /// Check a Caddyfile and report its errors
    Validate(ConfigFile),
    /// Format a Caddyfile
    Fmt(Fmt),
    /// Print a Caddyfile as JSON, with imports and variables resolved, as the admin API shows it
    Adapt(Adapt),
    /// Print the directives that a site may have
    ListDirectives(ListDirectives),
    /// Hash a password with bcrypt, for `basic_auth`
    HashPassword(HashPassword),
    /// Check PHP, files, ports and limits before the server starts, and whether the application is safe with
    /// `concurrency`
    Doctor(Doctor),
    /// Reload the Caddyfile and restart PHP in a running server, without a failed request
    Reload(Reload),
    /// Stop a running server after its requests in flight
    Stop(Remote),
    /// Show the status of a running server
    Status(Status),
    /// Show the reports of PHP processes that crashed
    Crashes(Crashes),
    /// Show the status of a running server, refreshed continuously
    Top(Top),
    /// Sample where PHP spends its time in a running server, and write a flame graph or another profile
    Profile(Profile),
    /// Succeed if a running server takes requests: for the health check of a container
    Healthcheck(HealthCheck),
    /// Trust the certificates of `tls internal` on this machine: add the root certificate of the server's internal
    /// authority to the system's trust store
    Trust(Trust),
    /// Remove that root certificate from the system's trust store
    Untrust,
    /// Print the versions of howdah and of its PHP
    Version,
    /// Print the sources and options of this build
    BuildInfo,
    /// Print the environment that a server would have
    Environ,
    /// Print the completions of commands and options for a shell
    Completions(Completions),
    /// Write the manual pages into a folder
    Manpage(ManPage),
    /// The process that stays root; started by the server
    #[command(hide = true)]
    Monitor(Monitor),
    /// A process that becomes a worker of `roadrunner`; started by the server
    #[command(name = howdah_goridge::COMMAND, hide = true)]
    RoadRunnerWorker(RoadRunnerWorker),
}

#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct PhpServer {
    /// Document root [default: public if it exists, else the current directory; with --worker: the
    /// folder of FILE if that is public, else the public next to FILE, else the folder of FILE]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Address to listen on, HOST:PORT or :PORT [default: :8080; with --domain: :443, and :80 to redirect]
    #[arg(short, long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Serve only requests for this host name, with HTTPS and an automatic certificate unless --listen is given
    #[arg(short, long, value_name = "NAME")]
    pub(crate) domain: Option<String>,
    /// Worker script: N processes boot it once, and it handles every request that is not for a static file; may be
    /// given several times: the further scripts handle requests for their own paths [default of N: two for each core,
    /// at least four; with --concurrency one for each core, at least two]
    #[arg(short, long, value_name = "FILE[,N]", value_parser = worker)]
    pub(crate) worker: Vec<Worker>,
    #[command(flatten)]
    pub(crate) worker_options: WorkerFlags,
    /// PHP processes of classic mode [default: two for each core, at least
    /// four; with --worker: one]
    #[arg(long, value_name = "N", value_parser = processes)]
    pub(crate) workers: Option<usize>,
    /// Threads that serve connections [default: one for each core, 1 to 16]
    #[arg(long, value_name = "N", value_parser = front_threads)]
    pub(crate) front_threads: Option<usize>,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    /// How long to keep serving after a stop was requested, while readiness fails, so that load balancers send requests
    /// elsewhere [default: 7s if readiness is polled, else 0]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) shutdown_delay: Option<Duration>,
    /// How long requests may continue after a stop was requested
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) grace_period: Duration,
    /// User of the server and of all PHP processes, if started by root [default: www-data, or nobody; root if that
    /// user cannot access the document root]
    #[arg(long, value_name = "NAME[:GROUP]")]
    pub(crate) user: Option<User>,
    /// Set a php.ini value; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = ini_setting)]
    pub(crate) php_ini: Vec<(String, String)>,
    /// Set a php.ini value that neither scripts nor .user.ini files can change; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = ini_setting)]
    pub(crate) php_admin_ini: Vec<(String, String)>,
    /// Restart PHP with the classes preloaded that requests have used: auto for files that an autoloader included and
    /// that only declare classes, all for all files that were used
    #[arg(long, value_name = "auto|all|off", default_value = "off", value_parser = preload)]
    pub(crate) preload: Preload,
    #[command(flatten)]
    pub(crate) admin: AdminFlag,
    /// The PHP to run, a version that is installed or a howdah-php [default: the one next to this executable, then the
    /// newest version that is installed, then on PATH]
    #[arg(long, value_name = "VERSION|FILE")]
    pub(crate) php: Option<PhpExecutable>,
    /// Log each request
    #[arg(short, long)]
    pub(crate) access_log: bool,
    /// Log debug messages
    #[arg(short = 'v', long = "debug")]
    pub(crate) debug: bool,
    /// Serve a Mercure hub that pushes updates to browsers, with its keys in the environment variables
    /// `MERCURE_PUBLISHER_JWT_KEY` and `MERCURE_SUBSCRIBER_JWT_KEY`
    #[arg(short, long)]
    pub(crate) mercure: bool,
    /// Do not compress responses; by default they are compressed for clients that accept zstd, br or gzip
    #[arg(long)]
    pub(crate) no_compress: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigFile {
    /// The Caddyfile
    #[arg(short, long, value_name = "FILE", default_value = CADDYFILE)]
    pub(crate) config: PathBuf,
    /// Ignore names that this version lacks, such as directives of plugins, with a warning for each
    #[arg(long)]
    pub(crate) lenient: bool,
    #[command(flatten)]
    format: Format,
}

impl ConfigFile {
    /// What becomes of names that this version lacks.
    pub(crate) fn strictness(&self) -> Strictness {
        if self.lenient {
            Strictness::Lenient
        } else {
            Strictness::Strict
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// Address to listen on, HOST:PORT or :PORT [default: the first free port of this machine from 8080 to 8099]
    #[arg(short, long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) admin: AdminFlag,
    /// The PHP to run, a version that is installed or a howdah-php [default: the one next to this executable, then the
    /// newest version that is installed, then on PATH]
    #[arg(long, value_name = "VERSION|FILE")]
    pub(crate) php: Option<PhpExecutable>,
}

/// The admin API of a server without a Caddyfile.
#[derive(Debug, Clone, Args)]
pub(crate) struct AdminFlag {
    /// Address of the admin API, HOST:PORT or unix//PATH, for `howdah status`, `top`, `profile` and the dashboard; they
    /// find localhost:2019 by themselves [default: off]
    #[arg(long, value_name = "ADDR")]
    admin: Option<AdminAddress>,
}

impl AdminFlag {
    /// The setting: off by default, as in `FrankenPHP`, since several of these servers often run on one machine.
    pub(crate) fn setting(&self) -> Admin {
        let address = self.admin.clone();
        address.map_or(Admin::Off, |address| {
            Admin::On(crate::admin::configured(address))
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The application's folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Remove the written files, unless they have changed since
    #[arg(long)]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The server
    #[arg(
        value_enum,
        value_name = "nginx|apache|rr",
        hide_possible_values = true
    )]
    pub(crate) server: ImportOrigin,
    /// Its file: nginx.conf or that of a site; that of a virtual host or .htaccess; .rr.yaml
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write to this file, which must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportOrigin {
    Nginx,
    Apache,
    #[value(alias = "roadrunner")]
    Rr,
}

#[derive(Debug, Args)]
pub(crate) struct Adapt {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    /// Pretty-print with line breaks and indentation
    #[arg(short, long)]
    pub(crate) pretty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListDirectives {
    /// Show a description of each
    #[arg(long)]
    pub(crate) about: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManPage {
    /// The folder, which is created if it does not exist
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct HashPassword {
    /// The password; others on this machine can read it while the command runs [default: a prompt, or the
    /// first line of standard input]
    #[arg(short, long, value_name = "PASSWORD")]
    pub(crate) plaintext: Option<String>,
    /// The cost of bcrypt: each step doubles the time of a check
    #[arg(long, visible_alias = "bcrypt-cost", value_name = "N", default_value = "14",
        value_parser = clap::value_parser!(u32).range(4..=31))]
    pub(crate) cost: u32,
    /// The algorithm: only bcrypt is supported
    #[arg(short, long, value_name = "NAME")]
    algorithm: Option<Algorithm>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Algorithm {
    Bcrypt,
}

#[derive(Debug, Args)]
pub(crate) struct HealthCheck {
    /// Request this page instead of the admin API; a status from 200 to 399 is healthy
    #[arg(value_name = "URL", conflicts_with_all = ["config", "address"])]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) server: Remote,
    /// Time limit of the response
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Append the server's standard output and standard error to this file [default:
    /// ~/.local/state/howdah/howdah.log, for root /var/log/howdah.log]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

/// Caddy's option, which commands written for it and for `FrankenPHP` have.
#[derive(Debug, Args)]
struct Format {
    /// The format of the configuration: only caddyfile is supported
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
    /// Check whether the application is safe with `concurrency`; done anyway if a worker has it
    #[arg(long)]
    pub(crate) coroutines: bool,
    /// Compare the connections that PHP may open with those that this database permits: a DSN of PDO, a URL such as
    /// `mysql://user:password@host/name`, or `env:NAME` for one in the environment; may be given several times
    #[arg(long, value_name = "DSN")]
    pub(crate) dsn: Vec<String>,
    /// Instead of all checks, start the worker script with --detect-leaks, request these pages in different orders,
    /// and report what requests leave behind and which responses depend on earlier requests
    #[arg(long, value_name = "URL", num_args = 1.., conflicts_with_all = ["coroutines", "dsn"])]
    pub(crate) leaks: Vec<String>,
    /// Send this field with each request of --leaks, for pages behind a login; may be given several times
    #[arg(long, value_name = "NAME: VALUE", requires = "leaks")]
    pub(crate) header: Vec<RequestHeader>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The PHP to check, a version that is installed or a howdah-php [default: that of the Caddyfile, else the one
    /// next to this executable, then the newest version that is installed, then on PATH]
    #[arg(long, value_name = "VERSION|FILE")]
    pub(crate) php: Option<PhpExecutable>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The Caddyfile with the certificate storage [default: Caddyfile, if there is one]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the root certificate in PEM and change nothing
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
    /// Print the environment first, including secrets, as Caddy does
    #[arg(long)]
    pub(crate) environ: bool,
    /// Write the server's process id to this file, which is removed when the server ends
    #[arg(long, value_name = "FILE")]
    pub(crate) pidfile: Option<PathBuf>,
    /// Leave the terminal that the server was started from
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

impl Run {
    /// The options as a command line has them.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = self.arguments_after_first_envfile();
        if let Some(file) = self.envfile.first() {
            // Before the other variables, which come later and override it.
            arguments.splice(0..0, ["--envfile".into(), file.into()]);
        }
        arguments
    }

    /// The arguments after the first `--envfile`.
    pub(crate) fn arguments_after_first_envfile(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        for file in self.envfile.iter().skip(1) {
            arguments.extend(["--envfile".into(), file.into()]);
        }
        arguments.extend(["--config".into(), self.file.config.clone().into()]);
        if let Some(file) = &self.pidfile {
            arguments.extend(["--pidfile".into(), file.into()]);
        }
        for (given, name) in [
            (self.watch, "--watch"),
            (self.environ, "--environ"),
            (self.detached, "--detached"),
            (self.file.lenient, "--lenient"),
        ] {
            if given {
                arguments.push(name.into());
            }
        }
        arguments
    }
}

/// A running server.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The Caddyfile with its admin address, which `reload` loads [default: Caddyfile, if there is one]
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
    /// Reload only the PHP processes of this pool
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// No effect, for compatibility with Caddy: a reload never depends on changes
    #[arg(short, long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) server: Remote,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the preloaded files, and why others were not preloaded
    #[arg(long)]
    pub(crate) preload: bool,
    /// Show the requests in flight: where each is, and what it waits for
    #[arg(long, conflicts_with = "preload")]
    pub(crate) requests: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Crashes {
    /// List the reports, show one, or delete them
    #[arg(
        value_enum,
        value_name = "list|show|clear",
        hide_possible_values = true,
        default_value = "list"
    )]
    pub(crate) action: CrashesAction,
    /// Number of the report to show
    #[arg(value_name = "N")]
    pub(crate) number: Option<u64>,
    #[command(flatten)]
    pub(crate) server: Remote,
    /// Print JSON
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
    /// Seconds between updates
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) interval: u32,
    /// Print the status once, for scripts
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Profile {
    #[command(flatten)]
    pub(crate) server: Remote,
    /// Seconds to sample
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// Samples of each PHP process in a second
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) hz: u32,
    /// Sample only this pool [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) pool: Option<String>,
    /// Show only routes that match: /api/*, or with a method: 'POST /api/*'; numbers and ids within a path are {id}
    #[arg(long, value_name = "PATTERN")]
    pub(crate) route: Option<String>,
    /// Measure CPU time
    #[arg(long, conflicts_with = "wall")]
    pub(crate) cpu: bool,
    /// Measure wall time, including waits: the default
    #[arg(long)]
    pub(crate) wall: bool,
    /// Output file, - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "flame.svg")]
    pub(crate) output: PathBuf,
    /// svg, pprof, speedscope or folded [default: by the name of FILE: .svg, .pprof, .pb.gz, .json, .folded]
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<howdah_profile::Format>,
}

#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The Caddyfile; - for standard input
    #[arg(default_value = "Caddyfile")]
    pub(crate) file: PathBuf,
    /// Write the result back to the file
    #[arg(short = 'w', long)]
    pub(crate) overwrite: bool,
    /// Print both versions, with - before lines that go and + before those that come
    #[arg(short, long, conflicts_with = "overwrite")]
    pub(crate) diff: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Monitor {
    /// The server's command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct RoadRunnerWorker {
    /// The standard streams come in a message, by the socket that is standard input
    #[arg(long)]
    pub(crate) pipes_follow: bool,
    /// Neither the worker nor what it starts may gain rights
    #[arg(long = "no-new-privs")]
    pub(crate) gains_nothing: bool,
    /// User to change to
    #[arg(long, requires = "gid")]
    pub(crate) uid: Option<u32>,
    /// Its group
    #[arg(long, requires = "uid")]
    pub(crate) gid: Option<u32>,
    /// All of its groups
    #[arg(long, value_delimiter = ',')]
    pub(crate) groups: Vec<u32>,
    /// Program and arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) command: Vec<OsString>,
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
    bounded(text, &1, &WORKERS_MAX)
}

fn preload(text: &str) -> Result<Preload, String> {
    Preload::named(text).ok_or_else(|| "expected auto, all or off".into())
}

fn front_threads(text: &str) -> Result<usize, String> {
    bounded(text, &1, &FRONT_THREADS_MAX)
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
        let Command::PhpCli(PhpCli { arguments }) = cli.into_command() else {
            panic!("php-cli")
        };
        assert_eq!(arguments, ["x.php", "--help", "-v"]);
    }
}
