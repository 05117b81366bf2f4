use plimsoll_config::UtilizationShapePoint;
use plimsoll_framework::MAX_NODE_SCORE;

/// Configured scores go up to 10, those of nodes up to 100.
const SCORE_SCALE: i64 = MAX_NODE_SCORE / 10;

/// A function through points, straight between them and level outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenLine {
    points: Vec<(i64, i64)>,
}

impl BrokenLine {
    /// Through the points of a configured shape, in their order.
    pub(crate) fn new(shape: &[UtilizationShapePoint]) -> Self {
        let points = shape
            .iter()
            .map(|point| (i64::from(point.utilization), i64::from(point.score) * SCORE_SCALE))
            .collect();
        Self { points }
    }

    /// Its value.
    pub(crate) fn at(&self, x: i64) -> i64 {
        let next = self.points.iter().position(|(right, _)| x <= *right);
        match next {
            Some(0) => self.points.first().map_or(0, |(_, y)| *y),
            Some(next) => between(self.points[next - 1], self.points[next], x),
            None => self.points.last().map_or(0, |(_, y)| *y),
        }
    }
}

fn between((left, from): (i64, i64), (right, to): (i64, i64), x: i64) -> i64 {
    from + ((to - from) * (x - left)).checked_div(right - left).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(i32, i32)]) -> BrokenLine {
        let shape: Vec<_> = points
            .iter()
            .map(|(utilization, score)| UtilizationShapePoint {
                utilization: *utilization,
                score: *score,
            })
            .collect();
        BrokenLine::new(&shape)
    }

    #[test]
    fn a_broken_line_is_straight_between_points_and_level_outside() {
        type Points<'a, T> = &'a [(T, T)];
        let cases: [(Points<'_, i32>, Points<'_, i64>); 4] = [
            (
                &[(10, 1), (90, 9)],
                &[
                    (0, 10),
                    (9, 10),
                    (10, 10),
                    (15, 15),
                    (50, 50),
                    (89, 89),
                    (90, 90),
                    (100, 90),
                ],
            ),
            (
                &[(0, 2), (40, 10), (100, 0)],
                &[(0, 20), (20, 60), (39, 98), (40, 100), (41, 99), (70, 50), (100, 0)],
            ),
            (&[(50, 7)], &[(0, 70), (50, 70), (100, 70)]),
            // 50 * 1 / 3 truncates towards zero, upwards and downwards.
            (&[(0, 0), (3, 5), (6, 0)], &[(1, 16), (2, 33), (4, 34), (5, 17)]),
        ];
        for (points, expected) in cases {
            for (x, y) in expected {
                assert_eq!(line(points).at(*x), *y, "{points:?} at {x}");
            }
        }
    }
}
