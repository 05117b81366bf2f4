//! The form in which a client wants its answer.

use crate::status::ApiError;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The objects themselves.
    Objects,
    /// A `meta.k8s.io/v1` Table.
    Table,
    /// Metadata only.
    Metadata,
}

const ACCEPTED: &str = "application/json";

/// Chooses the first form in the `Accept` header that the server can give. Protobuf and CBOR it cannot.
pub(crate) fn form(accept: &str) -> Result<Form, ApiError> {
    if accept.trim().is_empty() {
        return Ok(Form::Objects);
    }
    for clause in accept.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        if !matches!(media_type, "application/json" | "application/*" | "*/*") {
            continue;
        }
        let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
        let parameter = |name: &str| parameters.iter().find(|(k, _)| *k == name).map_or("", |(_, v)| *v);
        if !parameter("as").is_empty() && (parameter("v"), parameter("g")) != ("v1", "meta.k8s.io") {
            continue;
        }
        match parameter("as") {
            "" => return Ok(Form::Objects),
            "Table" => return Ok(Form::Table),
            "PartialObjectMetadata" | "PartialObjectMetadataList" => return Ok(Form::Metadata),
            _ => {}
        }
    }
    Err(ApiError::not_acceptable(ACCEPTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_given_is_chosen() {
        for (accept, expected) in [
            ("", Some(Form::Objects)),
            ("application/vnd.kubernetes.protobuf, */*", Some(Form::Objects)),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Some(Form::Table),
            ),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json",
                Some(Form::Objects),
            ),
            (
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                Some(Form::Metadata),
            ),
            ("application/vnd.kubernetes.protobuf", None),
        ] {
            assert_eq!(form(accept).ok(), expected, "{accept}");
        }
    }
}
