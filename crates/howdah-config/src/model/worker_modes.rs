//! Modes of a worker and what else its options hold: part of [`model`](crate::model).

use std::fmt;

/// Options with one of several words, each with its type.
macro_rules! modes {
    ($(
        $(#[doc = $about:literal])+
        $name:ident {
            $($(#[doc = $text:literal])+ $variant:ident = $word:literal,)+
        }
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $text])+ $variant,)+
        }

        impl $name {
            /// Words of a Caddyfile.
            pub(super) const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of a Caddyfile.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The mode with this word.
            #[must_use]
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    )+};
}

modes! {
    /// `boot`: where the worker script runs up to its first request.
    Boot {
        /// Once, in the process that all workers are copies of.
        Zygote = "zygote",
        /// The script boots in each worker.
        Each = "each",
    }
    /// `exit`: what `exit()` in a request ends.
    OnExit {
        /// The request; the worker continues.
        Request = "request",
        /// The worker, which is replaced.
        Restart = "restart",
    }
    /// `isolation`: what requests share.
    Isolation {
        /// The worker, one after another.
        Worker = "worker",
        /// Requests share only the boot: each gets a fresh copy of the booted application.
        Request = "request",
    }
    /// `statics`: static properties and variables of concurrent requests.
    Statics {
        /// Each request has separate ones.
        Isolate = "isolate",
        /// All requests of a worker share them.
        Share = "share",
    }
    /// `connections`: what happens to a database connection that was closed between requests.
    Connections {
        /// The worker is replaced.
        Replace = "replace",
        /// It is reopened where that is safe; otherwise the worker is replaced.
        Revive = "revive",
        /// Connections are not checked.
        Ignore = "ignore",
    }
}

/// `detect_leaks`: state that requests leave behind is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeakDetection {
    /// `sample`: one of so many requests is checked. Default 1.
    pub sample: u32,
    /// `allow`: patterns of places and kinds, with `*`, that are not leaks. Default: none.
    pub allow: Vec<String>,
    /// Responses carry the number of leaks. Only `php-server --detect-leaks`.
    pub in_header: bool,
}

impl Default for LeakDetection {
    fn default() -> Self {
        Self {
            sample: 1,
            allow: Vec::new(),
            in_header: false,
        }
    }
}

/// Formats it in the syntax of a Caddyfile.
impl fmt::Display for LeakDetection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sample {}", self.sample)?;
        if !self.allow.is_empty() {
            write!(f, " allow {}", self.allow.join(" "))?;
        }
        Ok(())
    }
}

/// `keep`: kinds of state that are not restored after each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep(u32);

impl Keep {
    /// All state is restored.
    pub const NONE: Self = Self(0);
    /// ini settings.
    pub const INI: Self = Self(0x1);
    /// Error and exception handlers, autoloaders, stream wrappers and filters.
    pub const HANDLERS: Self = Self(0x2);
    /// `setlocale()`.
    pub const LOCALE: Self = Self(0x4);
    /// `date_default_timezone_set()`.
    pub const TIMEZONE: Self = Self(0x8);
    /// `chdir()`.
    pub const CWD: Self = Self(0x10);
    /// `umask()`.
    pub const UMASK: Self = Self(0x20);
    /// `putenv()` and `$_ENV`.
    pub const ENV: Self = Self(0x40);
    /// `mb_internal_encoding()` and its like.
    pub const MBSTRING: Self = Self(0x80);
    /// `libxml_use_internal_errors()`.
    pub const LIBXML: Self = Self(0x100);
    /// The state of `mt_rand()` and its like.
    pub const RANDOM: Self = Self(0x200);
    /// `session_name()`, `session_set_cookie_params()` and all of `session.*`.
    pub const SESSION: Self = Self(0x400);
    /// Nothing is restored.
    pub const ALL: Self = Self(0x7ff);

    const KINDS: [(&'static str, Self); 12] = [
        ("ini", Self::INI),
        ("handlers", Self::HANDLERS),
        ("locale", Self::LOCALE),
        ("timezone", Self::TIMEZONE),
        ("cwd", Self::CWD),
        ("umask", Self::UMASK),
        ("env", Self::ENV),
        ("mbstring", Self::MBSTRING),
        ("libxml", Self::LIBXML),
        ("random", Self::RANDOM),
        ("session", Self::SESSION),
        ("all", Self::ALL),
    ];

    /// Words of a Caddyfile.
    pub(super) const WORDS: &'static [&'static str] = &{
        let mut words = [""; Self::KINDS.len()];
        let mut index = 0;
        while index < words.len() {
            words[index] = Self::KINDS[index].0;
            index += 1;
        }
        words
    };

    /// The kind with this word.
    pub(super) fn named(word: &str) -> Option<Self> {
        let mut kinds = Self::KINDS.iter();
        kinds.find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }

    /// Words of the kinds in it.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        let kinds = Self::KINDS.iter().filter(|(_, kind)| *kind != Self::ALL);
        kinds
            .filter(move |(_, kind)| self.contains(*kind))
            .map(|(word, _)| *word)
    }

    /// All kinds of the second one are in this one.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
