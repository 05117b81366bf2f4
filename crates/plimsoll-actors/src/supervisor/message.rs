use std::sync::Arc;

use plimsoll_client::TermToken;
use plimsoll_model::Moment;

use super::Exit;
use crate::assembled_config::AssembledConfig;
use crate::debugging::TermListing;
use crate::elector::progress::Resignation;
use crate::explanation::Explainer;
use crate::informer_cache::Kind;
use crate::mailbox::{Reply, Summary};
use crate::term::Question;

/// What the supervisor hears.
#[derive(Debug)]
pub enum SupervisorMessage {
    /// From its own task: each kind has been listed once.
    Synced,
    /// From the elector: we lead; start the term.
    TermBegan(Arc<TermToken>),
    /// From the elector: the token is cancelled; stop the term.
    TermOver {
        /// Its number.
        term: u64,
        /// For the log.
        reason: String,
        /// If leadership was given up because something did not get on: what.
        resignation: Option<Resignation>,
    },
    /// From the term: one of its actors has died.
    TermFailed {
        /// The number of the term.
        term: u64,
        /// Which.
        resignation: Resignation,
        /// And why.
        reason: String,
    },
    /// From a task of its own: a watch has died.
    WatchEnded {
        /// The number of the cache that it fed.
        cache: u64,
        /// What it watched.
        kind: Kind,
    },
    /// From its own task: the cache of this number did not stop in time.
    CacheStuck(u64),
    /// From its own task: the term did not stop in time.
    TermStuck(u64),
    /// From the elector, after a shutdown: the lease is free, or left to run out.
    Released,
    /// From outside: go on with this configuration, in the running term and in later ones. What only a start can change
    /// (election, connections, listeners) stays as it was.
    Reconfigure {
        /// The configuration.
        assembled: Arc<AssembledConfig>,
        /// What to tell users.
        note: String,
        /// When it was found, if that is known.
        found: Option<Moment>,
    },
    /// From outside: there was another configuration and it cannot be used; tell users.
    ConfigRejected {
        /// Why not.
        reason: String,
        /// When it was found, if that is known.
        found: Option<Moment>,
    },
    /// From the HTTP server or from outside: let the term answer. Without one the question is dropped.
    Ask(Question),
    /// From outside: a way to have pods explained. Answered at once.
    Explainer(Reply<Explainer>),
    /// From outside: end the process in order. Calling it twice does no more.
    Shutdown,
    /// From its own task: the term has no undecided write, or took too long.
    Drained,
    /// From outside: are supervisor and elector there? Answered at once, by the elector.
    Ping(Reply<()>),
    /// From the HTTP server: what configuration is in use? Answered at once.
    Config(Reply<Arc<AssembledConfig>>),
    /// From the HTTP server: when did this replica lead? Answered at once.
    Terms(Reply<TermListing>),
    /// From outside: compare and dump what is known, into the log.
    Dump,
    /// From its own task: the HTTP server has ended, or takes too long.
    Silent(Exit),
}

impl Summary for SupervisorMessage {
    fn summary(&self) -> String {
        match self {
            Self::Synced => "Synced".to_owned(),
            Self::TermBegan(token) => format!("TermBegan {}", token.number()),
            Self::TermOver { reason, .. } => format!("TermOver {reason}"),
            Self::TermFailed { reason, .. } => format!("TermFailed {reason}"),
            Self::WatchEnded { cache, kind } => format!("WatchEnded {cache} {}", kind.as_str()),
            Self::CacheStuck(cache) => format!("CacheStuck {cache}"),
            Self::TermStuck(term) => format!("TermStuck {term}"),
            Self::Released => "Released".to_owned(),
            Self::Reconfigure { note, .. } => format!("Reconfigure {note}"),
            Self::ConfigRejected { reason, .. } => format!("ConfigRejected {reason}"),
            Self::Ask(question) => question.name().to_owned(),
            Self::Explainer(_) => "Explainer".to_owned(),
            Self::Shutdown => "Shutdown".to_owned(),
            Self::Drained => "Drained".to_owned(),
            Self::Ping(_) => "Ping".to_owned(),
            Self::Config(_) => "Config".to_owned(),
            Self::Terms(_) => "Terms".to_owned(),
            Self::Dump => "Dump".to_owned(),
            Self::Silent(_) => "Silent".to_owned(),
        }
    }
}
