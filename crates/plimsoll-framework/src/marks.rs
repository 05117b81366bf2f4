use compact_str::CompactString;
use smallvec::SmallVec;

/// What a score's marks of nodes follow from besides the pod's spec and the nodes themselves, see
/// [`Score::mark_basis`](crate::Score::mark_basis).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarkBasis {
    /// Numbers, such as those of counts that the columns keep.
    pub numbers: SmallVec<[u64; 6]>,
    /// Labels of nodes.
    pub keys: SmallVec<[CompactString; 2]>,
}

/// One mark made of several numbers; none when they do not fit, so that different numbers never make the same mark.
pub fn joint_mark(parts: &[u64]) -> Option<u64> {
    let bits = match parts.len() {
        0 => return Some(0),
        1 => return Some(parts[0]),
        count => 64 / u32::try_from(count).ok()?,
    };
    let mut parts = parts.iter();
    parts.try_fold(0_u64, |mark, part| (*part < 1 << bits).then(|| mark << bits | part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_parts_make_different_marks_or_none() {
        assert_eq!((joint_mark(&[]), joint_mark(&[u64::MAX])), (Some(0), Some(u64::MAX)));
        assert_eq!(joint_mark(&[1, 2]), Some(1 << 32 | 2));
        assert_eq!(joint_mark(&[1, 1 << 32]), None);
        assert_eq!(joint_mark(&[(1 << 21) - 1, 0, 1]), Some(((1 << 21) - 1) << 42 | 1));
        assert_eq!(joint_mark(&[0, 1 << 21, 0]), None);
    }
}
