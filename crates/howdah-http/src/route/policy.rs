//! Choice among several files: `policy` of `try_files`, `try_policy` of the matcher `file`.

use std::fs::{self, Metadata};

use howdah_config::model::TryPolicy;

use crate::answer::files::stat::{Kind, Root};
use crate::message::path::on_disk;
use crate::route::candidate::{Candidate, CandidateFile, find};
use crate::route::context::Context;

/// Chooses one of `candidates` below `root`. Sizes and times are read for each request.
pub(crate) fn choose<'c>(
    policy: TryPolicy,
    candidates: &'c [Candidate],
    context: &'c Context<'_>,
    root: &Root,
    split: &[String],
) -> Option<CandidateFile<'c>> {
    let best =
        |better: fn(&Metadata, &Metadata) -> bool| best(candidates, context, root, split, better);
    match policy {
        TryPolicy::FirstExist => find(candidates, context, root, split),
        TryPolicy::FirstExistFallback => {
            let (last, others) = candidates.split_last()?;
            find(others, context, root, split).or_else(|| {
                let places = last.places(others.len(), context, root, split);
                places.into_iter().next()
            })
        }
        TryPolicy::SmallestSize => best(|own, known| own.len() < known.len()),
        TryPolicy::LargestSize => best(|own, known| own.len() > known.len()),
        TryPolicy::MostRecentlyModified => best(|own, known| {
            // On a file system without times no file is later.
            match (own.modified(), known.modified()) {
                (Ok(own), Ok(known)) => own > known,
                _ => false,
            }
        }),
    }
}

/// The existing candidate that no other is `better` than; of equal ones the first.
fn best<'c>(
    candidates: &'c [Candidate],
    context: &'c Context<'_>,
    root: &Root,
    split: &[String],
    better: fn(&Metadata, &Metadata) -> bool,
) -> Option<CandidateFile<'c>> {
    let mut best: Option<(CandidateFile<'c>, Metadata)> = None;
    let places = candidates
        .iter()
        .enumerate()
        .flat_map(|(index, candidate)| {
            let places = candidate.places(index, context, root, split);
            places.into_iter().map(move |found| (candidate, found))
        });
    for (candidate, found) in places {
        let Ok(metadata) = fs::metadata(on_disk(&format!("{}{}", root.prefix(), found.path)))
        else {
            continue;
        };
        if candidate.accepts(Kind::of(&metadata), &found, context)
            && best
                .as_ref()
                .is_none_or(|(_, known)| better(&metadata, known))
        {
            best = Some((found, metadata));
        }
    }
    best.map(|(found, _)| found)
}
