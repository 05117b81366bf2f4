//! `DefaultBinder`: pods are bound by a Binding at the API server.

use std::sync::Arc;

use plimsoll_framework::{Bind, BindAction, Extensions, Plugin};
use plimsoll_model::Pod;

/// Name in profiles, metrics and messages.
pub const NAME: &str = "DefaultBinder";

/// Binds every pod through the API server.
#[derive(Debug, Clone, Copy)]
pub struct DefaultBinder;

/// Where it takes part.
pub fn extensions() -> Extensions {
    Extensions::new().bind(Arc::new(DefaultBinder))
}

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Bind for DefaultBinder {
    fn bind(&self, _: &Pod, _: &str) -> BindAction {
        BindAction::PostBinding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::pod;

    #[test]
    fn every_pod_is_bound_through_the_api_server() {
        assert_eq!(DefaultBinder.bind(&pod("{}"), "a"), BindAction::PostBinding);
    }
}
