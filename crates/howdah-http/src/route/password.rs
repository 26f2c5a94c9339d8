//! Names and passwords of `basic_auth`.
//!
//! bcrypt takes tens of milliseconds by design, so it runs on separate threads, a few at a time. Valid passwords are
//! cached for a while by a keyed hash. Routes do not wait: they return the check that they need, and run again with its
//! verdict.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use howdah_config::model::BasicAuth;
use http::header::{HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};
use tokio::sync::Semaphore;

use crate::clock;
use crate::message::reply;
use crate::message::response::Content;
use crate::route::credentials::credentials;
use crate::route::verdict::Verdict;

/// Concurrent checks of all front threads: each occupies a core.
static AT_WORK: Semaphore = Semaphore::const_new(2);
/// Checks that wait or run.
static PENDING: AtomicUsize = AtomicUsize::new(0);
/// Further checks get a 503.
const PENDING_MAX: usize = 64;
/// Milliseconds for which a valid password is cached.
const KNOWN_FOR: u64 = 5 * 60_000;
/// Passwords that a front thread caches; when full, the cache is emptied.
const KNOWN_MAX: usize = 1024;

/// The users of a `basic_auth`: a compiled [`BasicAuth`].
#[derive(Debug)]
pub(crate) struct Passwords {
    challenge: HeaderValue,
    /// Names and hashes.
    users: Box<[(Rc<str>, String)]>,
    keys: [RandomState; 2],
    /// Valid passwords, with their expiry on the coarse clock.
    known: RefCell<HashMap<u128, u64>>,
}

/// What is known about the password of a request.
pub(crate) enum PasswordState {
    Good(Rc<str>),
    Bad,
    Unknown(PasswordCheck),
}

pub(crate) struct PasswordCheck {
    auth: Rc<Passwords>,
    password: Vec<u8>,
    hash: String,
    key: u128,
    /// An unknown name takes as long as any other.
    has_user: bool,
}

impl Passwords {
    pub(crate) fn compile(auth: &BasicAuth) -> Self {
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", auth.realm);
        Self {
            // The configuration has checked the realm.
            challenge: HeaderValue::try_from(challenge)
                .unwrap_or(HeaderValue::from_static("Basic realm=\"restricted\"")),
            users: auth
                .users
                .iter()
                .map(|user| (user.name.as_str().into(), user.hash.clone()))
                .collect(),
            keys: [RandomState::new(), RandomState::new()],
            known: RefCell::default(),
        }
    }

    pub(crate) fn check(
        self: &Rc<Self>,
        headers: &HeaderMap,
        verdicts: &[Verdict],
    ) -> PasswordState {
        let Some((name, password)) = credentials(headers) else {
            return PasswordState::Bad;
        };
        let user = self
            .users
            .iter()
            .find(|(known, _)| known.as_bytes() == name.as_slice());
        let Some((known, hash)) = user.or(self.users.first()) else {
            return PasswordState::Bad;
        };
        // The hash is part of it: a reload that changes the password makes a new key.
        let text = (&name, &password, hash);
        let [high, low] = [&self.keys[0], &self.keys[1]].map(|key| u128::from(key.hash_one(text)));
        let key = high << 64 | low;
        let verdict = verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Password { key: own, good } if *own == key => Some(*good),
            _ => None,
        });
        match verdict {
            Some(true) => return PasswordState::Good(Rc::clone(known)),
            Some(false) => return PasswordState::Bad,
            None => {}
        }
        let until = self.known.borrow().get(&key).copied();
        if until.is_some_and(|until| clock::now() < until) {
            return PasswordState::Good(Rc::clone(known));
        }
        PasswordState::Unknown(PasswordCheck {
            auth: Rc::clone(self),
            password,
            hash: hash.clone(),
            key,
            has_user: user.is_some(),
        })
    }

    /// The 401 response.
    pub(crate) fn refusal(&self) -> Response<Content> {
        let mut response = reply::plain(StatusCode::UNAUTHORIZED);
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, self.challenge.clone());
        response
    }
}

/// Counts a check as long as it lives.
struct CheckPermit;

impl CheckPermit {
    fn take() -> Option<Self> {
        // Dropping it decrements the counter.
        let (before, turn) = (PENDING.fetch_add(1, Relaxed), Self);
        (before < PENDING_MAX).then_some(turn)
    }
}

impl Drop for CheckPermit {
    fn drop(&mut self) {
        PENDING.fetch_sub(1, Relaxed);
    }
}

impl PasswordCheck {
    /// Checks the password; `None`: too many checks wait already.
    pub(crate) async fn run(self) -> Option<Verdict> {
        let turn = CheckPermit::take()?;
        let Self {
            auth,
            password,
            hash,
            key,
            has_user,
        } = self;
        // The semaphore is never closed.
        let permit = AT_WORK.acquire().await.ok()?;
        // If the client disconnects, this future is dropped, but the work continues and keeps its permit until it is
        // done.
        let work = tokio::task::spawn_blocking(move || {
            let (_permit, _turn) = (permit, turn);
            bcrypt::verify(&password, &hash)
        });
        let good = match work.await {
            Ok(Ok(good)) => good && has_user,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a password cannot be checked");
                false
            }
            // The runtime shuts down.
            Err(_) => return None,
        };
        if good {
            let mut known = auth.known.borrow_mut();
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert(key, clock::now() + KNOWN_FOR);
        }
        Some(Verdict::Password { key, good })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use howdah_config::model::BasicAuthUser;

    use super::*;

    /// A hash of the lowest cost.
    const HASH: &str = "$2y$04$fir/n2iOE8UEd1Z1WKkWc.L8T/9UWqPFWcTFwB3Uikg3vW7c3pK4u";

    fn check() -> PasswordCheck {
        let auth = Passwords::compile(&BasicAuth {
            users: vec![BasicAuthUser {
                name: "a".into(),
                hash: HASH.into(),
            }],
            realm: String::new(),
        });
        PasswordCheck {
            auth: Rc::new(auth),
            password: b"a".to_vec(),
            hash: HASH.into(),
            key: 0,
            has_user: true,
        }
    }

    #[test]
    fn clients_that_disconnect_do_not_lift_the_bound() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            // The work cannot finish before this is sent.
            let (go, wait) = mpsc::channel::<()>();
            let before = tokio::task::spawn_blocking(move || wait.recv());
            let free = AT_WORK.available_permits();
            for count in 1..=free {
                let mut run = Box::pin(check().run());
                let mut cx = Context::from_waker(Waker::noop());
                assert!(run.as_mut().poll(&mut cx).is_pending());
                drop(run);
                assert_eq!(AT_WORK.available_permits(), free - count);
                assert_eq!(PENDING.load(Relaxed), count);
            }
            // A check that stops waiting gives up its place.
            let mut waiting = Box::pin(check().run());
            let mut cx = Context::from_waker(Waker::noop());
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
            drop(waiting);
            assert_eq!(PENDING.load(Relaxed), free);

            go.send(()).unwrap();
            before.await.unwrap().unwrap();
            let all = AT_WORK.acquire_many(u32::try_from(free).unwrap()).await;
            drop(all.unwrap());
            assert_eq!(PENDING.load(Relaxed), 0);
        });
    }
}
