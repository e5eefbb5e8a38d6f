// The process `dsh-host bridge`: its start, its loss and its end.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Peer } from './wire.js'

/** The version of the protocol that this plugin speaks. */
export const PROTOCOL = 1

/** How long the host has to greet; the first start after an installation compiles nothing yet. */
const GREETING_MS = 30_000
/** How long the host has to come down when asked, then after SIGTERM. */
const PARTING_MS = 20_000
const TERM_MS = 3_000
/** A host that is lost so often within a minute is not started again. */
const MAX_LOSSES = 5
const LOSS_PERIOD_MS = 60_000

/** What the host may see of this process's environment: where programs, homes and caches are, and nothing that looks like a credential. */
const ENVIRONMENT = ['PATH', 'Path', 'HOME', 'USERPROFILE', 'TMPDIR', 'TMP', 'TEMP', 'LANG', 'LC_ALL', 'XDG_CACHE_HOME', 'LOCALAPPDATA', 'SystemRoot', 'DSH_HOST_LOG', 'DSH_HOST_CACHE_DIR', 'RUST_BACKTRACE']

/** One host process after another, of which at most one lives. */
export class HostProcess {
  stopped = false
  #settings
  #log
  #services
  #present = () => []
  #running
  #losses = []
  #mounted = []

  constructor(settings, log, services) {
    this.#settings = settings
    this.#log = log
    this.#services = services
  }

  /** `listener` gets the rows and tools whenever they were mounted or have changed. */
  onMounted(listener) {
    this.#mounted.push(listener)
  }

  /** Starts the first process and mounts the rows with the services `mounted`; `present` names those of later starts. */
  async start(present, mounted) {
    this.#present = () => mounted
    const { state } = await this.#ensure()
    this.#present = present
    return state
  }

  /** The host on the other side, started again if it was lost. */
  async peer() {
    return (await this.#ensure()).peer
  }

  /** Asks the host. */
  async ask(method, params, signal) {
    return (await this.peer()).ask(method, params, signal)
  }

  /** The host on the other side, if there is one now. */
  get running() {
    return this.#running?.peer
  }

  /** Lets the rows follow the services. */
  async settle(services) {
    const state = await this.ask('services', { services })
    this.#announce(state)
    return state
  }

  /** Ends the process and waits for it. Harmless when repeated. */
  async stop() {
    this.stopped = true
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    const { child, peer, ended } = running
    const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref())
    await Promise.race([running.begun.catch(() => {}), after(TERM_MS)])
    // Its processes are ended through this side, so it is asked first and listened to until the end.
    if (peer !== undefined) await Promise.race([peer.ask('shutdown', {}).catch(() => {}), ended, after(PARTING_MS)])
    child.stdin.end()
    await Promise.race([ended, after(TERM_MS)])
    child.kill('SIGTERM')
    await Promise.race([ended, after(TERM_MS)])
    child.kill('SIGKILL')
    await ended
    await running.services.release()
  }

  #ensure() {
    if (this.stopped) return Promise.reject(new Error('dsh-components was unloaded'))
    if (this.#running === undefined) {
      const now = Date.now()
      this.#losses = this.#losses.filter((time) => now - time < LOSS_PERIOD_MS)
      if (this.#losses.length >= MAX_LOSSES) {
        const error = new Error(`dsh-host was lost ${MAX_LOSSES} times within a minute and is not started again yet`)
        error.code = 'BRIDGE_LOST'
        return Promise.reject(error)
      }
      const running = (this.#running = this.#launch())
      running.begun = this.#begin(running)
      running.begun.catch(() => {
        if (this.#running === running) this.#running = undefined
        running.child.kill('SIGKILL')
      })
    }
    return this.#running.begun
  }

  #launch() {
    const { command, args } = this.#settings
    const env = Object.fromEntries(ENVIRONMENT.filter((name) => process.env[name] !== undefined).map((name) => [name, process.env[name]]))
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true })
    const services = this.#services.connection()
    const running = { child, services }
    running.failed = new Promise((_, reject) => child.once('error', (error) => reject(this.#unavailable(error))))
    running.failed.catch(() => {})
    running.ended = new Promise((resolve) => {
      child.once('error', resolve)
      child.once('close', resolve)
    })
    let tail = ''
    child.stderr.on('data', (chunk) => {
      tail = (tail + chunk).slice(-4096)
    })
    child.once('close', (code, signal) => {
      const how = signal === null ? `with code ${code}` : `by ${signal}`
      const said = tail.trim() === '' ? '' : `: ${tail.trim()}`
      const error = new Error(`dsh-host ended ${how}${said}`)
      error.code = 'BRIDGE_LOST'
      this.#lost(running, error)
    })
    running.peer = new Peer(child.stdout, child.stdin, { ...services.handlers, log: (record) => this.#record(record) }, this.#log)
    services.attach(running.peer)
    return running
  }

  async #begin(running) {
    const { peer } = running
    const greeting = peer.ask('hello', { protocol: PROTOCOL, client: 'dsh-components', temporaryDirectory: tmpdir() })
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${this.#settings.command} did not greet within ${GREETING_MS / 1000} s`)), GREETING_MS)
    })
    try {
      await Promise.race([greeting, late, running.failed])
    } catch (error) {
      throw this.#unavailable(error)
    } finally {
      clearTimeout(timer)
      greeting.catch(() => {})
    }
    const { rows, base } = this.#settings
    let state
    try {
      state = await peer.ask('mount', { rows, base, services: this.#present() })
    } catch (error) {
      error.message = `dsh-components: ${error.message}`
      throw error
    }
    for (const warning of state.warnings ?? []) this.#log('warn', `dsh-components: ${warning}`)
    running.state = state
    this.#announce(state)
    return running
  }

  #announce(state) {
    for (const listener of this.#mounted) listener(state)
  }

  #lost(running, error) {
    running.peer.close(error)
    void running.services.release()
    if (this.#running !== running) return
    this.#running = undefined
    this.#losses.push(Date.now())
    this.#log('error', `dsh-components: ${error.message}; the next call starts it again`)
  }

  #record({ row, level, message }) {
    if (['error', 'warn', 'info', 'debug'].includes(level)) this.#log(level, `${row}: ${message}`)
  }

  /** What to say when the host is missing, does not run, or is of another version. */
  #unavailable(error) {
    const { command } = this.#settings
    if (error.code === 'ENOENT') return new Error(`dsh-components: ${command} was not found; install it with: ${installCommand()}`)
    if (error.code === 'BRIDGE_PROTOCOL') return new Error(`dsh-components: ${error.message}; install the one that belongs to this plugin with: ${installCommand()}`)
    if (error.code === 'BRIDGE_LOST' && /unrecognized subcommand|error: unexpected argument/.test(error.message)) {
      return new Error(`dsh-components: ${command} is too old to serve DSH; install a newer one with: ${installCommand()}`)
    }
    return new Error(`dsh-components: ${command} cannot be used: ${error.message}`, { cause: error })
  }
}

/** The command that installs the host: from the checkout that this plugin is part of, when it is. */
export function installCommand() {
  const crate = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  const local = existsSync(join(crate, 'Cargo.toml')) && existsSync(join(crate, 'src', 'main.rs'))
  return local ? `cargo install --locked --path ${crate}` : 'cargo install --locked dsh-host'
}
