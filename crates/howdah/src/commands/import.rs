//! `howdah import`: the configuration of another server as a Caddyfile.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use howdah_config::Disk;
use howdah_import::{Origin, import};

use crate::cli;
use crate::failure::{Outcome, setup};
use crate::output::print;

pub(crate) fn run(options: &cli::Import) -> Outcome {
    let file = &options.file;
    let text = std::fs::read_to_string(file)
        .map_err(|error| setup(format_args!("{}: {error}", file.display())))?;
    let origin = match options.server {
        cli::ImportOrigin::Nginx => Origin::Nginx,
        cli::ImportOrigin::Apache => Origin::Apache,
        cli::ImportOrigin::Rr => Origin::RoadRunner,
    };
    let made = import(origin, &text, file, &Disk).map_err(setup)?;
    match &options.output {
        None => print(&made.caddyfile)?,
        Some(path) => {
            let named = |error| setup(format_args!("{}: {error}", path.display()));
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            file.map_err(named)?
                .write_all(made.caddyfile.as_bytes())
                .map_err(named)?;
        }
    }
    for note in &made.notes {
        eprintln!("howdah: {}: {note}", file.display());
    }
    let result = match made.notes.len() {
        0 => format!("all of {} was carried over", file.display()),
        1 => "1 part was not carried over: it is marked by NOTE in the Caddyfile".to_owned(),
        count => {
            format!("{count} parts were not carried over: they are marked by NOTE in the Caddyfile")
        }
    };
    eprintln!("howdah: {result}");
    Ok(ExitCode::SUCCESS)
}
