//! `geo`: a variable by the address of the client.

use howdah_config::model::Network;

use crate::directive::Directive;
use crate::output::{Lines, MatcherNames, word};

/// Sets the variable. The error is the reason why it has no counterpart.
pub(super) fn geo(directive: &Directive, names: &mut MatcherNames) -> Result<Lines, String> {
    let (source, variable) = match &directive.arguments[..] {
        [variable] => ("$remote_addr", variable),
        [source, variable] => (source.as_str(), variable),
        _ => return Err("its arguments".to_owned()),
    };
    if source != "$remote_addr" {
        return Err(format!("{source} is not the address of the client"));
    }
    let name = variable.trim_start_matches('$');
    let mut ranges = Vec::new();
    let mut default = "";
    for own in directive.children() {
        let value = own.argument(0);
        if own.arguments.len() != 1 || value.contains('$') {
            return Err(format!("its line `{own}`"));
        }
        if own.name == "default" {
            default = value;
        } else {
            let network: Network = (own.name.parse()).map_err(|_| format!("its line `{own}`"))?;
            ranges.push((network.ipv6_prefix(), own.name.as_str(), value));
        }
    }
    // The narrowest range counts: it is the last one that sets the variable.
    ranges.sort_by_key(|(prefix, ..)| *prefix);
    let mut lines = vec![format!("vars {name} {}", word(default))];
    for same in ranges.chunk_by(|(.., one), (.., next)| one == next) {
        let matcher = names.next("geo");
        let own: Vec<_> = same.iter().map(|(_, range, _)| *range).collect();
        lines.push(format!("@{matcher} remote_ip {}", own.join(" ")));
        lines.push(format!("vars @{matcher} {name} {}", word(same[0].2)));
    }
    Ok(lines)
}
