//! `roadrunner`.

use std::time::Duration;

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::model::{Handler, PoolLimitOverrides, RoadRunner, RoadRunnerPool, Template, User};
use crate::pool::limits::{Block, HasLimits, count, limits};
use crate::pool::options::processes;
use crate::pool::{user, worker};
use crate::syntax::tree::Word;
use crate::table::pairs::{check_variable, pairs};
use crate::table::template::{literal, template};
use crate::table::value::{duration, flag};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, joined};

const DEFAULT_BOOT_TIMEOUT: Duration = Duration::from_secs(60);
/// RoadRunner's default.
const FORBIDDEN_UPLOADS: [&str; 3] = [".php", ".exe", ".bat"];

/// A pool while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    name: Option<String>,
    command: Option<Vec<String>>,
    workers: Option<usize>,
    limits: PoolLimitOverrides,
    user: Option<User>,
    env: Vec<(String, String)>,
    boot_timeout: Option<Duration>,
    raw_body: bool,
    forbidden_uploads: Option<Vec<String>>,
    attributes: Vec<(String, Template)>,
}

impl HasLimits for Draft {
    fn set_limit(&mut self, set: &dyn Fn(&mut PoolLimitOverrides) -> bool) -> bool {
        set(&mut self.limits)
    }
}

/// Names of the block of `roadrunner`.
pub(crate) const ROADRUNNER: Table<Draft> = Table {
    kind: "option of `roadrunner`",
    items: &joined::<_, { OPTIONS.len() + LIMITS.len() }>(&[OPTIONS, LIMITS]),
};

const LIMITS: &[Item<Draft>] = &limits::<_, { count(Block::RoadRunner) }>(Block::RoadRunner);

const OPTIONS: &[Item<Draft>] = &[
    Item::Supported(
        Entry {
            name: "command",
            syntax: "command PROGRAM ARGUMENT…",
            default: "`php SCRIPT`",
            about: "Program and arguments of a worker, as `server.command` in `.rr.yaml`. A single word with spaces \
                is split at them. It is started in the server's working directory.",
            differs: "",
            example: "command php -d memory_limit=256M worker.php",
        },
        |_, call, draft| {
            let words = call.arguments(1, usize::MAX)?;
            let words: Vec<String> = match words {
                [word] => words_of(&literal(word, "a command")?),
                words => words
                    .iter()
                    .map(|word| literal(word, "a command"))
                    .collect::<Result<_, _>>()?,
            };
            if words.first().is_none_or(String::is_empty)
                || words.iter().any(|word| word.contains('\0'))
            {
                let message = format!("`{}` is not a command", call.arguments[0].text);
                let hint = "write for example `command php worker.php`";
                return Err(bad_value(&call.arguments[0].position, message, hint));
            }
            call.set(&mut draft.command, words)
        },
    ),
    Item::Supported(
        Entry {
            name: "name",
            syntax: "name NAME",
            default: "that of the script, without `.php`",
            about: "The name of the pool in logs, status and metrics.",
            differs: "",
            example: "name shop",
        },
        |_, call, draft| {
            let name = worker::name(call)?;
            call.set(&mut draft.name, name)
        },
    ),
    Item::Supported(
        Entry {
            name: "num_workers",
            syntax: "num_workers NUMBER",
            default: "twice the number of cores, at least 4",
            about: "Worker processes, each of which handles one request at a time: `pool.num_workers` of `.rr.yaml`.",
            differs: "",
            example: "num_workers 4",
        },
        |_, call, draft| processes(call, 1, &mut draft.workers),
    ),
    Item::Supported(user::POOL_USER, |_, call, draft| {
        let user = user::user(call)?;
        call.set(&mut draft.user, user)
    }),
    Item::Supported(
        Entry {
            name: "env",
            syntax: "env NAME VALUE  or  env { NAME VALUE … }",
            default: "the environment that other PHP processes have",
            about: "Further environment variables of the workers.",
            differs: "",
            example: "env APP_ENV production",
        },
        |cx, call, draft| {
            for (name, value) in pairs(cx, call)? {
                check_variable(name)?;
                let value = literal(value, "a variable of a worker")?;
                draft.env.push((name.text.clone(), value));
            }
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "boot_timeout",
            syntax: "boot_timeout DURATION",
            default: "`60s`",
            about: "How long a worker may take to get ready: `pool.allocate_timeout` of `.rr.yaml`.",
            differs: "",
            example: "boot_timeout 10s",
        },
        |_, call, draft| {
            let time = duration(call)?;
            call.set(&mut draft.boot_timeout, time)
        },
    ),
    Item::Supported(
        Entry {
            name: "attribute",
            syntax: "attribute NAME VALUE  or  attribute { NAME VALUE … }",
            default: "none",
            about: "Attributes of the PSR-7 request. VALUE may contain placeholders.",
            differs: "",
            example: "attribute tenant {labels.1}",
        },
        |cx, call, draft| {
            for (name, value) in pairs(cx, call)? {
                let name = literal(name, "the name of an attribute")?;
                draft.attributes.push((name, template(value)?));
            }
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "raw_body",
            syntax: "raw_body [on|off]",
            default: "`off`: forms are parsed, and their files written to the folder of temporary files",
            about: "Passes forms on as they were sent: `http.raw_body` of `.rr.yaml`.",
            differs: "",
            example: "raw_body",
        },
        |_, call, draft| {
            draft.raw_body = flag(call)?;
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "forbid_uploads",
            syntax: "forbid_uploads .ENDING…|off",
            default: "`.php .exe .bat`",
            about: "Uploaded files with these extensions are not stored, and the application gets error 8 for them: \
                `http.uploads.forbid` of `.rr.yaml`.",
            differs: "",
            example: "forbid_uploads .php .phar",
        },
        |_, call, draft| {
            let words = call.arguments(1, usize::MAX)?;
            let endings = match words {
                [word] if word.text == "off" => Vec::new(),
                words => words.iter().map(ending).collect::<Result<_, _>>()?,
            };
            call.set(&mut draft.forbidden_uploads, endings)
        },
    ),
];

fn words_of(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

fn ending(word: &Word) -> Result<String, Error> {
    let text = literal(word, "an ending")?;
    if text.len() > 1 && text.starts_with('.') {
        return Ok(text.to_lowercase());
    }
    let message = format!("`{text}` is not the ending of a file's name");
    Err(bad_value(
        &word.position,
        message,
        "write for example `.php`",
    ))
}

/// `roadrunner [MATCHER] [SCRIPT] [{ … }]`.
pub(super) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (matcher, rest) = scope.matcher(call.arguments)?;
    let script = match rest {
        [] => None,
        [script] => Some(worker::file(script)?),
        _ => return Err(call.count(0, 1).err().unwrap_or_else(|| missing(call))),
    };
    let errors = cx.errors.len();
    let mut draft = Draft::default();
    cx.read(&ROADRUNNER, call.block.unwrap_or_default(), &mut draft);
    if cx.errors.len() > errors {
        return Ok(());
    }
    let command = match (script, draft.command) {
        (Some(script), None) => vec!["php".to_owned(), script],
        (None, Some(command)) => command,
        (Some(_), Some(_)) => {
            return Err(call.error(
                ErrorKind::Conflict,
                "`roadrunner` has both a script and a `command`".to_owned(),
                "write one of them",
            ));
        }
        (None, None) => return Err(missing(call)),
    };
    let forbidden = || FORBIDDEN_UPLOADS.map(str::to_owned).into();
    let pool = RoadRunnerPool {
        name: draft.name.unwrap_or_default(),
        command,
        workers: draft.workers,
        limits: draft.limits,
        user: draft.user,
        env: draft.env,
        boot_timeout: draft.boot_timeout.unwrap_or(DEFAULT_BOOT_TIMEOUT),
        raw_body: draft.raw_body,
        forbidden_uploads: draft.forbidden_uploads.unwrap_or_else(forbidden),
    };
    // Sites with equal settings share the workers.
    let known = cx.roadrunner.iter().position(|(known, _)| *known == pool);
    let pool = known.unwrap_or_else(|| {
        cx.roadrunner.push((pool, call.name.position.clone()));
        cx.roadrunner.len() - 1
    });
    let attributes = draft.attributes;
    scope.push(
        matcher,
        Handler::RoadRunner(RoadRunner { pool, attributes }),
    );
    Ok(())
}

fn missing(call: &Call<'_>) -> Error {
    call.error(
        ErrorKind::Arguments,
        "`roadrunner` has no worker".to_owned(),
        "write `roadrunner worker.php`; a first word that starts with `/` is a matcher, so write `roadrunner * /srv/worker.php`",
    )
}

#[cfg(test)]
mod tests {
    use crate::model::{Config, Handler};
    use crate::{NoFiles, parse};

    fn config(text: &str) -> Result<Config, String> {
        let parsed = parse(text, "Caddyfile", &|_| None, &NoFiles);
        parsed
            .map(|parsed| parsed.config)
            .map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_script_is_run_by_php() {
        let config = config(
            ":80 {\nroadrunner app/worker.php\n}\n:81 {\nroadrunner /api/* app/worker.php\n}",
        )
        .expect("valid");
        assert_eq!(
            config.roadrunner.len(),
            1,
            "both sites have the same workers"
        );
        let pool = &config.roadrunner[0];
        assert_eq!(
            (pool.name.as_str(), &pool.command[..]),
            (
                "worker",
                &["php".to_owned(), "app/worker.php".to_owned()][..]
            )
        );
        assert_eq!(pool.forbidden_uploads, [".php", ".exe", ".bat"]);
        assert!(matches!(
            config.sites[1].routes[0].handler,
            Handler::RoadRunner(_)
        ));
    }

    #[test]
    fn a_block_has_all_options() {
        let block = "command \"php -d a=b worker.php\"\nname shop\nnum_workers 3\nmax_requests 5\nqueue_length 6\n\
             request_timeout off\nenv A b\nboot_timeout 2s\nraw_body\nforbid_uploads .PHAR\nattribute tenant {host}";
        let config = config(&format!(":80 {{\nroadrunner {{\n{block}\n}}\n}}")).expect("valid");
        let pool = &config.roadrunner[0];
        assert_eq!(pool.command, ["php", "-d", "a=b", "worker.php"]);
        assert_eq!(
            (pool.name.as_str(), pool.workers, pool.raw_body),
            ("shop", Some(3), true)
        );
        assert_eq!(
            (pool.limits.max_requests, pool.limits.request_timeout),
            (Some(5), Some(None))
        );
        assert_eq!(pool.forbidden_uploads, [".phar"]);
        let Handler::RoadRunner(own) = &config.sites[0].routes[0].handler else {
            panic!("{:?}", config.sites[0].routes)
        };
        assert_eq!(own.attributes[0].0, "tenant");
    }

    #[test]
    fn mistakes_are_named() {
        for (line, expected) in [
            ("roadrunner", "`roadrunner` has no worker"),
            (
                "roadrunner a.php {\ncommand php b.php\n}",
                "both a script and a `command`",
            ),
            (
                "roadrunner a.php {\nforbid_uploads php\n}",
                "is not the ending",
            ),
            (
                "roadrunner a.php {\nmax_memory_growth 1MiB\n}",
                "max_memory_growth",
            ),
            ("roadrunner a.php {\nname php\n}", "is the name of the pool"),
            (
                "roadrunner a.php {\nname x\n}\nroadrunner /b b.php {\nname x\n}",
                "two pools have the name",
            ),
        ] {
            let error = config(&format!(":80 {{\n{line}\n}}")).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
