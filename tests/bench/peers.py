#!/usr/bin/env python3
"""usage: peers.py DSH_HOST [ROUNDS=3]

Measures `dsh-host bench complete` beside the published JavaScript module on the same two trees, in turns, and prints a table of medians with
ratios. The trees and the module's bench come from tests/golden/file-references/tools; `npm ci` in this folder brings the module and its Node.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "..", "golden", "file-references", "tools")
QUERIES = os.path.join(TOOLS, "queries-200.json")
MODULE = os.path.join(HERE, "node_modules", "@deepseek-ai", "dsh-file-reference-local", "lib", "index.js")
NODE = os.path.join(HERE, "node_modules", ".bin", "node")
FIGURES = ["cold_ms", "warm_median_ms", "warm_p95_ms", "dir_median_ms"]
# files, maxEntries, what the row is called
TREES = [(100_000, 200_000, "110,800 entries"), (10_000, 10_000, "default cap of 10,000")]


def measured(command, **environment):
    # With RUST_BACKTRACE set, wasmtime takes a backtrace in each call, which no user of the released command asks for.
    inherited = {name: value for name, value in os.environ.items() if name != "RUST_BACKTRACE"}
    run = subprocess.run(command, env={**inherited, **environment}, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def main():
    host = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for files, entries, name in TREES:
            tree = os.path.join(folder, str(files))
            subprocess.run([sys.executable, os.path.join(TOOLS, "mktree.py"), tree, str(files)], check=True, stdout=subprocess.DEVNULL)
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(measured([host, "bench", "complete", "--cwd", tree, "--max-entries", str(entries), "--queries", QUERIES]))
                theirs.append(measured([NODE, os.path.join(TOOLS, "bench.mjs"), tree, str(entries), QUERIES], DSH_FREF_MODULE=MODULE))
            for figure in FIGURES:
                a = statistics.median(run[figure] for run in ours)
                b = statistics.median(run[figure] for run in theirs)
                rows.append((name, figure, a, b, b / a))
    print("| tree | figure | component | module | times faster |")
    print("|---|---|---|---|---|")
    for name, figure, a, b, ratio in rows:
        print(f"| {name} | `{figure}` | {a:.3f} | {b:.3f} | {ratio:.1f} |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
