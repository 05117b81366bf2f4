//! One request to an API of events.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{EventCount, EventRecord, EventReply, EventSeries, EventWriter, TermToken};

/// Connection failures are tried again so much later, as client-go does.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Which API the event goes to, and how often it has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `events.k8s.io/v1`; a series from the second time on.
    Pod(Option<EventSeries>),
    /// core/v1.
    Core(EventCount),
}

/// One request.
#[derive(Debug, Clone)]
pub struct Writing {
    /// The event.
    pub(crate) record: EventRecord,
    /// Where it goes.
    pub(crate) form: Form,
    /// Whether it is to be created; else it is there, and has happened again.
    pub(crate) create: bool,
    /// The term it belongs to.
    pub(crate) token: Option<Arc<TermToken>>,
    /// Tries that have failed.
    pub(crate) tries: u32,
}

impl Writing {
    pub(crate) fn new(record: EventRecord, form: Form) -> Self {
        Self {
            record,
            form,
            create: true,
            token: None,
            tries: 0,
        }
    }

    pub(crate) async fn send(&self, writer: &EventWriter) -> EventReply {
        match (self.form, self.create) {
            (Form::Pod(Some(series)), false) => writer.patch_series(&self.record, series).await,
            (Form::Pod(series), _) => writer.create(&self.record, series).await,
            (Form::Core(count), false) => writer.patch_core(&self.record, count).await,
            (Form::Core(count), true) => writer.create_core(&self.record, count).await,
        }
    }
}

/// What follows from an answer.
#[derive(Debug)]
pub(crate) enum Next {
    /// It is written, or nobody can be told any more.
    Over,
    /// Another request at once.
    Now(Writing),
    /// Another try after a while.
    Later(Writing, Duration),
    /// It is lost.
    Rejected(Writing, String),
}

impl Writing {
    /// What to do after this answer, by client-go's rules.
    pub(crate) fn after(mut self, reply: EventReply) -> Next {
        match reply {
            // It has expired, or the first is still under way.
            EventReply::NotFound if !self.create => {
                self.create = true;
                Next::Now(self)
            }
            // The first has come in meanwhile.
            EventReply::Exists if matches!(self.form, Form::Pod(Some(_))) => {
                self.create = false;
                Next::Later(self, RETRY_AFTER)
            }
            // What cannot be created is not found since its namespace is gone, and the pod with it.
            EventReply::Written | EventReply::NotFound | EventReply::Exists => Next::Over,
            EventReply::Refused { code, message } => Next::Rejected(self, format!("{code}: {message}")),
            EventReply::Throttled { retry_after } => Next::Later(self, retry_after),
            EventReply::Failed { error } => {
                tracing::error!(event = %self.record.regarding.name, err = error, "Unable to write event (may retry after sleeping)");
                Next::Later(self, RETRY_AFTER)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_client::{EventType, ObjectReference};
    use plimsoll_model::ObjectName;

    use super::*;

    fn writing(create: bool, form: Form) -> Writing {
        let record = EventRecord {
            event_type: EventType::Warning,
            reason: "FailedScheduling".into(),
            action: "Scheduling".into(),
            note: "no room".to_owned(),
            regarding: ObjectReference {
                api_version: "v1".into(),
                kind: "Pod".into(),
                name: ObjectName::new("default", "a"),
                uid: "a".into(),
                resource_version: "1".into(),
            },
            related: None,
            reporting_controller: "default-scheduler".into(),
            reporting_instance: "default-scheduler-host".into(),
            event_time: jiff::Timestamp::UNIX_EPOCH,
        };
        Writing {
            create,
            ..Writing::new(record, form)
        }
    }

    fn series() -> Form {
        Form::Pod(Some(EventSeries {
            count: 2,
            last_observed_time: jiff::Timestamp::UNIX_EPOCH,
        }))
    }

    #[test]
    fn a_second_event_that_overtakes_the_first_becomes_its_series() {
        let Next::Now(created) = writing(false, series()).after(EventReply::NotFound) else {
            panic!("it is created");
        };
        assert_eq!((created.create, created.form), (true, series()));
        let Next::Later(patched, wait) = created.after(EventReply::Exists) else {
            panic!("it is patched onto the first");
        };
        assert_eq!((patched.create, patched.form, wait), (false, series(), RETRY_AFTER));
    }

    #[test]
    fn an_event_that_exists_is_our_own_and_one_without_a_namespace_has_nobody_to_tell() {
        for reply in [EventReply::Written, EventReply::Exists, EventReply::NotFound] {
            assert!(matches!(writing(true, Form::Pod(None)).after(reply), Next::Over));
        }
    }

    #[test]
    fn what_is_rejected_is_lost_and_what_may_pass_is_tried_again() {
        let refused = EventReply::Refused {
            code: 403,
            message: "no".to_owned(),
        };
        let next = writing(true, Form::Pod(None)).after(refused);
        assert!(matches!(next, Next::Rejected(_, why) if why == "403: no"));
        let wait = Duration::from_secs(3);
        let next = writing(true, Form::Pod(None)).after(EventReply::Throttled { retry_after: wait });
        assert!(matches!(next, Next::Later(again, asked) if again.create && asked == wait));
    }
}
