use std::collections::BTreeSet;

use compact_str::CompactString;

use super::attachments::Attachments;
use super::counts::Counts;
use super::numbered::Numbered;
use super::{AttachableVolume, Columns, Map, NodeIndex, Storage};
use crate::{ObjectName, Uid};

/// Which claims pods on nodes use, and what is attached for them.
///
/// What a claim stands for is looked up when its first user comes, and again when the claim, its volume or its class changes:
/// not when further users come, and not in a cycle.
#[derive(Debug, Clone, Default)]
pub(super) struct ClaimUses {
    uses: Numbered<ObjectName, ClaimUse>,
    /// How often claims of a name are used, over all namespaces.
    by_name: Map<CompactString, u64>,
    /// The claims in use to ask again when a volume changes, or a class.
    by_volume: Map<CompactString, BTreeSet<u32>>,
    by_class: Map<CompactString, BTreeSet<u32>>,
}

/// How a pod comes to a claim.
#[derive(Debug, Clone, Copy)]
pub(super) enum Through<'a> {
    /// Its volume names it.
    Claim,
    /// It was made for a volume of the pod, if the pod with this identity controls it.
    Ephemeral(&'a Uid),
}

/// The users of one claim.
#[derive(Debug, Clone, Default)]
struct ClaimUse {
    by_node: Counts,
    ephemeral: Vec<(NodeIndex, Uid)>,
    meaning: Meaning,
}

/// What a claim stands for; a claim that is not there stands for nothing.
#[derive(Debug, Clone, Default)]
struct Meaning {
    controller: Option<Uid>,
    /// What it was found out by: name of the volume and of the class, empty where that did not matter.
    volume: CompactString,
    class: CompactString,
    attached: Option<u32>,
}

impl ClaimUses {
    pub(super) fn add(
        &mut self,
        row: NodeIndex,
        claim: ObjectName,
        through: Through<'_>,
        attachments: &mut Attachments,
        storage: &Storage,
    ) {
        if let Through::Claim = through {
            *self.by_name.entry(claim.name.clone()).or_default() += 1;
        }
        let number = self.uses.find(&claim).unwrap_or_else(|| {
            let number = self.uses.insert(claim, ClaimUse::default());
            self.reconsider(number, attachments, storage);
            number
        });
        let Some(claim) = self.uses.value_mut(number) else {
            return;
        };
        match through {
            Through::Claim => claim.by_node.add(row.as_usize(), 1),
            Through::Ephemeral(pod) => claim.ephemeral.push((row, pod.clone())),
        }
        if let Some(volume) = claim.attached_for(through) {
            attachments.add_uses(volume, row, 1);
        }
    }

    /// Nothing happens if there is no such use.
    pub(super) fn remove(
        &mut self,
        row: NodeIndex,
        name: &ObjectName,
        through: Through<'_>,
        attachments: &mut Attachments,
    ) {
        let Some(number) = self.uses.find(name) else { return };
        let Some(claim) = self.uses.value_mut(number) else {
            return;
        };
        if !claim.remove(row, through) {
            return;
        }
        if let Some(volume) = claim.attached_for(through) {
            attachments.remove_uses(volume, row, 1);
        }
        let is_over = claim.by_node.is_empty() && claim.ephemeral.is_empty();
        if is_over && let Some((_, claim)) = self.uses.remove(number) {
            self.unlearn(number, &claim.meaning, attachments);
        }
        if let Through::Claim = through {
            self.forget_name(&name.name);
        }
    }

    fn forget_name(&mut self, name: &CompactString) {
        if let Some(uses) = self.by_name.get_mut(name) {
            *uses -= 1;
            if *uses == 0 {
                self.by_name.remove(name);
            }
        }
    }

    /// A claim is there, or gone, or says something else; the rows that count differently for it.
    pub(super) fn claim_changed(
        &mut self,
        claim: &ObjectName,
        attachments: &mut Attachments,
        storage: &Storage,
    ) -> Vec<NodeIndex> {
        let Some(number) = self.uses.find(claim) else {
            return Vec::new();
        };
        self.reconsider(number, attachments, storage)
    }

    /// As [`claim_changed`](Self::claim_changed) for all claims that name a volume.
    pub(super) fn volume_changed(
        &mut self,
        volume: &str,
        attachments: &mut Attachments,
        storage: &Storage,
    ) -> Vec<NodeIndex> {
        let claims = self.by_volume.get(volume).cloned().unwrap_or_default();
        let claims = claims.into_iter();
        claims
            .flat_map(|claim| self.reconsider(claim, attachments, storage))
            .collect()
    }

    /// As [`claim_changed`](Self::claim_changed) for all claims that wait for a volume of a class.
    pub(super) fn class_changed(
        &mut self,
        class: &str,
        attachments: &mut Attachments,
        storage: &Storage,
    ) -> Vec<NodeIndex> {
        let claims = self.by_class.get(class).cloned().unwrap_or_default();
        let claims = claims.into_iter();
        claims
            .flat_map(|claim| self.reconsider(claim, attachments, storage))
            .collect()
    }

    /// Finds out what a claim stands for, and counts its users for that.
    fn reconsider(&mut self, number: u32, attachments: &mut Attachments, storage: &Storage) -> Vec<NodeIndex> {
        let Some((name, before)) = self.uses.get(number) else {
            return Vec::new();
        };
        let (mut meaning, volume) = Meaning::of(name, storage);
        meaning.attached = volume.map(|volume| attachments.hold(&volume));
        let old = before.meaning.clone();
        self.learn(number, &meaning);
        let mut touched = Vec::new();
        let is_counted_alike = old.attached == meaning.attached && old.controller == meaning.controller;
        if let Some(claim) = self.uses.value_mut(number) {
            if !is_counted_alike {
                claim.each_counted(|row, uses, volume| attachments.remove_uses(volume, row, uses));
            }
            claim.meaning = meaning.clone();
            if !is_counted_alike {
                claim.each_counted(|row, uses, volume| attachments.add_uses(volume, row, uses));
                touched.extend(claim.by_node.iter().map(|(row, _)| NodeIndex::from_usize(row)));
                touched.extend(claim.ephemeral.iter().map(|(row, _)| *row));
            }
        }
        self.unlearn_for(number, &old, &meaning, attachments);
        touched
    }

    /// Asks to be told of changes.
    fn learn(&mut self, number: u32, meaning: &Meaning) {
        if !meaning.volume.is_empty() {
            let claims = self.by_volume.entry(meaning.volume.clone()).or_default();
            claims.insert(number);
        }
        if !meaning.class.is_empty() {
            self.by_class.entry(meaning.class.clone()).or_default().insert(number);
        }
    }

    /// Undoes [`learn`](Self::learn) as far as another meaning does not ask for the same.
    fn unlearn_for(&mut self, number: u32, old: &Meaning, new: &Meaning, attachments: &mut Attachments) {
        if old.volume != new.volume {
            take_out(&mut self.by_volume, &old.volume, number);
        }
        if old.class != new.class {
            take_out(&mut self.by_class, &old.class, number);
        }
        if let Some(volume) = old.attached {
            attachments.let_go(volume);
        }
    }

    fn unlearn(&mut self, number: u32, old: &Meaning, attachments: &mut Attachments) {
        self.unlearn_for(number, old, &Meaning::default(), attachments);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.uses.len() == 0 && self.by_name.is_empty() && self.by_volume.is_empty() && self.by_class.is_empty()
    }
}

impl ClaimUse {
    /// Whether there was such a use.
    fn remove(&mut self, row: NodeIndex, through: Through<'_>) -> bool {
        match through {
            Through::Claim => {
                let was_there = self.by_node.get(row.as_usize()) > 0;
                self.by_node.subtract(row.as_usize(), 1);
                was_there
            }
            Through::Ephemeral(pod) => {
                let same = |(own_row, own): &(NodeIndex, Uid)| *own_row == row && own == pod;
                let at = self.ephemeral.iter().position(same);
                at.map(|at| self.ephemeral.swap_remove(at)).is_some()
            }
        }
    }

    /// What is attached for such a user.
    fn attached_for(&self, through: Through<'_>) -> Option<u32> {
        let counts = match through {
            Through::Claim => true,
            Through::Ephemeral(pod) => self.meaning.controller.as_ref() == Some(pod),
        };
        self.meaning.attached.filter(|_| counts)
    }

    fn each_counted(&self, mut count: impl FnMut(NodeIndex, u32, u32)) {
        let Some(volume) = self.meaning.attached else { return };
        for (row, uses) in self.by_node.iter() {
            count(NodeIndex::from_usize(row), uses, volume);
        }
        for (row, pod) in &self.ephemeral {
            if self.meaning.controller.as_ref() == Some(pod) {
                count(*row, 1, volume);
            }
        }
    }
}

impl Meaning {
    /// Without a number for what is attached, which comes beside it.
    fn of(name: &ObjectName, storage: &Storage) -> (Self, Option<AttachableVolume>) {
        let Some(claim) = storage.claim(name) else {
            return Default::default();
        };
        let by_class = storage.bound_volume(claim).is_none();
        let meaning = Self {
            controller: claim.controller.clone(),
            volume: claim.volume.clone(),
            class: if by_class {
                claim.class.clone()
            } else {
                CompactString::default()
            },
            attached: None,
        };
        (meaning, storage.attachable_volume(claim, true))
    }
}

fn take_out(index: &mut Map<CompactString, BTreeSet<u32>>, key: &str, claim: u32) {
    if let Some(claims) = index.get_mut(key) {
        claims.remove(&claim);
        if claims.is_empty() {
            index.remove(key);
        }
    }
}

impl Columns {
    /// Whether a volume of a pod on a node names the claim. Claims that were made for ephemeral volumes do not count, nor do
    /// pods on ghosts.
    pub fn is_claim_used(&self, claim: &ObjectName) -> bool {
        let claims = &self.volumes.claims.uses;
        let found = claims.find(claim).and_then(|number| claims.get(number));
        let mut rows = found.into_iter().flat_map(|(_, uses)| uses.by_node.iter());
        rows.any(|(row, _)| self.nodes.contains(NodeIndex::from_usize(row)))
    }

    /// How many volumes of pods name a claim of this name, in whatever namespace, those of pods on ghosts among them.
    pub fn uses_of_claims_named(&self, name: &str) -> u64 {
        self.volumes.claims.by_name.get(name).copied().unwrap_or(0)
    }
}
