use proptest::prelude::*;

use super::*;

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Text, canonical form, value and milli-value, as apimachinery 0.36 gives them.
const TABLE: [(&str, &str, i64, i64); 55] = [
    ("0", "0", 0, 0),
    ("1", "1", 1, 1000),
    ("100m", "100m", 1, 100),
    ("1.5", "1500m", 2, 1500),
    ("1.500", "1500m", 2, 1500),
    ("1.5Gi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
    ("0.1m", "100u", 1, 1),
    ("1.1m", "1100u", 1, 2),
    ("1n", "1n", 1, 1),
    ("0.1n", "1n", 1, 1),
    ("0.00000000001", "1n", 1, 1),
    ("1u", "1u", 1, 1),
    ("1500m", "1500m", 2, 1500),
    ("1000m", "1", 1, 1000),
    ("1k", "1k", 1000, 1_000_000),
    ("1000k", "1M", 1_000_000, 1_000_000_000),
    ("1G", "1G", 1_000_000_000, 1_000_000_000_000),
    ("1T", "1T", 1_000_000_000_000, 1_000_000_000_000_000),
    ("1P", "1P", 1_000_000_000_000_000, 1_000_000_000_000_000_000),
    ("1e3", "1e3", 1000, 1_000_000),
    ("1E3", "1e3", 1000, 1_000_000),
    ("1E+3", "1e3", 1000, 1_000_000),
    ("1e-3", "1e-3", 1, 1),
    ("12.5e1", "125", 125, 125_000),
    ("12e6", "12e6", 12_000_000, 12_000_000_000),
    ("1E-99", "1e-9", 1, 1),
    ("1Ki", "1Ki", 1024, 1_024_000),
    ("5.Ki", "5Ki", 5120, 5_120_000),
    ("1024Ki", "1Mi", 1_048_576, 1_048_576_000),
    ("1023Ki", "1023Ki", 1_047_552, 1_047_552_000),
    ("1.5Ki", "1536", 1536, 1_536_000),
    ("0.5Ki", "512", 512, 512_000),
    ("0.0001Ki", "102400u", 1, 103),
    ("1.1234567891Ki", "1150419752039n", 1151, 1_150_420),
    ("0.5Mi", "512Ki", 524_288, 524_288_000),
    ("2000Mi", "2000Mi", 2_097_152_000, 2_097_152_000_000),
    ("128974848", "128974848", 128_974_848, 128_974_848_000),
    ("129M", "129M", 129_000_000, 129_000_000_000),
    ("0.123456789123456789", "123456790n", 1, 124),
    ("1.000000001", "1000000001n", 2, 1001),
    ("-1", "-1", -1, -1000),
    ("-1.5", "-1500m", -2, -1500),
    ("-100m", "-100m", -1, -100),
    ("-1.5m", "-1500u", -1, -2),
    ("-1024Ki", "-1Mi", -1_048_576, -1_048_576_000),
    ("+5", "5", 5, 5000),
    (".5", "500m", 1, 500),
    ("5.", "5", 5, 5000),
    ("00012", "12", 12, 12_000),
    ("0.000", "0", 0, 0),
    ("0Ki", "0", 0, 0),
    ("-0", "0", 0, 0),
    (".", "0", 0, 0),
    ("-", "0", 0, 0),
    ("m", "0", 0, 0),
];

#[test]
fn amounts_and_canonical_forms_are_those_of_kubernetes() {
    for (text, canonical, value, milli) in TABLE {
        let parsed = quantity(text);
        assert_eq!(parsed.to_string(), canonical, "{text}");
        assert_eq!(parsed.value(), value, "{text}");
        assert_eq!(parsed.milli_value(), milli, "{text}");
    }
}

#[test]
fn what_does_not_fit_stays_at_the_end_instead_of_wrapping_around() {
    let cases = [
        ("8Ei", "9223372036854775807", i64::MAX, i64::MAX),
        ("-9Ei", "-9223372036854775807", -i64::MAX, i64::MIN),
        ("9E", "9E", 9_000_000_000_000_000_000, i64::MAX),
        ("10E", "10E", i64::MAX, i64::MAX),
        ("1000E", "1e21", i64::MAX, i64::MAX),
        ("9223372036854775808", "9223372036854775808", i64::MAX, i64::MAX),
        ("1e20", "100e18", i64::MAX, i64::MAX),
        ("-1e99999", "-1e99999", i64::MIN, i64::MIN),
        (
            "123456789012345678901234567890",
            "123456789012345678901234567890",
            i64::MAX,
            i64::MAX,
        ),
        (
            "999999999999999999.9999999991",
            "1E",
            1_000_000_000_000_000_000,
            i64::MAX,
        ),
    ];
    for (text, canonical, value, milli) in cases {
        let parsed = quantity(text);
        assert_eq!(parsed.to_string(), canonical, "{text}");
        assert_eq!((parsed.value(), parsed.milli_value()), (value, milli), "{text}");
    }
}

#[test]
fn what_is_outside_the_grammar_is_refused() {
    let junk = [
        "",
        "1 ",
        " 1",
        "1.2.3",
        "1b",
        "1KI",
        "1ki",
        "1e",
        "1ei",
        "1e1.5",
        "1mm",
        "1Mii",
        "--1",
        "1,5",
        "1_000",
        "e",
        "0x1",
        "1e99999999999999999999",
        "½",
        "1µ",
    ];
    for text in junk {
        assert!(Quantity::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_zero_takes_over_the_way_of_writing_of_what_is_added() {
    let mut sum = quantity("0");
    sum.add(&quantity("1Ki"));
    assert_eq!(sum.to_string(), "1Ki");
    sum.add(&quantity("1M"));
    assert_eq!(sum.to_string(), "1001024");
}

#[test]
fn json_may_hold_text_or_a_number() {
    for (json, expected) in [
        (r#""1500m""#, "1500m"),
        ("2", "2"),
        ("0.1", "100m"),
        (r#"" 1 ""#, "1"),
        ("-3", "-3"),
    ] {
        let decoded: Quantity = serde_json::from_str(json).unwrap();
        assert_eq!(decoded.to_string(), expected);
    }
    assert!(serde_json::from_str::<Quantity>(r#""1b""#).is_err());
}

const SUFFIXES: [(&str, i32, u32); 18] = [
    ("n", -9, 0),
    ("u", -6, 0),
    ("m", -3, 0),
    ("", 0, 0),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("e2", 2, 0),
    ("E-4", -4, 0),
    ("P", 15, 0),
    ("E", 18, 0),
    ("Ki", 0, 10),
    ("Mi", 0, 20),
    ("Gi", 0, 30),
    ("Ti", 0, 40),
    ("Pi", 0, 50),
    ("Ei", 0, 60),
];

fn divide_away_from_zero(number: i128, by: i128) -> i128 {
    number / by + if number % by == 0 { 0 } else { number.signum() }
}

fn clamped(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

/// A text and its amount in nanos, computed with plain integers.
fn written() -> impl Strategy<Value = (String, i128)> {
    let parts = (
        any::<bool>(),
        0_i128..1_000_000_000,
        0_usize..=6,
        0_i128..1_000_000,
        0..SUFFIXES.len(),
    );
    parts.prop_map(|(negative, whole, places, fraction, suffix)| {
        let scale = 10_i128.pow(u32::try_from(places).unwrap());
        let fraction = fraction % scale;
        let (suffix, ten, two) = SUFFIXES[suffix];
        let point = if places == 0 {
            String::new()
        } else {
            format!(".{fraction:0places$}")
        };
        let text = format!("{}{whole}{point}{suffix}", if negative { "-" } else { "" });
        let digits = (whole * scale + fraction) * (1_i128 << two);
        let power = 9 + ten - i32::try_from(places).unwrap();
        let factor = 10_i128.pow(power.unsigned_abs());
        let nanos = if power >= 0 {
            digits * factor
        } else {
            divide_away_from_zero(digits, factor)
        };
        let nanos = if two > 0 {
            nanos.min(i128::from(i64::MAX) * 1_000_000_000)
        } else {
            nanos
        };
        (text, if negative { -nanos } else { nanos })
    })
}

proptest! {
    #[test]
    fn parsing_is_exact((text, nanos) in written()) {
        let parsed = quantity(&text);
        prop_assert_eq!(parsed.value(), clamped(divide_away_from_zero(nanos, 1_000_000_000)));
        prop_assert_eq!(parsed.milli_value(), clamped(divide_away_from_zero(nanos, 1_000_000)));
        prop_assert_eq!(quantity(&format!("{nanos}n")), parsed);
    }

    #[test]
    fn the_canonical_form_says_the_same((text, _) in written()) {
        let parsed = quantity(&text);
        let canonical = parsed.to_string();
        prop_assert_eq!(&quantity(&canonical), &parsed);
        prop_assert_eq!(quantity(&canonical).to_string(), canonical);
    }

    #[test]
    fn sums_and_order_are_those_of_the_numbers((a, a_nanos) in written(), (b, b_nanos) in written()) {
        let (a, b) = (quantity(&a), quantity(&b));
        prop_assert_eq!(a.cmp(&b), a_nanos.cmp(&b_nanos));
        prop_assert_eq!(a.amount.to_decimal().compare(&b.amount.to_decimal()), a_nanos.cmp(&b_nanos));
        let mut sum = a.clone();
        sum.add(&b);
        prop_assert_eq!(&sum, &quantity(&format!("{}n", a_nanos + b_nanos)));
        let slow: Amount = a.amount.to_decimal().plus(&b.amount.to_decimal()).into();
        prop_assert_eq!(Quantity { amount: slow, format: Format::DecimalSi }, sum);
    }

    #[test]
    fn numbers_beyond_machine_words_stay_exact(a in any::<u128>(), b in any::<u128>()) {
        let (a, b) = (a >> 1, b >> 1);
        let (large, other) = (quantity(&a.to_string()), quantity(&b.to_string()));
        prop_assert_eq!(large.cmp(&other), a.cmp(&b));
        let mut sum = large;
        sum.add(&other);
        prop_assert_eq!(sum, quantity(&(a + b).to_string()));
    }

    #[test]
    fn no_text_makes_parsing_fail_badly(text in "[-+]?[0-9.]{0,40}[eEinumkKMGTP]{0,3}[-+]?[0-9]{0,12}|.*") {
        if let Ok(parsed) = Quantity::parse(&text) {
            prop_assert_eq!(quantity(&parsed.to_string()), parsed);
        }
    }
}

#[test]
fn equal_amounts_hash_alike_however_they_are_written() {
    use std::hash::BuildHasher;
    let hash = |text: &str| foldhash::fast::FixedState::default().hash_one(quantity(text));
    for (one, other) in [
        ("1Ki", "1024"),
        ("1e3", "1k"),
        ("0.1", "100m"),
        ("1500m", "1.500"),
        ("99999999999999999999", "99999999999999999999000m"),
    ] {
        assert_eq!(quantity(one), quantity(other), "{one}");
        assert_eq!(hash(one), hash(other), "{one}");
    }
    assert_ne!(hash("1"), hash("2"));
}
