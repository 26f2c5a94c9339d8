//! The limits of pools: what holds for each row of their table.

use std::path::Path;
use std::time::Duration;

use howdah_config::model::{
    Config, LimitBlocks, LimitUnit, LimitValue, POOL_LIMITS, PoolLimit, PoolLimits,
};
use howdah_config::{NoFiles, parse};

/// A block with this line in it.
type Block = fn(&str) -> String;

const GLOBAL: Block = |line| format!("{{\nhowdah {{\n{line}\n}}\n}}\n:80");
const POOL: Block =
    |line| format!("{{\nhowdah {{\npool a {{\n{line}\n}}\n}}\n}}\n:80 {{\nphp {{\npool a\n}}\n}}");
const WORKER: Block = |line| format!("{{\nhowdah {{\nworker a.php {{\n{line}\n}}\n}}\n}}\n:80");

fn read(text: &str) -> Option<Config> {
    let parsed = parse(text, "Caddyfile", &|_| None, &NoFiles);
    parsed.ok().map(|parsed| parsed.config)
}

/// The limits of the pool that the block makes.
fn limits(config: &Config) -> PoolLimits {
    let global = &config.global.php.limits;
    let classic = config.pools.iter().map(|pool| &pool.settings);
    let workers = config.workers.iter().map(|pool| &pool.settings);
    match classic.chain(workers).next() {
        Some(settings) => settings.limits.over(global),
        None => global.clone(),
    }
}

/// A value that is not the default, and how it is written.
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

/// Options of upstreams with the same name, and messages that name a limit.
const OTHERS: [(&str, &str); 3] = [
    ("max_requests", "directive/balance.rs"),
    ("max_requests", "model/proxy.rs"),
    ("max_in_flight", "doctor/system.rs"),
];

/// A limit is declared in its table and used where it has its effect: nothing between the two names it.
#[test]
fn a_limit_is_named_in_one_file() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["howdah-config", "howdah"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    for limit in POOL_LIMITS {
        let is_other = |path: &str| {
            let mut others = OTHERS.iter();
            others.any(|(name, file)| *name == limit.name && path.ends_with(file))
        };
        let naming: Vec<&str> = files
            .iter()
            .filter(|(path, code)| names(code, limit.name) && !is_other(path))
            .map(|(path, _)| path.as_str())
            .collect();
        assert_eq!(naming.len(), 1, "{}: {naming:?}", limit.name);
    }
}

/// Whether the code names an option, other than to use its value.
fn names(code: &str, name: &str) -> bool {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].trim_end();
        !code[..at].ends_with(is_word)
            && !code[at + name.len()..].starts_with(is_word)
            && !before.ends_with("limits.")
            && !before.ends_with("limits\n.")
    })
}

/// Paths and code of a folder, without comments and tests.
fn sources(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().map(str::trim);
            let lines: Vec<&str> = lines.filter(|line| !line.starts_with("//")).collect();
            files.push((path.display().to_string(), lines.join("\n")));
        }
    }
}
