//! Options that `worker` and `pool` have in common, besides limits: each is read and documented here, for both.

use std::marker::PhantomData;

use crate::draft::PoolDraft;
use crate::error::Error;
use crate::pool::ini;
use crate::pool::php;
use crate::pool::user;
use crate::pool::worker::workers_max;
use crate::table::value::number;
use crate::table::{Call, Entry, Item};

/// A block that defines a pool.
pub(crate) trait HasPoolDraft: 'static {
    fn pool_draft(&mut self) -> &mut PoolDraft;
}

/// The options, for the table of a block.
pub(crate) struct Options<T>(PhantomData<T>);

impl<T: HasPoolDraft> Options<T> {
    pub(crate) const ALL: [Item<T>; 5] = [
        Item::Supported(
            Entry {
                name: "max_threads",
                syntax: "max_threads NUMBER|auto",
                default: "no further processes",
                about: "Maximum number of processes when requests wait although the processors are not busy, or the \
                        processes themselves only wait, for example for a database; with `auto` as many as the memory \
                        of the machine allows.",
                differs: "",
                example: "max_threads 32",
            },
            |_, call, draft| {
                draft.pool_draft().settings.workers_max = workers_max(call)?;
                Ok(())
            },
        ),
        Item::Supported(php::POOL_PHP, |_, call, draft| {
            call.set(&mut draft.pool_draft().settings.php, php::executable(call)?)
        }),
        Item::Supported(user::POOL_USER, |_, call, draft| {
            draft.pool_draft().settings.user = Some(user::user(call)?);
            Ok(())
        }),
        Item::Supported(ini::POOL_PHP_INI, |cx, call, draft| {
            let pool = draft.pool_draft();
            pool.ini_places.extend(ini::places(call));
            ini::settings(cx, call, &mut pool.settings.ini)
        }),
        Item::Supported(ini::POOL_PHP_ADMIN_INI, |cx, call, draft| {
            ini::final_settings(cx, call, &mut draft.pool_draft().settings.ini)
        }),
    ];
}

/// A number of processes, within the limits of a pool.
pub(crate) fn processes(
    call: &Call<'_>,
    min: usize,
    workers: &mut Option<usize>,
) -> Result<(), Error> {
    let count: usize = number(call, min)?;
    crate::pool::worker::check_count(call.one()?, count)?;
    call.set(workers, count)
}
