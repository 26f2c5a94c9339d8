//! Kinds of options: their syntax, and the types of their values.

use std::fmt;

use super::limit_value::{LimitField, LimitUnit, LimitValue};
use super::worker_modes::{Boot, Connections, Isolation, Keep, LeakDetection, OnExit, Statics};

/// The syntax of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum OptionKind {
    /// A whole number within these bounds.
    Number {
        min: u64,
        max: u64,
        /// The word for no limit; empty if a limit is required.
        unlimited: &'static str,
    },
    /// A size within these bounds: `10MB`.
    Size { min: u64, max: u64 },
    /// A duration of more than zero, or `off`.
    Time,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Mode(&'static [&'static str]),
    /// Some of these words, in addition to previous ones.
    Set(&'static [&'static str]),
    /// Paths of requests, in addition to previous ones.
    Paths,
    /// Patterns of files, in addition to previous ones; without any the default pattern.
    FilePatterns {
        /// The pattern if none is given.
        default: &'static str,
    },
    /// Names and values; they replace previous ones with the same name.
    Variables,
    /// `[sample NUMBER] [{ allow PATTERN… }]`.
    LeakDetection,
}

impl OptionKind {
    /// It may be given several times.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::Set(_) | Self::Paths | Self::FilePatterns { .. } | Self::Variables
        )
    }

    fn unit(self) -> LimitUnit {
        match self {
            Self::Number { min, .. } => LimitUnit::Number(min),
            Self::Size { .. } => LimitUnit::Bytes,
            Self::Time => LimitUnit::Time,
            _ => LimitUnit::Switch,
        }
    }
}

/// The value of an option, whatever its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A number, size, time or switch; also an option that is `off`.
    Limit(LimitValue),
    /// Value of [`OptionKind::Mode`].
    Word(&'static str),
    /// Value of all lists other than [`OptionKind::Variables`].
    Words(Vec<String>),
    /// Value of [`OptionKind::Variables`].
    Variables(Vec<(String, String)>),
    /// Value of [`OptionKind::LeakDetection`].
    LeakDetection(LeakDetection),
}

/// In the syntax of a Caddyfile, but variables without their values, which may be secrets.
impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(value) => value.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::Words(words) if words.is_empty() => f.write_str("none"),
            Self::Words(words) => f.write_str(&words.join(" ")),
            Self::Variables(variables) if variables.is_empty() => f.write_str("none"),
            Self::Variables(variables) => {
                let names: Vec<_> = variables.iter().map(|(name, _)| name.as_str()).collect();
                f.write_str(&names.join(" "))
            }
            Self::LeakDetection(leaks) => leaks.fmt(f),
        }
    }
}

/// A type of an option.
pub(super) trait OptionField {
    fn value(&self, kind: OptionKind) -> OptionValue;
    /// Sets it, or adds to a list; false if the type cannot hold the value.
    fn set(&mut self, value: OptionValue) -> bool;
}

impl<T: LimitField> OptionField for T {
    fn value(&self, kind: OptionKind) -> OptionValue {
        OptionValue::Limit(self.to_value(kind.unit()))
    }

    fn set(&mut self, value: OptionValue) -> bool {
        let OptionValue::Limit(value) = value else {
            return false;
        };
        T::from_value(value).map(|new| *self = new).is_some()
    }
}

macro_rules! mode_fields {
    ($($type:ty)*) => {$(
        impl OptionField for $type {
            fn value(&self, _: OptionKind) -> OptionValue {
                OptionValue::Word(self.word())
            }

            fn set(&mut self, value: OptionValue) -> bool {
                let OptionValue::Word(word) = value else {
                    return false;
                };
                Self::named(word).map(|new| *self = new).is_some()
            }
        }
    )*};
}
mode_fields!(Boot Connections Isolation OnExit Statics);

impl OptionField for Keep {
    fn value(&self, _: OptionKind) -> OptionValue {
        OptionValue::Words(self.words().map(str::to_owned).collect())
    }

    fn set(&mut self, value: OptionValue) -> bool {
        let OptionValue::Words(words) = value else {
            return false;
        };
        words.iter().all(|word| {
            let kind = Self::named(word);
            *self = self.with(kind.unwrap_or_default());
            kind.is_some()
        })
    }
}

impl OptionField for Vec<String> {
    fn value(&self, _: OptionKind) -> OptionValue {
        OptionValue::Words(self.clone())
    }

    fn set(&mut self, value: OptionValue) -> bool {
        let OptionValue::Words(mut words) = value else {
            return false;
        };
        self.append(&mut words);
        true
    }
}

impl OptionField for Vec<(String, String)> {
    fn value(&self, _: OptionKind) -> OptionValue {
        OptionValue::Variables(self.clone())
    }

    fn set(&mut self, value: OptionValue) -> bool {
        let OptionValue::Variables(variables) = value else {
            return false;
        };
        for variable in variables {
            self.retain(|(name, _)| *name != variable.0);
            self.push(variable);
        }
        true
    }
}

impl OptionField for Option<LeakDetection> {
    fn value(&self, _: OptionKind) -> OptionValue {
        let off = OptionValue::Limit(LimitValue::Off);
        self.clone().map_or(off, OptionValue::LeakDetection)
    }

    fn set(&mut self, value: OptionValue) -> bool {
        let OptionValue::LeakDetection(leaks) = value else {
            return false;
        };
        *self = Some(leaks);
        true
    }
}
