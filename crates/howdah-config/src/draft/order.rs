//! The order of directives.

/// Indices in the table of directives, in the order in which they are applied. `None`: the order of the table.
#[derive(Debug, Default)]
pub(crate) struct Order(Option<Vec<usize>>);

impl Order {
    /// The position in the order of the directive with this index in the table.
    pub(crate) fn turn(&self, directive: usize) -> usize {
        let mut places = self.0.iter().flatten();
        places
            .position(|other| *other == directive)
            .unwrap_or(directive)
    }

    /// The indices, to be changed; `directives`: length of the table.
    pub(crate) fn places(&mut self, directives: usize) -> &mut Vec<usize> {
        self.0.get_or_insert_with(|| (0..directives).collect())
    }
}
