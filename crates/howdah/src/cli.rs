//! The command line. Names and meanings of `run`, `php-server`, `php-cli`, `validate`, `fmt` and
//! `version` are FrankenPHP's and Caddy's, so that scripts and habits carry over.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

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
    PhpServer(PhpServer),
    /// Serve what a Caddyfile says
    Run(Run),
    /// Run a PHP script as the php command does
    PhpCli(PhpCli),
    /// Check a Caddyfile and say what is wrong with it
    Validate(ConfigFile),
    /// Format a Caddyfile
    Fmt(Fmt),
    /// Print the versions of howdah and of the PHP that it runs
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct PhpServer {
    /// Document root [default: public if it exists, else the current directory]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Address to listen on, HOST:PORT or :PORT [default: :8080]
    #[arg(short, long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Answer only requests for this host name
    #[arg(short, long, value_name = "NAME")]
    pub(crate) domain: Option<String>,
    /// PHP processes [default: two for each core, at least four]
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<usize>,
    /// Threads that serve connections [default: half the cores, 1 to 16]
    #[arg(long, value_name = "N")]
    pub(crate) front_threads: Option<usize>,
    /// Replace a PHP process after so many requests; 0: never
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_requests: u32,
    /// Requests that may wait for a PHP process; further ones are answered 503
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) queue_length: usize,
    /// How long a request may wait for a PHP process before it is answered 503
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) max_wait_time: Duration,
    /// Wall time of a request in PHP; then 504, and the process is replaced [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) request_timeout: Option<Duration>,
    /// How long requests may go on after the order to stop
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) grace_period: Duration,
    /// Set a php.ini value; may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = ini_setting)]
    pub(crate) php_ini: Vec<(String, String)>,
    /// The howdah-php to run [default: the one beside this executable, then on PATH]
    #[arg(long, value_name = "FILE")]
    pub(crate) php: Option<PathBuf>,
    /// Log each request
    #[arg(short, long)]
    pub(crate) access_log: bool,
    /// Log in detail
    #[arg(short = 'v', long = "debug")]
    pub(crate) debug: bool,
    /// Send responses as they are (this version never compresses)
    #[arg(long)]
    pub(crate) no_compress: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigFile {
    /// The Caddyfile
    #[arg(short, long, value_name = "FILE", default_value = "Caddyfile")]
    pub(crate) config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) file: ConfigFile,
    /// Read environment variables from a file of NAME=VALUE lines first
    #[arg(short, long, value_name = "FILE")]
    pub(crate) envfile: Vec<PathBuf>,
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
fn duration(text: &str) -> Result<Duration, String> {
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
    fn options_of_a_script_are_not_ours() {
        let cli =
            Cli::try_parse_from(["howdah", "php-cli", "x.php", "--help", "-v"]).expect("parsed");
        let Command::PhpCli(PhpCli { arguments }) = cli.command else {
            panic!("php-cli")
        };
        assert_eq!(arguments, ["x.php", "--help", "-v"]);
    }
}
