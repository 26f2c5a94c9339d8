//! Options of a worker as options of the command line, generated from the table of all worker
//! options.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use howdah_config::model::{
    LeakDetection, LimitValue, OptionKind, OptionValue, WORKER_OPTIONS, WorkerOption, WorkerOptions,
};
use howdah_config::parse_size;

use super::value::{bounded, duration, help, long_name};

/// The options that the command line gives; each needs `--worker`.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkerFlags(pub(crate) WorkerOptions);

fn flags() -> impl Iterator<Item = &'static WorkerOption> {
    WORKER_OPTIONS.iter().filter(|option| option.is_flag)
}

impl Args for WorkerFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WorkerFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in flags() {
            let values = matches.get_many::<OptionValue>(option.name);
            for value in values.into_iter().flatten() {
                // The argument's parser has returned a value of the option's kind.
                (option.set)(&mut self.0, value.clone());
            }
        }
        Ok(())
    }
}

fn argument(option: &'static WorkerOption) -> Arg {
    let argument = Arg::new(option.name)
        .long(long_name(option.name))
        .requires("worker")
        .value_parser(move |text: &str| value(option.kind, text));
    let mut help = help(option.about);
    let argument = match option.kind {
        OptionKind::FilePatterns { default } => {
            help = format!("{help}; may be given several times [default pattern: {default}]");
            argument
                .value_name("GLOB")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value(default)
        }
        OptionKind::Number { .. } => argument.value_name("N"),
        OptionKind::Size { .. } => argument.value_name("SIZE"),
        OptionKind::Time => argument.value_name("TIME"),
        OptionKind::Variables => argument.value_name("NAME=VALUE"),
        OptionKind::Paths => argument.value_name("PATH"),
        OptionKind::LeakDetection => {
            let help = format!("{help}; responses carry their number in the header X-Howdah-Leaks");
            // Changes of concurrent requests cannot be attributed.
            let argument = argument.conflicts_with("concurrency").help(help);
            return argument
                .action(ArgAction::Set)
                .num_args(0)
                .default_missing_value("");
        }
        _ => argument.value_name("WORD"),
    };
    if option.kind.is_list() {
        return argument.action(ArgAction::Append).help(help);
    }
    let default = (option.get)(&WorkerOptions::default());
    argument.help(format!("{help} [default: {default}]"))
}

fn value(kind: OptionKind, text: &str) -> Result<OptionValue, String> {
    let one_of = |words: &'static [&'static str]| {
        let found = words.iter().find(|word| **word == text);
        found
            .copied()
            .ok_or_else(|| format!("expected {}", words.join(", ")))
    };
    let limit = match kind {
        OptionKind::Number { unlimited, .. } if !unlimited.is_empty() && text == unlimited => {
            LimitValue::Off
        }
        OptionKind::Number { min, max, .. } => LimitValue::Number(bounded(text, &min, &max)?),
        OptionKind::Size { min, max } => {
            let size = parse_size(text).filter(|size| (min..=max).contains(size));
            let (least, most) = (LimitValue::Bytes(min), LimitValue::Bytes(max));
            LimitValue::Bytes(
                size.ok_or_else(|| format!("expected a size from {least} to {most}"))?,
            )
        }
        OptionKind::Time if text == "off" => LimitValue::Off,
        OptionKind::Time => LimitValue::Time(duration(text)?),
        OptionKind::Switch => LimitValue::Switch(one_of(&["on", "off"])? == "on"),
        OptionKind::Mode(words) => return Ok(OptionValue::Word(one_of(words)?)),
        OptionKind::Set(words) => return Ok(OptionValue::Words(vec![one_of(words)?.to_owned()])),
        OptionKind::Paths | OptionKind::FilePatterns { .. } => {
            return Ok(OptionValue::Words(vec![text.to_owned()]));
        }
        OptionKind::Variables => {
            let variable = text.split_once('=').ok_or("expected NAME=VALUE")?;
            let (name, value) = variable;
            return Ok(OptionValue::Variables(vec![(
                name.to_owned(),
                value.to_owned(),
            )]));
        }
        // A Caddyfile contains its arguments.
        OptionKind::LeakDetection => {
            return Ok(OptionValue::LeakDetection(LeakDetection {
                in_header: true,
                ..LeakDetection::default()
            }));
        }
    };
    Ok(OptionValue::Limit(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<WorkerOptions, clap::Error> {
        let worker = Arg::new("worker").long("worker");
        let command = WorkerFlags::augment_args(Command::new("test").arg(worker));
        let words = ["test"].iter().chain(arguments);
        let matches = command.try_get_matches_from(words)?;
        Ok(WorkerFlags::from_arg_matches(&matches)?.0)
    }

    #[test]
    fn without_options_the_defaults_hold() {
        assert_eq!(parsed(&[]).expect("parsed"), WorkerOptions::default());
    }

    #[test]
    fn an_option_of_each_kind_can_be_set() {
        for option in WORKER_OPTIONS {
            let (text, wrong) = match option.kind {
                OptionKind::Number { .. } => ("7", "-7"),
                OptionKind::Size { .. } => ("1MiB", "1B"),
                OptionKind::Time => ("7s", "7"),
                OptionKind::Switch => ("on", "yes"),
                OptionKind::Mode(words) => (words[1], "none of them"),
                OptionKind::Set(words) => (words[0], "none of them"),
                OptionKind::Variables => ("NAME=value", "NAME"),
                // Every text is valid.
                OptionKind::Paths | OptionKind::FilePatterns { .. } | OptionKind::LeakDetection => {
                    assert!(value(option.kind, "/a").is_ok(), "{}", option.name);
                    continue;
                }
            };
            let mut options = WorkerOptions::default();
            let value_of = |text| value(option.kind, text);
            assert!((option.set)(&mut options, value_of(text).expect(text)));
            assert_ne!(options, WorkerOptions::default(), "{}", option.name);
            assert!(value_of(wrong).is_err(), "{}: {wrong}", option.name);
        }
    }

    #[test]
    fn options_need_a_worker() {
        let default = howdah_config::model::DEFAULT_WATCH;
        for option in flags() {
            let flag = format!("--{}", long_name(option.name));
            let line = match option.kind {
                OptionKind::FilePatterns { .. } | OptionKind::LeakDetection => {
                    vec![flag.as_str()]
                }
                _ => vec![flag.as_str(), "7"],
            };
            assert!(parsed(&line).is_err(), "{line:?}");
            let line = [line, vec!["--worker", "a.php"]].concat();
            let options = parsed(&line).expect("parsed");
            assert_ne!(options, WorkerOptions::default(), "{line:?}");
        }
        let leaks = ["--worker", "a.php", "--detect-leaks"];
        let in_header = |options: WorkerOptions| options.detect_leaks.map(|leaks| leaks.in_header);
        assert_eq!(in_header(parsed(&leaks).expect("parsed")), Some(true));
        for wrong in ["--detect-leaks=1", "--concurrency=2"] {
            assert!(parsed(&[&leaks[..], &[wrong]].concat()).is_err(), "{wrong}");
        }
        let watch = ["--worker", "a.php", "--watch", "--watch=a/*.php"];
        assert_eq!(parsed(&watch).expect("parsed").watch, [default, "a/*.php"]);
        for wrong in ["0", "1025", "many"] {
            assert!(
                parsed(&["--worker", "a.php", "--concurrency", wrong]).is_err(),
                "{wrong}"
            );
        }
    }
}
