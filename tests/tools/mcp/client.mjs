// The official TypeScript client against `dsh-host mcp`: lists and calls every tool, sees an error, completes a path, hears of progress, cancels.
// Usage: client.mjs DSH_HOST WORKSPACE SESSIONS PROFILE; the profile's workspace_symbol waits for a language server that never answers.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const [command, workspace, sessions, profile] = process.argv.slice(2)

async function connect(...more) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command, args: ['mcp', '--cwd', workspace, '--sessions', sessions, ...more] }))
  return client
}

const client = await connect('--session', 'session-1')
const { tools } = await client.listTools()
assert.deepEqual(tools.map(({ name }) => name).sort(), ['context_grep', 'context_query', 'context_slice'])
for (const [name, args] of [['context_query', {}], ['context_slice', { seq: 0 }], ['context_grep', { pattern: 'test' }]]) {
  // The client itself checks the structured answer against the output schema.
  const answer = await client.callTool({ name, arguments: args })
  assert.ok(!answer.isError && answer.structuredContent, JSON.stringify(answer))
}
const wrong = await client.callTool({ name: 'context_slice', arguments: { seq: 'x' } })
assert.deepEqual([wrong.isError, wrong.content[0].text], [true, 'Error: invalid arguments: "seq" must be an integer'])
const reference = { type: 'ref/resource', uri: 'workspace:///{+path}' }
const found = await client.complete({ ref: reference, argument: { name: 'path', value: 'quag' } })
assert.deepEqual(found.completion.values, ['src/quagga.rs'])
await client.close()

const slow = await connect('--profile', profile)
const controller = new AbortController()
await assert.rejects(
  slow.callTool({ name: 'workspace_symbol', arguments: { query: 'x' } }, undefined, {
    signal: controller.signal,
    onprogress: () => controller.abort('heard enough'),
  }),
  /heard enough/,
)
assert.equal((await slow.listTools()).tools.length, 1)
await slow.close()
console.log('ok')
