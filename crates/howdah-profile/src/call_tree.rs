//! The merged stacks of all workers: stacks with the same start share nodes.

use std::collections::HashMap;

use howdah_shm::{FrameKind, ProfileFrame, WorkerProfile};

use crate::route_pattern::RoutePattern;

/// Maximum nodes of a tree: the total of a pool with 512 workers must be bounded too.
const NODES_MAX: usize = 200_000;

/// Samples and the time that they represent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) samples: u64,
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
}

impl Weight {
    pub(crate) fn add(&mut self, more: Self) {
        self.samples = self.samples.saturating_add(more.samples);
        self.wall_ns = self.wall_ns.saturating_add(more.wall_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(more.cpu_ns);
    }
}

/// A stack: this frame, called from that of the parent.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Index of a node before this one.
    pub(crate) parent: Option<usize>,
    /// Index of the frame.
    pub(crate) frame: usize,
    /// Weight of the samples whose innermost frame this is.
    pub(crate) own: Weight,
}

/// The merged stacks of all workers.
#[derive(Debug, Default)]
pub(crate) struct CallTree {
    pub(crate) frames: Vec<ProfileFrame>,
    /// Parents precede their children.
    pub(crate) nodes: Vec<Node>,
    frame_numbers: HashMap<ProfileFrame, usize>,
    children: HashMap<(Option<usize>, usize), usize>,
}

impl CallTree {
    /// Adds a worker's counts of these routes, below a frame for its pool if that is named. Returns the samples for
    /// which there was no room.
    pub(crate) fn add(
        &mut self,
        pool: Option<&str>,
        worker: &WorkerProfile,
        routes: Option<&RoutePattern>,
    ) -> u64 {
        let root = pool.and_then(|pool| {
            let frame = ProfileFrame {
                kind: FrameKind::Route,
                name: format!("pool {pool}"),
                file: String::new(),
                line: 0,
            };
            self.child(None, &frame)
        });
        let mut dropped = 0_u64;
        let mut places: Vec<Place> = Vec::with_capacity(worker.nodes.len());
        for node in &worker.nodes {
            // Both were checked where the worker's memory was read.
            let Some(frame) = worker.frames.get(node.frame) else {
                continue;
            };
            let parent = match node.parent.and_then(|parent| places.get(parent)) {
                Some(place) => *place,
                None if routes.is_some_and(|routes| !routes.matches(&frame.name)) => Place::Hidden,
                None => Place::Node(root),
            };
            let place = match parent {
                Place::Node(parent) => match self.child(parent, frame) {
                    Some(number) => Place::Node(Some(number)),
                    None => Place::NoRoom,
                },
                other => other,
            };
            match place {
                Place::Node(Some(number)) => self.nodes[number].own.add(Weight {
                    samples: node.samples,
                    wall_ns: node.wall_ns,
                    cpu_ns: node.cpu_ns,
                }),
                Place::NoRoom => dropped = dropped.saturating_add(node.samples),
                Place::Node(None) | Place::Hidden => {}
            }
            places.push(place);
        }
        dropped
    }

    /// `None`: no room.
    fn child(&mut self, parent: Option<usize>, frame: &ProfileFrame) -> Option<usize> {
        let frame = self.frame(frame);
        if let Some(known) = self.children.get(&(parent, frame)) {
            return Some(*known);
        }
        if self.nodes.len() == NODES_MAX {
            return None;
        }
        let own = Weight::default();
        self.nodes.push(Node { parent, frame, own });
        let number = self.nodes.len() - 1;
        self.children.insert((parent, frame), number);
        Some(number)
    }

    fn frame(&mut self, frame: &ProfileFrame) -> usize {
        if let Some(known) = self.frame_numbers.get(frame) {
            return *known;
        }
        self.frames.push(frame.clone());
        let number = self.frames.len() - 1;
        self.frame_numbers.insert(frame.clone(), number);
        number
    }

    /// The frames of a node, the outermost first.
    pub(crate) fn stack(&self, node: usize) -> Vec<usize> {
        let mut frames = Vec::new();
        let mut next = Some(node);
        while let Some(number) = next {
            frames.push(self.nodes[number].frame);
            next = self.nodes[number].parent;
        }
        frames.reverse();
        frames
    }

    /// The weights of all nodes, each including those below it.
    pub(crate) fn totals(&self) -> Vec<Weight> {
        let mut totals: Vec<Weight> = self.nodes.iter().map(|node| node.own).collect();
        for number in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.nodes[number].parent {
                let own = totals[number];
                totals[parent].add(own);
            }
        }
        totals
    }
}

/// The position of a worker's node in the tree.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// `None`: the common root.
    Node(Option<usize>),
    /// The route is not shown.
    Hidden,
    NoRoom,
}
