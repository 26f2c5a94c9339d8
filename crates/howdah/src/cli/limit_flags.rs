//! The limits of pools as options of the command line, made from the table of all limits.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use howdah_config::model::{
    LimitUnit, LimitValue, POOL_LIMITS, PoolLimit, PoolLimitOverrides, PoolLimits,
};
use howdah_config::parse_size;

use super::value::{duration, help, long_name};

/// Limits on the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct LimitFlags(pub(crate) PoolLimitOverrides);

fn flags() -> impl Iterator<Item = &'static PoolLimit> {
    POOL_LIMITS.iter().filter(|limit| limit.is_flag)
}

impl Args for LimitFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LimitFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for limit in flags() {
            let value = match limit.unit {
                LimitUnit::Switch => {
                    let on = matches.get_flag(limit.name);
                    on.then_some(LimitValue::Switch(true))
                }
                _ => matches.get_one(limit.name).copied(),
            };
            if let Some(value) = value
                && !(limit.set)(&mut self.0, value)
            {
                let message = format!("--{}: {value} is too large\n", long_name(limit.name));
                return Err(clap::Error::raw(ErrorKind::ValueValidation, message));
            }
        }
        Ok(())
    }
}

fn argument(limit: &'static PoolLimit) -> Arg {
    let help = help(limit.about);
    let argument = Arg::new(limit.name).long(long_name(limit.name));
    let value_name = match limit.unit {
        LimitUnit::Switch => return argument.action(ArgAction::SetTrue).help(help),
        LimitUnit::Number(_) => "N",
        LimitUnit::Bytes => "SIZE",
        LimitUnit::Time => "TIME",
    };
    let argument = argument
        .value_name(value_name)
        .value_parser(move |text: &str| value(limit, text));
    match (limit.get)(&PoolLimits::default()) {
        LimitValue::Off => argument.help(format!("{help} [default: no limit]")),
        default => argument
            .help(help)
            .default_value(&*default.to_string().leak()),
    }
}

fn value(limit: &PoolLimit, text: &str) -> Result<LimitValue, String> {
    if limit.is_optional && text == "off" {
        return Ok(LimitValue::Off);
    }
    match limit.unit {
        LimitUnit::Number(least) => text
            .parse()
            .ok()
            .filter(|number| *number >= least)
            .map(LimitValue::Number)
            .ok_or_else(|| format!("expected a number of at least {least}")),
        LimitUnit::Bytes => parse_size(text)
            .map(LimitValue::Bytes)
            .ok_or_else(|| "expected a size such as 10MB or 16KiB".into()),
        LimitUnit::Time => duration(text).map(LimitValue::Time),
        LimitUnit::Switch => Err("expected no value".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<PoolLimits, clap::Error> {
        let command = LimitFlags::augment_args(Command::new("test"));
        let words = std::iter::once("test").chain(line.split_whitespace());
        let matches = command.try_get_matches_from(words)?;
        let flags = LimitFlags::from_arg_matches(&matches)?;
        Ok(flags.0.over(&PoolLimits::default()))
    }

    #[test]
    fn without_options_the_defaults_hold() {
        assert_eq!(parsed("").expect("parsed"), PoolLimits::default());
    }

    #[test]
    fn every_limit_of_the_command_line_can_be_set() {
        for limit in flags() {
            let name = long_name(limit.name);
            let (text, expected) = match limit.unit {
                LimitUnit::Number(least) => {
                    ((least + 7).to_string(), LimitValue::Number(least + 7))
                }
                LimitUnit::Bytes => ("7KiB".into(), LimitValue::Bytes(7 << 10)),
                LimitUnit::Time => (
                    "7s".into(),
                    LimitValue::Time(std::time::Duration::from_secs(7)),
                ),
                LimitUnit::Switch => (String::new(), LimitValue::Switch(true)),
            };
            let limits = parsed(&format!("--{name} {text}")).expect("parsed");
            assert_eq!((limit.get)(&limits), expected, "{name}");
        }
    }

    #[test]
    fn a_value_that_is_not_one_is_refused() {
        let error = parsed("--max-requests 4294967296").expect_err("too large");
        assert!(error.to_string().contains("is too large"), "{error}");
        for line in [
            "--queue-length 0",
            "--max-wait-time 5",
            "--request-timeout x",
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!(error.kind(), ErrorKind::ValueValidation, "{line}: {error}");
        }
    }
}
