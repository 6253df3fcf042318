//! The same prompt in another layout: code, lists, paths, names.

use deja_guard::Prompt;

use crate::reasons::{all_passed, all_refused, verdict};

fn fenced(language: &str, code: &str) -> String {
    format!("What does this code do?\n```{language}\n{code}\n```")
}

/// The pairs of codes that are judged otherwise than they ought to be.
fn wrong(language: &str, pairs: &[(&str, &str)], passes: bool) -> Vec<String> {
    let judged = |(a, b): &&(&str, &str)| {
        let (a, b) = (fenced(language, a), fenced(language, b));
        let (there, back) = (verdict(&a, &b, 0.97), verdict(&b, &a, 0.97));
        assert_eq!(there, back, "{a} / {b}");
        there.refused.is_none() != passes
    };
    pairs.iter().filter(judged).map(|(a, b)| format!("{language}: {a:?} / {b:?}")).collect()
}

fn all_same(language: &str, pairs: &[(&str, &str)]) {
    assert!(wrong(language, pairs, true).is_empty(), "{:?}", wrong(language, pairs, true));
}

fn all_other(language: &str, pairs: &[(&str, &str)]) {
    assert!(wrong(language, pairs, false).is_empty(), "{:?}", wrong(language, pairs, false));
}

#[test]
fn python_in_another_layout() {
    all_same(
        "python",
        &[
            ("def f(a,b):\n  return a+b", "def f(a, b):\n    return a + b"),
            ("x = [\n    1,\n    2,\n]", "x = [1,2]"),
            ("x = {\"a\":1,\n     \"b\":2}", "x = {\"a\": 1, \"b\": 2}"),
            ("f(\n    a,\n    b,\n)", "f(a, b)"),
            ("x=-1; y=2;", "x = -1; y = 2"),
            ("x=1 # one", "x = 1 # one"),
            ("f(a, # b\n  c, # d\n e)", "f(a, # b\n  c, # d\n  e)"),
            ("if a:\n  f()\ng(x,y)", "if a:\n    f()\ng(x, y)"),
            ("if a:\n  if b:\n    f()\n  g()", "if a:\n    if b:\n        f()\n    g()"),
        ],
    );
    all_other(
        "python",
        &[
            ("if a:\n    f()\n    g()", "if a:\n    f()\ng()"),
            ("if a:\n\tf()\n\tg()", "if a:\n\tf()\ng()"),
            ("if a:\n    f()\n  g()", "if a:\n    f()\n    g()"),
            ("print('a, b')", "print('a,b')"),
            ("print('''a,\n b''')", "print('''a, b''')"),
            ("x = (1,)", "x = (1)"),
            ("x[1,]", "x[1]"),
            ("f(a,\n# b\n)", "f(a, # b )"),
            ("x = a\n-b", "x = a - b"),
            ("x = 1.5", "x = 1 .5"),
            ("x = 1.5", "x = 1. 5"),
            ("not a", "nota"),
            ("    f(a,b)\ng()", "    f(a, b)\ng()"),
            ("x = f\"{d[\"a  b\"]}\"", "x = f\"{d[\"a b\"]}\""),
            ("# it's a\nx = 1", "# it's  a\nx = 1"),
        ],
    );
}

#[test]
fn script_in_another_layout() {
    all_same(
        "js",
        &[
            ("let x=a+b;\nlet y=-x;", "let x = a + b\nlet y = -x"),
            ("function f() {\n\treturn 1;\n}", "function f()\n{ return 1 }"),
            ("fetch(u)\n  .then(g)\n  .then(h);", "fetch(u).then(g).then(h)"),
            ("const p = {a: 1, b: [2, 3,],};", "const p = {\n  a: 1,\n  b: [2, 3]\n}"),
            ("if (a) return;\nf();", "if (a) return\nf()"),
            ("f(() => { return 1; })", "f(() => { return 1 })"),
        ],
    );
    all_other(
        "js",
        &[
            ("return\nx", "return x"),
            ("return\n{ x }", "return { x }"),
            ("a = b;\n(c)", "a = b\n(c)"),
            ("a = b;\n[c].d", "a = b\n[c].d"),
            ("a = b;\n`c`", "a = b\n`c`"),
            ("a = b;\n/c/g", "a = b\n/c/g"),
            ("while (x);\nf()", "while (x)\nf()"),
            ("if (a) b; else;\nf()", "if (a) b; else\nf()"),
            ("a: while (x);\nf()", "a: while (x)\nf()"),
            ("for (;;) f()", "for (;) f()"),
            ("x = a - -b", "x = a --b"),
            ("x = a + +b", "x = a ++b"),
            ("[1,,2]", "[1,2]"),
            ("[1,,]", "[1,]"),
            ("s.split(/, /)", "s.split(/,/)"),
            ("s.split(/[/]  x/)", "s.split(/[/] x/)"),
            ("`a  ${b}`", "`a ${b}`"),
            ("f() // a\ng()", "f() // a g()"),
            ("x\n++y", "x++\ny"),
        ],
    );
}

#[test]
fn statements_that_a_semicolon_ends_in_another_layout() {
    all_same(
        "c",
        &[
            ("int main()\n{\n    return 0;\n}", "int main() { return 0; }"),
            ("if(x>0) y=1; else y=2;", "if (x > 0)\n    y = 1;\nelse\n    y = 2;"),
            ("int a[] = {1, 2,};", "int a[] = { 1, 2 };"),
        ],
    );
    all_other(
        "c",
        &[
            ("while (x);\nf();", "while (x)\nf();"),
            ("#define F (x) x\nint a;", "#define F(x) x\nint a;"),
            ("#define F x\nint a;", "#define F x int a;"),
            ("f(); // a\ng();", "f(); // a g();"),
            ("f(a,);", "f(a);"),
            ("puts(\"a  b\");", "puts(\"a b\");"),
            ("x = a - -b;", "x = a--b;"),
            ("x = a ? -b : c;", "x = a ?-b : d;"),
        ],
    );
    all_other(
        "rust",
        &[
            ("fn f() -> i32 { 1; }", "fn f() -> i32 { 1 }"),
            ("let x = (1,);", "let x = (1);"),
            ("f(r#\"a \" b  c \" d\"#);", "f(r#\"a \" b c \" d\"#);"),
        ],
    );
}

#[test]
fn queries_and_data_in_another_layout() {
    all_same(
        "sql",
        &[
            ("SELECT a,b FROM t WHERE id=5", "SELECT a, b\n  FROM t\n WHERE id = 5;"),
            ("SELECT a -- b\nFROM t", "SELECT a -- b\n  FROM t;"),
            ("-- c\nSELECT a,b FROM t", "-- c\nSELECT a, b FROM t"),
            ("select max(a) from t where b is null", "SELECT MAX(a) FROM t WHERE b IS NULL"),
        ],
    );
    all_other(
        "sql",
        &[
            ("SELECT a FROM t WHERE b = 'x y'", "SELECT a FROM t WHERE b = 'x  y'"),
            ("SELECT a -- b\nFROM t", "SELECT a -- b FROM t"),
            ("SELECT a FROM t", "SELECT A FROM t"),
            ("select a from t where b = 'select'", "SELECT a FROM t WHERE b = 'SELECT'"),
            ("SELECT COUNT (*) FROM t", "SELECT COUNT(*) FROM t"),
            ("SELECT a FROM t; SELECT b FROM t", "SELECT a FROM t SELECT b FROM t"),
            ("SELECT a FROM t WHERE b = 'x,\ny'", "SELECT a FROM t WHERE b = 'x, y'"),
        ],
    );
    all_same("json", &[("{\"a\":[1,2]}", "{\n  \"a\": [\n    1,\n    2\n  ]\n}")]);
    all_other(
        "json",
        &[
            ("{\"a\": [1, 2]}", "{\"a\": [1, 2,]}"),
            ("{\"a\": \"b,  c\"}", "{\"a\": \"b, c\"}"),
            ("{a: f(1,2)}", "{a: f(1, 2)}"),
        ],
    );
}

#[test]
fn style_sheets_in_another_layout() {
    all_same(
        "css",
        &[
            (".a { color: red; margin: 0 auto; }", ".a {\n  color: red;\n  margin: 0 auto\n}"),
            ("a:hover,\nb > i{color:blue!important}", "a:hover, b>i { color : blue !important; }"),
            ("@media (min-width: 9em) { p { top: 0 } }", "@media (min-width:9em){p{top:0;}}"),
            ("a::after { content: 'x y'; }", "a::after { content: \"x y\" }"),
            ("i { background: url(data:a;b,c) }", "i{background:url(data:a;b,c)}"),
        ],
    );
    all_other(
        "css",
        &[
            (".a .b { top: 0 }", ".a.b { top: 0 }"),
            ("a :hover { top: 0 }", "a:hover { top: 0 }"),
            ("p { margin: 0 auto }", "p { margin: 0auto }"),
            ("p { width: calc(1px + 2px) }", "p { width: calc(1px +2px) }"),
            ("a::after { content: 'x  y' }", "a::after { content: 'x y' }"),
            ("p { top: 0 } i { top: 1 }", "p { top: 0 i { top: 1 } }"),
            ("p { top: 0; // a\nleft: 0 }", "p { top: 0; // a left: 0 }"),
        ],
    );
    all_same("", &[(".a { top: 0; }", ".a{top:0}"), ("ul li{left:0}", "ul li {\n  left: 0;\n}")]);
}

#[test]
fn yaml_in_another_layout() {
    let same = [
        ("a:\n  b: 1\n  c:\n    - x\n    - y", "a:\n    b: 1\n    c:\n    - x\n    - y"),
        ("- a: 1\n  b: 2\n- c: 3", "-   a:  1\n    b: 2\n-   c: 3"),
        ("a:\n  # b\n  c: 1", "a:\n    # b\n    c: 1"),
    ];
    all_same("yaml", &same);
    all_same("", &same[..1]);
    all_other(
        "yaml",
        &[
            ("a:\n  b: 1\n  c: 2", "a:\n  b: 1\nc: 2"),
            ("a:\n  b:\n    c: 1", "a:\n  b:\n  c: 1"),
            ("- a: 1\n  b: 2", "- a: 1\n- b: 2"),
            ("a: |\n  x\n    y", "a: |\n  x\n  y"),
            ("a: \"x\n  y\"", "a: \"x\n    y\""),
            ("a:\n    b: 1\n  c: 2", "a:\n  b: 1\n  c: 2"),
            ("a: b  c", "a: b c"),
            ("a:\n\tb: 1", "a:\n  b: 1"),
        ],
    );
    let asked = |data: &str| format!("Is the indentation right?\n```yaml\n{data}\n```");
    assert!(verdict(&asked("a:\n  b: 1"), &asked("a:\n    b: 1"), 0.97).refused.is_some());
    let bare = |data: &str| format!("Why is my mapping not read?\n{data}");
    assert_eq!(verdict(&bare("a:\n  b:\n    c"), &bare("a:\n    b:\n        c"), 0.97).refused, None);
    assert!(verdict(&bare("a:\n  b:\n    c"), &bare("a:\n  b:\n  c"), 0.97).refused.is_some());
    assert!(verdict(&bare("a:\n\tb"), &bare("a:\n    b"), 0.97).refused.is_some());
}

#[test]
fn both_quotes_are_one_in_python_and_javascript() {
    for language in ["python", "js"] {
        all_same(language, &[("f('a b', \"c\")", "f(\"a b\", 'c')"), ("x = ''", "x = \"\"")]);
        all_other(
            language,
            &[
                ("f('a\"b')", "f(\"a'b\")"),
                ("f('a\\n')", "f(\"a\\\\n\")"),
                ("f(\"it's 'x'\")", "f(\"it's \\\"x\\\"\")"),
                ("f('a  b')", "f('a b')"),
            ],
        );
    }
    all_other(
        "js",
        &[("f(`it is 'x'`)", "f(`it is \"x\"`)"), ("s.split(/'/) + f(/'/)", "s.split(/\"/) + f(/\"/)")],
    );
    for language in ["sql", "c", "rust", "ruby", "json"] {
        all_other(language, &[("f('a')", "f(\"a\")")]);
    }
    all_passed(
        &[
            ("In Python, why does d['k'] fail?", "In Python, why does d[\"k\"] fail?"),
            ("In Python, what is `x['k']`?", "In Python, what is `x[\"k\"]`?"),
            ("What does console.log('a') print?", "What does console.log(\"a\") print?"),
        ],
        0.97,
    );
    all_refused(
        &[
            ("In bash, what does f('k') do?", "In bash, what does f(\"k\") do?"),
            ("Is d['k'] valid?", "Is d[\"k\"] valid?"),
            ("Which quotes has d['k'] in Python?", "Which quotes has d[\"k\"] in Python?"),
            ("From Python to SQL, what is f('k')?", "From Python to SQL, what is f(\"k\")?"),
        ],
        0.97,
    );
}

#[test]
fn a_question_before_code_in_one_line() {
    all_passed(
        &[
            ("Is this config valid JSON? {\"a\": 1}", "Is this config valid JSON?\n{\n  \"a\": 1\n}"),
            ("Explain what this does: a{top:0}", "Explain what this does:\na { top: 0; }"),
        ],
        0.97,
    );
    all_refused(
        &[
            ("Is this config valid JSON? {\"a\": 1}", "Is this config valid YAML? {\"a\": 1}"),
            ("Is this config valid JSON? {\"a\": 1}", "Is this config valid JSON? {\"a\": 2}"),
        ],
        0.97,
    );
}

#[test]
fn commands_in_another_layout() {
    all_same(
        "bash",
        &[
            ("ls  -la   /tmp", "ls -la /tmp"),
            ("curl -X POST \\\n  -d a=1 \\\n  example.com", "curl -X POST -d a=1 example.com"),
            ("cd /tmp;\nls;", "cd /tmp\nls"),
            ("grep 'a b' f", "grep \"a b\" f"),
            ("if true; then\n  ls\nfi", "if true; then\n\tls\nfi"),
        ],
    );
    all_other(
        "bash",
        &[
            ("rm -rf foo /bar", "rm -rf foo/bar"),
            ("echo '$x'", "echo \"$x\""),
            ("echo 'a\\b'", "echo \"a\\b\""),
            ("x = 1", "x=1"),
            ("[ $a=b ]", "[ $a = b ]"),
            ("echo \"a  b\"", "echo \"a b\""),
            ("echo \"a  b\" c", "echo \"a b\" c"),
            ("# it's\necho 'a  b' # it's", "# it's\necho 'a b' # it's"),
            ("echo a\\  b", "echo a\\ b"),
            ("cat <<E\na  b\nE", "cat <<E\na b\nE"),
            ("case $a in x) ls;;\nesac", "case $a in x) ls\nesac"),
            ("find . -exec ls {} \\;", "find . -exec ls {} \\"),
            ("cd /tmp\nls", "cd /tmp ls"),
            ("echo 'a\\\nb'", "echo 'ab'"),
        ],
    );
}

/// Where nothing says what language it is, its looks do.
#[test]
fn code_of_no_name_in_another_layout() {
    all_same(
        "",
        &[
            ("a := f(1,2)\nreturn a", "a := f(1, 2)\nreturn a"),
            ("for (int i=0; i<3; i++) {\n    f(i);\n}", "for (int i = 0; i < 3; i++) {\n  f(i);\n}"),
            ("{\"a\":1}", "{ \"a\": 1 }"),
            ("SELECT a FROM t", "SELECT a\nFROM t;"),
            ("const a = 1;\nconsole.log(a);", "const a = 1\nconsole.log(a)"),
            ("def f(a,b):\n  return a", "def f(a, b):\n    return a"),
            ("[f(a,b)]", "[f(a, b)]"),
            ("a := f(\n  1,\n  2\n)", "a := f(1, 2)"),
            ("f(a, -b)\ng(1)", "f(a,-b)\ng(1)"),
            ("f('ab', 1)\ng(1)", "f(\"ab\", 1)\ng(1)"),
        ],
    );
    all_other(
        "",
        &[
            ("x=1", "x = 1"),
            ("f('a')\ng(1)", "f(\"a\")\ng(1)"),
            ("f('$ab')\ng(1)", "f(\"$ab\")\ng(1)"),
            ("LOWER('ab')\ng(1)", "LOWER(\"ab\")\ng(1)"),
            ("a: f(b)\nc:d", "a: f(b)\nc: d"),
            ("f(x)\ng -y", "f(x)\ng - y"),
            ("f(x)\n  y", "f(x)\ny"),
            ("f(x)\na,\nb", "f(x)\na, b"),
            ("a:b,c", "a:b, c"),
            ("a: 'b'(c,d)", "a: 'b'(c, d)"),
            ("with:\n  a: f(b)\n  c:d", "with:\n  a: f(b)\n  c: d"),
            ("x := f(`a  b`)", "x := f(`a b`)"),
            ("f (x, y)\ng(x)", "f(x, y)\ng(x)"),
            ("x = f(y);", "x = f(y)"),
        ],
    );
    for language in ["yaml", "html", "css", "haskell"] {
        all_other(language, &[("a .b(c)", "a.b(c)"), ("a:\n  b: f(1,2)", "a:\n  b: f(1, 2)")]);
    }
    for question in ["Where is a semicolon missing?", "What does line 2 do?", "Is it formatted well?"] {
        let asked = |code: &str| fenced("js", code).replace("What does this code do?", question);
        assert!(verdict(&asked("let a = 1;\nf(a)"), &asked("let a=1\nf(a)"), 0.97).refused.is_some());
    }
    let (python, script) = (fenced("python", "f(a,b)"), fenced("js", "f(a, b)"));
    assert!(verdict(&python, &script, 0.97).refused.is_some());
    let (ticks, tildes) = (fenced("", "puts 1"), fenced("", "puts 1").replace("```", "~~~"));
    assert_eq!(verdict(&ticks, &tildes, 0.97).refused, None);
    assert!(verdict(&tildes, &tildes.replace('1', "2"), 0.97).refused.is_some());
}

#[test]
fn what_stands_in_backticks_in_another_layout() {
    all_passed(
        &[
            ("In Python, is `x+=1` allowed?", "In Python, is `x += 1` allowed?"),
            ("What does `f(a,b)` return?", "What does `f(a, b)` return?"),
            ("How do I edit `~/.vimrc`?", "How do I edit `.vimrc`?"),
        ],
        0.97,
    );
    all_refused(
        &[
            ("Is `x=1` allowed?", "Is `x = 1` allowed?"),
            ("In bash, is `x=1` allowed?", "In bash, is `x = 1` allowed?"),
            ("In Python, what is `(1,)`?", "In Python, what is `(1)`?"),
            ("In YAML, what is `f(a:b)`?", "In YAML, what is `f(a : b)`?"),
            ("In CSS, what is `f(a:b)`?", "In CSS, what is `f(a : b)`?"),
            ("In Python, what is `'a, b'`?", "In Python, what is `'a,b'`?"),
        ],
        0.97,
    );
}

#[test]
fn lists_have_one_form() {
    let asked = |list: &str| format!("What is my BMI?\n{list}");
    let lines = asked("Age: 30\nWeight: 80 kg");
    for same in [
        "Age = 30\nWeight = 80 kg",
        "Age 30\nWeight 80 kg",
        "- Age: 30\n- Weight: 80 kg",
        "* Age = 30\n* Weight = 80 kg",
        "1. Age: 30\n2. Weight: 80 kg",
        "| Age | Weight |\n|---|---|\n| 30 | 80 kg |",
        "| Field | Value |\n|:--|--:|\n| Age | 30 |\n| Weight | 80 kg |",
    ] {
        assert_eq!(verdict(&lines, &asked(same), 0.92).refused, None, "{same}");
    }
    for other in [
        "Age = 80\nWeight = 30 kg",
        "Age = 30\nWeight = 85 kg",
        "| Age | Weight |\n|---|---|\n| 80 | 30 kg |",
    ] {
        assert!(verdict(&lines, &asked(other), 0.97).refused.is_some(), "{other}");
    }
    all_passed(
        &[
            ("What can I cook?\n- eggs\n- rice\n- leeks", "What can I cook?\n\n1) eggs\n2) rice\n3) leeks"),
            ("Sort by age:\n  - oak\n  - fern", "Sort by age:\n• oak\n• fern"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("What is the sum?\n- 5\n- 7", "What is the sum?\n-5\n-7"),
            ("What is the sum?\n2. 5\n4. 7", "What is the sum?\n- 5\n- 7"),
            ("Where am I?\nCity = Rome\nZip = 101", "Where am I?\nCity: Oslo\nZip: 101"),
            (
                "Which is dear?\n| Plan | Price |\n|-|-|\n| A1 | 5 |\n| Bb | 9 |",
                "Which is dear?\nPlan: Price\nA1: 9\nBb: 5",
            ),
            ("Who wins?\nTeam = Reds\nScore = 3", "Who wins?\nTeam: Blues\nScore: 3"),
            ("Is it fine?\nIron = 90\nFerritin = 40", "Is it fine?\nIron: 90\nTransferrin: 40"),
            ("What is my BMI?\nAge = 30\nWeight = 80 kg", "What is my BMR?\nAge = 30\nWeight = 80 kg"),
            ("Is this list Markdown?\n- a\n- b", "Is this list Markdown?\n1. a\n2. b"),
            ("Apply:\n- a\n- b\n+ c", "Apply:\na\nb\n+ c"),
            ("Is it valid?\n```\nAge = 3\nBmi = 4\n```", "Is it valid?\n```\nAge: 3\nBmi: 4\n```"),
        ],
        0.97,
    );
}

#[test]
fn a_file_at_home_needs_no_path() {
    all_passed(
        &[
            ("How do I reload ~/.bashrc?", "How do I reload .bashrc?"),
            ("Where is my ~/.ssh/config?", "Where is my .ssh/config?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("How do I load ~/.env?", "How do I load .env?"),
            ("Where is ~/.bashrc?", "Where is /etc/.bashrc?"),
            ("How do I load `~/.npmrc`?", "How do I load `.npmrc`?"),
        ],
        0.97,
    );
}

#[test]
fn names_of_code_have_a_case_and_arrows_an_end() {
    all_refused(
        &[
            ("What does a -> b mean here?", "What does b -> a mean here?"),
            ("What does a -> b mean here?", "What does a <- b mean here?"),
            ("Is the cast int => long safe?", "Is the cast long => int safe?"),
            ("What does foo() return?", "What does Foo() return?"),
            ("Where is myClass defined?", "Where is MyClass defined?"),
            ("What does the function Map do?", "What does the function map do?"),
            ("What does getUser return?", "What does getuser return?"),
            ("What does httpClient do in Go?", "What does HttpClient do in Go?"),
        ],
        0.97,
    );
    all_passed(
        &[
            ("What does MAX(x) return?", "What does max(x) return?"),
            ("Which Item(s) may I return?", "Which item(s) may I return?"),
            ("How do getUser and getuser differ?", "how do getUser and getuser differ"),
            ("Is WhatsApp down?", "is whatsApp down"),
            ("foo() returns what?", "Foo() returns what?"),
            ("How do I use iPhone in class?", "How do I use IPhone in class?"),
        ],
        0.92,
    );
}

#[test]
fn a_prompt_that_shows_nothing_is_like_no_other() {
    all_refused(&[("\u{200b}", "\u{200d}"), ("\u{200b}", "\u{200b}\u{200b}"), ("\u{1}", "\u{2} ")], 1.0);
    all_passed(
        &[
            ("\u{200b}\u{feff}", "\u{200b}\u{feff}"),
            ("What is\u{200b} a verb?", "What is a\u{feff} verb?"),
            ("\u{200b}", "\u{200b}?"),
        ],
        0.92,
    );
    let judge = |a: &str, b: &str| {
        deja_guard::judge(&Prompt::read(a), &Prompt::read(b), 1.0, 0.6, deja_guard::Strictness::Standard)
    };
    assert!(judge("\u{200b}", "\u{200d}").refused.is_some());
}
