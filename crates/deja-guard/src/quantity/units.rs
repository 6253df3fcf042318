//! Units, and words that multiply.

use super::Dimension;

/// The unit called `word`: name, dimension and size in its base unit.
pub(crate) fn unit(word: &str) -> Option<(&'static str, Dimension, f64)> {
    use Dimension as D;
    const DAY: f64 = 86400.0;
    Some(match word {
        "second" | "seconds" | "sec" | "secs" => ("second", D::Seconds, 1.0),
        "minute" | "minutes" | "min" | "mins" => ("minute", D::Seconds, 60.0),
        "hour" | "hours" | "hr" | "hrs" => ("hour", D::Seconds, 3600.0),
        "day" | "days" => ("day", D::Seconds, DAY),
        "night" | "nights" => ("night", D::Other(1), 1.0),
        "week" | "weeks" | "wk" | "wks" => ("week", D::Seconds, 7.0 * DAY),
        "fortnight" => ("week", D::Seconds, 14.0 * DAY),
        "month" | "months" => ("month", D::Seconds, 30.4375 * DAY),
        "year" | "years" | "yr" | "yrs" => ("year", D::Seconds, 365.25 * DAY),
        "decade" | "decades" => ("decade", D::Seconds, 3652.5 * DAY),
        "century" | "centuries" => ("century", D::Seconds, 36525.0 * DAY),
        "mm" | "millimeter" | "millimeters" | "millimetre" | "millimetres" => ("mm", D::Metres, 0.001),
        "cm" | "centimeter" | "centimeters" | "centimetre" | "centimetres" => ("cm", D::Metres, 0.01),
        "meter" | "meters" | "metre" | "metres" => ("metre", D::Metres, 1.0),
        "km" | "kms" | "kilometer" | "kilometers" | "kilometre" | "kilometres" => ("km", D::Metres, 1000.0),
        "inch" | "inches" => ("inch", D::Metres, 0.0254),
        "foot" | "feet" | "ft" => ("foot", D::Metres, 0.3048),
        "yard" | "yards" | "yd" => ("yard", D::Metres, 0.9144),
        "mile" | "miles" | "mi" => ("mile", D::Metres, 1609.34),
        "mcg" | "ug" | "µg" | "μg" | "microgram" | "micrograms" => ("mcg", D::Grams, 1e-6),
        "mg" | "milligram" | "milligrams" => ("mg", D::Grams, 0.001),
        "gram" | "grams" | "gr" | "gramme" | "grammes" => ("gram", D::Grams, 1.0),
        "kg" | "kgs" | "kilo" | "kilos" | "kilogram" | "kilograms" => ("kg", D::Grams, 1000.0),
        "tonne" | "tonnes" | "ton" | "tons" => ("tonne", D::Grams, 1e6),
        "oz" | "ounce" | "ounces" => ("ounce", D::Grams, 28.3495),
        "lb" | "lbs" | "pound" | "pounds" | "gbp" => ("pound", D::Grams, 453.592),
        "ml" | "milliliter" | "milliliters" | "millilitre" | "millilitres" => ("ml", D::Litres, 0.001),
        "cl" => ("cl", D::Litres, 0.01),
        "dl" => ("dl", D::Litres, 0.1),
        "liter" | "liters" | "litre" | "litres" => ("litre", D::Litres, 1.0),
        "cup" | "cups" => ("cup", D::Litres, 0.2366),
        "tbsp" | "tablespoon" | "tablespoons" => ("tablespoon", D::Litres, 0.014787),
        "tsp" | "teaspoon" | "teaspoons" => ("teaspoon", D::Litres, 0.004929),
        "gallon" | "gallons" | "gal" => ("gallon", D::Litres, 3.78541),
        "pint" | "pints" => ("pint", D::Litres, 0.473),
        "quart" | "quarts" => ("quart", D::Litres, 0.946),
        "hectare" | "hectares" | "ha" => ("hectare", D::SquareMetres, 10000.0),
        "acre" | "acres" => ("acre", D::SquareMetres, 4046.86),
        "sqm" | "m2" => ("sqm", D::SquareMetres, 1.0),
        "sqft" => ("sqft", D::SquareMetres, 0.092903),
        "kb" | "kilobyte" | "kilobytes" => ("kb", D::Bytes, 1e3),
        "mb" | "megabyte" | "megabytes" | "meg" | "megs" => ("mb", D::Bytes, 1e6),
        "gb" | "gigabyte" | "gigabytes" | "gig" | "gigs" => ("gb", D::Bytes, 1e9),
        "tb" | "terabyte" | "terabytes" => ("tb", D::Bytes, 1e12),
        "kbit" | "kbps" | "kilobit" | "kilobits" => ("kbit", D::Bits, 1e3),
        "mbit" | "mbps" | "megabit" | "megabits" => ("mbit", D::Bits, 1e6),
        "gbit" | "gbps" | "gigabit" | "gigabits" => ("gbit", D::Bits, 1e9),
        "celsius" | "centigrade" => ("celsius", D::Celsius, 1.0),
        "fahrenheit" => ("fahrenheit", D::Celsius, f64::NAN),
        "kelvin" => ("kelvin", D::Other(20), 1.0),
        "degree" | "degrees" => ("degree", D::Degrees, 1.0),
        "permille" => ("permille", D::Other(40), 1.0),
        "percent" | "pct" => ("percent", D::Percent, 1.0),
        "kcal" | "calories" | "calorie" | "cal" => ("calorie", D::Calories, 1.0),
        "dollar" | "dollars" | "usd" | "bucks" | "buck" => ("dollar", D::Other(2), 1.0),
        "euro" | "euros" | "eur" => ("euro", D::Other(3), 1.0),
        "yen" | "jpy" => ("yen", D::Other(4), 1.0),
        "franc" | "francs" | "chf" => ("franc", D::Other(5), 1.0),
        "rupee" | "rupees" | "inr" | "rs" => ("rupee", D::Other(6), 1.0),
        "yuan" | "rmb" | "cny" => ("yuan", D::Other(7), 1.0),
        "cent" | "cents" => ("cent", D::Other(8), 1.0),
        "volt" | "volts" => ("volt", D::Other(9), 1.0),
        "ohm" | "ohms" => ("ohm", D::Other(10), 1.0),
        "watt" | "watts" => ("watt", D::Other(11), 1.0),
        "amp" | "amps" | "ampere" => ("amp", D::Other(12), 1.0),
        "mph" => ("mph", D::Other(13), 1.0),
        "kmh" | "kph" => ("kmh", D::Other(14), 1.0),
        "knot" | "knots" => ("knot", D::Other(21), 1.0),
        "pixel" | "pixels" | "px" => ("pixel", D::Other(15), 1.0),
        "mah" => ("mah", D::Other(16), 1.0),
        "kwh" => ("kwh", D::Other(17), 1.0),
        "hz" | "hertz" => ("hz", D::Other(18), 1.0),
        "khz" | "kilohertz" => ("khz", D::Other(18), 1e3),
        "mhz" | "megahertz" => ("mhz", D::Other(18), 1e6),
        "ghz" | "gigahertz" => ("ghz", D::Other(18), 1e9),
        "times" => ("times", D::Plain, 1.0),
        _ => return None,
    })
}

/// Units of one letter: they count right behind a number.
pub(super) fn short_unit(word: &str) -> Option<(Dimension, f64)> {
    use Dimension as D;
    Some(match word {
        "s" => (D::Seconds, 1.0),
        "h" => (D::Seconds, 3600.0),
        "g" => (D::Grams, 1.0),
        "l" => (D::Litres, 1.0),
        "c" => (D::Celsius, 1.0),
        "f" => (D::Celsius, f64::NAN),
        "v" => (D::Other(9), 1.0),
        "w" => (D::Other(11), 1.0),
        _ => return None,
    })
}

pub(super) fn multiplier(word: &str) -> Option<f64> {
    Some(match word {
        "k" | "thousand" | "grand" => 1e3,
        "hundred" => 100.0,
        "million" | "mio" | "mln" | "millions" => 1e6,
        "billion" | "bn" => 1e9,
        "dozen" => 12.0,
        _ => return None,
    })
}
