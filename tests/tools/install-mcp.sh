#!/usr/bin/env bash
# Installs the clients of MCP that the tests drive, pinned with hashes.
set -euo pipefail
cd "$(dirname "$0")/mcp"
[ -x venv/bin/python ] || python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.txt
# Versions and hashes are those of the lock. `npm ci` refuses it, because an optional package for Windows, of a dependency, is not published.
npm install --no-save --ignore-scripts --no-audit --no-fund --silent
