//! Tables for people: columns as wide as they need to be, numbers to the right, the last column wrapped.

/// Where a line ends at the latest, as far as the last column can help it.
const WIDTH: usize = 110;

/// A table under a title.
pub(crate) struct Table<const N: usize> {
    title: String,
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(title: impl Into<String>, head: [&'static str; N]) -> Self {
        Self {
            title: title.into(),
            head,
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// The lines, with an empty one before.
    pub(crate) fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..N).map(|column| self.width(column)).collect();
        let start: usize = widths.iter().take(N.saturating_sub(1)).map(|width| width + 2).sum();
        let head = self.head.map(str::to_owned);
        let mut lines = vec![String::new(), self.title.clone()];
        for cells in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::from("  ");
            for (column, cell) in cells.iter().enumerate() {
                if column + 1 == N {
                    let mut wrapped = wrap(cell, WIDTH.saturating_sub(start + 2).max(20)).into_iter();
                    line.push_str(&wrapped.next().unwrap_or_default());
                    lines.push(line.trim_end().to_owned());
                    lines.extend(wrapped.map(|rest| format!("{}{rest}", " ".repeat(start + 2))));
                    break;
                }
                let space = " ".repeat(widths[column] - cell.chars().count());
                if self.is_numeric(column) {
                    line.extend([space.as_str(), cell, "  "]);
                } else {
                    line.extend([cell, space.as_str(), "  "]);
                }
            }
        }
        lines
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[column].as_str())
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.cells(column).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(self.head[column].chars().count())
    }

    fn is_numeric(&self, column: usize) -> bool {
        self.cells(column)
            .all(|cell| cell.starts_with(|c: char| c.is_ascii_digit() || c == '+'))
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_one_wraps() {
        let mut table = Table::new("Ships", ["NAME", "TONS", "WHAT"]);
        table.row(["Ark".to_owned(), "7".to_owned(), "old".to_owned()]);
        table.row(["Argo".to_owned(), "4200".to_owned(), "word ".repeat(30)]);
        let words = |count| vec!["word"; count].join(" ");
        let expected = [
            String::new(),
            "Ships".to_owned(),
            "  NAME  TONS  WHAT".to_owned(),
            "  Ark      7  old".to_owned(),
            format!("  Argo  4200  {}", words(19)),
            format!("{}{}", " ".repeat(14), words(11)),
        ];
        assert_eq!(table.lines(), expected);
    }
}
