//! Limits of pools and options of workers: properties of each row of their tables.

use std::path::Path;
use std::time::Duration;

use howdah_config::model::{
    Config, LimitBlocks, LimitUnit, LimitValue, OptionKind, POOL_LIMITS, PoolLimit, PoolLimits,
    WORKER_OPTIONS, WorkerOption, WorkerOptions,
};
use howdah_config::{NoFiles, parse};

/// Returns a block that contains this line.
type Block = fn(&str) -> String;

const GLOBAL: Block = |line| format!("{{\nhowdah {{\n{line}\n}}\n}}\n:80");
const POOL: Block =
    |line| format!("{{\nhowdah {{\npool a {{\n{line}\n}}\n}}\n}}\n:80 {{\nphp {{\npool a\n}}\n}}");
const WORKER: Block = |line| format!("{{\nhowdah {{\nworker a.php {{\n{line}\n}}\n}}\n}}\n:80");

fn read(text: &str) -> Option<Config> {
    let parsed = parse(text, "Caddyfile", &|_| None, &NoFiles);
    parsed.ok().map(|parsed| parsed.config)
}

/// Limits of the pool that the block defines.
fn limits(config: &Config) -> PoolLimits {
    let global = &config.global.php.limits;
    let classic = config.pools.iter().map(|pool| &pool.settings);
    let workers = config.workers.iter().map(|pool| &pool.settings);
    match classic.chain(workers).next() {
        Some(settings) => settings.limits.over(global),
        None => global.clone(),
    }
}

/// A value that is not the default, and its text.
fn other_value(limit: &PoolLimit) -> (String, LimitValue) {
    match (limit.unit, (limit.get)(&PoolLimits::default())) {
        (LimitUnit::Switch, LimitValue::Switch(on)) => {
            let word = if on { "off" } else { "on" };
            (word.to_owned(), LimitValue::Switch(!on))
        }
        (LimitUnit::Switch, other) => panic!("{}: {other}", limit.name),
        (LimitUnit::Number(least), _) => ((least + 13).to_string(), LimitValue::Number(least + 13)),
        (LimitUnit::Bytes, _) => ("13KiB".into(), LimitValue::Bytes(13 << 10)),
        (LimitUnit::Time, _) => ("13s".into(), LimitValue::Time(Duration::from_secs(13))),
    }
}

#[test]
fn each_limit_is_read_in_its_blocks_alone() {
    for limit in POOL_LIMITS {
        let (text, value) = other_value(limit);
        let is_in = |blocks: &[LimitBlocks]| blocks.contains(&limit.blocks);
        let blocks = [
            (GLOBAL, is_in(&[LimitBlocks::All, LimitBlocks::Global])),
            (POOL, is_in(&[LimitBlocks::All, LimitBlocks::Pools])),
            (WORKER, !is_in(&[LimitBlocks::Global])),
        ];
        for (block, expected) in blocks {
            let text = block(&format!("{} {text}", limit.name));
            let found = read(&text).map(|config| (limit.get)(&limits(&config)));
            assert_eq!(found, expected.then_some(value), "{text}");
        }
        let block = if limit.blocks == LimitBlocks::Global {
            GLOBAL
        } else {
            WORKER
        };
        let off = block(&format!("{} off", limit.name));
        let may_be_off = limit.is_optional || limit.unit == LimitUnit::Switch;
        assert_eq!(read(&off).is_some(), may_be_off, "{off}");
    }
}

#[test]
fn the_default_is_the_one_of_the_reference_page() {
    for limit in POOL_LIMITS {
        let default = (limit.get)(&PoolLimits::default());
        let shown = format!("`{default}`");
        assert!(
            limit.default.starts_with(&shown),
            "{}: {} is not {shown}",
            limit.name,
            limit.default
        );
    }
}

/// Text of a value that is not the default.
fn other_text(option: &WorkerOption) -> &'static str {
    match option.kind {
        OptionKind::Number { .. } => "13",
        OptionKind::Size { .. } => "1MiB",
        OptionKind::Time => "13s",
        OptionKind::Switch => "on",
        OptionKind::Mode(words) => words[1],
        OptionKind::Set(words) => words[0],
        OptionKind::Paths | OptionKind::FilePatterns { .. } => "/a",
        OptionKind::Variables => "NAME value",
        OptionKind::LeakDetection => "sample 13",
    }
}

/// Options of the worker that the block defines.
fn worker_options(lines: &str) -> Option<WorkerOptions> {
    let config = read(&WORKER(lines))?;
    config.workers.into_iter().next().map(|pool| pool.options)
}

#[test]
fn each_option_of_a_worker_is_read() {
    let default = WorkerOptions::default();
    for option in WORKER_OPTIONS {
        let concurrency = if option.needs_concurrency {
            "\nconcurrency 2"
        } else {
            ""
        };
        let line = format!("{} {}", option.name, other_text(option));
        let options = worker_options(&format!("{line}{concurrency}")).expect(&line);
        assert_ne!((option.get)(&options), (option.get)(&default), "{line}");
        if option.needs_concurrency {
            assert_eq!(worker_options(&line), None, "{line}");
        }
        let twice = worker_options(&format!("{line}\n{line}{concurrency}"));
        assert_eq!(twice.is_some(), option.kind.is_list(), "{line}");
        for block in [GLOBAL, POOL] {
            assert!(read(&block(&line)).is_none(), "{line}");
        }
    }
}

#[test]
fn the_default_of_a_worker_is_the_one_of_the_reference_page() {
    for option in WORKER_OPTIONS {
        let default = (option.get)(&WorkerOptions::default()).to_string();
        let shown = match option.default {
            "" => "none".to_owned(),
            text if text.starts_with("nothing is watched;") => "none".to_owned(),
            text => text.replace('`', ""),
        };
        assert!(
            shown.starts_with(&default),
            "{}: {shown} is not {default}",
            option.name
        );
    }
}

/// Other things with the name of an option: options of upstreams, logs, sites and `php_server`,
/// messages, state of a request, and additions of the command line.
const OTHERS: &[(&str, &str)] = &[
    ("max_requests", "directive/balance.rs"),
    ("max_requests", "model/proxy.rs"),
    ("max_age", "directive/policy.rs"),
    ("max_age", "model/proxy.rs"),
    ("max_in_flight", "doctor/system.rs"),
    ("env", "model/php_server.rs"),
    ("env", "model/worker_modes.rs"),
    ("env", "model/roadrunner.rs"),
    ("env", "directive/roadrunner.rs"),
    ("env", "directive/php.rs"),
    ("env", "pool/classic.rs"),
    ("watch", "model/hub.rs"),
    ("watch", "directive/hot_reload.rs"),
    ("watch", "cli/mod.rs"),
    ("watch", "config/source.rs"),
    ("exit", "front/exchange.rs"),
    ("exit", "pool/place.rs"),
    ("concurrency", "howdah-pool/src/status.rs"),
    ("keep", "model/log.rs"),
    ("keep", "model/crash_reports.rs"),
    ("keep", "logs/crash_reports.rs"),
    ("slow_log", "top/tables.rs"),
    ("server_timing", "server/timing.rs"),
    ("detect_leaks", "cli/mod.rs"),
    ("max_requests", "table/placeholder.rs"),
];

/// A limit is declared in its table and used where it has its effect. No code between the two names
/// it.
#[test]
fn a_limit_is_named_in_one_file() {
    for limit in POOL_LIMITS {
        let naming = naming_files(limit.name, &["howdah-config", "howdah"], names);
        assert_eq!(naming.len(), 1, "{}: {naming:?}", limit.name);
    }
}

/// The same for options of workers. Many are ordinary words, so only a public field, a row of a
/// table of the Caddyfile, or a row of a comparison counts.
#[test]
fn an_option_of_a_worker_is_declared_in_its_table_alone() {
    let crates = ["howdah-config", "howdah", "howdah-pool"];
    let files: Vec<_> = WORKER_OPTIONS
        .iter()
        .map(|option| (option.name, naming_files(option.name, &crates, declares)))
        .filter(|(_, files)| !files.is_empty())
        .collect();
    assert!(files.is_empty(), "{files:#?}");
    assert!(declares("pub struct A {\n    pub exit: OnExit,\n}", "exit"));
}

/// Files whose code names an option.
fn naming_files(name: &str, crates: &[&str], is_named: fn(&str, &str) -> bool) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in crates {
        sources(&folder.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    let is_other = |path: &str| {
        let mut others = OTHERS.iter();
        others.any(|(other, file)| *other == name && path.ends_with(file))
    };
    files.retain(|(path, code)| is_named(code, name) && !is_other(path));
    files.into_iter().map(|(path, _)| path).collect()
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether the code names an option in another way than using its value.
fn names(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].trim_end();
        !code[..at].ends_with(is_word)
            && !code[at + name.len()..].starts_with(is_word)
            && !before.ends_with("limits.")
            && !before.ends_with("limits\n.")
    })
}

/// Whether the code declares an option with this name.
fn declares(code: &str, name: &str) -> bool {
    let forms = [
        format!("pub {name}: "),
        format!("pub(crate) {name}: "),
        format!("name: \"{name}\""),
        format!("(\"{name}\", "),
    ];
    forms.iter().any(|form| code.contains(form))
}

/// Collects paths and code of a folder, without comments and tests.
fn sources(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let code = text
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap_or_default();
            let lines = code.lines().map(str::trim);
            let lines: Vec<&str> = lines.filter(|line| !line.starts_with("//")).collect();
            files.push((path.display().to_string(), lines.join("\n")));
        }
    }
}
