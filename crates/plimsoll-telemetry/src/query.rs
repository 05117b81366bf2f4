/// The query of a request, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands behind the `?`.
    pub fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Whether the name is there at all.
    pub fn has(&self, name: &str) -> bool {
        self.first(name).is_some()
    }

    /// The first value of this name.
    pub fn first(&self, name: &str) -> Option<&str> {
        let named = self.0.iter().find(|(own, _)| own == name);
        named.map(|(_, value)| value.as_str())
    }

    /// All values of this name, in their order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_stand_alone_come_twice_and_be_encoded() {
        let query = Query::parse("verbose&exclude=a%2Fb&exclude=c+d");
        assert!(query.has("verbose") && !query.has("verb"));
        assert_eq!(query.first("verbose"), Some(""));
        assert_eq!(query.all("exclude").collect::<Vec<_>>(), ["a/b", "c d"]);
        assert_eq!(query.first("limit"), None);
    }
}
