//! Korean questions: how verbs end, what stands behind nouns, and where question words stand.

use crate::reasons::{all_passed, all_refused};

#[test]
fn a_verb_may_end_in_many_ways() {
    all_passed(
        &[
            ("비밀번호를 어떻게 바꾸나요", "비밀번호를 어떻게 바꿉니까"),
            ("버스가 언제 와요", "버스가 언제 오나요"),
            ("물을 어떻게 마셔요", "물을 어떻게 마시나요"),
            ("왜 안 돼", "왜 안 되나요"),
            ("빨래를 어떻게 해", "빨래를 어떻게 하여요"),
        ],
        0.92,
    );
    all_refused(&[("빨래를 어떻게 내요", "빨래를 어떻게 나여요"), ("갑니까", "가니까")], 0.92);
}

#[test]
fn what_asks_may_stand_elsewhere() {
    all_passed(
        &[
            ("월급은 왜", "왜 월급은"),
            ("빵은 어디서 사나요", "어디서 빵을 사나요"),
            ("몽골의 수도는 어디", "어디가 몽골의 수도"),
            ("어떻게 커피를 끓이는 방법", "커피를 끓이는 방법"),
            ("한국 수도는", "한국의 수도가"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("빵은 어디서 사나요", "빵은 어디서 파나요"),
            ("주의 뜻은 무엇", "주 뜻은 무엇"),
            ("고양이가 쥐를 먹나요", "고양이를 쥐가 먹나요"),
        ],
        0.92,
    );
}
