//! The format of <https://speedscope.app> (`file-format-schema.json` there): wall and CPU time as two profiles.

use howdah_shm::FrameKind;
use serde::Serialize;

use crate::profile::{Metric, Profile};
use crate::render_error::RenderError;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    active_profile_index: usize,
    shared: SharedFrames<'a>,
    profiles: [SampledProfile; 2],
}

#[derive(Serialize)]
struct SharedFrames<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampledProfile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

pub(crate) fn render(profile: &Profile, metric: Metric) -> Result<Vec<u8>, RenderError> {
    let frames = profile.tree.frames.iter().map(|frame| Frame {
        name: &frame.name,
        file: (frame.kind == FrameKind::Function).then_some(&*frame.file),
        line: (frame.line > 0).then_some(frame.line),
    });
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: profile.summary(),
        exporter: concat!("howdah ", env!("CARGO_PKG_VERSION")).to_owned(),
        active_profile_index: usize::from(metric == Metric::Cpu),
        shared: SharedFrames {
            frames: frames.collect(),
        },
        profiles: [
            sampled(profile, Metric::Wall),
            sampled(profile, Metric::Cpu),
        ],
    };
    serde_json::to_vec(&file).map_err(|error| RenderError::Failed(error.to_string()))
}

fn sampled(profile: &Profile, metric: Metric) -> SampledProfile {
    let mut sampled = SampledProfile {
        kind: "sampled",
        name: metric.title(),
        unit: "nanoseconds",
        start_value: 0,
        end_value: 0,
        samples: Vec::new(),
        weights: Vec::new(),
    };
    for (number, node) in profile.tree.nodes.iter().enumerate() {
        let weight = metric.of(node.own);
        if weight > 0 {
            sampled.samples.push(profile.tree.stack(number));
            sampled.weights.push(weight);
            sampled.end_value = sampled.end_value.saturating_add(weight);
        }
    }
    sampled
}
