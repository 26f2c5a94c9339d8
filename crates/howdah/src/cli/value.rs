//! Names, help texts and values of options.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// The name of an option on the command line. clap keeps names for as long as the process runs.
pub(super) fn long_name(name: &str) -> &'static str {
    name.replace('_', "-").leak()
}

/// The first sentence of what an option does.
pub(super) fn help(about: &str) -> String {
    let about = about.replace('`', "");
    let sentence = about.split(". ").next().unwrap_or_default();
    sentence.trim_end_matches('.').to_owned()
}

/// `500ms`, `5s`, `2m`, `1h`; a bare number is an error, because its unit would be a guess.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number
        .parse()
        .map_err(|_| "expected a time such as 500ms, 5s or 2m")?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        "" => return Err(format!("{text} has no unit; write {text}s or {text}ms")),
        _ => return Err("expected a time such as 500ms, 5s or 2m".into()),
    };
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| "too long".into())
}

/// A number within these bounds.
pub(super) fn bounded<T>(text: &str, least: &T, most: &T) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let number: Option<T> = text.parse().ok();
    number
        .filter(|number| (least..=most).contains(&number))
        .ok_or_else(|| format!("expected a number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("5"), Err("5 has no unit; write 5s or 5ms".into()));
        for wrong in [
            "",
            "s",
            "1d",
            "-1s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
