//! A Redis server that stores small values for several machines.
//!
//! Commands are sent one after the other on one connection, and each has the configured time limit, so the caller's
//! thread must be able to wait that long. A server that did not respond is not contacted for a moment, in which
//! commands fail immediately: many names do not wait for it one after the other. All commands can be repeated after a
//! lost connection.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use howdah_config::model::Redis;
use redis::{
    Client, Cmd, Connection, ConnectionAddr, ErrorKind, FromRedisValue, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, TlsCertificates, cmd,
};

/// How long a server that did not respond is not contacted.
const REST: Duration = Duration::from_secs(1);
/// Errors of a server that is reachable but temporarily unusable.
const BUSY: [&str; 5] = ["LOADING", "MASTERDOWN", "READONLY", "BUSY", "TRYAGAIN"];

/// Acquires a key for its owner unless another has it.
const TAKE: &str = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end \
                    if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0";
/// Prolongs it, or acquires it again if no other server did meanwhile.
const KEEP: &str = "local owner = redis.call('GET', KEYS[1]) \
                    if owner and owner ~= ARGV[1] then return 0 end \
                    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";
/// Releases it if it still belongs to the owner.
const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end \
                       return 1";

/// The server does not respond; it may do so later.
#[derive(Debug, thiserror::Error)]
#[error("{server} does not respond: {reason}")]
struct UnreachableError {
    server: String,
    reason: String,
}

/// Whether the storage may respond later, rather than having refused.
pub(crate) fn is_unavailable(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<UnreachableError>)
}

/// A Redis server.
pub(crate) struct Remote {
    client: Client,
    timeout: Duration,
    prefix: String,
    /// Its address, for messages.
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    /// Set while it does not respond.
    away: Option<Outage>,
}

struct Outage {
    until: Instant,
    reason: String,
}

impl Remote {
    /// Does not connect yet. Fails if the file with its authorities is invalid.
    pub(crate) fn new(config: &Redis) -> io::Result<Self> {
        let address = if config.tls {
            ConnectionAddr::TcpTls {
                host: config.host.clone(),
                port: config.port,
                insecure: false,
                tls_params: None,
            }
        } else {
            ConnectionAddr::Tcp(config.host.clone(), config.port)
        };
        let mut login = RedisConnectionInfo::default()
            .set_db(config.db.into())
            .set_skip_set_lib_name();
        if let Some(username) = &config.username {
            login = login.set_username(username);
        }
        if let Some(password) = &config.password {
            login = login.set_password(password);
        }
        let info = address
            .into_connection_info()
            .map_err(io::Error::other)?
            .set_redis_settings(login);
        let client = if config.tls {
            let root_cert = config
                .tls_roots
                .as_deref()
                .map(howdah_monitor::fs::read)
                .transpose()?;
            let certificates = TlsCertificates {
                client_tls: None,
                root_cert,
            };
            Client::build_with_tls(info, certificates)
        } else {
            Client::open(info)
        };
        Ok(Self {
            client: client.map_err(io::Error::other)?,
            timeout: config.timeout,
            prefix: config.key_prefix.clone(),
            name: config.to_string(),
            state: Mutex::default(),
        })
    }

    /// The URL of a key, for messages.
    pub(crate) fn url(&self, key: &str) -> String {
        format!("{}/{key}", self.name)
    }

    pub(crate) fn get(&self, key: &str) -> io::Result<Option<Vec<u8>>> {
        self.command(cmd("GET").arg(self.key(key)))
    }

    /// Sets a value permanently, or for a time.
    pub(crate) fn set(&self, key: &str, value: &[u8], life: Option<Duration>) -> io::Result<()> {
        let mut command = cmd("SET");
        command.arg(self.key(key)).arg(value);
        if let Some(life) = life {
            command.arg("PX").arg(milliseconds(life));
        }
        self.command(&command)
    }

    /// Sets a value unless it exists; returns whether it did. If the connection was lost in between, the result may be
    /// false although it did.
    pub(crate) fn set_new(&self, key: &str, value: &[u8]) -> io::Result<bool> {
        let mut command = cmd("SET");
        let done: Option<String> = self.command(command.arg(self.key(key)).arg(value).arg("NX"))?;
        Ok(done.is_some())
    }

    pub(crate) fn delete(&self, key: &str) -> io::Result<()> {
        self.command(cmd("DEL").arg(self.key(key)))
    }

    /// Makes `owner` the owner of a key for this time; returns whether it is.
    pub(crate) fn take(&self, key: &str, owner: &str, life: Duration) -> io::Result<bool> {
        self.run(TAKE, key, owner, life)
    }

    /// Renews the ownership of a previous owner; returns whether it succeeded.
    pub(crate) fn keep(&self, key: &str, owner: &str, life: Duration) -> io::Result<bool> {
        self.run(KEEP, key, owner, life)
    }

    /// Releases a key if `owner` still holds it.
    pub(crate) fn release(&self, key: &str, owner: &str) -> io::Result<()> {
        self.run(RELEASE, key, owner, Duration::ZERO).map(drop)
    }

    fn run(&self, script: &str, key: &str, owner: &str, life: Duration) -> io::Result<bool> {
        let mut command = cmd("EVAL");
        command.arg(script).arg(1).arg(self.key(key));
        self.command(command.arg(owner).arg(milliseconds(life)))
    }

    fn key(&self, key: &str) -> String {
        format!("{}/{key}", self.prefix)
    }

    fn command<T: FromRedisValue>(&self, command: &Cmd) -> io::Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(silence) = &state.away
            && Instant::now() < silence.until
        {
            return Err(self.unavailable(silence.reason.clone()));
        }
        loop {
            let (connection, is_new) = match state.connection.take() {
                Some(kept) => (Ok(kept), false),
                None => (self.connect(), true),
            };
            let mut connection = match connection {
                Ok(connection) => connection,
                // A wrong password as well: it may just be changing.
                Err(error) => return Err(self.note_outage(&mut state, &error)),
            };
            match command.query(&mut connection) {
                Ok(answer) => {
                    state.connection = Some(connection);
                    if state.away.take().is_some() {
                        tracing::info!(target: "howdah::tls", storage = self.name, "the certificate storage \
                            responds again");
                    }
                    return Ok(answer);
                }
                // The server closed it while it was idle, or was restarted.
                Err(error) if is_lost(&error) && !is_new && !error.is_timeout() => {}
                Err(error) if is_lost(&error) => return Err(self.note_outage(&mut state, &error)),
                Err(error) => {
                    state.connection = Some(connection);
                    return Err(io::Error::other(format!("{} refuses: {error}", self.name)));
                }
            }
        }
    }

    fn connect(&self) -> Result<Connection, RedisError> {
        let connection = self.client.get_connection_with_timeout(self.timeout)?;
        connection.set_read_timeout(Some(self.timeout))?;
        connection.set_write_timeout(Some(self.timeout))?;
        Ok(connection)
    }

    /// Records that it does not respond, and reports it once.
    fn note_outage(&self, state: &mut State, error: &RedisError) -> io::Error {
        let reason = if error.is_timeout() {
            // The system calls it "temporarily unavailable".
            format!("no response within {} s", self.timeout.as_secs_f32())
        } else {
            error.to_string()
        };
        let silence = Outage {
            until: Instant::now() + REST,
            reason: reason.clone(),
        };
        if state.away.replace(silence).is_none() {
            tracing::warn!(
                target: "howdah::tls",
                storage = self.name,
                error = reason,
                "the certificate storage does not respond; current certificates stay in use, and the server retries",
            );
        }
        self.unavailable(reason)
    }

    fn unavailable(&self, reason: String) -> io::Error {
        io::Error::other(UnreachableError {
            server: self.name.clone(),
            reason,
        })
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Remote").field(&self.name).finish()
    }
}

fn is_lost(error: &RedisError) -> bool {
    error.is_io_error()
        || error.kind() == ErrorKind::Parse
        || error.code().is_some_and(|code| BUSY.contains(&code))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The configuration for a test's server.
#[cfg(test)]
pub(crate) fn config_of(server: &howdah_testkit::Redis) -> Redis {
    Redis {
        port: server.port(),
        password: Some(howdah_testkit::Redis::PASSWORD.into()),
        db: 3,
        ..Redis::default()
    }
}

#[cfg(test)]
mod tests {
    use howdah_testkit::Redis as Server;

    use super::*;

    #[test]
    fn a_silent_server_is_reported_as_such() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let config = Redis {
            port: silent.local_addr().expect("bound").port(),
            timeout: Duration::from_millis(100),
            ..Redis::default()
        };
        let remote = Remote::new(&config).expect("valid");
        let error = remote.get("x").expect_err("silent");
        assert!(is_unavailable(&error));
        let message = error.to_string();
        assert!(message.contains("no response within 0.1 s"), "{message}");
    }

    #[test]
    fn values_are_kept_below_the_prefix() {
        let Some(server) = Server::start() else {
            return;
        };
        let remote = Remote::new(&config_of(&server)).expect("valid");
        assert_eq!(remote.get("a/b").expect("answered"), None);
        remote.set("a/b", b"one\0", None).expect("answered");
        assert!(!remote.set_new("a/b", b"two").expect("answered"));
        assert!(remote.set_new("a/c", b"two").expect("answered"));
        let other = Redis {
            key_prefix: "other".into(),
            ..config_of(&server)
        };
        let other = Remote::new(&other).expect("valid");
        assert_eq!(other.get("a/b").expect("answered"), None);
        assert_eq!(
            remote.get("a/b").expect("answered").as_deref(),
            Some(&b"one\0"[..])
        );
        remote.delete("a/b").expect("answered");
        remote.delete("a/b").expect("gone already");
        assert_eq!(remote.get("a/b").expect("answered"), None);
    }

    #[test]
    fn temporary_state_expires_by_itself() {
        let Some(server) = Server::start() else {
            return;
        };
        let remote = Remote::new(&config_of(&server)).expect("valid");
        let moment = Duration::from_millis(1);
        remote.set("a", b"x", Some(moment)).expect("answered");
        while remote.get("a").expect("answered").is_some() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_key_has_one_owner() {
        let Some(server) = Server::start() else {
            return;
        };
        let remote = Remote::new(&config_of(&server)).expect("valid");
        let long = Duration::from_secs(3600);
        assert!(remote.take("lock", "one", long).expect("answered"));
        assert!(remote.take("lock", "one", long).expect("its own"));
        assert!(!remote.take("lock", "two", long).expect("answered"));
        assert!(!remote.keep("lock", "two", long).expect("answered"));
        remote.release("lock", "two").expect("answered");
        assert!(remote.keep("lock", "one", long).expect("still its own"));
        remote.release("lock", "one").expect("answered");
        assert!(remote.take("lock", "two", long).expect("free"));
        // The lock of a crashed owner is free when it expires.
        let moment = Duration::from_millis(1);
        assert!(remote.keep("lock", "two", moment).expect("answered"));
        while !remote.take("lock", "three", long).expect("answered") {
            std::thread::yield_now();
        }
        assert!(!remote.keep("lock", "two", long).expect("answered"));
    }

    #[test]
    fn an_unavailable_server_is_distinguished_from_a_refusing_one() {
        let Some(mut server) = Server::start() else {
            return;
        };
        let remote = Remote::new(&config_of(&server)).expect("valid");
        remote.set("a", b"kept", None).expect("answered");
        let wrong = remote.run("return 1 +", "a", "", Duration::ZERO);
        let wrong = wrong.expect_err("no script");
        assert!(!is_unavailable(&wrong) && wrong.to_string().contains("refuses"));

        server.stop();
        let error = remote.get("a").expect_err("it is away");
        assert!(is_unavailable(&error), "{error}");
        assert!(!error.to_string().contains("sesame"), "{error}");

        server.start_again();
        let mut answer = remote.get("a");
        while answer.is_err() {
            std::thread::yield_now();
            answer = remote.get("a");
        }
        assert_eq!(answer.expect("answered").as_deref(), Some(&b"kept"[..]));

        let wrong = Redis {
            password: Some("wrong".into()),
            ..config_of(&server)
        };
        let error = Remote::new(&wrong).expect("valid").get("a");
        assert!(is_unavailable(&error.expect_err("not let in")));
    }

    #[test]
    fn an_idle_connection_that_was_closed_is_not_noticed() {
        let Some(mut server) = Server::start() else {
            return;
        };
        let remote = Remote::new(&config_of(&server)).expect("valid");
        remote.set("a", b"kept", None).expect("answered");
        server.stop();
        server.start_again();
        let answer = remote.get("a").expect("on a new connection");
        assert_eq!(answer.as_deref(), Some(&b"kept"[..]));
    }
}
