// `dsh-host mcp` behind HTTP, for the conformance suite, which takes a server by its address only. Passes messages on as they are.
// Usage: over-http.mjs DSH_HOST ARGUMENTS...; prints the address.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

const [command, ...args] = process.argv.slice(2)
const sessions = new Map()

function open() {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    waiting.get(message.id)?.(line)
    waiting.delete(message.id)
  })
  return { child, waiting }
}

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  let body = ''
  for await (const chunk of request) body += chunk
  const message = JSON.parse(body)
  const id = request.headers['mcp-session-id'] ?? `session-${sessions.size}`
  if (!sessions.has(id)) sessions.set(id, open())
  const { child, waiting } = sessions.get(id)
  const answered = message.id !== undefined && message.method ? new Promise((resolve) => waiting.set(message.id, resolve)) : undefined
  child.stdin.write(`${JSON.stringify(message)}\n`)
  if (answered === undefined) return response.writeHead(202).end()
  const answer = await answered
  response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': id }).end(answer)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.on('SIGTERM', () => process.exit(0))
