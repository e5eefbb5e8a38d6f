//! Every input that the fuzzer began with or has ever failed on, replayed against the same promises: see `tests/fuzz`.

#[path = "../fuzz/src/targets/mod.rs"]
mod targets;

// The targets look for them at the root of their crate.
use dsh_host::{profile, schema};
use std::path::Path;

#[test]
fn every_kept_input_keeps_every_promise() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut folders: Vec<String> = std::fs::read_dir(&seeds)
        .unwrap()
        .map(|folder| folder.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, targets::ALL.map(|(name, _)| name));
    for (name, target) in targets::ALL {
        let inputs: Vec<_> = std::fs::read_dir(seeds.join(name)).unwrap().collect();
        assert!(inputs.len() >= 4, "{name}: {} inputs", inputs.len());
        for input in inputs {
            let path = input.unwrap().path();
            let data = std::fs::read(&path).unwrap();
            if std::panic::catch_unwind(|| target(&data)).is_err() {
                panic!("{name} breaks its promise for {}", path.display());
            }
        }
    }
}
