//! The tables of names. One entry is the parser's rule, the error messages' list of known names
//! and the reference page's row, so that the three cannot differ.

use crate::accepted;
use crate::error::{Error, ErrorKind, Position, Warning};
use crate::tree::{Statement, Word};
use crate::worker;

/// What is told about a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Arguments as they are written, the name first.
    pub(crate) syntax: &'static str,
    /// What holds without it.
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
    /// Where it is not as in Caddy or FrankenPHP.
    pub(crate) differs: &'static str,
    /// Lines that use it, for the page and for the test that runs every entry.
    pub(crate) example: &'static str,
}

/// Reads the arguments and the block of a statement into a target.
pub(crate) type Read<T> = fn(&mut Context, &Call<'_>, &mut T) -> Result<(), Error>;

/// A name that is known where a `T` is configured.
pub(crate) enum Item<T: 'static> {
    Supported(Entry, Read<T>),
    /// A name of Caddy or FrankenPHP that this version does not have, and what to do instead.
    Unsupported(&'static str, &'static str),
    /// A name that belongs elsewhere, and where.
    Elsewhere(&'static str, &'static str),
}

impl<T> Item<T> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Supported(entry, _) => entry.name,
            Self::Unsupported(name, _) | Self::Elsewhere(name, _) => name,
        }
    }
}

/// All names of one kind of block.
pub(crate) struct Table<T: 'static> {
    /// What a name of it is called in messages: `directive`.
    pub(crate) kind: &'static str,
    pub(crate) items: &'static [Item<T>],
}

impl<T> Table<T> {
    /// Finds a name, or says what is wrong with it.
    pub(crate) fn find(&self, name: &Word) -> Result<(usize, &'static Entry, Read<T>), Error> {
        for (index, item) in self.items.iter().enumerate() {
            match item {
                Item::Supported(entry, read) if entry.name == name.text => {
                    return Ok((index, entry, *read));
                }
                Item::Unsupported(other, hint) if *other == name.text => {
                    return Err(unsupported(name, hint));
                }
                Item::Elsewhere(other, hint) if *other == name.text => {
                    return Err(Error::new(
                        ErrorKind::Conflict,
                        &name.position,
                        format!("`{other}` is not a {}", self.kind),
                        *hint,
                    ));
                }
                _ => {}
            }
        }
        Err(unknown(self.kind, name, self.items))
    }
}

/// A statement whose name was found.
pub(crate) struct Call<'a> {
    pub(crate) entry: &'static Entry,
    pub(crate) name: &'a Word,
    pub(crate) arguments: &'a [Word],
    pub(crate) block: Option<&'a [Statement]>,
}

impl Call<'_> {
    /// The arguments, if there are between `least` and `most`, and no block.
    pub(crate) fn arguments(&self, least: usize, most: usize) -> Result<&[Word], Error> {
        self.no_block()?;
        self.count(least, most)
    }

    /// The arguments, if there are between `least` and `most`.
    pub(crate) fn count(&self, least: usize, most: usize) -> Result<&[Word], Error> {
        let count = self.arguments.len();
        if (least..=most).contains(&count) {
            return Ok(self.arguments);
        }
        let plural = |count| {
            if count == 1 {
                "1 argument".into()
            } else {
                format!("{count} arguments")
            }
        };
        let takes = match (least, most) {
            (0, 0) => "no argument".to_owned(),
            (least, usize::MAX) => format!("at least {}", plural(least)),
            (least, most) if least == most => plural(least),
            (least, most) => format!("{least} to {}", plural(most)),
        };
        let position = self
            .arguments
            .get(most)
            .map_or(&self.name.position, |extra| &extra.position);
        Err(Error::new(
            ErrorKind::Arguments,
            position,
            format!("`{}` takes {takes}, {count} given", self.entry.name),
            format!("write `{}`", self.entry.syntax),
        ))
    }

    /// The only argument.
    pub(crate) fn one(&self) -> Result<&Word, Error> {
        Ok(&self.arguments(1, 1)?[0])
    }

    pub(crate) fn no_block(&self) -> Result<(), Error> {
        if self.block.is_none() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Arguments,
            &self.name.position,
            format!("`{}` takes no block", self.entry.name),
            format!("write `{}`", self.entry.syntax),
        ))
    }

    pub(crate) fn block(&self) -> Result<&[Statement], Error> {
        self.block.ok_or_else(|| {
            Error::new(
                ErrorKind::Arguments,
                &self.name.position,
                format!("`{}` needs a block", self.entry.name),
                format!("write `{}`", self.entry.syntax),
            )
        })
    }

    /// An error of this statement as a whole.
    pub(crate) fn error(&self, kind: ErrorKind, message: String, hint: impl Into<String>) -> Error {
        Error::new(kind, &self.name.position, message, hint)
    }

    /// A setting that may be given once.
    pub(crate) fn set<V>(&self, place: &mut Option<V>, value: V) -> Result<(), Error> {
        if place.replace(value).is_some() {
            return Err(self.error(
                ErrorKind::Conflict,
                format!("`{}` is given twice", self.entry.name),
                "take one of them out",
            ));
        }
        Ok(())
    }
}

/// What is collected while statements are read.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) errors: Vec<Error>,
    pub(crate) warnings: Vec<Warning>,
    /// The port of `http://` addresses without one.
    pub(crate) http_port: u16,
    /// The global options about HTTPS.
    pub(crate) https: crate::model::Https,
    /// The configuration's own files, which a file server must not hand out.
    pub(crate) hidden: Vec<String>,
    /// The `format` of the global `log`.
    pub(crate) access_format: crate::model::LineFormat,
    /// The hubs read so far.
    pub(crate) hubs: Vec<crate::model::Mercure>,
    /// Each `hot_reload` so far, and where it is; of the site at hand without its hub, which may come later.
    pub(crate) hot_reloads: Vec<(crate::model::HotReload, Position)>,
    /// A site has `tracing`.
    pub(crate) tracing: bool,
    /// A site has `metrics`.
    pub(crate) metrics: bool,
    /// The workers read so far, in the order of `Config::workers`.
    pub(crate) workers: Vec<worker::Draft>,
    /// Those of PHP processes, and where they are named.
    pub(crate) users: Vec<(crate::model::User, Position)>,
    /// How many workers are those of the global block, which come first.
    pub(crate) global_workers: usize,
    /// `&(name) { … }`, each by its name.
    pub(crate) named: Vec<NamedRoute>,
    /// In which directives are applied.
    pub(crate) order: crate::directive::order::Order,
    /// `default_bind`.
    pub(crate) default_bind: crate::bind::Binding,
    blocks: usize,
    groups: u32,
}

/// A named route.
#[derive(Debug)]
pub(crate) struct NamedRoute {
    pub(crate) name: Word,
    pub(crate) block: std::rc::Rc<[Statement]>,
    /// It was read at least once, so its errors are known.
    pub(crate) is_used: bool,
    /// It is being read: an `invoke` of it is one of itself.
    pub(crate) is_open: bool,
}

impl Context {
    /// A number for routes that exclude each other.
    pub(crate) fn next_group(&mut self) -> u32 {
        self.groups += 1;
        self.groups
    }

    /// A number for a block of its own, not that of the global one.
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

    /// Is it a name that has no effect here? Then that is a warning.
    pub(crate) fn accepts(&mut self, kind: &str, name: &Word) -> bool {
        let Some(accepted) = accepted::find(kind, &name.text) else {
            return false;
        };
        self.warn(
            &name.position,
            format!("`{}` has no effect: {}", accepted.name, accepted.warning),
        );
        true
    }

    /// Keeps an error and goes on.
    pub(crate) fn keep(&mut self, result: Result<(), Error>) {
        self.errors.extend(result.err());
    }

    /// Reads all statements of a block by a table.
    pub(crate) fn read<'s, T>(
        &mut self,
        table: &Table<T>,
        block: impl IntoIterator<Item = &'s Statement>,
        target: &mut T,
    ) {
        let mut seen: Vec<&'static str> = Vec::new();
        for statement in block {
            let result = self.read_one(table, statement, target, &mut seen);
            self.keep(result);
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
        let (_, entry, read) = table.find(&statement.name)?;
        let call = Call {
            entry,
            name: &statement.name,
            arguments: &statement.arguments,
            block: statement.block.as_deref(),
        };
        let repeatable = REPEATABLE.contains(&entry.name);
        if !repeatable && seen.contains(&entry.name) {
            return Err(call.error(
                ErrorKind::Conflict,
                format!("`{}` is given twice", entry.name),
                "take one of them out",
            ));
        }
        seen.push(entry.name);
        read(self, &call, target)
    }
}

/// Options and subdirectives that add to what was given before.
const REPEATABLE: &[&str] = &[
    "allow",
    "deny",
    "env",
    "php_ini",
    "servers",
    "worker",
    "watch",
    "match",
    "keep",
    "warm",
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
];

pub(crate) fn unsupported(name: &Word, hint: &str) -> Error {
    let message = format!("`{}` is not supported in this version", name.text);
    Error::new(ErrorKind::Unsupported, &name.position, message, hint)
}

fn unknown<T>(kind: &str, name: &Word, items: &'static [Item<T>]) -> Error {
    let (supported, missing): (Vec<_>, Vec<_>) = items
        .iter()
        .partition(|item| matches!(item, Item::Supported(..)));
    let accepted = accepted::ACCEPTED
        .iter()
        .filter(|accepted| accepted.kind == kind)
        .map(|accepted| accepted.name);
    let names =
        |items: &[&'static Item<T>]| items.iter().map(|item| item.name()).collect::<Vec<_>>();
    let (mut supported, missing) = (names(&supported), names(&missing));
    // A name that leads to the next error is only worth a hint if it is surely meant.
    let near = nearest(&name.text, supported.iter().copied().chain(accepted)).or_else(|| {
        nearest(&name.text, missing.into_iter())
            .filter(|near| strsim::damerau_levenshtein(&name.text, near) == 1)
    });
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if supported.len() > 12 => String::new(),
        None => {
            supported.sort_unstable();
            format!("known are {}", supported.join(", "))
        }
    };
    let message = format!("unknown {kind} `{}`", name.text);
    Error::new(ErrorKind::UnknownName, &name.position, message, hint)
}

/// The known name that a mistyped one probably is.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The distance is quadratic in the length, and no name is longer than this.
    if name.len() > 64 {
        return None;
    }
    let length = name.chars().count();
    known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| {
            *distance <= (length.max(known.len()) / 3).max(1) && *distance < length.max(2)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// An argument that is not what it should be.
pub(crate) fn bad_value(position: &Position, message: String, hint: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, position, message, hint)
}
