//! `lb_policy`: how the upstream of a request is chosen.

use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::model::Policy;
use crate::syntax::tree::Word;
use crate::table::template::literal;
use crate::table::value::{duration, header_name};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, nearest};

pub(super) const POLICY: Entry = Entry {
    name: "lb_policy",
    syntax: "lb_policy random|random_choose N|round_robin|weighted_round_robin WEIGHT…|least_conn|first|ip_hash|\
             client_ip_hash|uri_hash|header NAME|query KEY|cookie [NAME [SECRET]]",
    default: "`random`; the NAME of a cookie is `lb`",
    about: "How the upstream of a request is chosen among the healthy ones. `random_choose` takes the one with the \
            fewest requests of N that are chosen at random. A WEIGHT is for the upstream at its position; 0 excludes \
            it. Policies by address, URI, header field, query parameter and cookie send equal requests to the same \
            upstream: if it fails, only its requests change to others. The value of the cookie is the upstream's address, \
            hashed with SECRET, so that clients cannot derive the address. A block may follow `header`, `query` and \
            `cookie`.",
    differs: "",
    example: "lb_policy least_conn",
};

/// The block of a policy while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    fallback: Option<Policy>,
    max_age: Option<Duration>,
}

/// Names of the block of `lb_policy`.
pub(crate) const LB_POLICY: Table<Draft> = Table {
    kind: "option of `lb_policy`",
    items: &[
        Item::Supported(
            Entry {
                name: "fallback",
                syntax: "fallback POLICY",
                default: "`random`",
                about: "The policy for requests without the header field, the query parameter or the cookie of a \
                        healthy upstream.",
                differs: "",
                example: "fallback round_robin",
            },
            |cx, call, draft| {
                let policy = read(cx, call)?;
                call.set(&mut draft.fallback, policy)
            },
        ),
        Item::Supported(
            Entry {
                name: "max_age",
                syntax: "max_age DURATION",
                default: "until the browser is closed",
                about: "How long the cookie of `lb_policy cookie` is valid.",
                differs: "",
                example: "max_age 24h",
            },
            |_, call, draft| call.set(&mut draft.max_age, duration(call)?),
        ),
    ],
};

const KNOWN: &[&str] = &[
    "random",
    "random_choose",
    "round_robin",
    "weighted_round_robin",
    "least_conn",
    "first",
    "ip_hash",
    "client_ip_hash",
    "uri_hash",
    "header",
    "query",
    "cookie",
];

/// The policy that the arguments and the block of a statement describe.
pub(super) fn read(cx: &mut Context, call: &Call<'_>) -> Result<Policy, Error> {
    let words = call.count(1, usize::MAX)?;
    let (name, values) = words.split_first().unwrap_or((call.name, &[]));
    let draft = read_block(cx, call, &name.text)?;
    let fallback = Box::new(draft.fallback.unwrap_or_default());
    let cookie = |name: String, secret: String| Policy::Cookie {
        name,
        secret,
        max_age: draft.max_age,
        fallback: fallback.clone(),
    };
    Ok(match (name.text.as_str(), values) {
        ("random", []) => Policy::Random,
        ("random_choose", [number]) => Policy::RandomChoose(number_of(number, 2)?),
        ("round_robin", []) => Policy::RoundRobin,
        ("weighted_round_robin", [_, ..]) => Policy::WeightedRoundRobin(weights(values)?),
        ("least_conn", []) => Policy::LeastConnections,
        ("first", []) => Policy::First,
        ("ip_hash", []) => Policy::IpHash,
        ("client_ip_hash", []) => Policy::ClientIpHash,
        ("uri_hash", []) => Policy::UriHash,
        ("header", [field]) => Policy::Header {
            name: header_name(field, &field.text)?,
            fallback,
        },
        ("query", [key]) => Policy::Query {
            key: key.text.clone(),
            fallback,
        },
        ("cookie", []) => cookie("lb".into(), String::new()),
        ("cookie", [name]) => cookie(header_name(name, &name.text)?, String::new()),
        ("cookie", [name, secret]) => cookie(
            header_name(name, &name.text)?,
            literal(secret, "the secret of a cookie")?,
        ),
        _ => return Err(invalid(call, name)),
    })
}

/// The options of a policy.
fn read_block(cx: &mut Context, call: &Call<'_>, policy: &str) -> Result<Draft, Error> {
    let mut draft = Draft::default();
    if let Some(block) = call.block {
        if !matches!(policy, "header" | "query" | "cookie") {
            return Err(call.error(
                ErrorKind::Arguments,
                format!("`{} {policy}` takes no block", call.entry.name),
                "only `header`, `query` and `cookie` have options",
            ));
        }
        cx.read(&LB_POLICY, block, &mut draft);
    }
    if draft.max_age.is_some() && policy != "cookie" {
        return Err(call.error(
            ErrorKind::Conflict,
            format!("`max_age` has no effect with `{policy}`"),
            "remove it, or write `lb_policy cookie`",
        ));
    }
    Ok(draft)
}

/// The error for an unknown policy, or for the wrong arguments of a known one.
fn invalid(call: &Call<'_>, name: &Word) -> Error {
    let policy = name.text.as_str();
    if KNOWN.contains(&policy) {
        return call.error(
            ErrorKind::Arguments,
            format!(
                "`{} {policy}` has a wrong number of arguments",
                call.entry.name
            ),
            format!("write `{}`", POLICY.syntax),
        );
    }
    let hint = nearest(policy, KNOWN.iter().copied()).map_or_else(
        || format!("known are {}", KNOWN.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    bad_value(&name.position, format!("`{policy}` is not a policy"), hint)
}

fn weights(words: &[Word]) -> Result<Vec<u32>, Error> {
    let weights: Vec<u32> = words
        .iter()
        .map(|word| number_of(word, 0))
        .collect::<Result<_, _>>()?;
    if weights.iter().all(|weight| *weight == 0) {
        return Err(bad_value(
            &words[0].position,
            "all weights are 0: no upstream would get a request".into(),
            "write a weight of at least 1 for an upstream",
        ));
    }
    Ok(weights)
}

fn number_of(word: &Word, least: u32) -> Result<u32, Error> {
    let number = word.text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| {
        bad_value(
            &word.position,
            format!("`{}` is not a whole number for `lb_policy`", word.text),
            format!("write a number of at least {least}"),
        )
    })
}

/// Checks that each of the upstreams has a weight, if there are weights.
pub(super) fn check(policy: &Policy, upstreams: usize, call: &Call<'_>) -> Result<(), Error> {
    match policy {
        Policy::WeightedRoundRobin(weights) if weights.len() != upstreams => Err(call.error(
            ErrorKind::Conflict,
            format!(
                "`weighted_round_robin` has {} weights for {upstreams} upstreams",
                weights.len()
            ),
            "write one weight for each upstream, in the same order",
        )),
        Policy::Header { fallback, .. }
        | Policy::Query { fallback, .. }
        | Policy::Cookie { fallback, .. } => check(fallback, upstreams, call),
        _ => Ok(()),
    }
}
