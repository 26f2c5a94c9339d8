//! The limits of [`POOL_LIMITS`] in the tables of the blocks that have them.

use crate::error::Error;
use crate::model::{
    LimitBlocks, LimitUnit, LimitValue, POOL_LIMITS, Php, PoolLimit, PoolLimitOverrides,
};
use crate::pool::options::HasPoolDraft;
use crate::table::value::{duration, flag, number, size};
use crate::table::{Call, Context, Entry, Item, bad_value};

/// A block of the Caddyfile that has limits.
#[derive(Clone, Copy)]
pub(crate) enum Block {
    Global,
    Pool,
    Worker,
    RoadRunner,
}

/// The target of the limits of a block.
pub(crate) trait HasLimits {
    /// Passes the limits of the block to `set`, and returns its result.
    fn set_limit(&mut self, set: &dyn Fn(&mut PoolLimitOverrides) -> bool) -> bool;
}

impl<T: HasPoolDraft> HasLimits for T {
    fn set_limit(&mut self, set: &dyn Fn(&mut PoolLimitOverrides) -> bool) -> bool {
        set(&mut self.pool_draft().settings.limits)
    }
}

impl HasLimits for Php {
    fn set_limit(&mut self, set: &dyn Fn(&mut PoolLimitOverrides) -> bool) -> bool {
        let mut limits = PoolLimitOverrides::default();
        let fits = set(&mut limits);
        self.limits = limits.over(&self.limits);
        fits
    }
}

const OF_GLOBAL: &str = "that of the global block";

const fn is_in(limit: &PoolLimit, block: Block) -> bool {
    if matches!(block, Block::RoadRunner) {
        return !limit.roadrunner.is_empty();
    }
    matches!(
        (limit.blocks, block),
        (LimitBlocks::All, _)
            | (LimitBlocks::Global, Block::Global)
            | (LimitBlocks::Pools, Block::Pool | Block::Worker)
            | (LimitBlocks::Workers, Block::Worker)
    )
}

/// Number of limits of a block.
pub(crate) const fn count(block: Block) -> usize {
    let (mut index, mut count) = (0, 0);
    while index < POOL_LIMITS.len() {
        count += is_in(&POOL_LIMITS[index], block) as usize;
        index += 1;
    }
    count
}

/// The limits of a block; their number is [`count`].
pub(crate) const fn limits<T: HasLimits, const N: usize>(block: Block) -> [Item<T>; N] {
    let mut items = [Item::Supported(entry(&POOL_LIMITS[0], block), read::<T>); N];
    let (mut index, mut next) = (0, 0);
    while index < POOL_LIMITS.len() {
        if is_in(&POOL_LIMITS[index], block) {
            items[next] = Item::Supported(entry(&POOL_LIMITS[index], block), read);
            next += 1;
        }
        index += 1;
    }
    items
}

const fn entry(limit: &PoolLimit, block: Block) -> Entry {
    let inherits = !matches!(block, Block::Global) && matches!(limit.blocks, LimitBlocks::All);
    Entry {
        name: limit.name,
        syntax: limit.syntax,
        default: if inherits { OF_GLOBAL } else { limit.default },
        about: if matches!(block, Block::RoadRunner) {
            limit.roadrunner
        } else {
            limit.about
        },
        differs: if inherits {
            limit.pool_differs
        } else {
            limit.differs
        },
        example: limit.example,
    }
}

fn read<T: HasLimits>(_: &mut Context, call: &Call<'_>, target: &mut T) -> Result<(), Error> {
    let Some(limit) = PoolLimit::named(call.entry.name) else {
        unreachable!("the table has limits alone here");
    };
    let value = value(call, limit)?;
    if target.set_limit(&|limits| (limit.set)(limits, value)) {
        return Ok(());
    }
    let word = &call.arguments[0];
    let message = format!("`{}` is too large", word.text);
    Err(bad_value(&word.position, message, ""))
}

fn value(call: &Call<'_>, limit: &PoolLimit) -> Result<LimitValue, Error> {
    if limit.is_optional && call.one()?.text == "off" {
        return Ok(LimitValue::Off);
    }
    Ok(match limit.unit {
        LimitUnit::Number(least) => LimitValue::Number(number(call, least)?),
        LimitUnit::Bytes => LimitValue::Bytes(size(call)?),
        LimitUnit::Time => LimitValue::Time(duration(call)?),
        LimitUnit::Switch => LimitValue::Switch(flag(call)?),
    })
}
