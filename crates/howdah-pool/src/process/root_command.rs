//! How the root zygote is started: its arguments and environment, and the users of its pools' processes.
//!
//! If pools have their own users, only root can start it. Then the monitor does, with the options that it has read
//! itself. The server only sends their key.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};

use howdah_monitor::Program;

use super::control::{DATA_SIZE_MAX, Header, Kind};
use super::encode::{EncodeError, append_user};
use crate::options::RootOptions;

/// Variables that a service manager passes to this process alone: sockets, and how to notify it.
pub const FROM_SERVICE_MANAGER: [&str; 6] = [
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
];

/// Variables that every process needs, and those that PHP and the dynamic linker read when they
/// start.
const NEEDED: [&str; 9] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "TMPDIR",
    "TZ",
    "USE_ZEND_ALLOC",
    "USER",
];
/// Prefixes of further variables, such as options of sanitizers.
const NEEDED_PREFIXES: [&str; 5] = ["LD_", "HOWDAH_", "ASAN_", "LSAN_", "UBSAN_"];

/// The environment variables, of these, that PHP does not inherit when the configuration withholds them: variables that
/// PHP needs cannot be withheld.
pub fn withheld_from_php<'n>(
    names: impl IntoIterator<Item = &'n String>,
) -> impl Iterator<Item = &'n str> {
    let names = names.into_iter().map(String::as_str);
    names.filter(|name| !is_always_inherited(OsStr::new(name)))
}

/// Whether PHP's processes inherit an environment variable regardless of the configuration.
fn is_always_inherited(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let begins = |prefix: &&str| name.starts_with(*prefix);
    NEEDED.contains(&name) || NEEDED_PREFIXES.iter().any(begins)
}

/// The environment that PHP inherits, without the configuration's own variables; with `clear` only what a process
/// needs.
pub fn inherited_environment<'n>(
    withheld: impl IntoIterator<Item = &'n String> + Copy,
    clear: bool,
) -> Vec<(OsString, OsString)> {
    let left_out = |name: &OsStr| {
        let of_server = FROM_SERVICE_MANAGER.iter().chain([&USER_OF_SERVER]);
        let mut left_out = of_server.copied().chain(withheld_from_php(withheld));
        (clear && !is_always_inherited(name)) || left_out.any(|other| name == other)
    };
    let variables = std::env::vars_os();
    variables.filter(|(name, _)| !left_out(name)).collect()
}

/// The environment variable with the user of a server whose configuration names none, for images and units. PHP does
/// not get it.
pub const USER_OF_SERVER: &str = "HOWDAH_USER";

impl RootOptions {
    /// Arguments after the name. The control socket is standard input: the one way to pass a descriptor that needs no
    /// code between fork and exec.
    pub(crate) fn arguments(&self, preloads: bool) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ["zygote", "--control-fd", "0"].map(Into::into).into();
        let flags = [
            (self.concurrent, "--concurrent"),
            (self.booted, "--booted"),
            (preloads, "--preload"),
            (self.by_monitor, "--users"),
        ];
        let given = flags.into_iter().filter(|(given, _)| *given);
        arguments.extend(given.map(|(_, flag)| flag.into()));
        for (name, value) in &self.ini {
            arguments.extend(["-d".into(), format!("{name}={value}").into()]);
        }
        arguments
    }

    /// The environment that PHP inherits.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        inherited_environment(&self.withheld, self.clear_env)
    }

    /// Identifies a program of the monitor. It does not protect: a process that finds the key of a program can only
    /// have that program started, with the options that the monitor has read.
    pub(crate) fn key(&self, preloads: bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.executable.hash(&mut hasher);
        self.withheld.hash(&mut hasher);
        self.ini.hash(&mut hasher);
        self.users.hash(&mut hasher);
        let flags = [self.clear_env, self.concurrent, self.booted, preloads];
        flags.hash(&mut hasher);
        hasher.finish()
    }

    /// The programs that a monitor starts for a server with these options, by their keys.
    ///
    /// # Errors
    /// The users cannot be sent to PHP.
    pub fn programs(&self) -> Result<Vec<(u64, Program)>, EncodeError> {
        let options = Self {
            by_monitor: true,
            ..self.clone()
        };
        let mut users = Vec::new();
        for user in &options.users {
            append_user(&mut users, user)?;
        }
        if users.len() > DATA_SIZE_MAX {
            return Err(EncodeError::Users(users.len()));
        }
        let first_message = [&Header::new(Kind::Users, 0).encode(&users)[..], &users].concat();
        let program = |preloads| Program {
            executable: options.executable.clone(),
            arguments: options.arguments(preloads),
            environment: options.environment(),
            first_message: first_message.clone(),
        };
        Ok([false, true]
            .map(|preloads| (options.key(preloads), program(preloads)))
            .into())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::options::User;

    fn user(uid: u32) -> User {
        User {
            uid,
            gid: 7,
            groups: vec![7],
            name: "web".into(),
            home: "/".into(),
        }
    }

    fn options() -> RootOptions {
        RootOptions {
            executable: "/bin/howdah-php".into(),
            withheld: vec!["HOWDAH_TEST_SECRET".into(), "CARGO".into()],
            clear_env: false,
            ini: vec![("a".into(), "1".into())],
            concurrent: true,
            booted: false,
            preload: None,
            fronts: 1,
            start_timeout: Duration::from_secs(1),
            users: vec![user(33), user(34)],
            by_monitor: false,
            crashes: None,
        }
    }

    #[test]
    fn a_program_is_known_by_all_that_it_is_started_with() {
        let first = options();
        let programs = first.programs().expect("encoded");
        let [(plain, program), (preloads, other)] = &programs[..] else {
            panic!("two")
        };
        assert_eq!((*plain, *preloads), (first.key(false), first.key(true)));
        assert_ne!(plain, preloads);
        let arguments = [
            "zygote",
            "--control-fd",
            "0",
            "--concurrent",
            "--users",
            "-d",
            "a=1",
        ];
        assert_eq!(program.arguments, arguments.map(OsString::from));
        assert!(other.arguments.contains(&"--preload".into()));
        assert!(program.environment.iter().all(|(name, _)| name != "CARGO"));
        let (header, users) = program.first_message.split_at(24);
        assert_eq!(header[..4], (Kind::Users as u32).to_le_bytes());
        assert_eq!(users.len(), 2 * (20 + 4 + 3 + 1));
        // The server does not decide who starts it.
        let by_monitor = RootOptions {
            by_monitor: true,
            ..options()
        };
        assert_eq!(by_monitor.key(false), first.key(false));
        let changes: [fn(&mut RootOptions); 4] = [
            |options| options.users[1].groups.push(0),
            |options| options.ini.clear(),
            |options| options.executable = "/tmp/x".into(),
            |options| options.clear_env = true,
        ];
        for change in changes {
            let mut options = options();
            change(&mut options);
            assert_ne!(options.key(false), first.key(false));
        }
    }

    #[test]
    fn php_inherits_what_it_needs() {
        let mut options = options();
        let names = |options: &RootOptions| -> Vec<OsString> {
            let environment = options.environment().into_iter();
            environment.map(|(name, _)| name).collect()
        };
        let path = OsString::from("PATH");
        let all = names(&options);
        assert!(all.contains(&path) && !all.contains(&OsString::from("CARGO")));
        options.clear_env = true;
        let needed = names(&options);
        assert!(needed.contains(&path));
        assert!(needed.iter().all(|name| is_always_inherited(name)));
    }
}
