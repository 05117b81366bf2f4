//! Label and field selectors of list, watch and delete-collection requests.

mod field;
mod label;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;
use serde_json::Value;

use crate::{resource::Resource, status::ApiError};

/// Both selectors of one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selector {
    pub(crate) fn parse(resource: &Resource, labels: &str, fields: &str) -> Result<Self, ApiError> {
        Ok(Self {
            labels: LabelSelector::parse(labels)
                .map_err(|why| ApiError::bad_request(format!("unable to parse requirement: {why}")))?,
            fields: FieldSelector::parse(resource, fields).map_err(ApiError::bad_request)?,
        })
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it selects an object in its stored form.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        self.labels.matches(value) && self.fields.matches(value)
    }
}
