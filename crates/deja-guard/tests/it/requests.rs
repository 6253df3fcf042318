//! What is asked of code, in other words around the same code.

use crate::reasons::{all_passed, all_refused};

/// One answer serves whatever frame stands around the same code, and wherever it stands.
#[test]
fn a_frame_around_the_same_code_says_nothing() {
    all_passed(
        &[
            ("what does =SUM(A1:A9,\">5\") do", "Explain this Excel formula: =SUM(A1:A9, \">5\")"),
            ("Is this valid JSON? {\"a\": [1, 2]}", "is {\"a\":[1,2]} valid json"),
            ("convert this json to yaml: {\"a\": 1}", "Please turn this JSON into YAML:\n{\"a\": 1}"),
            ("what's wrong with SELECT * FORM users", "SELECT * FORM users - what is wrong?"),
            ("derivative of sin(x)*cos(x)", "What is the derivative of sin(x) * cos(x)?"),
            ("refactor foo(x) { return x }", "Please clean up this code: foo(x) { return x }"),
            ("What does this do?\n```go\nf(1)\n```", "Explain this Go function:\n```go\nf(1)\n```"),
            ("What is printed?\n```js\nf(1)\n```", "what's the output of this snippet?\n```js\nf(1);\n```"),
            ("Find the bug:\n```js\nf(1)\n```", "This function has a bug. Where is it?\n```js\nf(1)\n```"),
            (
                "Speed this up:\n```sql\nSELECT 1 FROM t\n```",
                "How can I make this query faster?\n```sql\nselect 1 from t;\n```",
            ),
        ],
        0.92,
    );
    all_refused(
        &[
            ("what does =SUM(A1:A9,\">5\") do", "Explain this Excel formula: =SUM(A1:A9, \"<5\")"),
            ("Is this valid JSON? {\"a\": [1, 2]}", "is {\"a\":[1,2]} valid yaml"),
            ("convert this json to yaml: {\"a\": 1}", "Please turn this JSON into TOML:\n{\"a\": 1}"),
            ("Rename this class:\n```js\nf(1)\n```", "Rename this function:\n```js\nf(1)\n```"),
            ("Explain this Ruby code:\n```\nf(1)\n```", "Explain this Python code:\n```\nf(1)\n```"),
            ("What is printed?\n```js\nf(1)\n```", "what's the output of this snippet?\n```js\nf(2);\n```"),
            ("What is printed?\n```js\nf(1)\n```", "What is returned?\n```js\nf(1)\n```"),
            ("What does `.a .b` select?", "What does `.a.b` select?"),
            ("Explain `$a - b`", "What does `$a-b` mean?"),
            ("What does return 0; mean in C?", "What does mean 0; return in C?"),
            ("remove foo() from the list", "remove the list from foo()"),
            ("Explain `Foo` in Java", "What does `foo` do in Java?"),
            ("how do i call arr.map() in javascript", "how do i call arr.map() in java"),
        ],
        0.92,
    );
}

/// Who pastes an error alone wants to know what it means, where it comes from and what to do.
#[test]
fn an_error_alone_asks_all_about_it() {
    let error = "ModuleNotFoundError: No module named 'yaml'";
    all_passed(
        &[
            (error, "how do i fix ModuleNotFoundError: No module named 'yaml'"),
            (error, "What does ModuleNotFoundError: No module named 'yaml' mean?"),
            ("How do I solve fatal: not a git repository?", "fatal: not a git repository, what should I do?"),
        ],
        0.92,
    );
    all_refused(
        &[
            (error, "how do i fix ModuleNotFoundError: No module named 'toml'"),
            (error, "how do i reproduce ModuleNotFoundError: No module named 'yaml'"),
        ],
        0.92,
    );
}

#[test]
fn another_task_for_the_same_code_is_another_request() {
    all_refused(
        &[
            ("Write tests for add(a,b)", "Review add(a,b)"),
            ("Optimize f(x, 1)", "Explain f(x, 1)"),
            ("Explain `f(x, 1)`", "What does `f(x, 1)` return?"),
            ("Find the bug: `f(x, 1)`", "Review `f(x, 1)`"),
            ("Refactor `f(x, 1)`", "Document `f(x, 1)`"),
            ("Explain f(x) and test it", "Explain f(x)"),
            ("Is there a bug in f(x, 1)?", "How do I make f(x, 1) faster?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Write tests for add(a,b)", "Please add tests for add(a, b)"),
            (
                "difference between == and === in js",
                "what is the difference between == and === in javascript?",
            ),
            ("Is there a bug in this?\n```\nf(1)\n```", "Does this code have a bug?\n```\nf(1)\n```"),
            ("How can I improve this?\n```\nf(1)\n```", "Suggest improvements to this code:\n```\nf(1)\n```"),
            ("What does f(x, 1) print?", "What is the output of f(x, 1)?"),
        ],
        0.92,
    );
}

#[test]
fn a_keyword_before_a_call_and_the_operands_of_an_instruction() {
    all_refused(
        &[
            ("in go, what does defer wg.Done() do", "in go, what does go wg.Done() do"),
            ("what happens on return f(x)", "what happens on throw f(x)"),
            ("what does mov eax, ebx do", "what does mov ebx, eax do"),
            ("what does `sub r1,r2` do", "what does `sub r2,r1` do"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("in go, what does defer wg.Done() do", "What does `defer wg.Done()` do in Go?"),
            ("what does mov eax, ebx do", "What does `mov eax, ebx` do?"),
            ("do cats, dogs and birds see colors", "do dogs, cats and birds see colors"),
        ],
        0.92,
    );
}

/// A message of a program is pasted, so nobody says it in other words.
#[test]
fn another_word_in_a_message_is_another_message() {
    all_refused(
        &[
            (
                "x509: certificate signed by unknown authority in docker pull",
                "x509: certificate has expired or is not yet valid in docker pull",
            ),
            (
                "why do I get fatal: refusing to merge unrelated histories",
                "why do I get fatal: refusing to fetch into current branch",
            ),
        ],
        0.92,
    );
    all_passed(
        &[
            (
                "x509: certificate signed by unknown authority in docker pull",
                "docker pull says x509: certificate signed by unknown authority",
            ),
            ("Error: where is my order?", "Error: where's my order?"),
        ],
        0.92,
    );
}

#[test]
fn quotes_count_around_what_is_filled_in() {
    all_refused(
        &[
            ("Explain echo '$HOME'", "what does echo \"$HOME\" do"),
            ("what does cd .. do", "what does cd . do"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Explain echo 'hello'", "Explain echo \"hello\""),
            ("what is '$HOME'", "what is $HOME"),
            ("I went to the cd .. shop, is it open?", "I went to the cd .. shop, is it open"),
        ],
        0.92,
    );
}

/// What is done may stand before what it gives, or behind it.
#[test]
fn what_code_gives_is_a_symptom_of_it() {
    let asked = "Why do I get a 415 from curl -X POST https://api.example.com/items?";
    all_passed(
        &[
            ("curl -X POST https://api.example.com/items gives 415, why", asked),
            ("why does f(1) return null", "f(1) returns null, why?"),
            ("how do i merge with dict.update()", "in python, how can i merge with dict.update()"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("curl -X POST https://api.example.com/items gives 401, why", asked),
            ("curl -X PUT https://api.example.com/items gives 415, why", asked),
            ("how do i merge with dict.update()", "in julia, how can i merge with dict.update()"),
        ],
        0.92,
    );
}

/// Blanks beside signs, and marks around all of the code.
#[test]
fn code_may_be_laid_out_and_quoted_in_another_way() {
    all_passed(
        &[
            ("solve 2x + 5 = 17 for x", "solve for x: 2x+5=17"),
            ("what does “x = 1” do", "what does x = 1 do"),
            ("Explain this regex: ^[a-z]+$", "What does the regex ^[a-z]+$ match?"),
            ("what is fmt.Println(1) in go", "what is fmt.Println(1)"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("select Count(x) explain it", "explain select count(x)"),
            ("what is console.log(1) in javascript", "what is console.log(1)"),
        ],
        0.92,
    );
}

/// "ENOENT" names an error.
#[test]
fn the_code_of_an_error_is_a_message() {
    all_passed(&[("fix ENOENT: no such file", "ENOENT: no such file")], 0.92);
}
