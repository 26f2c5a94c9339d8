//! Options that a `worker` and a `pool` have alike: each is read and told about here, for both.

use std::marker::PhantomData;

use crate::draft::PoolDraft;
use crate::error::Error;
use crate::pool::ini;
use crate::pool::user;
use crate::pool::worker::workers_max;
use crate::table::value::number;
use crate::table::{Call, Entry, Item};

/// A block that makes a pool.
pub(crate) trait HasPoolDraft: 'static {
    fn pool_draft(&mut self) -> &mut PoolDraft;
}

/// The options, for the table of a block.
pub(crate) struct Options<T>(PhantomData<T>);

impl<T: HasPoolDraft> Options<T> {
    pub(crate) const MAX_THREADS: Item<T> = Item::Supported(
        Entry {
            name: "max_threads",
            syntax: "max_threads NUMBER|auto",
            default: "as many as there always are",
            about: "How many processes there may be when requests wait although the processors are not \
                    busy, or the processes themselves only wait, for a database for instance; with \
                    `auto` what the machine allows.",
            differs: "",
            example: "max_threads 32",
        },
        |_, call, draft| {
            draft.pool_draft().settings.workers_max = workers_max(call)?;
            Ok(())
        },
    );
    pub(crate) const USER: Item<T> = Item::Supported(user::POOL_USER, |_, call, draft| {
        draft.pool_draft().settings.user = Some(user::user(call)?);
        Ok(())
    });
    pub(crate) const PHP_INI: Item<T> = Item::Supported(ini::POOL_PHP_INI, |cx, call, draft| {
        let own = draft.pool_draft();
        own.ini_places.extend(ini::places(call));
        ini::settings(cx, call, &mut own.settings.ini)
    });
    pub(crate) const PHP_ADMIN_INI: Item<T> =
        Item::Supported(ini::POOL_PHP_ADMIN_INI, |cx, call, draft| {
            ini::final_settings(cx, call, &mut draft.pool_draft().settings.ini)
        });
}

/// A number of processes, within what a pool can have.
pub(crate) fn processes(
    call: &Call<'_>,
    least: usize,
    workers: &mut Option<usize>,
) -> Result<(), Error> {
    let count: usize = number(call, least)?;
    crate::pool::worker::check_count(call.one()?, count)?;
    call.set(workers, count)
}
