//! Chinese, Japanese and Korean texts, brought to one way of saying it before they are read.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::characters::is_hiragana;
use super::lines::{Line, lines};
use super::phrases::LONGEST;
use super::quoted;
use super::{east, korean};

/// What is said, where it has to stand, and what is written for it.
struct Way {
    said: &'static str,
    begins: bool,
    ends: bool,
    plain: &'static str,
}

#[derive(Default)]
struct Table {
    /// The longest first.
    same: Vec<Way>,
    greeting: Vec<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Chinese,
    Japanese,
    Korean,
}

static TABLES: LazyLock<[Table; 3]> = LazyLock::new(|| {
    let mut tables = <[Table; 3]>::default();
    for Line { code, kind, ways } in lines() {
        let Some(table) = ["zh", "ja", "ko"].iter().position(|known| *known == code) else { continue };
        if kind == "greeting" {
            tables[table].greeting.extend(ways);
            continue;
        }
        let plain = ways.clone().next().filter(|plain| *plain != "-").unwrap_or_default();
        for way in ways.filter(|way| *way != "-") {
            let (begins, ends) = (way.starts_with('^'), way.ends_with('$'));
            let said = way.trim_matches(['^', '$']).trim();
            tables[table].same.push(Way { said, begins, ends, plain });
        }
    }
    for table in &mut tables {
        table.same.sort_by_key(|way| std::cmp::Reverse(way.said.len()));
        table.greeting.sort_by_key(|way| std::cmp::Reverse(way.len()));
    }
    tables
});

fn is_hangul(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// The script of a text in one of these languages.
pub(super) fn script(text: &str) -> Option<Script> {
    let has = |is: fn(char) -> bool| text.chars().take(4000).any(is);
    if has(is_hangul) {
        Some(Script::Korean)
    } else if has(|c| is_hiragana(c) || ('\u{30a1}'..='\u{30fa}').contains(&c)) {
        Some(Script::Japanese)
    } else {
        has(is_han).then_some(Script::Chinese)
    }
}

/// A text in one way, and in Korean what is done to whom.
pub(super) fn plain(text: &str) -> Option<(String, Vec<String>)> {
    let script = script(text)?;
    if quoted::length(text) > LONGEST || text.contains(['"', '“', '「', '『', ':', '：', '\n', '`']) {
        return None;
    }
    let table = &TABLES[script as usize];
    let mut said: String = text.chars().map(narrow).collect();
    if script == Script::Chinese {
        said = simplified(&said);
    }
    let ends = ['。', '？', '?', '！', '!', '.', ' ', '，', ',', '、', '~', '～'];
    said = said.trim_end_matches(ends).trim_start().to_owned();
    // A greeting, a frame and an ending, one behind the other.
    for _ in 0..6 {
        let before = said.len();
        let greeted = table.greeting.iter().find_map(|way| said.strip_prefix(way));
        if let Some(rest) = greeted.filter(|rest| rest.starts_with(ends)) {
            said = rest.trim_start_matches(ends).to_owned();
        }
        said = same(&said, table);
        said = said.trim_end_matches(ends).trim_start_matches(ends).to_owned();
        if said.len() == before {
            break;
        }
    }
    if said.is_empty() {
        return None;
    }
    match script {
        Script::Chinese => Some((chinese(&said), Vec::new())),
        Script::Japanese => Some((japanese(&said), Vec::new())),
        Script::Korean => Some(korean::plain(&said)),
    }
}

/// A letter of full width as it is typed elsewhere.
fn narrow(c: char) -> char {
    match c {
        'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '０'..='９' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '－' => '-',
        '\u{3000}' => ' ',
        _ => c,
    }
}

fn same(text: &str, table: &Table) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let found = table.same.iter().find(|way| {
            rest.strip_prefix(way.said).is_some_and(|behind| {
                (!way.begins || out.is_empty())
                    && (!way.ends || behind.is_empty())
                    // Never all of it.
                    && !(way.plain.is_empty() && out.is_empty() && behind.is_empty())
            })
        });
        if let Some(way) = found {
            out.push_str(way.plain);
            rest = &rest[way.said.len()..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Verbs of which what stands before "how" may do it, or suffer it.
const EITHER: &str = "吃喝咬叫睡死跑飞看说打找帮";

fn chinese(text: &str) -> String {
    let mut said = percent(text);
    if let Some(remedy) = east::chinese_remedy(&said) {
        return remedy;
    }
    let one = !said.contains(['，', '。', '？', '！', '；', ',', '?', '!']);
    if !one {
        return said;
    }
    said = east::chinese(&said);
    // "怎么在微信里建群" is "微信怎么建群".
    if let Some(rest) = said.strip_prefix("怎么在")
        && let Some(at) = rest.find(['里', '上', '中'])
        && (1..=12).contains(&rest[..at].chars().count())
    {
        let (place, inside) = rest.split_at(at);
        let done = inside.chars().skip(1).collect::<String>();
        let done = done.strip_prefix('面').unwrap_or(&done);
        said = format!("{place}怎么{done}");
    }
    // "是怎么工作的"
    if said.contains("怎么") && said.ends_with('的') {
        said.pop();
    }
    // "红烧肉怎么做" is "怎么做红烧肉".
    if let Some((what, done)) = said.split_once("怎么")
        && !what.is_empty()
        && !done.is_empty()
        && !done.starts_with('样')
        && !done.starts_with(|c| EITHER.contains(c))
        && !done.contains("怎么")
    {
        said = format!("怎么{done}{what}");
    }
    // "哪里是首都" is "首都是哪里".
    for asked in ["哪里", "谁", "哪个"] {
        if let Some(what) = said.strip_prefix(asked).and_then(|rest| rest.strip_prefix('是')) {
            return format!("{what}是{asked}");
        }
    }
    said
}

/// "百分之二十" is "二十%".
fn percent(text: &str) -> String {
    let Some((before, rest)) = text.split_once("百分之") else { return text.to_owned() };
    let numeral =
        |c: char| c.is_ascii_digit() || c == '.' || super::characters::ideograph(c).is_some() || c == '点';
    let end = rest.find(|c| !numeral(c)).unwrap_or(rest.len());
    format!("{before}{}%{}", &rest[..end], percent(&rest[end..]))
}

/// How a Japanese sentence ends, plain or polite: "買えますか" and "買える" are "買え", "動きますか" and "動く" are "動き".
pub(super) fn polite(text: &str) -> String {
    const PLAIN: &str = "うくぐすつぬぶむ";
    const POLITE: &str = "いきぎしちにびみ";
    const OPEN: &str = "えけげせてねべめれいきぎしちにびみ";
    let said = text.trim_end_matches(['。', '？', '?', '！', '!']);
    let bare =
        ["のですか", "んですか", "のか", "の"].iter().find_map(|end| said.strip_suffix(end)).unwrap_or(said);
    if !bare.chars().any(is_hiragana) {
        return text.to_owned();
    }
    if let Some(stem) = ["ますか", "ます"].iter().find_map(|end| bare.strip_suffix(end)) {
        return stem.to_owned();
    }
    let mut rest = bare.chars();
    let (last, before) = (rest.next_back().unwrap_or(' '), rest.clone().next_back().unwrap_or(' '));
    let verb = is_han(before) || is_hiragana(before);
    if let Some(at) = PLAIN.chars().position(|c| c == last).filter(|_| verb) {
        return rest.chain(POLITE.chars().nth(at)).collect();
    }
    match last {
        'る' if OPEN.contains(before) => rest.collect(),
        'る' if is_han(before) => rest.chain(['り']).collect(),
        _ => text.to_owned(),
    }
}

/// "京都に電車で行く" is "電車で京都に行く": what stands before the verb, each with a particle of its own, in one order.
fn ordered(text: &str) -> Option<String> {
    const PARTICLES: [&str; 7] = ["が", "を", "に", "へ", "で", "から", "まで"];
    let mut parts: Vec<(usize, &str)> = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < text.len() {
        let run = text[at..].find(|c| !is_hiragana(c)).map_or(text.len(), |end| at + end);
        if run == at {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        match (&text[at..run], PARTICLES.iter().position(|particle| *particle == &text[at..run])) {
            _ if run == text.len() || at == 0 => break,
            // "茹で卵" is one word.
            (_, Some(_)) if text[..at].ends_with('茹') => {}
            (_, Some(which)) => {
                parts.push((which, &text[begin..run]));
                begin = run;
            }
            ("の", None) => {}
            // The verb.
            _ => break,
        }
        at = run;
    }
    let mut kinds: Vec<usize> = parts.iter().map(|(which, _)| *which).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // Another particle behind the verb begins another clause.
    let rest = &text[begin..];
    let clause = rest.contains(['を', 'が']) || rest.contains("から");
    if parts.len() < 2 || kinds.len() < parts.len() || clause {
        return None;
    }
    parts.sort_unstable();
    Some(parts.iter().map(|(_, part)| *part).chain([rest]).collect())
}

fn japanese(text: &str) -> String {
    east::japanese(&east::japanese_remedy(text).unwrap_or_else(|| arranged(text)))
}

fn arranged(text: &str) -> String {
    let mut said = text.to_owned();
    if said.contains(['。', '？', '?', '！', '!', '、']) {
        return said;
    }
    if let Some(ordered) = ordered(&said) {
        said = ordered;
    }
    // "パソコンが重いのはなぜ" is "なぜパソコンが重い".
    let trimmed = said.strip_suffix("ですか").unwrap_or(&said);
    if let Some(what) = trimmed.strip_suffix("のはなぜ") {
        return format!("なぜ{what}");
    }
    for adverb in ["なぜ", "いつ"] {
        if let Some((before, behind)) = said.split_once(adverb)
            && !before.is_empty()
            && !behind.contains(adverb)
            // "いつから", "いつも"
            && (adverb == "なぜ" || behind.chars().next().is_some_and(is_han))
            && !behind.is_empty()
        {
            said = format!("{adverb}{before}{behind}");
            break;
        }
    }
    // "音量を上げるには" asks for the way to do it.
    for end in [
        "にはどうすればいいですか",
        "にはどうしたらいいですか",
        "にはどうすればいい",
        "にはどうしたらいい",
        "には",
    ] {
        if let Some(done) = said.strip_suffix(end).filter(|done| does(done)) {
            return format!("{done}方法");
        }
    }
    for end in ["方法は", "方法は何ですか", "方法はありますか", "コツは"] {
        if let Some(done) = said.strip_suffix(end) {
            said = format!("{done}{}", &end[..6]);
            break;
        }
    }
    // "シミをどうやって落とす" is "シミを落とす方法". What "は" speaks of may do it itself.
    if let Some((what, done)) = said.split_once("どうやって")
        && let Some(what) = what.strip_suffix('を')
        && does(done)
    {
        return format!("{what}を{done}方法");
    }
    // "注文の変更方法" is "注文を変更する方法".
    if let Some(at) = said.find("方法") {
        let (before, behind) = said.split_at(at);
        let what = before.trim_end_matches(is_han);
        let done = &before[what.len()..];
        if let Some(what) = what.strip_suffix('の').filter(|_| done.chars().count() >= 2) {
            return format!("{what}を{done}する{behind}");
        }
    }
    said
}

/// Whether it ends as verbs do that are asked about.
fn does(text: &str) -> bool {
    text.ends_with(['う', 'く', 'ぐ', 'す', 'つ', 'ぬ', 'ぶ', 'む', 'る'])
}

/// Signs of traditional Chinese, each with the simplified one.
const TRADITIONAL: &str = "麼么請请開开關关網网買买賣卖個个們们來来時时間间問问題题電电腦脑話话機机號号碼码帳账戶户訂订單单費费錢钱價价貨货運运輸输郵邮發发設设備备變变換换轉转進进還还過过這这裡里裏里樣样為为對对說说讀读寫写學学\
    習习書书報报紙纸語语詞词譯译類类種种數数據据資资庫库檔档圖图畫画視视頻频聽听見见覺觉應应該该當当歲岁後后從从東东車车飛飞動动務务員员業业產产廠厂場场國国際际縣县鄉乡鎮镇樓楼層层衛卫藥药醫医療疗護护檢检\
    測测驗验證证許许認认識识記记錄录銀银貸贷稅税險险獎奖賺赚貴贵廣广長长門门閉闭啟启氣气溫温熱热風风雲云陽阳陰阴點点線线級级組组織织結结給给絕绝統统繼继續续約约純纯細细終终經经總总練练緊紧編编縮缩兩两億亿\
    萬万歷历曆历嗎吗嚴严園园圓圆團团塊块聲声壞坏夢梦頭头奪夺奮奋婦妇媽妈嬰婴孫孙寶宝實实審审導导專专將将尋寻屆届屬属岡冈島岛幣币師师帶带幫帮幹干廢废張张強强彈弹徑径復复複复恆恒惡恶愛爱慶庆憂忧懷怀態态慣惯\
    戰战戲戏擇择擊击擔担擴扩攝摄敗败敵敌斷断無无舊旧術术權权條条極极構构槍枪樂乐標标樹树橋桥檯台櫃柜歐欧歡欢殺杀氫氢漢汉決决沒没況况洩泄淨净減减滅灭滿满潔洁澤泽濃浓濕湿灣湾燈灯燒烧營营爐炉爭争爺爷牆墙獨独\
    獲获環环現现瑪玛畢毕異异癢痒癥症皺皱盜盗盤盘監监睜睁礎础禮礼禍祸離离稱称積积穩稳窮穷窩窝競竞筆笔節节築筑簡简簽签籃篮糧粮糾纠紀纪紅红納纳紛纷紐纽絲丝綁绑綠绿維维緩缓縱纵績绩繪绘罰罚羅罗職职聯联腫肿腸肠\
    膚肤膠胶臉脸臨临舉举舖铺艙舱艱艰藝艺蘋苹蘭兰處处虛虚蝦虾蟲虫補补裝装製制規规親亲觀观訊讯討讨訓训託托訪访評评試试詩诗詢询詳详誤误誰谁課课調调談谈論论諾诺謝谢講讲謎谜豐丰負负財财貧贫責责貼贴貿贸賀贺賓宾\
    賞赏賠赔賽赛贈赠贊赞趕赶趙赵跡迹踐践躍跃軟软較较輕轻輛辆輪轮輯辑辦办辭辞農农逕径連连週周遊游達达違违遠远適适遲迟遺遗選选鄰邻醬酱釋释針针鈴铃銷销鋼钢鍋锅鍵键鎖锁鏡镜鐘钟鐵铁鑰钥閃闪閱阅闆板隊队階阶隨随\
    雖虽雙双雜杂雞鸡難难靈灵靜静頁页頂顶項项順顺須须預预領领顆颗額额願愿顏颜顧顾顯显飯饭飲饮餅饼養养館馆饅馒馬马駕驾駛驶騎骑騙骗驚惊髮发鬆松鬧闹魚鱼鮮鲜鳥鸟鴨鸭鵝鹅麗丽麥麦麵面黃黄齊齐齒齿龍龙龜龟傳传優优\
    償偿傷伤僅仅儀仪儲储兒儿剛刚創创劃划劇剧劑剂勝胜勞劳勢势匯汇區区協协卻却參参吳吴啞哑喪丧喬乔嘗尝圍围執执墊垫壓压夠够妝妆";

fn simplified(text: &str) -> String {
    static PAIRS: LazyLock<FxHashMap<char, char>> = LazyLock::new(|| {
        let signs: Vec<char> = TRADITIONAL.chars().collect();
        signs.as_chunks::<2>().0.iter().map(|[sign, simple]| (*sign, *simple)).collect()
    });
    text.chars().map(|c| PAIRS.get(&c).copied().unwrap_or(c)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::TRADITIONAL;

    #[test]
    fn each_traditional_sign_has_one_simplified_one_which_is_another() {
        let signs: Vec<char> = TRADITIONAL.chars().collect();
        let (pairs, rest) = signs.as_chunks::<2>();
        assert!(rest.is_empty(), "{rest:?} has no simplified sign");
        let traditional: HashSet<char> = pairs.iter().map(|[sign, _]| *sign).collect();
        assert_eq!(traditional.len(), pairs.len(), "a sign stands twice");
        // So a simplified text stays as it is.
        let both: Vec<_> = pairs.iter().filter(|[_, simple]| traditional.contains(simple)).collect();
        assert!(both.is_empty(), "{both:?}");
    }
}
