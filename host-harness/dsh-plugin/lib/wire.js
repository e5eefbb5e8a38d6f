// Frames on a pair of streams: one JSON object a line, both ways.
import { abortError, errorOf, failureOf } from './failure.js'

/** The longest line in bytes, without its end. */
export const MAX_LINE = 32 << 20

/** Requests of the host in work at once; more are refused. */
const MAX_SERVED = 1024

/** JSON text that any parser reads: lone surrogates, which JavaScript strings may hold, become U+FFFD. */
function encode(frame) {
  const text = JSON.stringify(frame)
  if (!/\\ud[89a-f]/i.test(text)) return text
  return JSON.stringify(frame, (_, value) => (typeof value === 'string' ? wellFormed(value) : value))
}

function wellFormed(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
}

/** Splits what arrives into lines; one beyond the bound is read past and reported. */
export class Lines {
  #parts = []
  #size = 0
  #skipping = false

  constructor(onLine, onTooLong) {
    this.onLine = onLine
    this.onTooLong = onTooLong
  }

  push(chunk) {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#take(chunk.subarray(start, end))
      this.#finish()
      start = end + 1
    }
    if (start < chunk.length) this.#take(chunk.subarray(start))
  }

  #take(part) {
    if (this.#size + part.length > MAX_LINE) {
      this.#skipping = true
      this.#parts = []
    }
    this.#size += part.length
    if (!this.#skipping) this.#parts.push(part)
  }

  #finish() {
    const skipped = this.#skipping
    const line = skipped ? '' : Buffer.concat(this.#parts).toString('utf8')
    this.#parts = []
    this.#size = 0
    this.#skipping = false
    if (skipped) this.onTooLong()
    else if (line.trim() !== '') this.onLine(line)
  }
}

/** The host on the other side of the pipes. */
export class Peer {
  #output
  #handlers
  #log
  #last = 0
  #asked = new Map()
  #served = new Map()
  #closed

  /** `handlers` maps each method of the host to a function of (params, {signal, part}). */
  constructor(input, output, handlers, log) {
    this.#output = output
    this.#handlers = handlers
    this.#log = log
    const odd = (reason) => log('warn', `dsh-components: a line of dsh-host was not understood: ${reason}`)
    const lines = new Lines(
      (line) => {
        let frame
        try {
          frame = JSON.parse(line)
        } catch (error) {
          return odd(error.message)
        }
        if (typeof frame !== 'object' || frame === null) return odd('no object')
        this.#take(frame)
      },
      () => odd(`longer than ${MAX_LINE} bytes`),
    )
    input.on('data', (chunk) => lines.push(chunk))
    // A pipe that breaks is the end of the host, which is noticed by its exit.
    input.on('error', () => {})
    output.on('error', () => {})
  }

  /** Asks the host. A set `signal` is told to it, and the answer is still waited for: the host answers when it has cleaned up. */
  ask(method, params, signal) {
    if (this.#closed) return Promise.reject(this.#closed)
    if (signal?.aborted) return Promise.reject(abortError(signal))
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      const cancel = () => this.tell('cancel', { id, reason: failureOf(abortError(signal)) })
      const settle = () => {
        this.#asked.delete(id)
        signal?.removeEventListener('abort', cancel)
      }
      signal?.addEventListener('abort', cancel, { once: true })
      this.#asked.set(id, {
        resolve: (value) => (settle(), signal?.aborted ? reject(abortError(signal)) : resolve(value)),
        reject: (error) => (settle(), reject(signal?.aborted && error.code === 'ABORTED' ? abortError(signal) : error)),
      })
      try {
        this.#send({ id, method, params })
      } catch (error) {
        settle()
        reject(error)
      }
    })
  }

  /** Tells the host. */
  tell(method, params) {
    if (this.#closed) return
    try {
      this.#send({ method, params })
    } catch (error) {
      this.#log('warn', `dsh-components: ${method}: ${error.message}`)
    }
  }

  /** The host is gone: whoever waits for it is told `error`, and what it asked for is given up. */
  close(error) {
    if (this.#closed) return
    this.#closed = error
    for (const asked of [...this.#asked.values()]) asked.reject(error)
    for (const controller of this.#served.values()) controller.abort(error)
    this.#served.clear()
  }

  #take(frame) {
    if (typeof frame.method === 'string') {
      if (frame.id === undefined) this.#notice(frame)
      else void this.#serve(frame)
      return
    }
    const asked = this.#asked.get(frame.id)
    if (asked === undefined) return
    if (frame.error) asked.reject(errorOf(frame.error))
    else asked.resolve(frame.result)
  }

  #notice({ method, params }) {
    if (method === 'cancel') {
      const error = new Error('given up by the host')
      error.name = 'AbortError'
      this.#served.get(params?.id)?.abort(error)
      return
    }
    try {
      this.#handlers[method]?.(params ?? {}, {})
    } catch (error) {
      this.#log('warn', `dsh-components: ${method}: ${error.message}`)
    }
  }

  async #serve({ id, method, params }) {
    const controller = new AbortController()
    const { signal } = controller
    const answer = (frame) => {
      if (this.#closed || signal.aborted) return
      this.#send({ id, ...frame })
    }
    try {
      const handler = this.#handlers[method]
      if (handler === undefined) throw new Error(`there is no method "${method}"`)
      if (this.#served.size >= MAX_SERVED) throw new Error(`${MAX_SERVED} requests are in work already`)
      this.#served.set(id, controller)
      const result = await handler(params ?? {}, { signal, part: (value) => answer({ part: value }) })
      answer({ result: result ?? null })
    } catch (error) {
      answer({ error: failureOf(error) })
    } finally {
      if (this.#served.get(id) === controller) this.#served.delete(id)
    }
  }

  #send(frame) {
    const line = encode(frame)
    if (Buffer.byteLength(line) > MAX_LINE) {
      const error = new Error(`${Buffer.byteLength(line)} bytes do not fit into a line of the bridge; at most ${MAX_LINE} do`)
      error.code = 'BRIDGE_TOO_LARGE'
      throw error
    }
    this.#output.write(`${line}\n`)
  }
}
