//! The tables of names. Each entry is the parser's rule, a known name for error messages and a row
//! of the reference page, so that the three cannot differ.

mod context;
pub(crate) mod no_effect;
pub(crate) mod pairs;
pub(crate) mod placeholder;
pub(crate) mod template;
pub(crate) mod value;

pub(crate) use crate::error::{bad_value, nearest};
pub(crate) use context::{Context, NamedRoute};

use crate::error::{Error, ErrorKind};
use crate::syntax::tree::{Statement, Word};

/// Documentation of a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Syntax of the arguments, the name first.
    pub(crate) syntax: &'static str,
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
    /// Differences from Caddy or FrankenPHP.
    pub(crate) differs: &'static str,
    /// Lines that use it, for the page and for the test that runs every example.
    pub(crate) example: &'static str,
}

/// Reads the arguments and the block of a statement into a target.
pub(crate) type StatementReader<T> = fn(&mut Context, &Call<'_>, &mut T) -> Result<(), Error>;

/// A name that is known where a `T` is configured.
pub(crate) enum Item<T: 'static> {
    Supported(Entry, StatementReader<T>),
    /// A name of Caddy or FrankenPHP that this version lacks, and what to use instead.
    Unsupported(&'static str, &'static str),
    /// A name that belongs elsewhere, and where.
    Elsewhere(&'static str, &'static str),
}

impl<T> Clone for Item<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Item<T> {}

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
    /// The word for a name of this table in messages: `directive`.
    pub(crate) kind: &'static str,
    pub(crate) items: &'static [Item<T>],
}

impl<T> Table<T> {
    /// Finds a name; an unknown or unsupported one is an error.
    pub(crate) fn find(
        &self,
        name: &Word,
    ) -> Result<(usize, &'static Entry, StatementReader<T>), Error> {
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
                        format!("`{other}` is not {}", with_article(self.kind)),
                        *hint,
                    ));
                }
                _ => {}
            }
        }
        Err(unknown(self.kind, name, self.items))
    }
}

/// The names of several lists, `N` in all.
pub(crate) const fn joined<T, const N: usize>(lists: &[&[Item<T>]]) -> [Item<T>; N] {
    let mut items = [lists[0][0]; N];
    let (mut list, mut next) = (0, 0);
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            items[next] = lists[list][index];
            index += 1;
            next += 1;
        }
        list += 1;
    }
    items
}

/// `an option`, `a directive`.
fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
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
                "remove one of them",
            ));
        }
        Ok(())
    }
}

pub(crate) fn unsupported(name: &Word, hint: &str) -> Error {
    let message = format!("`{}` is not supported in this version", name.text);
    Error::new(ErrorKind::Unsupported, &name.position, message, hint)
}

fn unknown<T>(kind: &str, name: &Word, items: &'static [Item<T>]) -> Error {
    let (supported, missing): (Vec<_>, Vec<_>) = items
        .iter()
        .partition(|item| matches!(item, Item::Supported(..)));
    let accepted = no_effect::NO_EFFECT
        .iter()
        .filter(|accepted| accepted.kind == kind)
        .map(|accepted| accepted.name);
    let names =
        |items: &[&'static Item<T>]| items.iter().map(|item| item.name()).collect::<Vec<_>>();
    let (mut supported, missing) = (names(&supported), names(&missing));
    // A hint that leads to another error is only useful for a certain match.
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
