//! Two figures behind completion: ranking alone, in native code, and one crossing of the component boundary.

use criterion::{Criterion, criterion_group, criterion_main};
use dsh_file_reference_local::index::Index;
use dsh_file_reference_local::rank::rank;
use dsh_file_reference_local::workspace::{Kind, Listing};
use dsh_host::{AbortSignal, AgentSpec, Host, HostOptions, LoadedComponent, PluginRow, bundled};
use std::hint::black_box;

/// Folders of twenty files each, 105,000 entries in all.
fn index() -> Index {
    let listing = |prefix: &str, kind: Kind, count: usize| {
        let names: String = (0..count)
            .map(|number| format!("{prefix}-{number:05}/"))
            .collect();
        Listing {
            names,
            kinds: vec![kind; count],
            ignored: Vec::new(),
            omitted: 0,
        }
    };
    let mut index = Index::new("");
    index.push_directory(&listing("widget", Kind::Directory, 5_000), u64::MAX);
    for _ in 0..5_000 {
        index.push_directory(&listing("render-queue", Kind::File, 20), u64::MAX);
    }
    index
}

fn ranking(criterion: &mut Criterion) {
    let index = index();
    let mut group = criterion.benchmark_group("rank 105,000 entries, native");
    for query in ["queue-00007", "rdrq", "zzz"] {
        group.bench_function(query, |bencher| {
            bencher.iter(|| rank(black_box(&index), black_box(query), 20))
        });
    }
    group.finish();
}

fn boundary(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "").unwrap();
    let host = runtime.block_on(async {
        let host = Host::new(HostOptions::default()).unwrap();
        let bytes = bundled::find("dsh-file-reference-local").unwrap().bytes;
        let component = LoadedComponent::new(host.engine(), bytes).unwrap();
        host.mount(PluginRow::new("files", component))
            .await
            .unwrap();
        host.create_agent(AgentSpec::new("a", folder.path().to_str().unwrap()))
            .await
            .unwrap();
        host
    });
    let mut group = criterion.benchmark_group("component boundary");
    group.bench_function("a call that only computes", |bencher| {
        bencher.iter(|| {
            runtime
                .block_on(host.active_at_token("see @src/ma", 11))
                .unwrap()
        });
    });
    group.bench_function("a query over an index of one entry", |bencher| {
        bencher.iter(|| {
            runtime
                .block_on(host.list_file_references("a", "a", &AbortSignal::never()))
                .unwrap()
        });
    });
    group.bench_function("a live directory listing", |bencher| {
        bencher.iter(|| {
            runtime
                .block_on(host.list_file_references("a", "", &AbortSignal::never()))
                .unwrap()
        });
    });
    group.finish();
}

criterion_group!(benches, ranking, boundary);
criterion_main!(benches);
