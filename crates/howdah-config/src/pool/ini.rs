//! `php_ini` and `php_admin_ini`: PHP settings for all pools or for one.

use crate::error::{Error, ErrorKind, Position};
use crate::model::Ini;
use crate::syntax::tree::Word;
use crate::table::pairs::pairs;
use crate::table::{Call, Context, Entry, bad_value};

pub(crate) const PHP_INI: Entry = Entry {
    name: "php_ini",
    syntax: "php_ini NAME VALUE  or  php_ini { NAME VALUE … }",
    default: "",
    about: "Settings on top of `php.ini`. The last one with a name counts. `.user.ini` files and scripts may change \
            them where PHP allows it.",
    differs: "",
    example: "php_ini memory_limit 256M",
};

pub(crate) const PHP_ADMIN_INI: Entry = Entry {
    name: "php_admin_ini",
    syntax: "php_admin_ini NAME VALUE  or  php_admin_ini { NAME VALUE … }",
    default: "",
    about: "As `php_ini`, but final: `ini_set()`, `set_time_limit()` and similar functions, `.user.ini` files, \
        `[HOST=]` and `[PATH=]` sections of `php.ini`, and `env PHP_VALUE` cannot change them. PHP does not start \
        with an unknown setting.",
    differs: "Not in FrankenPHP; PHP-FPM's `php_admin_value`.",
    example: "php_admin_ini open_basedir /srv/shop:/tmp",
};

/// The same options in the block of one pool.
pub(crate) const POOL_PHP_INI: Entry = Entry {
    about: "Settings of this pool, in addition to those of the global block. Settings that PHP reads only at startup, \
            such as the size of OPcache's memory, apply to all pools and are rejected here.",
    differs: "Not in FrankenPHP, which has `php_ini` in the global block alone.",
    ..PHP_INI
};
pub(crate) const POOL_PHP_ADMIN_INI: Entry = Entry {
    about: "Final settings of this pool, as those of the global block. `disable_functions` is allowed.",
    ..PHP_ADMIN_INI
};

/// Reads `php_ini`.
pub(crate) fn settings(cx: &mut Context, call: &Call<'_>, ini: &mut Ini) -> Result<(), Error> {
    for (name, value) in pairs(cx, call)? {
        let read = setting(call, name, value)
            .and_then(|()| check_unique(name, &ini.php_admin_ini))
            .map(|()| put(&mut ini.php_ini, name, value));
        cx.record(read);
    }
    Ok(())
}

/// Reads `php_admin_ini`.
pub(crate) fn final_settings(
    cx: &mut Context,
    call: &Call<'_>,
    ini: &mut Ini,
) -> Result<(), Error> {
    for (name, value) in pairs(cx, call)? {
        let read = setting(call, name, value)
            .and_then(|()| {
                if is_extension(&name.text) {
                    return Err(bad_value(
                        &name.position,
                        format!("`{}` loads something and sets nothing", name.text),
                        "write it with `php_ini` in the global block",
                    ));
                }
                check_unique(name, &ini.php_ini)
            })
            .map(|()| put(&mut ini.php_admin_ini, name, value));
        cx.record(read);
    }
    Ok(())
}

/// The names in a `php_ini`, and their positions.
pub(crate) fn places(call: &Call<'_>) -> Vec<(String, Position)> {
    let of_block = call.block.unwrap_or_default().iter();
    let names = call.arguments.first().into_iter();
    let names = names.chain(of_block.map(|statement| &statement.name));
    names
        .map(|name| (name.text.clone(), name.position.clone()))
        .collect()
}

/// Refuses settings of one pool that the global block has made final, and extensions, which all
/// pools share.
pub(crate) fn check(cx: &mut Context, places: &[(String, Position)], global: &Ini) {
    for (name, position) in places {
        let is_final = global.php_admin_ini.iter().any(|(other, _)| other == name);
        let error = if is_final {
            Error::new(
                ErrorKind::Conflict,
                position,
                format!("`php_admin_ini` of the global block sets `{name}`, which is final"),
                "write `php_admin_ini` here too, which comes before that of the global block",
            )
        } else if is_extension(name) {
            Error::new(
                ErrorKind::Conflict,
                position,
                format!("`{name}` loads something for all pools"),
                "write it in the global block",
            )
        } else {
            continue;
        };
        cx.errors.push(error);
    }
}

/// Whether it may be repeated.
fn is_extension(name: &str) -> bool {
    matches!(name, "extension" | "zend_extension")
}

fn setting(call: &Call<'_>, name: &Word, value: &Word) -> Result<(), Error> {
    if !is_name(&name.text) {
        return Err(bad_value(
            &name.position,
            format!("`{}` is not the name of a PHP setting", name.text),
            format!("write for example `{}`", call.entry.example),
        ));
    }
    if value.text.contains(['\n', '\r', '\0']) {
        let message = format!("the value of `{}` has more than one line", name.text);
        return Err(bad_value(&value.position, message, "write it on one line"));
    }
    Ok(())
}

/// Whether PHP can have a setting of this name.
pub(crate) fn is_name(name: &str) -> bool {
    let valid = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
    !name.is_empty() && name.chars().all(valid)
}

fn check_unique(name: &Word, others: &[(String, String)]) -> Result<(), Error> {
    if others.iter().all(|(other, _)| *other != name.text) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Conflict,
        &name.position,
        format!("`{}` is set by `php_ini` and `php_admin_ini`", name.text),
        "remove one of them",
    ))
}

fn put(list: &mut Vec<(String, String)>, name: &Word, value: &Word) {
    if !is_extension(&name.text) {
        list.retain(|(other, _)| *other != name.text);
    }
    list.push((name.text.clone(), value.text.clone()));
}
