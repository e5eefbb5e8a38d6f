// `ctx.subprocess`: processes of components, whose streams cross the bridge.
import { existsSync } from 'node:fs'
import { failureOf } from '../failure.js'

/** Bytes of standard output that may be under way before they were read. */
const WINDOW = 1 << 20
/** Bytes of standard output in one line. */
const PIECE = 64 << 10
/** How often the end of standard error is handed on while a process lives. */
const STDERR_MS = 100

/** The processes of one host process. */
export class Processes {
  #service
  #peer
  #live = new Map()

  constructor(service) {
    this.#service = service
  }

  attach(peer) {
    this.#peer = peer
  }

  handlers() {
    return {
      'subprocess.resolveExecutable': ({ command, env }, { signal }) => this.#resolve(command, env, signal),
      'subprocess.spawn': (params) => this.#spawn(params),
      'process.stdin': ({ handle, data }) => this.#write(handle, Buffer.from(data, 'base64')),
      'process.stdinEnd': ({ handle }) => this.#live.get(handle)?.child.stdin?.end(),
      'process.read': ({ handle, bytes }) => this.#live.get(handle)?.output.read(bytes),
      'process.discard': ({ handle }) => this.#live.get(handle)?.output.discard(),
      'process.terminate': ({ handle }) => this.#live.get(handle)?.end(),
    }
  }

  /** Ends everything and waits until it is gone. */
  async release() {
    const left = [...this.#live.values()]
    for (const live of left) live.end()
    await Promise.all(left.map(({ gone }) => gone))
  }

  async #resolve(command, env, signal) {
    const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== null))
    try {
      return await this.#service().resolveExecutable(command, given, signal)
    } catch (error) {
      // DSH brings a ripgrep along, beside its own executable and not on PATH.
      const beside = `${process.execPath}-rg`
      if (command === 'rg' && existsSync(beside)) return beside
      throw error
    }
  }

  #spawn({ handle, argv, cwd, stdin, stderrMaxBytes, graceMs, env }) {
    const changes = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? undefined]))
    const child = this.#service().spawn({
      argv,
      cwd,
      stdio: { stdin: stdin ? 'pipe' : 'ignore', stdout: 'pipe', stderr: { maxBytes: Math.max(1, stderrMaxBytes) } },
      graceMs,
      env: changes,
    })
    const live = { child }
    this.#live.set(handle, live)
    const tell = (what, params) => this.#peer.tell(`process.${what}`, { handle, ...params })
    live.output = follow(child.stdout, tell)
    live.end = () => {
      child.terminate()
      // Output that nobody takes would keep the pipe open, and the end from being seen, for ever.
      setTimeout(() => live.output.discard(), graceMs).unref?.()
    }
    child.stdin?.on('error', () => {})
    const stderr = watchStderr(child, tell)
    const done = child.done.then(
      ({ exitCode, signal }) => (stderr.finish(), tell('done', { exitCode, signal })),
      (error) => (stderr.finish(), tell('stdoutEnd', {}), tell('done', { error: failureOf(error) })),
    )
    live.gone = done
      .then(() => child.waitForExit())
      .catch(() => {})
      .then(() => {
        this.#live.delete(handle)
        tell('gone', {})
      })
    // The service says -1 when nothing was started; one that knows no number still has started something.
    return { pid: child.pid === -1 ? null : Math.max(0, child.pid ?? 0) }
  }

  #write(handle, data) {
    const stdin = this.#live.get(handle)?.child.stdin
    if (!stdin?.writable) {
      const error = new Error('the pipe takes no more')
      error.code = 'EPIPE'
      throw error
    }
    return new Promise((resolve, reject) => stdin.write(data, (error) => (error ? reject(error) : resolve(null))))
  }
}

/** Hands standard output on, a window ahead of what was read. */
function follow(stdout, tell) {
  let under = 0
  let discarded = false
  if (!stdout) {
    tell('stdoutEnd', {})
    return { read() {}, discard() {} }
  }
  stdout.on('data', (chunk) => {
    if (discarded) return
    for (let start = 0; start < chunk.length; start += PIECE) {
      tell('stdout', { data: chunk.toString('base64', start, start + PIECE) })
    }
    under += chunk.length
    if (under >= WINDOW) stdout.pause()
  })
  let over = false
  const end = () => {
    if (!over) tell('stdoutEnd', {})
    over = true
  }
  stdout.on('end', end)
  stdout.on('error', end)
  stdout.on('close', end)
  return {
    /** So much was read on the other side. */
    read(bytes) {
      under -= bytes
      if (under < WINDOW / 2) stdout.resume()
    },
    /** Nobody reads any more. */
    discard() {
      discarded = true
      stdout.resume()
    },
  }
}

/** The service keeps the end of standard error; what is new of it is handed on now and then, and at the end. */
function watchStderr(child, tell) {
  let offset = 0
  const look = () => {
    const { text, nextOffset } = child.collected.stderr?.readFrom(offset) ?? { text: '', nextOffset: offset }
    offset = nextOffset
    if (text !== '') tell('stderr', { data: Buffer.from(text).toString('base64') })
  }
  const timer = setInterval(look, STDERR_MS)
  timer.unref?.()
  return {
    finish() {
      clearInterval(timer)
      look()
    },
  }
}
