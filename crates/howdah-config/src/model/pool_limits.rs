//! The limits of a pool, each declared once, in the table below. The Caddyfile, the command line, the comparison of
//! two configurations, the reference page and `howdah-pool` follow from it: see
//! `docs/adr/0017-one-place-for-options.md`.

use std::time::Duration;

use super::limit_value::{LimitField, LimitUnit, LimitValue};

/// The blocks of the Caddyfile that may have a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitBlocks {
    /// The global block alone: it holds for all pools.
    Global,
    /// The global block, and each `pool` and `worker` in place of that.
    All,
    /// Each `pool` and `worker`.
    Pools,
    /// Each `worker`.
    Workers,
}

/// A row of [`POOL_LIMITS`].
#[derive(Debug)]
pub struct PoolLimit {
    /// Its name everywhere; with `-` in place of `_` on the command line.
    pub name: &'static str,
    /// Name and argument in a Caddyfile.
    pub syntax: &'static str,
    /// The unit of its value.
    pub unit: LimitUnit,
    /// It may be `off`.
    pub is_optional: bool,
    /// The blocks that may contain it.
    pub blocks: LimitBlocks,
    /// `php-server` has it as an option.
    pub is_flag: bool,
    /// Its effect in `roadrunner`; empty: it is not an option there.
    pub roadrunner: &'static str,
    /// The default as the reference page shows it.
    pub default: &'static str,
    /// Its effect, in one sentence or several.
    pub about: &'static str,
    /// Difference from Caddy or FrankenPHP.
    pub differs: &'static str,
    /// Its effect in a `pool` or `worker`, if that differs from the global block.
    pub pool_differs: &'static str,
    /// A line that uses it.
    pub example: &'static str,
    /// Reads its value from the limits of a pool.
    pub get: fn(&PoolLimits) -> LimitValue,
    /// Sets it; false if its type cannot hold the value.
    pub set: fn(&mut PoolLimitOverrides, LimitValue) -> bool,
}

/// Differences from FrankenPHP.
const NOT_THERE: &str = "Not in FrankenPHP.";
const GLOBAL_ALONE: &str = "In FrankenPHP only in the global block.";

/// Unit of a limit, and whether it may be `off`.
macro_rules! unit {
    (number($least:literal)) => {
        (LimitUnit::Number($least), false)
    };
    (number_or_off($least:literal)) => {
        (LimitUnit::Number($least), true)
    };
    (bytes) => {
        (LimitUnit::Bytes, false)
    };
    (bytes_or_off) => {
        (LimitUnit::Bytes, true)
    };
    (time) => {
        (LimitUnit::Time, false)
    };
    (time_or_off) => {
        (LimitUnit::Time, true)
    };
    (switch) => {
        (LimitUnit::Switch, false)
    };
}

/// The argument of a limit in a Caddyfile.
macro_rules! argument {
    (number) => {
        " NUMBER"
    };
    (number_or_off) => {
        " NUMBER|off"
    };
    (bytes) => {
        " SIZE"
    };
    (bytes_or_off) => {
        " SIZE|off"
    };
    (time) => {
        " DURATION"
    };
    (time_or_off) => {
        " DURATION|off"
    };
    (switch) => {
        " [on|off]"
    };
}

/// Rows of name, type, default, unit, blocks and text. The comment is what the limit does, for all who read of it.
macro_rules! pool_limits {
    ($(
        $(#[doc = $about:literal])+
        $name:ident: $type:ty = $value:expr, $unit:ident $(($least:literal))?, $blocks:ident {
            $($key:ident: $text:expr),* $(,)?
        }
    )*) => {
        /// The values of [`POOL_LIMITS`] for one pool.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct PoolLimits {
            $($(#[doc = $about])+ pub $name: $type,)*
        }

        impl Default for PoolLimits {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }

        /// The limits that one block gives. `None`: it does not; `Some(None)`: it gives `off`.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct PoolLimitOverrides {
            $($(#[doc = $about])+ pub $name: Option<$type>,)*
        }

        impl PoolLimitOverrides {
            /// These limits, and those of `base` that they leave out.
            #[must_use]
            pub fn over(&self, base: &PoolLimits) -> PoolLimits {
                PoolLimits { $($name: self.$name.unwrap_or(base.$name),)* }
            }
        }

        /// All limits.
        #[expect(clippy::needless_update, reason = "a row may have all texts")]
        pub const POOL_LIMITS: &[PoolLimit] = &[$(PoolLimit {
            name: stringify!($name),
            syntax: concat!(stringify!($name), argument!($unit)),
            unit: unit!($unit $(($least))?).0,
            is_optional: unit!($unit $(($least))?).1,
            blocks: LimitBlocks::$blocks,
            about: concat!($($about),+).trim_ascii(),
            get: |limits| limits.$name.to_value(unit!($unit $(($least))?).0),
            set: |overrides, value| {
                let value = LimitField::from_value(value);
                let fits = value.is_some();
                overrides.$name = value.or(overrides.$name);
                fits
            },
            $($key: $text,)*
            ..PoolLimit::TEXTS
        }),*];
    };
}

pool_limits! {
    /// Replaces a PHP process after about this many requests; `0`: unlimited. Its successor is ready before it
    /// exits.
    max_requests: u32 = 0, number(0), All {
        default: "`0`",
        pool_differs: GLOBAL_ALONE,
        example: "max_requests 1000",
        roadrunner: "Replaces a worker after about this many requests; `0`: unlimited. Its successor is ready before it stops.",
        is_flag: true,
    }
    /// Requests that may wait for a PHP process; more get a 503.
    queue_length: usize = 1024, number(1), All {
        default: "`1024`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "queue_length 100",
        roadrunner: "Requests that may wait for a worker; more get a 503.",
        is_flag: true,
    }
    /// How long a request may wait for a PHP process; then it gets a 503.
    max_wait_time: Duration = Duration::from_secs(30), time, All {
        default: "`30s`",
        differs: "FrankenPHP has no limit by default.",
        pool_differs: GLOBAL_ALONE,
        example: "max_wait_time 10s",
        roadrunner: "How long a request may wait for a worker; then it gets a 503.",
        is_flag: true,
    }
    /// Does not run a request whose client disconnects before a PHP process takes it. Under overload PHP then serves
    /// the clients that still wait. By default such a request is run, as with PHP-FPM, since many applications start
    /// background work with a request whose response they do not wait for.
    drop_abandoned: bool = false, switch, All {
        default: "`off`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "drop_abandoned",
        is_flag: true,
    }
    /// Wall time of a request in PHP; then it gets a 504, and its process is replaced.
    request_timeout: Option<Duration> = None, time_or_off, All {
        default: "`off`: PHP's `max_execution_time` counts",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "request_timeout 1m",
        roadrunner: "Wall time of a request in a worker; then it gets a 504, and the worker is killed and replaced.",
        is_flag: true,
    }
    /// A request that runs longer is logged with its method, URI and PHP backtrace, and at its end with a timeline:
    /// where it was, and when. Another thread takes the samples, so nothing that the request waits for is interrupted.
    slow_log: Option<Duration> = None, time_or_off, All {
        default: "`off`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "slow_log 2s",
        is_flag: true,
    }
    /// Adds a `Server-Timing` header to the responses of PHP, which browsers show: milliseconds in the queue, in PHP
    /// and of CPU time, and in calls of database extensions with the number of SQL statements. If a script sends its
    /// header before it ends, only the time in the queue is known. Clients learn these times: use it in development, or
    /// for clients that you trust.
    server_timing: bool = false, switch, All {
        default: "`off`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "server_timing",
        is_flag: true,
    }
    /// After this many crashes of PHP processes that ran requests of one route within `route_crash_window`, requests of
    /// that route get a 503 with `Retry-After` for `quarantine_time`, so that one broken page does not keep killing the
    /// processes of all others. A route is a method and a normalised path without its query, with numbers, UUIDs and
    /// long hexadecimal strings replaced by `:id`. The start and end of a quarantine are logged.
    max_route_crashes: Option<u32> = None, number_or_off(1), All {
        default: "`off`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "max_route_crashes 5",
    }
    /// The time within which crashes of one route count for `max_route_crashes`.
    route_crash_window: Duration = Duration::from_secs(60), time, All {
        default: "`60s`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "route_crash_window 10m",
    }
    /// How long requests of a route are refused after `max_route_crashes`.
    quarantine_time: Duration = Duration::from_secs(60), time, All {
        default: "`60s`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "quarantine_time 5m",
    }
    /// A PHP process beyond the regular number, as `max_threads` allows, exits after being idle for this long.
    max_idle_time: Duration = Duration::from_secs(5), time, All {
        default: "`5s`",
        pool_differs: GLOBAL_ALONE,
        example: "max_idle_time 30s",
    }
    /// Maximum number of requests in PHP at the same time; further ones wait.
    max_in_flight: Option<usize> = None, number_or_off(1), Pools {
        default: "`off`: limited by the processes alone",
        differs: NOT_THERE,
        example: "max_in_flight 8",
    }
    /// Bytes of a response that are kept in memory for a slow client. PHP then waits for one second in total, or a
    /// tenth of it while other requests wait for PHP, before the rest goes to `response_spool`.
    response_buffer: usize = 1 << 20, bytes, Global {
        default: "`1MiB`",
        differs: NOT_THERE,
        example: "response_buffer 4MiB",
    }
    /// Bytes of a response that are written to a file under `TMPDIR` for a slow client, so that PHP is free for other
    /// requests. When this limit is reached or the disk is full, PHP waits for the client. `off`: PHP always waits.
    response_spool: Option<u64> = Some(1 << 30), bytes_or_off, Global {
        default: "`1GiB`",
        differs: "Not in FrankenPHP, where PHP waits for every slow client.",
        example: "response_spool 100MiB",
    }
    /// A worker is replaced after about this time. Its successor is ready before it exits.
    max_age: Option<Duration> = None, time_or_off, Workers {
        default: "`off`",
        differs: NOT_THERE,
        example: "max_age 1h",
        roadrunner: "A worker is replaced after about this time. Its successor is ready before it stops.",
    }
    /// A worker that has more of PHP's memory after a request is replaced: at once from its tenth request on, before
    /// that within a second.
    max_memory: Option<u64> = None, bytes_or_off, Workers {
        default: "`off`",
        differs: NOT_THERE,
        example: "max_memory 256MiB",
        roadrunner: "A worker whose resident memory is larger is replaced after its current request. It is checked every second.",
    }
    /// A worker whose PHP memory grew by more since its tenth request is replaced.
    max_memory_growth: Option<u64> = None, bytes_or_off, Workers {
        default: "`off`",
        differs: NOT_THERE,
        example: "max_memory_growth 32MiB",
    }
    /// CPU time of a request; then its worker is killed and replaced, and the client gets a 504.
    cpu_timeout: Option<Duration> = None, time_or_off, Workers {
        default: "`off`",
        differs: NOT_THERE,
        example: "cpu_timeout 10s",
    }
    /// Rolls back a database transaction that a request left open, and logs it.
    rollback: bool = true, switch, Workers {
        default: "`on`",
        differs: NOT_THERE,
        example: "rollback off",
    }
    /// Programs that PHP starts gain no privileges: setuid and setgid bits and file capabilities have no effect. With
    /// it `sudo` and `ping` fail, and `mail()` where `sendmail` is setgid, as Postfix's is.
    no_new_privs: bool = false, switch, All {
        default: "`off`",
        differs: NOT_THERE,
        pool_differs: NOT_THERE,
        example: "no_new_privs",
        roadrunner: "Workers and the programs that they start gain no privileges: setuid and setgid bits and file capabilities have no effect.",
    }
    /// Allows processes of the same user, including PHP code, to access the memory and descriptors of PHP processes,
    /// and of the server if it stands in the global block, as debuggers and profilers do, and allows core dumps. By
    /// default only root can access them.
    dumpable: bool = false, switch, All {
        default: "`off`",
        differs: "Not in FrankenPHP; `process.dumpable` of PHP-FPM.",
        pool_differs: "Not in FrankenPHP; `process.dumpable` of PHP-FPM.",
        example: "dumpable",
    }
}

impl PoolLimit {
    /// Texts of a limit that has none.
    const TEXTS: Self = Self {
        name: "",
        syntax: "",
        unit: LimitUnit::Switch,
        is_optional: false,
        blocks: LimitBlocks::All,
        is_flag: false,
        roadrunner: "",
        default: "",
        about: "",
        differs: "",
        pool_differs: "",
        example: "",
        get: |_| LimitValue::Off,
        set: |_, _| false,
    };

    /// Finds a row by its name in the Caddyfile.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        POOL_LIMITS.iter().find(|limit| limit.name == name)
    }
}
