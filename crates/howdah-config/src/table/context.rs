//! State that is collected while statements are read.

use crate::draft::{Binding, ClassicPoolDraft, ListenerProtocols, Order, WorkerDraft};
use crate::error::{Error, ErrorKind, Position, Warning};
use crate::model::WorkerOption;
use crate::syntax::tree::{Statement, Word};

use super::{Call, Table, no_effect};

/// State that is collected while statements are read.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each records whether one directive was read, independent of the others"
)]
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) errors: Vec<Error>,
    pub(crate) warnings: Vec<Warning>,
    /// The port of `http://` addresses without one.
    pub(crate) http_port: u16,
    /// The global options about HTTPS.
    pub(crate) https: crate::model::Https,
    /// The configuration's own files, which a file server must not send.
    pub(crate) hidden: Vec<String>,
    /// The global `log`s.
    pub(crate) logs: crate::draft::GlobalLogs,
    /// The pools of `roadrunner` read so far, and their positions; without a name until all have been read.
    pub(crate) roadrunner: Vec<(crate::model::RoadRunnerPool, Position)>,
    /// The hubs read so far.
    pub(crate) hubs: Vec<crate::model::Mercure>,
    /// Each `hot_reload` read so far, and its position; those of the current site without their hub, which may come
    /// later.
    pub(crate) hot_reloads: Vec<(crate::model::HotReload, Position)>,
    /// A site has `tracing`.
    pub(crate) tracing: bool,
    /// A site has `metrics`.
    pub(crate) metrics: bool,
    /// Its requests are counted by host, too.
    pub(crate) metrics_per_host: bool,
    /// The workers read so far, in the order of `Config::workers`.
    pub(crate) workers: Vec<WorkerDraft>,
    /// The classic pools, in the order of `Config::pools`.
    pub(crate) pools: Vec<ClassicPoolDraft>,
    /// Position of `preload`, unless it is off.
    pub(crate) preload: Option<Position>,
    /// Number of workers in the global block, which come first.
    pub(crate) global_workers: usize,
    /// `&(name) { … }`, each by its name.
    pub(crate) named: Vec<NamedRoute>,
    /// Order of the directives.
    pub(crate) order: Order,
    /// `default_bind`.
    pub(crate) default_bind: Binding,
    /// `protocols` of `bind`, in the order of the sites.
    pub(crate) listener_protocols: Vec<ListenerProtocols>,
    /// Names that this version lacks are left out, with a warning.
    pub(crate) lenient: bool,
    blocks: usize,
    groups: u32,
}

#[derive(Debug)]
pub(crate) struct NamedRoute {
    pub(crate) name: Word,
    pub(crate) block: std::rc::Rc<[Statement]>,
    /// It was read at least once, so its errors were reported.
    pub(crate) is_used: bool,
    /// It is being read: an `invoke` of it would be recursive.
    pub(crate) is_open: bool,
}

impl Context {
    /// A number for routes that exclude each other.
    pub(crate) fn next_group(&mut self) -> u32 {
        self.groups += 1;
        self.groups
    }

    /// A number for a block other than the global one.
    pub(crate) fn next_block(&mut self) -> usize {
        self.blocks += 1;
        self.blocks
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, position: &Position, message: impl Into<String>) {
        self.warnings.push(Warning {
            position: position.clone(),
            message: message.into(),
        });
    }

    /// Whether the name is accepted without effect; adds a warning then.
    pub(crate) fn accepts(&mut self, kind: &str, name: &Word) -> bool {
        let Some(accepted) = no_effect::find(kind, &name.text) else {
            return false;
        };
        self.warn(
            &name.position,
            format!("`{}` has no effect: {}", accepted.name, accepted.warning),
        );
        true
    }

    /// Whether a statement with this error is left out; adds a warning then. A matcher is never left out, because its
    /// directives would then apply to all requests, and neither is anything that restricts access.
    pub(crate) fn leaves_out(&mut self, kind: &str, name: &Word, error: &Error) -> bool {
        let missing = matches!(error.kind, ErrorKind::Unsupported | ErrorKind::UnknownName);
        // A name that is similar to a known one is mistyped.
        let is_typo = |hint: &String| hint.starts_with("did you mean");
        if !self.lenient
            || !missing
            || RESTRICTING.contains(&kind)
            || RESTRICTING_PLUGINS.contains(&name.text.as_str())
            || error.hint.as_ref().is_some_and(is_typo)
        {
            return false;
        }
        self.warn(
            &name.position,
            format!("`{}` is left out: {}", name.text, error.message),
        );
        true
    }

    /// Records an error and continues.
    pub(crate) fn record(&mut self, result: Result<(), Error>) {
        self.errors.extend(result.err());
    }

    /// Reads all statements of a block with a table.
    pub(crate) fn read<'s, T>(
        &mut self,
        table: &Table<T>,
        block: impl IntoIterator<Item = &'s Statement>,
        target: &mut T,
    ) {
        let mut seen: Vec<&'static str> = Vec::new();
        for statement in block {
            let result = self.read_one(table, statement, target, &mut seen);
            self.record(result);
        }
    }

    fn read_one<T>(
        &mut self,
        table: &Table<T>,
        statement: &Statement,
        target: &mut T,
        seen: &mut Vec<&'static str>,
    ) -> Result<(), Error> {
        if self.accepts(table.kind, &statement.name) {
            return Ok(());
        }
        let (_, entry, read) = match table.find(&statement.name) {
            Err(error) if self.leaves_out(table.kind, &statement.name, &error) => return Ok(()),
            found => found?,
        };
        let call = Call {
            entry,
            name: &statement.name,
            arguments: &statement.arguments,
            block: statement.block.as_deref(),
        };
        let is_list = |option: &WorkerOption| option.kind.is_list();
        let repeatable = REPEATABLE.contains(&entry.name)
            || WorkerOption::named(entry.name).is_some_and(is_list);
        let is_second = !repeatable && seen.contains(&entry.name);
        if is_second && OVERRIDABLE.contains(&(table.kind, entry.name)) {
            self.warn(
                &statement.name.position,
                format!("`{}` is given twice: the last one counts", entry.name),
            );
        } else if is_second {
            return Err(call.error(
                ErrorKind::Conflict,
                format!("`{}` is given twice", entry.name),
                "remove one of them",
            ));
        }
        seen.push(entry.name);
        match read(self, &call, target) {
            Err(error) if self.leaves_out(table.kind, &statement.name, &error) => Ok(()),
            result => result,
        }
    }
}

/// Plugins of Caddy that restrict access: they are never left out.
const RESTRICTING_PLUGINS: &[&str] = &[
    "appsec",
    "authenticate",
    "authorize",
    "authp",
    "coraza_waf",
    "crowdsec",
    "jwt",
    "jwtauth",
    "security",
];

/// Kinds of tables in which nothing is left out.
const RESTRICTING: &[&str] = &[
    "matcher",
    "response matcher",
    "subdirective of the matcher `file`",
    "option of `client_auth`",
    "subdirective of `forward_auth`",
    "option of `on_demand_tls`",
];

/// Settings that may be repeated, since Caddy uses the last one: kinds and names of settings that replace all previous
/// ones.
const OVERRIDABLE: &[(&str, &str)] = &[("global option", "auto_https")];

/// Options and subdirectives that add to previous ones, besides options of a `worker`.
const REPEATABLE: &[&str] = &[
    "allow",
    "deny",
    "env",
    "watch",
    "php_ini",
    "php_admin_ini",
    "pool",
    "servers",
    "log",
    "worker",
    "match",
    "order",
    "hide",
    "path",
    "method",
    "host",
    "header",
    "file",
    "not",
    "hostnames",
    "trusted_ca_cert_file",
    "trust_pool",
    "query",
    "remote_ip",
    "client_ip",
    "vars",
    "vars_regexp",
    "header_regexp",
    "to",
    "header_up",
    "header_down",
    "handle_response",
    "replace_status",
    "include",
    "exclude",
    "copy_headers",
    "unhealthy_status",
    "lb_retry_match",
];
