//! Runs `.phpt` files of php-src or of an extension through a server.
//!
//! ```text
//! phpt php-src/Zend/tests --jobs 2 --compare --out /tmp/phpt
//! ```
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use howdah_tests::phpt::Outcome;
use howdah_tests::phpt::report;
use howdah_tests::phpt::run::{Options, run};

/// Run .phpt files through Howdah, each as a request of its own.
#[derive(Debug, Parser)]
#[command(name = "phpt", max_term_width = 100)]
struct Cli {
    /// Folder with .phpt files; it is copied, not written to
    folder: PathBuf,
    /// Only tests whose path contains one of these words
    filters: Vec<String>,
    /// Servers at a time
    #[arg(short, long, default_value_t = 2)]
    jobs: usize,
    /// Run each test with php-fpm too, and count only what fails here alone
    #[arg(short, long)]
    compare: bool,
    /// A further setting for all tests
    #[arg(short = 'd', long = "ini", value_name = "NAME=VALUE", value_parser = setting)]
    ini: Vec<(String, String)>,
    /// Folder for lists of results, and for wanted and actual output of what failed
    #[arg(short, long)]
    out: Option<PathBuf>,
    /// Show tests that pass or are skipped too
    #[arg(short, long)]
    verbose: bool,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let options = Options {
        folder: cli.folder,
        filters: cli.filters,
        jobs: cli.jobs,
        compare: cli.compare,
        ini: cli.ini,
    };
    let result = run(&options, &|tested| {
        if cli.verbose || !matches!(tested.outcome, Outcome::Pass | Outcome::Skip(_)) {
            println!("{}", report::line(tested));
        }
    });
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            eprintln!("cannot read {}: {error}", options.folder.display());
            return ExitCode::from(2);
        }
    };
    println!("{}", report.summary());
    if let Some(dir) = cli.out
        && let Err(error) = report.write(&dir)
    {
        eprintln!("cannot write to {}: {error}", dir.display());
        return ExitCode::from(2);
    }
    if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
