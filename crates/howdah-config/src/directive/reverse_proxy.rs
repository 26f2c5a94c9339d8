//! `reverse_proxy`, whichever protocol its upstreams speak.

use super::scope::Scope;
use super::{php, proxy};
use crate::error::Error;
use crate::syntax::tree::{Statement, Word};
use crate::table::{Call, Context};

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    match fastcgi_options(call.block.unwrap_or_default()) {
        Some(block) => {
            let block = Some(block.as_slice());
            php::read_fastcgi(cx, &Call { block, ..*call }, scope)
        }
        None => proxy::read(cx, call, scope),
    }
}

/// With `transport fastcgi`: the block of the `php_fastcgi` that does the same.
fn fastcgi_options(block: &[Statement]) -> Option<Vec<Statement>> {
    let is_fastcgi = |own: &&Statement| {
        own.name.text == "transport"
            && matches!(&own.arguments[..], [kind] if kind.text == "fastcgi")
    };
    let transport = block.iter().find(is_fastcgi)?;
    let word = |text: &str| Word {
        text: text.to_owned(),
        ..transport.name.clone()
    };
    let others = block.iter().filter(|own| !is_fastcgi(own));
    let own = transport.block.iter().flatten();
    let mut options: Vec<Statement> = others.chain(own).cloned().collect();
    options.push(Statement {
        name: word("index"),
        arguments: vec![word("off")],
        block: None,
    });
    Some(options)
}
