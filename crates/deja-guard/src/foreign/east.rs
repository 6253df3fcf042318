//! Chinese and Japanese questions whose parts may stand elsewhere: differences, reasons, ways to do something, who did it, and what to
//! do about it.

/// What begins or ends what happened.
const CHINESE_IF: [&str; 6] = ["如果", "要是", "假如", "万一", "假设", "若"];
const CHINESE_ENDS: [&str; 6] = ["的话", "的时候", "了", "时", "该", "我"];

/// "手机掉水里了，怎么办" is "怎么办手机掉水里".
pub(super) fn chinese_remedy(text: &str) -> Option<String> {
    let marks = ['，', ',', '？', '?', '。', ' ', '！', '、'];
    let happened = text.strip_suffix("怎么办").or_else(|| text.strip_prefix("怎么办"))?;
    let mut happened = happened.trim_matches(marks);
    if let Some(rest) = CHINESE_IF.iter().find_map(|when| happened.strip_prefix(when)) {
        happened = rest;
    }
    while let Some(rest) = CHINESE_ENDS.iter().find_map(|end| happened.strip_suffix(end)) {
        happened = rest.trim_end_matches(marks);
    }
    (!happened.is_empty()).then(|| format!("怎么办{happened}"))
}

/// One sentence with its question word first, and two things that are compared in one order.
pub(super) fn chinese(text: &str) -> String {
    const WAYS: [&str; 5] = ["的方法", "的办法", "的步骤", "的方式", "的操作方法"];
    const COMPARED: [&str; 4] = ["有什么区别", "哪个好", "哪个更好", "哪一个好"];
    for asked in COMPARED {
        if let Some(two) = text.strip_suffix(asked)
            && let Some(two) = both(two.strip_suffix("之间").unwrap_or(two), &['和', '与', '跟', '同', '及'])
        {
            return format!("{}和{}{asked}", two[0], two[1]);
        }
    }
    if let Some((what, rest)) = text.split_once("为什么")
        && !rest.contains("为什么")
        && !what.is_empty()
        && !rest.is_empty()
    {
        return format!("为什么{what}{rest}");
    }
    if let Some((what, done)) = text.split_once("是谁")
        && let Some(done) = done.strip_suffix('的')
        && !what.is_empty()
        && !done.is_empty()
    {
        return format!("谁{done}了{what}");
    }
    let text = text.strip_prefix(['把', '将']).filter(|rest| rest.contains("翻译")).unwrap_or(text);
    if !text.contains("怎么")
        && let Some(done) = WAYS.iter().find_map(|way| text.strip_suffix(way)).filter(|done| !done.is_empty())
    {
        return format!("怎么{done}");
    }
    // "在微信里怎么建群"
    if let Some((place, rest)) = text.strip_prefix('在').and_then(|text| text.split_once("怎么"))
        && let Some(place) = ["里面", "里", "上", "中"].iter().find_map(|end| place.strip_suffix(end))
        && !place.is_empty()
    {
        return format!("{place}怎么{rest}");
    }
    text.to_owned()
}

/// Two things that one of `marks` parts, sorted.
fn both<'a>(text: &'a str, marks: &[char]) -> Option<[&'a str; 2]> {
    let (x, y) = text.split_once(marks)?;
    let whole = |thing: &str| !thing.is_empty() && !thing.contains(marks);
    let mut two = [x, y];
    two.sort_unstable();
    (whole(x) && whole(y)).then_some(two)
}

/// "スマホを落としたのですが、どうすればいいですか" is "スマホを落としたときの対処法".
pub(super) fn japanese_remedy(text: &str) -> Option<String> {
    const ASKS: [&str; 10] = [
        "どうすればいいですか",
        "どうしたらいいですか",
        "どうすればいいでしょうか",
        "どうしたらいいでしょうか",
        "どうすればよいですか",
        "どうすればいい",
        "どうしたらいい",
        "どうすべきですか",
        "何をすればいいですか",
        "の対処法",
    ];
    const ENDS: [&str; 13] = [
        "のですが", "んですが", "のですけど", "んですけど", "のだけど", "んだけど", "場合には", "場合は",
        "場合", "ときは", "とき", "時は", "時",
    ];
    let happened = ASKS.iter().find_map(|ask| text.strip_suffix(ask))?.trim_end_matches(['、', '。', ' ']);
    // "音量を上げるには" asks how.
    if happened.ends_with("には") && !happened.ends_with("場合には") {
        return None;
    }
    let bare = ENDS.iter().find_map(|end| happened.strip_suffix(end));
    let bare = bare.map(str::to_owned).or_else(|| {
        let polite = happened.strip_suffix("ました").or_else(|| happened.strip_suffix("ましたが"));
        let past = polite.map(|stem| format!("{stem}た"));
        past.or_else(|| {
            happened.strip_suffix('ら').filter(|past| past.ends_with(['た', 'だ'])).map(str::to_owned)
        })
    })?;
    (!bare.is_empty() && !bare.contains(['。', '？'])).then(|| format!("{bare}ときの対処法"))
}

/// One sentence, its parts where other ways to ask have them.
pub(super) fn japanese(text: &str) -> String {
    let text = text.strip_suffix("を教えて").unwrap_or(text);
    if let Some(two) = text.strip_suffix("の違い")
        && let Some([x, y]) = both(two, &['と'])
    {
        return format!("{x}と{y}の違い");
    }
    // "電話を発明したのは誰" is "誰が電話を発明した".
    for asked in ["のは誰", "人は誰"] {
        if let Some(done) =
            text.strip_suffix(asked).filter(|done| done.contains('を') && !done.contains('が'))
        {
            return format!("誰が{done}");
        }
    }
    // "なぜ空が青い", "なぜ空は青い"
    if let Some(rest) = text.strip_prefix("なぜ").filter(|rest| rest.matches(['は', 'が']).count() == 1) {
        return format!("なぜ{}", rest.replace('が', "は"));
    }
    // "面積を求める方法" is "面積の求め方".
    if let Some((what, verb)) = text.strip_suffix("方法").and_then(|done| done.rsplit_once('を'))
        && let Some(stem) = stem(verb)
    {
        return format!("{what}の{stem}方");
    }
    text.to_owned()
}

/// What a verb of one ideograph and its ending has before "方": "求める" has "求め".
fn stem(verb: &str) -> Option<String> {
    const PLAIN: &str = "うくぐすつぬぶむ";
    const POLITE: &str = "いきぎしちにびみ";
    const SHORT: &str = "見着出寝似煮得経";
    let mut signs = verb.chars();
    let (first, last) = (signs.next()?, signs.next_back()?);
    let inside = signs.as_str();
    let han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    if !han(first) || inside.contains(han) || inside.chars().count() > 2 {
        return None;
    }
    if last != 'る' {
        let at = PLAIN.chars().position(|c| c == last)?;
        return Some(format!("{first}{inside}{}", POLITE.chars().nth(at)?));
    }
    let open = inside
        .chars()
        .next_back()
        .map_or(SHORT.contains(first), |c| "えけげせてでねへべめれいきぎしじちにひびみり".contains(c));
    Some(format!("{first}{inside}{}", if open { "" } else { "り" }))
}
