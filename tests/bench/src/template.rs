//! Object templates: YAML with `{{ … }}` in it, in the part of Go's template language that workload files use.
//!
//! There are the values `.Index` and `.Count`, numbers, texts, calls of the arithmetic functions with arguments
//! separated by blanks, parentheses, and `|`. Anything else (conditions, loops, variables) is an error, never left as
//! it stands.

use std::fmt;

use anyhow::{Context, bail, ensure};

/// A template that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Value(Expression),
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Constant(Number),
    Text(String),
    Index,
    Count,
    Call(Function, Vec<Expression>),
}

/// As in Go there are two kinds of numbers, which print differently.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(i64),
    Real(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Mod,
    /// The same four with a real result.
    AddReal,
    SubtractReal,
    MultiplyReal,
    DivideReal,
}

/// A part of an action.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Open,
    Close,
    Pipe,
}

impl Template {
    /// Reads one.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, action)) = rest.split_once("{{") {
            let (action, after) = action.split_once("}}").context("an action without }}")?;
            let (action, trims_before) = trimmed(action, str::strip_prefix, "- ");
            let (action, trims_after) = trimmed(action, str::strip_suffix, " -");
            let before = if trims_before { before.trim_end() } else { before };
            pieces.push(Piece::Text(before.to_owned()));
            if !action.trim_start().starts_with("/*") {
                let value = expression(action).with_context(|| format!("{{{{{action}}}}}"))?;
                pieces.push(Piece::Value(value));
            }
            rest = if trims_after { after.trim_start() } else { after };
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self { pieces })
    }

    /// True when it is the same for every index.
    pub fn is_fixed(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// Whether the text as it stands has that word somewhere.
    pub(crate) fn mentions(&self, word: &str) -> bool {
        let has = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(word));
        self.pieces.iter().any(has)
    }

    /// The text of the object with that index of so many.
    pub fn render(&self, index: usize, count: usize) -> anyhow::Result<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(fixed) | Piece::Value(Expression::Text(fixed)) => text.push_str(fixed),
                Piece::Value(value) => text.push_str(&value.number(index, count)?.to_string()),
            }
        }
        Ok(text)
    }
}

fn trimmed<'a>(
    text: &'a str,
    strip: impl Fn(&'a str, &'static str) -> Option<&'a str>,
    mark: &'static str,
) -> (&'a str, bool) {
    strip(text, mark).map_or((text, false), |rest| (rest, true))
}

impl Expression {
    fn number(&self, index: usize, count: usize) -> anyhow::Result<Number> {
        Ok(match self {
            Self::Constant(number) => *number,
            Self::Text(text) => Number::Real(text.parse().with_context(|| format!("{text:?} is no number"))?),
            Self::Index => Number::Whole(i64::try_from(index)?),
            Self::Count => Number::Whole(i64::try_from(count)?),
            Self::Call(function, arguments) => {
                let arguments: Vec<f64> = arguments
                    .iter()
                    .map(|argument| Ok(argument.number(index, count)?.real()))
                    .collect::<anyhow::Result<_>>()?;
                function.apply(&arguments)?
            }
        })
    }
}

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "upstream calculates so, with counts of objects"
    )]
    fn real(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "upstream cuts so")]
    fn whole(number: f64) -> Self {
        Self::Whole(number as i64)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
        }
    }
}

impl Function {
    fn named(name: &str) -> anyhow::Result<Self> {
        Ok(match name {
            "AddInt" => Self::Add,
            "SubtractInt" => Self::Subtract,
            "MultiplyInt" => Self::Multiply,
            "DivideInt" => Self::Divide,
            "Mod" => Self::Mod,
            "AddFloat" => Self::AddReal,
            "SubtractFloat" => Self::SubtractReal,
            "MultiplyFloat" => Self::MultiplyReal,
            "DivideFloat" => Self::DivideReal,
            other => bail!("{other:?} is neither a value nor a function of templates"),
        })
    }

    /// Sums and products take any number of arguments, the others two.
    fn takes(self, arguments: usize) -> bool {
        match self {
            Self::Add | Self::AddReal | Self::Multiply | Self::MultiplyReal => true,
            _ => arguments == 2,
        }
    }

    fn apply(self, arguments: &[f64]) -> anyhow::Result<Number> {
        let two = || {
            (
                arguments.first().copied().unwrap_or(0.0),
                arguments.get(1).copied().unwrap_or(0.0),
            )
        };
        Ok(match self {
            Self::Add => Number::whole(arguments.iter().sum()),
            Self::AddReal => Number::Real(arguments.iter().sum()),
            Self::Multiply => Number::whole(arguments.iter().product()),
            Self::MultiplyReal => Number::Real(arguments.iter().product()),
            Self::Subtract => Number::whole(two().0 - two().1),
            Self::SubtractReal => Number::Real(two().0 - two().1),
            Self::Divide | Self::DivideReal => {
                let (dividend, divisor) = two();
                ensure!(divisor != 0.0, "a division by zero");
                let quotient = dividend / divisor;
                if self == Self::Divide {
                    Number::whole(quotient)
                } else {
                    Number::Real(quotient)
                }
            }
            Self::Mod => {
                let (Number::Whole(dividend), Number::Whole(divisor)) =
                    (Number::whole(two().0), Number::whole(two().1))
                else {
                    bail!("no whole numbers");
                };
                let left = dividend.checked_rem(divisor).context("a division by zero")?;
                Number::Whole(left)
            }
        })
    }
}

fn expression(action: &str) -> anyhow::Result<Expression> {
    let tokens = tokens(action)?;
    let mut position = 0;
    let value = pipeline(&tokens, &mut position)?;
    ensure!(position == tokens.len(), "a parenthesis too many");
    Ok(value)
}

/// Commands separated by `|`: each one's value is the last argument of the next.
fn pipeline(tokens: &[Token], position: &mut usize) -> anyhow::Result<Expression> {
    let mut value = command(tokens, position, None)?;
    while tokens.get(*position) == Some(&Token::Pipe) {
        *position += 1;
        value = command(tokens, position, Some(value))?;
    }
    Ok(value)
}

fn command(tokens: &[Token], position: &mut usize, piped: Option<Expression>) -> anyhow::Result<Expression> {
    if let Some(Token::Word(word)) = tokens.get(*position)
        && word.starts_with(|first: char| first.is_ascii_alphabetic())
    {
        let function = Function::named(word)?;
        *position += 1;
        let mut arguments = Vec::new();
        while let Some(argument) = operand(tokens, position)? {
            arguments.push(argument);
        }
        arguments.extend(piped);
        ensure!(
            function.takes(arguments.len()),
            "{word} with {} arguments",
            arguments.len()
        );
        return Ok(Expression::Call(function, arguments));
    }
    ensure!(piped.is_none(), "what comes after | must be a function");
    let value = operand(tokens, position)?.context("an action without a value")?;
    ensure!(operand(tokens, position)?.is_none(), "a value cannot be called");
    Ok(value)
}

fn operand(tokens: &[Token], position: &mut usize) -> anyhow::Result<Option<Expression>> {
    let value = match tokens.get(*position) {
        None | Some(Token::Pipe | Token::Close) => return Ok(None),
        Some(Token::Open) => {
            *position += 1;
            let value = pipeline(tokens, position)?;
            ensure!(
                tokens.get(*position) == Some(&Token::Close),
                "a parenthesis is not closed"
            );
            value
        }
        Some(Token::Quoted(text)) => Expression::Text(text.clone()),
        Some(Token::Word(word)) => match word.as_str() {
            ".Index" => Expression::Index,
            ".Count" => Expression::Count,
            number => Expression::Constant(constant(number)?),
        },
    };
    *position += 1;
    Ok(Some(value))
}

fn constant(text: &str) -> anyhow::Result<Number> {
    if let Ok(whole) = text.parse() {
        return Ok(Number::Whole(whole));
    }
    let real = text.parse().ok().filter(|_| !text.starts_with(char::is_alphabetic));
    real.map(Number::Real)
        .with_context(|| format!("{text:?} is neither a value nor a number"))
}

fn tokens(action: &str) -> anyhow::Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = action.trim();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '|' => (Token::Pipe, 1),
            '"' => {
                let end = rest[1..].find('"').context("a text is not closed")?;
                (Token::Quoted(rest[1..=end].to_owned()), end + 2)
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || "()|\"".contains(c);
                let end = rest.find(ends).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_calls_parentheses_and_pipes_are_calculated_as_in_go() {
        let table = [
            ("a-{{ .Index }}-b", "a-7-b"),
            ("{{.Count}}", "12"),
            ("{{ Mod .Index 5 }}", "2"),
            ("{{DivideInt .Index 5}}", "1"),
            ("{{ DivideInt 30000 .Count }}Mi", "2500Mi"),
            ("{{ DivideFloat .Index 2 }}", "3.5"),
            ("{{ AddFloat 1 2 }}", "3"),
            ("{{ AddInt 1 2 3.9 }}", "6"),
            ("{{ SubtractInt .Index 10 }}", "-3"),
            ("{{ MultiplyInt (AddInt .Index 1) (Mod .Index 3) }}m", "8m"),
            ("{{ .Index | AddInt 1 | MultiplyInt 2 }}", "16"),
            ("{{ MultiplyFloat \"0.5\" .Index }}", "3.5"),
            ("x  {{- .Index -}}  y", "x7y"),
            ("x{{/* nothing */}}y", "xy"),
            ("{{ \"text\" }}", "text"),
            ("no action", "no action"),
        ];
        for (template, expected) in table {
            let text = Template::parse(template).and_then(|template| template.render(7, 12));
            assert_eq!(text.unwrap(), expected, "{template}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for template in [
            "{{ .Index",
            "{{ if .Index }}a{{ end }}",
            "{{ .Name }}",
            "{{ Modulo .Index 5 }}",
            "{{ Mod .Index }}",
            "{{ (Mod .Index 5 }}",
            "{{ Mod .Index 5) }}",
            "{{ .Index .Count }}",
            "{{ }}",
            "{{ inf }}",
            "{{ 3 | 4 }}",
        ] {
            assert!(Template::parse(template).is_err(), "{template}");
        }
        for template in ["{{ Mod 1 0 }}", "{{ DivideInt 1 .Index }}", "{{ AddInt \"a\" 1 }}"] {
            assert!(Template::parse(template).unwrap().render(0, 1).is_err(), "{template}");
        }
    }

    #[test]
    fn a_template_without_values_is_fixed() {
        assert!(Template::parse("kind: Pod").unwrap().is_fixed());
        assert!(!Template::parse("name: a{{.Index}}").unwrap().is_fixed());
    }
}
