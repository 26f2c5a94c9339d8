//! Values of limits: units, syntax, and types.

use std::fmt;
use std::time::Duration;

/// The unit of a limit, which determines its syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    /// A whole number of at least this.
    Number(u64),
    /// A size: `10MB`.
    Bytes,
    /// A duration of more than zero: `30s`.
    Time,
    /// `on` or `off`.
    Switch,
}

/// The value of a limit, whatever its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitValue {
    /// There is no limit.
    Off,
    /// Value of [`LimitUnit::Number`].
    Number(u64),
    /// Value of [`LimitUnit::Bytes`].
    Bytes(u64),
    /// Value of [`LimitUnit::Time`].
    Time(Duration),
    /// Value of [`LimitUnit::Switch`].
    Switch(bool),
}

/// Formats it in the syntax of a Caddyfile.
impl fmt::Display for LimitValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Off | Self::Switch(false) => f.write_str("off"),
            Self::Switch(true) => f.write_str("on"),
            Self::Number(number) => number.fmt(f),
            Self::Time(time) => write!(f, "{time:?}"),
            Self::Bytes(bytes) => {
                let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
                let unit = units
                    .iter()
                    .find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
                match unit {
                    Some((shift, name)) => write!(f, "{}{name}", bytes >> shift),
                    None => write!(f, "{bytes}B"),
                }
            }
        }
    }
}

/// A type of a limit.
pub(super) trait LimitField: Sized {
    fn to_value(&self, unit: LimitUnit) -> LimitValue;
    fn from_value(value: LimitValue) -> Option<Self>;
}

macro_rules! whole_number {
    ($($type:ty)*) => {$(
        impl LimitField for $type {
            fn to_value(&self, unit: LimitUnit) -> LimitValue {
                let number = u64::try_from(*self).unwrap_or(u64::MAX);
                match unit {
                    LimitUnit::Bytes => LimitValue::Bytes(number),
                    _ => LimitValue::Number(number),
                }
            }

            fn from_value(value: LimitValue) -> Option<Self> {
                match value {
                    LimitValue::Number(number) | LimitValue::Bytes(number) => number.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}
whole_number!(u32 u64 usize);

impl LimitField for bool {
    fn to_value(&self, _: LimitUnit) -> LimitValue {
        LimitValue::Switch(*self)
    }

    fn from_value(value: LimitValue) -> Option<Self> {
        match value {
            LimitValue::Switch(on) => Some(on),
            _ => None,
        }
    }
}

impl LimitField for Duration {
    fn to_value(&self, _: LimitUnit) -> LimitValue {
        LimitValue::Time(*self)
    }

    fn from_value(value: LimitValue) -> Option<Self> {
        match value {
            LimitValue::Time(time) => Some(time),
            _ => None,
        }
    }
}

impl<T: LimitField> LimitField for Option<T> {
    fn to_value(&self, unit: LimitUnit) -> LimitValue {
        self.as_ref()
            .map_or(LimitValue::Off, |value| value.to_value(unit))
    }

    fn from_value(value: LimitValue) -> Option<Self> {
        match value {
            LimitValue::Off => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
