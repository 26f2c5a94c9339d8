//! `pki`: options of the internal authority. It has none here, but files of development environments give it names.

use crate::error::Error;
use crate::table::{Call, Context, Entry, Item, Table, unsupported};

const OWN: &str = "the internal authority makes its certificates itself; use `tls CERT KEY` with those of another";

pub(crate) const ENTRY: Entry = Entry {
    name: "pki",
    syntax: "pki { ca [local] { … } }",
    default: "",
    about: "The internal authority. Its options are accepted so that files for other servers run.",
    differs: "There is one authority, `local`, with its defaults.",
    example: "pki {\n\tca local {\n\t}\n}",
};

/// Names of the block of `pki`.
pub(crate) const PKI: Table<()> = Table {
    kind: "option of `pki`",
    items: &[Item::Supported(
        Entry {
            name: "ca",
            syntax: "ca [local] { … }",
            default: "`local`",
            about: "The authority.",
            differs: "No further ones.",
            example: "ca local {\n}",
        },
        |cx, call, authority| {
            if let [name] = call.count(0, 1)?
                && name.text != "local"
            {
                return Err(unsupported(
                    name,
                    "there is one internal authority, `local`",
                ));
            }
            cx.read(&CA, call.block.unwrap_or_default(), authority);
            Ok(())
        },
    )],
};

/// Names of the block of `ca`.
pub(crate) const CA: Table<()> = Table {
    kind: "option of `ca`",
    items: &[
        Item::Unsupported("root", OWN),
        Item::Unsupported("intermediate", OWN),
    ],
};

pub(crate) fn read(cx: &mut Context, call: &Call<'_>) -> Result<(), Error> {
    call.count(0, 0)?;
    cx.read(&PKI, call.block()?, &mut ());
    Ok(())
}
