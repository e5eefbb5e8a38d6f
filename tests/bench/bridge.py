#!/usr/bin/env python3
"""How much later a tool answers through the bridge than one written in JavaScript, in the same run of a published DSH.

Usage: bridge.py PATH_OF_DSH_HOST [CALLS]

One plugin of the run calls a native tool and a tool of a component by turns, through DSH's own dispatcher, and writes the times down.
"""

import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
PLUGIN = HERE.parent.parent / "host-harness" / "dsh-plugin" / "index.js"
DSH = HERE.parent / "tools/dsh-runtime/deepseek_harness_runtime/runtime/deepseek-harness-sdk-runtime-linux-x64"

PROBE = """
import { writeFileSync } from 'node:fs'
export const name = 'probe'
export const inject = ['tools', 'agents']
export function apply(ctx, { place, calls }) {
  // It answers what the component answers to the same arguments, by the same rules of DSH.
  ctx.tools.register({
    name: 'native', description: 'Refuses.', parameters: { type: 'object', properties: {} },
    output: { schema: { type: 'object' }, render: () => [] },
    execute: async () => { throw new Error('invalid arguments') },
  })
  const times = { native: [], context_slice: [] }
  ctx.on('session/event', async (session, event) => {
    if (event.type !== 'step/start') return
    const agent = ctx.agents.list()[0]
    for (let round = 0; round < calls + 20; round++) {
      for (const tool of ['native', 'context_slice']) {
        const definition = ctx.tools.get(tool, agent)
        const start = performance.now()
        await definition.execute({ seq: 'x' }, { callId: `b${round}`, agent, signal: new AbortController().signal }).catch(() => {})
        if (round >= 20) times[tool].push(performance.now() - start)
      }
    }
    writeFileSync(`${place}/times.json`, JSON.stringify(times))
  })
}
"""


class Model(http.server.BaseHTTPRequestHandler):
    """Says that it is done, slowly enough for the probe."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.server.release.wait(60)
        events = [
            {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def main():
    host, calls = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 500
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.release = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "probe.mjs").write_text(PROBE)
        rows = [{"id": "history", "name": "dsh-context-proxy"}]
        patch = [
            {"id": "session-log-deepseek", "disabled": True},
            {"id": "plugin-package-inventory-deepseek", "disabled": True},
            {"insert": [{"id": "dsh-components", "name": str(PLUGIN), "config": {"command": str(host), "rows": rows}}]},
            {"insert": [{"id": "probe", "name": str(place / "probe.mjs"), "config": {"place": folder, "calls": calls}}]},
        ]
        (place / "patch.yml").write_text(json.dumps(patch))
        # With RUST_BACKTRACE set, wasmtime takes a backtrace in each call, which no user of the released command asks for.
        inherited = {name: value for name, value in os.environ.items() if name != "RUST_BACKTRACE"}
        env = {**inherited, "DSH_HOME": str(place / "home"), "DEEPSEEK_API_KEY": "sk-bench", "DEEPSEEK_BASE_URL": f"http://127.0.0.1:{server.server_port}"}
        run = subprocess.Popen([DSH, "headless", "--patch", place / "patch.yml", "task"], cwd=folder, env=env, stdout=subprocess.DEVNULL)
        times = place / "times.json"
        while not times.exists() and run.poll() is None:
            try:
                run.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        server.release.set()
        run.wait(60)
        measured = json.loads(times.read_text())
    for tool, values in measured.items():
        values.sort()
        print(f"{tool:14} median {statistics.median(values):.3f} ms, p95 {values[int(len(values) * 0.95)]:.3f} ms, {len(values)} calls")
    added = statistics.median(measured["context_slice"]) - statistics.median(measured["native"])
    print(f"added by the bridge: {added:.3f} ms (median)")


main()
