//! The part of pprof's `profile.proto` that says what a CPU profile has to say.

use std::collections::HashMap;

use pprof::{Frames, Report, Symbol};
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(super) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub(super) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(super) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Sample {
    /// From the innermost function outwards.
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    text: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    /// Functions that the compiler has put into one another, the innermost first.
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// The samples, taken so often a second.
pub(super) fn encode(report: &Report, frequency: i32) -> Vec<u8> {
    let nanoseconds = |duration: std::time::Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    let mut tables = Tables::default();
    tables.profile.string_table.push(String::new());
    let period = 1_000_000_000 / i64::from(frequency.max(1));
    let cpu = tables.value_type("cpu", "nanoseconds");
    tables.profile.sample_type = vec![tables.value_type("samples", "count"), cpu.clone()];
    tables.profile.period_type = Some(cpu);
    tables.profile.period = period;
    let since_epoch = report.timing.start_time.duration_since(std::time::UNIX_EPOCH);
    tables.profile.time_nanos = nanoseconds(since_epoch.unwrap_or_default());
    tables.profile.duration_nanos = nanoseconds(report.timing.duration);
    for (frames, count) in &report.data {
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        tables.sample(frames, count, count.saturating_mul(period));
    }
    tables.profile.encode_to_vec()
}

/// The profile, and what already has a number in it.
#[derive(Default)]
struct Tables {
    profile: Profile,
    strings: HashMap<String, i64>,
    functions: HashMap<(i64, i64), u64>,
    locations: HashMap<Vec<Line>, u64>,
}

impl Tables {
    fn value_type(&mut self, kind: &str, unit: &str) -> ValueType {
        ValueType {
            kind: self.string(kind),
            unit: self.string(unit),
        }
    }

    fn sample(&mut self, frames: &Frames, count: i64, time: i64) {
        let label = Label {
            key: self.string("thread"),
            text: self.string(&frames.thread_name_or_id()),
        };
        let location_id = frames.frames.iter().map(|symbols| self.location(symbols)).collect();
        self.profile.sample.push(Sample {
            location_id,
            value: vec![count, time],
            label: vec![label],
        });
    }

    fn location(&mut self, symbols: &[Symbol]) -> u64 {
        let lines = symbols.iter().map(|symbol| Line {
            function_id: self.function(symbol),
            line: i64::from(symbol.lineno()),
        });
        let line: Vec<_> = lines.collect();
        if let Some(known) = self.locations.get(&line) {
            return *known;
        }
        let id = self.profile.location.len() as u64 + 1;
        self.locations.insert(line.clone(), id);
        self.profile.location.push(Location { id, line });
        id
    }

    fn function(&mut self, symbol: &Symbol) -> u64 {
        let system_name = self.string(&symbol.sys_name());
        let filename = self.string(&symbol.filename());
        if let Some(known) = self.functions.get(&(system_name, filename)) {
            return *known;
        }
        let id = self.profile.function.len() as u64 + 1;
        self.functions.insert((system_name, filename), id);
        let name = self.string(&symbol.name());
        self.profile.function.push(Function {
            id,
            name,
            system_name,
            filename,
        });
        id
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(known) = self.strings.get(text) {
            return *known;
        }
        let number = i64::try_from(self.profile.string_table.len()).unwrap_or(0);
        self.profile.string_table.push(text.to_owned());
        self.strings.insert(text.to_owned(), number);
        number
    }
}
