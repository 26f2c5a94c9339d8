//! Clients that keep a server busy during a disturbance.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use howdah_testkit::client::ClientError;
use howdah_testkit::{Connection, EndOnDrop, PATIENCE, Request, Response, Server, process};

/// A client: a persistent connection and numbered requests.
#[derive(Debug)]
pub struct Client<'a> {
    server: &'a Server,
    connection: Option<Connection>,
    /// Index of the client, from 0.
    pub number: usize,
    sent: usize,
}

impl Client<'_> {
    /// Number of its next request, from 1.
    pub fn number_next(&mut self) -> usize {
        self.sent += 1;
        self.sent
    }

    /// Sends a request and returns the response. Opens a new connection if the last one was closed.
    ///
    /// # Errors
    /// Fails if the response is missing or incomplete. The next request then uses a new connection.
    pub fn exchange(&mut self, request: &Request) -> Result<Response, ClientError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.server.address())?,
        };
        let response = connection.exchange(request)?;
        if response.header("connection") != Some("close") {
            self.connection = Some(connection);
        }
        Ok(response)
    }
}

/// View of the clients for the code that disturbs the server.
#[derive(Debug, Default)]
pub struct Traffic {
    over: AtomicBool,
    rounds: AtomicUsize,
}

impl Traffic {
    /// Number of rounds of all clients so far.
    pub fn rounds(&self) -> usize {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Waits until the clients have completed `rounds` more rounds.
    ///
    /// # Panics
    /// Panics if they do not in time, for example because a client failed or the server stopped
    /// responding.
    #[track_caller]
    pub fn wait(&self, rounds: usize) {
        let wanted = self.rounds() + rounds;
        let done = || self.over.load(Ordering::Relaxed) || self.rounds() >= wanted;
        assert!(process::wait_until(PATIENCE, done), "no answers any more");
        assert!(self.rounds() >= wanted, "a client failed");
    }
}

struct EndOnPanic<'a>(&'a AtomicBool);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Lets `clients` repeat `round` while `disturb` runs. Returns the result of `disturb` and the
/// number of rounds.
///
/// # Panics
/// Panics if one of them panics.
pub fn during<T>(
    server: &Server,
    clients: usize,
    round: impl Fn(&mut Client<'_>) + Sync,
    disturb: impl FnOnce(&Traffic) -> T,
) -> (T, usize) {
    let traffic = Traffic::default();
    let result = thread::scope(|scope| {
        for number in 0..clients {
            let (traffic, round) = (&traffic, &round);
            scope.spawn(move || {
                let _end = EndOnPanic(&traffic.over);
                let mut client = Client {
                    server,
                    connection: None,
                    number,
                    sent: 0,
                };
                while !traffic.over.load(Ordering::Relaxed) {
                    round(&mut client);
                    traffic.rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _end = EndOnDrop(&traffic.over);
        disturb(&traffic)
    });
    (result, traffic.rounds())
}

/// Returns the number in the environment variable `variable`, by default `usual`. A test is short
/// by default and can be made as long as desired.
///
/// # Panics
/// Panics if the variable is not a number.
pub fn many(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |number| {
        number
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number"))
    })
}
