//! Against ONNX Runtime f32 (itself checked against numpy): data/golden.*, made by benches/onnx_compare.py --golden.

use deja_embed::{Kernel, Model};

use crate::{cosine, vector};

fn texts() -> Vec<String> {
    serde_json::from_str(include_str!("data/golden.json")).unwrap()
}

fn references() -> Vec<Vec<f32>> {
    let values: Vec<f32> =
        include_bytes!("data/golden.f32").as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    values.chunks_exact(384).map(<[f32]>::to_vec).collect()
}

#[test]
fn token_ids_are_those_of_the_reference() {
    let want: Vec<Vec<u32>> = serde_json::from_str(include_str!("data/golden.ids.json")).unwrap();
    let session = Model::builtin().unwrap().session();
    for (text, want) in texts().iter().zip(want) {
        assert_eq!(session.tokenize(text).unwrap(), Some(want), "{text:?}");
    }
}

#[test]
fn vectors_are_close_to_the_f32_reference() {
    let mut session = Model::builtin().unwrap().session();
    let (texts, want) = (texts(), references());
    assert_eq!(texts.len(), want.len());
    let have: Vec<_> = texts.iter().map(|text| vector(&mut session, text)).collect();
    let mut sum = 0.0;
    for ((have, want), text) in have.iter().zip(&want).zip(&texts) {
        let cosine = cosine(have.as_slice(), want);
        assert!(cosine >= 0.99, "{cosine} for {text:?}");
        sum += cosine;
    }
    let mean = sum / texts.len() as f64;
    assert!(mean >= 0.997, "mean {mean}");
    for i in 0..have.len() {
        for j in 0..i {
            let gap = cosine(have[i].as_slice(), have[j].as_slice()) - cosine(&want[i], &want[j]);
            assert!(gap.abs() < 0.03, "similarity off by {gap}: {:?} and {:?}", texts[i], texts[j]);
        }
    }
}

#[test]
fn every_kernel_gives_the_same_bits() {
    let model = Model::builtin().unwrap();
    let mut portable = model.session_on(Kernel::Portable);
    // Sizes around the tiles and the blocks of rows.
    let ids: Vec<Vec<u32>> = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130]
        .map(|n| (0..n).map(|i| 1000 + i * 31).collect())
        .into();
    for kernel in Kernel::available() {
        let mut session = model.session_on(kernel);
        for ids in &ids {
            let (have, want) = (session.encode(&[ids]).unwrap(), portable.encode(&[ids]).unwrap());
            assert!(
                have.iter().map(|v| v.to_bits()).eq(want.iter().map(|v| v.to_bits())),
                "{kernel:?}, {}",
                ids.len()
            );
        }
    }
}

/// Stored vectors are compared with new ones. Another digest means another embedder id (docs/adr/0003).
#[test]
fn vectors_have_the_bits_that_they_have_always_had() {
    let mut session = Model::builtin().unwrap().session();
    let mut texts: Vec<Vec<Vec<u32>>> =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, 256]
            .map(|n| vec![(0..n).map(|i| 1000 + i * 31).collect()])
            .into();
    texts.push([5, 64, 1, 100, 16].map(|n| (0..n).map(|i| 2000 + i * 17).collect()).into());
    let mut digest = 1_469_598_103_934_665_603_u64;
    for batch in texts {
        let batch: Vec<&[u32]> = batch.iter().map(Vec::as_slice).collect();
        for v in session.encode(&batch).unwrap() {
            digest = (digest ^ u64::from(v.to_bits())).wrapping_mul(1_099_511_628_211);
        }
    }
    assert_eq!(digest, 0x619c_a41b_a243_7275);
}

#[test]
fn a_batch_gives_the_same_bits_as_single_texts() {
    let mut session = Model::builtin().unwrap().session();
    let ids: Vec<Vec<u32>> = [5, 64, 1, 100, 16].map(|n| (0..n).map(|i| 2000 + i * 17).collect()).into();
    let batch: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let together = session.encode(&batch).unwrap();
    let alone: Vec<f32> = batch.iter().flat_map(|ids| session.encode(&[ids]).unwrap()).collect();
    assert_eq!(together, alone);
}

#[test]
fn ids_that_do_not_fit_are_refused() {
    let mut session = Model::builtin().unwrap().session();
    assert!(session.encode(&[&[]]).is_err());
    assert!(session.encode(&[&[30_522]]).is_err());
    assert!(session.encode(&[&[1; 257]]).is_err());
}
