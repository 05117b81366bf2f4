use std::collections::BTreeSet;

use plimsoll_model::{is_extended_resource, label_key_faults};

use crate::draft::Draft;
use crate::{ExtenderConfig, FieldError};

/// The extenders of all profiles. Those of a profile alone count when names must be unique and binders few, but not
/// against those of another profile.
pub(super) fn validate(draft: &Draft, errors: &mut Vec<FieldError>) {
    each("extenders", &draft.extenders, errors);
    let shared: Vec<&ExtenderConfig> = draft.extenders.iter().collect();
    together("extenders", &shared, errors);
    for (index, profile) in draft.profiles.iter().enumerate() {
        let own = &profile.extras.extenders;
        if !own.is_empty() {
            let path = format!("profiles[{index}].extenders");
            let all: Vec<&ExtenderConfig> = draft.extenders.iter().chain(own).collect();
            together(&path, &all, errors);
            apart(&path, own, &draft.extenders, errors);
        }
    }
}

/// What can be said of each extender alone and of one list.
pub(super) fn each(path: &str, extenders: &[ExtenderConfig], errors: &mut Vec<FieldError>) {
    let mut names = BTreeSet::new();
    for (at, extender) in extenders.iter().enumerate() {
        let path = format!("{path}[{at}]");
        if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
            let detail = "must have a positive weight applied to it";
            errors.push(FieldError::invalid(format!("{path}.weight"), extender.weight, detail));
        }
        for (at, resource) in extender.managed_resources.iter().enumerate() {
            let path = format!("{path}.managedResources[{at}].name");
            resource_name(&path, &resource.name, errors);
            if !names.insert(&resource.name) {
                let detail = "duplicate extender managed resource name";
                errors.push(FieldError::invalid(path, resource.name.as_str(), detail));
            }
        }
    }
}

fn together(path: &str, extenders: &[&ExtenderConfig], errors: &mut Vec<FieldError>) {
    let binders = extenders
        .iter()
        .filter(|extender| !extender.bind_verb.is_empty())
        .count();
    if binders > 1 {
        let shown = format!("found {binders} extenders implementing bind");
        errors.push(FieldError::invalid(path, shown, "only one extender can implement bind"));
    }
}

/// What the extenders of a profile manage is managed by none of those of all.
fn apart(path: &str, own: &[ExtenderConfig], shared: &[ExtenderConfig], errors: &mut Vec<FieldError>) {
    let managed = shared.iter().flat_map(|extender| &extender.managed_resources);
    let taken: BTreeSet<&String> = managed.map(|resource| &resource.name).collect();
    for (at, extender) in own.iter().enumerate() {
        for (number, resource) in extender.managed_resources.iter().enumerate() {
            if taken.contains(&resource.name) {
                let path = format!("{path}[{at}].managedResources[{number}].name");
                let detail = "duplicate extender managed resource name";
                errors.push(FieldError::invalid(path, resource.name.as_str(), detail));
            }
        }
    }
}

fn resource_name(path: &str, name: &str, errors: &mut Vec<FieldError>) {
    let faults = label_key_faults(name);
    if faults.is_empty() && !is_extended_resource(name) {
        errors.push(FieldError::invalid(path, name, "is an invalid extended resource name"));
    }
    errors.extend(faults.into_iter().map(|fault| FieldError::invalid(path, name, fault)));
}
