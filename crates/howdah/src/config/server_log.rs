//! The settings of the server's own log.

use howdah_config::model::{Config, LogFormat, LogLevel};
use howdah_observe::log::{self, Format};

use crate::failure::Failure;

/// The configured settings of the server's own log.
pub(crate) fn log_settings(config: &Config) -> Result<log::Settings, Failure> {
    let options = &config.global.log;
    let format = options.format.map(|format| match format {
        LogFormat::Console => Format::Console,
        LogFormat::Json => Format::Json,
    });
    let level = match options.level {
        Some(LogLevel::Warn) => tracing::Level::WARN,
        Some(LogLevel::Error) => tracing::Level::ERROR,
        Some(LogLevel::Debug) => tracing::Level::DEBUG,
        None if config.global.debug => tracing::Level::DEBUG,
        Some(LogLevel::Info) | None => tracing::Level::INFO,
    };
    log::Settings::new(level, format, &options.output)
        .map_err(|error| Failure::Setup(error.to_string()))
}
