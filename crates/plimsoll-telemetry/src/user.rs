use std::collections::BTreeMap;

/// Whoever has shown nothing.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(crate) const AUTHENTICATED: &str = "system:authenticated";

/// Who sends a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// Name.
    pub name: String,
    /// Unique id, if it has one.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// What else the authority told.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    pub(crate) fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// The same, as one whose credentials were found good.
    pub(crate) fn authenticated(mut self) -> Self {
        let said = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        if self.name != ANONYMOUS && !self.groups.iter().any(said) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}
