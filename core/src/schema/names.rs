//! A map from names to numbers: in the order they came, found by bisection. A map of
//! the standard library would cost every visitor 5 KB, and a hash could be made slow.

/// Names, each with a number.
#[derive(Default)]
pub(super) struct Names {
    entries: Vec<(String, usize)>,
    /// Places in `entries`, by name.
    sorted: Vec<usize>,
}

impl Names {
    /// The number of `name`.
    pub(super) fn get(&self, name: &str) -> Option<usize> {
        let place = self.sorted.get(self.bisect(name))?;
        self.entries.get(*place).filter(|(other, _)| other == name).map(|(_, number)| *number)
    }

    /// Adds a name; one that exists keeps its number, which is returned.
    pub(super) fn add(&mut self, name: &str, number: usize) -> usize {
        if let Some(number) = self.get(name) {
            return number;
        }
        self.sorted.insert(self.bisect(name), self.entries.len());
        self.entries.push((name.to_owned(), number));
        number
    }

    /// All of them, in the order they came.
    pub(super) fn entries(&self) -> &[(String, usize)] {
        &self.entries
    }

    /// How many of `sorted` come before `name`.
    fn bisect(&self, name: &str) -> usize {
        self.sorted
            .partition_point(|&place| self.entries.get(place).is_some_and(|(other, _)| other.as_str() < name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn names_keep_their_first_number_and_order() {
        let mut names = Names::default();
        for (i, name) in ["m", "", "z", "a", "m", "é", "z"].iter().enumerate() {
            names.add(name, i);
        }
        let order: Vec<&str> = names.entries().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["m", "", "z", "a", "é"]);
        for (name, number) in
            [("m", Some(0)), ("", Some(1)), ("z", Some(2)), ("a", Some(3)), ("é", Some(5)), ("b", None)]
        {
            assert_eq!(names.get(name), number, "{name}");
        }
    }
}
