//! Clients that keep a server busy while something happens to it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use howdah_testkit::client::ClientError;
use howdah_testkit::{Connection, EndOnDrop, PATIENCE, Request, Response, Server, process};

/// One client: a kept-alive connection, and requests with a number each.
#[derive(Debug)]
pub struct Client<'a> {
    server: &'a Server,
    connection: Option<Connection>,
    /// Which of the clients it is, from 0.
    pub number: usize,
    sent: usize,
}

impl Client<'_> {
    /// The number of its next request, from 1.
    pub fn number_next(&mut self) -> usize {
        self.sent += 1;
        self.sent
    }

    /// The response to a request, on a new connection if the last one was closed.
    ///
    /// # Errors
    /// There was none, or not all of it; the next request has a new connection.
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

/// The clients, as the code that disturbs the server sees them.
#[derive(Debug, Default)]
pub struct Traffic {
    over: AtomicBool,
    rounds: AtomicUsize,
}

impl Traffic {
    /// Rounds of all clients together until now.
    pub fn rounds(&self) -> usize {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Waits until the clients have done so many more rounds.
    ///
    /// # Panics
    /// If they do not in time, as when one has failed or the server answers no more.
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

/// Has `clients` do `round` over and over while `disturb` runs. Answers what `disturb` did, and the
/// number of rounds.
///
/// # Panics
/// If one of them does.
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

/// As many as `variable` says, else `usual`: a test is short by default and as long as one likes.
///
/// # Panics
/// If the variable is not a number.
pub fn many(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |number| {
        number
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number"))
    })
}
