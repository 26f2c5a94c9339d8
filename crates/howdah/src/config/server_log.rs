//! The settings of the server's own log and of the logs beside it.

use howdah_config::model::{Config, LogFormat, LogLevel, LogOptions};
use howdah_observe::log::{self, Format, ServerLog};

use crate::failure::Failure;

/// The configured settings of the server's own logs.
pub(crate) fn log_settings(config: &Config) -> Result<log::Settings, Failure> {
    let global = &config.global;
    let named = global.named_logs.iter().map(|log| &log.options);
    let logs = std::iter::once(&global.log).chain(named);
    let logs = logs.map(|options| open(options, global.debug));
    Ok(log::Settings::new(logs.collect::<Result<_, _>>()?))
}

fn open(options: &LogOptions, debug: bool) -> Result<ServerLog, Failure> {
    let format = options.format.map(|format| match format {
        LogFormat::Console => Format::Console,
        LogFormat::Json => Format::Json,
    });
    let level = match options.level {
        Some(LogLevel::Warn) => tracing::Level::WARN,
        Some(LogLevel::Error) => tracing::Level::ERROR,
        Some(LogLevel::Debug) => tracing::Level::DEBUG,
        None if debug => tracing::Level::DEBUG,
        Some(LogLevel::Info) | None => tracing::Level::INFO,
    };
    ServerLog::open(level, format, &options.output, options.loggers.clone())
        .map_err(|error| Failure::Setup(error.to_string()))
}
