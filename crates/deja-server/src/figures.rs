//! Numbers and amounts as people read them, on the console and on the command line.

/// `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Dollars, with as many decimals as an amount of its size needs.
pub(crate) fn dollars(amount: f64) -> String {
    match amount {
        0.0 => "0.00".into(),
        // The smallest amount that is kept is a thousand-millionth.
        a if a < 0.000_001 => format!("{a:.9}"),
        a if a < 0.0001 => format!("{a:.7}"),
        a if a < 0.1 => format!("{a:.5}"),
        a if a < 100.0 => format!("{a:.2}"),
        a => count(a.round() as u64),
    }
}
