# Thin names over cargo commands; nothing here is needed to use the project.

# Everything that a change must pass.
default: lint test

build:
    cargo build --release

test:
    cargo test

# The plugins at work on this checkout.
demo:
    cargo run --release -- demo

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --exclude dsh-hostile-guest -- -D warnings
    cargo clippy --profile guest --target wasm32-wasip2 -p dsh-context-proxy -p dsh-file-reference-local -p dsh-workspace-intelligence -p dsh-hostile-guest -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --exclude dsh-hostile-guest

# The three components with checksums and sizes.
dist:
    cargo run --release -- export dist

# Ranking alone, and one crossing of the component boundary.
bench:
    cargo bench -p dsh-tests

# Completion beside the published JavaScript module, on the same trees in one run.
bench-peers:
    cargo build --release
    npm ci --prefix tests/bench
    python3 tests/bench/peers.py target/release/dsh-host

# Searches of a spill file beside ripgrep alone, and queries of a large log beside parsing it.
bench-history:
    cargo bench -p dsh-tests --bench spill_search
    cargo run --release -p dsh-services --example session_log_speed

# Ten minutes of coverage-guided fuzzing of one target, such as `just fuzz framing`; `cargo fuzz list --fuzz-dir tests/fuzz` names them all.
# Without a sanitizer nothing here needs the nightly toolchain: the code under test is safe Rust, and its oracles are assertions.
# An input that fails lies in tests/fuzz/artifacts; mend the code and keep the input in tests/fuzz/seeds, which `cargo test` replays.
fuzz target seconds="600":
    cargo install --locked cargo-fuzz --version 0.13.2
    mkdir -p tests/fuzz/corpus/{{target}}
    cargo fuzz run --fuzz-dir tests/fuzz --sanitizer none {{target}} tests/fuzz/corpus/{{target}} tests/fuzz/seeds/{{target}} -- -max_total_time={{seconds}} -rss_limit_mb=2048 -timeout=20

# Keeps, of all that the fuzzer has tried, the inputs that reach more of the code than those that are kept already, for `cargo test`.
fuzz-keep target:
    cargo fuzz run --fuzz-dir tests/fuzz --sanitizer none {{target}} tests/fuzz/seeds/{{target}} tests/fuzz/corpus/{{target}} -- -set_cover_merge=1 -use_counters=0

# Mixed calls, crashes, reloads and traps for two minutes.
soak:
    cargo test --release --test soak -- --ignored --nocapture

# Licences, sources and banned crates.
deny:
    cargo deny check bans licenses sources

# The language servers that tests drive. rust-analyzer is a component of rustup.
tools:
    npm ci --prefix tests/tools
    python3 -m venv tests/tools/venv
    tests/tools/venv/bin/pip install --require-hashes --only-binary :all: -r tests/tools/requirements.txt
    rustup component add rust-analyzer
    touch tests/build.rs

# What the sandbox adds to a language server.
bench-symbols:
    cargo build --release --example scripted_language_server
    cargo bench --bench workspace_symbol

# Everything, with the pinned ripgrep.
test-tools:
    npm ci --prefix tests/tools
    DSH_RG="$PWD/tests/tools/node_modules/@vscode/ripgrep-linux-x64/bin/rg" DSH_REQUIRE_REAL_TOOLS=1 cargo test

# Both published builds of DSH, pinned, and the tests that run the components in them.
test-dsh:
    tests/tools/install-dsh.sh
    tests/tools/install-mcp.sh
    DSH_REQUIRE_REAL_TOOLS=1 cargo test --test dsh --test mcp_clients --test serving --test contract

# What the bridge adds to a native tool, in one run of a published DSH.
bench-dsh:
    tests/tools/install-dsh.sh
    cargo build --release
    python3 tests/bench/bridge.py target/release/dsh-host
