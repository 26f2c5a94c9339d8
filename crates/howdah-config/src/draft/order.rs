//! The order of directives.

/// Places in the table of directives, in the order in which they are applied. `None`: that of the table.
#[derive(Debug, Default)]
pub(crate) struct Order(Option<Vec<usize>>);

impl Order {
    /// The place of the directive that is at this place of the table.
    pub(crate) fn turn(&self, directive: usize) -> usize {
        let mut places = self.0.iter().flatten();
        places
            .position(|other| *other == directive)
            .unwrap_or(directive)
    }

    /// The places, to be changed; `directives`: how many the table has.
    pub(crate) fn places(&mut self, directives: usize) -> &mut Vec<usize> {
        self.0.get_or_insert_with(|| (0..directives).collect())
    }
}
