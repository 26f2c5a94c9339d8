//! Forms as a tree: `a[b][]=c` is the list `b` in the branch `a`, as RoadRunner passes them to PHP.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Names in brackets of one field; a field with more is left out.
const DEPTH_MAX: usize = 127;

/// A field contradicts an earlier one: `a=1` and `a[b]=2`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the form has both a value and fields below it for `{0}`")]
pub struct ConflictError(String);

/// What a field may have as a value.
pub trait Value: Serialize {
    /// Whether it counts as absent.
    fn is_empty(&self) -> bool;
    /// Which of several values of one name counts: the last, otherwise the first.
    const LAST: bool;
}

impl Value for String {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    const LAST: bool = true;
}

/// A form, in the order in which its names first appear.
#[derive(Debug)]
pub struct Tree<V>(Vec<(String, Node<V>)>);

#[derive(Debug)]
enum Node<V> {
    One(V),
    List(Vec<V>),
    Branch(Tree<V>),
}

impl<V> Default for Tree<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V: Value> Tree<V> {
    /// The form with these fields.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn new(fields: impl IntoIterator<Item = (String, V)>) -> Result<Self, ConflictError> {
        let mut grouped: Vec<(String, Vec<V>)> = Vec::new();
        for (name, value) in fields {
            match grouped.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => grouped.push((name, vec![value])),
            }
        }
        let mut tree = Self::default();
        for (name, values) in grouped {
            let path = path(&name);
            if path.len() <= DEPTH_MAX {
                tree.insert(&path, values)
                    .map_err(|()| ConflictError(name))?;
            }
        }
        Ok(tree)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn insert(&mut self, path: &[String], values: Vec<V>) -> Result<(), ()> {
        let Some((name, below)) = path.split_first() else {
            return Ok(());
        };
        let is_list = matches!(below, [last] if last.is_empty());
        let is_leaf = below.is_empty() || is_list;
        let is_empty = values.iter().all(Value::is_empty);
        let place = self.0.iter().position(|(known, _)| known == name);
        let place = place.unwrap_or_else(|| {
            self.0.push((name.clone(), Node::List(Vec::new())));
            self.0.len() - 1
        });
        let node = &mut self.0[place].1;
        match node {
            // An empty value has no effect beside fields below its name.
            Node::Branch(branch) if is_leaf => {
                return if is_empty || branch.is_empty() {
                    Ok(())
                } else {
                    Err(())
                };
            }
            Node::Branch(branch) => return branch.insert(below, values),
            _ if !node.is_empty() && !is_leaf => return Err(()),
            _ if !node.is_empty() && is_empty => return Ok(()),
            _ => {}
        }
        if !is_leaf {
            let mut branch = Self::default();
            branch.insert(below, values)?;
            *node = Node::Branch(branch);
        } else if is_list {
            *node = Node::List(values);
        } else {
            let mut values = values.into_iter();
            let one = if V::LAST {
                values.next_back()
            } else {
                values.next()
            };
            *node = one.map_or(Node::List(Vec::new()), Node::One);
        }
        Ok(())
    }
}

impl<V: Value> Node<V> {
    fn is_empty(&self) -> bool {
        match self {
            Self::One(value) => value.is_empty(),
            Self::List(values) => values.iter().all(Value::is_empty),
            Self::Branch(_) => false,
        }
    }
}

/// The names in `a[b][]`; those of `a[]` are `a` and an empty one.
fn path(name: &str) -> Vec<String> {
    #[derive(PartialEq)]
    enum PathState {
        Name,
        Open,
        Closed,
    }
    let mut names = vec![String::new()];
    let mut at = PathState::Name;
    for char in name.chars() {
        match char {
            ' ' => {}
            '[' => at = PathState::Open,
            ']' => {
                if at == PathState::Open {
                    names.push(String::new());
                }
                at = PathState::Closed;
            }
            char => {
                if at != PathState::Name {
                    names.push(String::new());
                }
                at = PathState::Name;
                if let Some(last) = names.last_mut() {
                    last.push(char);
                }
            }
        }
    }
    names
}

impl<V: Value> Serialize for Tree<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, node) in &self.0 {
            map.serialize_entry(name, node)?;
        }
        map.end()
    }
}

impl<V: Value> Serialize for Node<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(value) => value.serialize(serializer),
            Self::List(values) => values.serialize(serializer),
            Self::Branch(tree) => tree.serialize(serializer),
        }
    }
}

/// A form as browsers send it without files.
///
/// # Errors
/// Its fields contradict each other.
pub fn urlencoded(body: &[u8]) -> Result<Tree<String>, ConflictError> {
    let fields = form_urlencoded::parse(body);
    Tree::new(fields.map(|(name, value)| (name.into_owned(), value.into_owned())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(form: &str) -> Result<String, ConflictError> {
        let tree = urlencoded(form.as_bytes())?;
        Ok(serde_json::to_string(&tree).expect("text"))
    }

    #[test]
    fn fields_become_a_tree() {
        for (form, expected) in [
            ("", "{}"),
            ("key=value", r#"{"key":"value"}"#),
            ("key=1&key=2", r#"{"key":"2"}"#),
            ("name[]=a&name[]=b&name[]=c", r#"{"name":["a","b","c"]}"#),
            (
                "arr[x][y][e]=f&arr[c]=z&arr[x][y][z]=y",
                r#"{"arr":{"x":{"y":{"e":"f","z":"y"}},"c":"z"}}"#,
            ),
            ("a[b][]=1&a[b][]=2", r#"{"a":{"b":["1","2"]}}"#),
            ("a[]b=1", r#"{"a":{"":{"b":"1"}}}"#),
            ("a[][x]=1", r#"{"a":{"":{"x":"1"}}}"#),
            (" a [ b ] = c ", r#"{"a":{"b":" c "}}"#),
            (
                "options=&options[0][id]=7",
                r#"{"options":{"0":{"id":"7"}}}"#,
            ),
            (
                "options[0][id]=7&options=",
                r#"{"options":{"0":{"id":"7"}}}"#,
            ),
            ("a=1&a[]=", r#"{"a":"1"}"#),
            ("%E4=%FF", r#"{"�":"�"}"#),
            ("a+b=c%20d", r#"{"ab":"c d"}"#),
            ("=1", r#"{"":"1"}"#),
        ] {
            assert_eq!(json(form).as_deref(), Ok(expected), "{form}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for (form, name) in [
            ("a=1&a[b]=2", "a[b]"),
            ("a[b]=2&a=1", "a"),
            ("a[b]=2&a[]=1", "a[]"),
        ] {
            assert_eq!(json(form), Err(ConflictError(name.into())), "{form}");
        }
    }

    #[test]
    fn deep_fields_are_left_out() {
        let field = |depth: usize| format!("a{}=1", "[b]".repeat(depth - 1));
        assert!(json(&field(DEPTH_MAX)).expect("valid").len() > DEPTH_MAX);
        assert_eq!(json(&field(DEPTH_MAX + 1)).as_deref(), Ok("{}"));
    }

    proptest! {
        #[test]
        fn no_form_panics(form in r"[ab\[\]=& %+]{0,40}") {
            if let Ok(text) = json(&form) {
                let _: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            }
        }
    }
}
