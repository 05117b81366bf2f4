use http::{HeaderMap, StatusCode};
use jiff::tz::TimeZone;
use jiff::{RoundMode, TimestampRound, Unit};
use serde_json::{Map, Value, json};

use super::About;
use super::negotiated::{Form, delimiter, form, head, not_acceptable, structured};
use super::routes::LISTED;
use crate::page::{Page, not_found, text};

const KIND: &str = "Statusz";

/// Since when the process runs, its versions, and where else to look.
pub(super) fn statusz(about: &About, headers: &HeaderMap) -> Page {
    if !about.statusz {
        return not_found();
    }
    match form(headers, KIND) {
        Some(Form::Structured(version)) => structured(KIND, version, about.component, fields(about)),
        Some(Form::Text) => text(StatusCode::OK, plain(about)),
        None => not_acceptable(headers),
    }
}

fn paths(about: &About) -> Vec<String> {
    let there = |name: &&str| *name != "flagz" || about.flags.is_some();
    LISTED
        .into_iter()
        .filter(there)
        .map(|name| format!("/{name}"))
        .collect()
}

fn fields(about: &About) -> Map<String, Value> {
    let whole = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc);
    let whole_seconds = about.started.round(whole).unwrap_or(about.started);
    Map::from_iter([
        ("startTime".to_owned(), json!(whole_seconds.to_string())),
        ("uptimeSeconds".to_owned(), json!(about.began.elapsed().as_secs())),
        ("goVersion".to_owned(), json!(about.built_with)),
        ("binaryVersion".to_owned(), json!(about.version)),
        ("emulationVersion".to_owned(), json!(about.emulation_version)),
        ("paths".to_owned(), json!(paths(about))),
    ])
}

fn plain(about: &About) -> String {
    let up = about.began.elapsed();
    let delimiter = delimiter(up.subsec_nanos());
    let seconds = up.as_secs();
    let started = about
        .started
        .to_zoned(TimeZone::UTC)
        .strftime("%a %b %e %H:%M:%S UTC %Y");
    let lines = [
        ("Started", started.to_string()),
        (
            "Up",
            format!(
                "{} hr {:02} min {:02} sec",
                seconds / 3600,
                seconds / 60 % 60,
                seconds % 60
            ),
        ),
        ("Go version", about.built_with.clone()),
        ("Binary version", about.version.clone()),
        ("Emulation version", about.emulation_version.clone()),
        ("Paths", paths(about).join(" ")),
    ];
    let lines = lines.map(|(name, value)| format!("{name}{delimiter} {value}\n"));
    format!("{}\n{}", head(about.component, "statusz"), lines.concat())
}
