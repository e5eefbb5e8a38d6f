// The agents of this DSH, as far as the host knows of them.

/** Tells the host of agents, and what is committed to their sessions. */
export class Agents {
  #ctx
  #host
  /** What each host process was told: a new one knows nobody. */
  #told = new WeakMap()
  #steps = new WeakMap()

  constructor(ctx, host) {
    this.#ctx = ctx
    this.#host = host
  }

  /** Announces the agents that there are, and from now on those that come. */
  async watch() {
    const ctx = this.#ctx
    ctx.on('agent/created', ({ agent }) => this.#announce(agent).catch(() => {}))
    ctx.on('agent/disposed', ({ agent }) => this.#forget(agent))
    ctx.on('session/event', (session, event) => {
      if (event.type === 'step/start') this.#steps.set(session, event.seq)
      const agent = this.#list().find((agent) => agent.session === session)
      const peer = this.#host.running
      if (agent === undefined || peer === undefined || !this.#known(peer).has(agent.id)) return
      peer.tell('sessionEvent', { agent: agent.id, type: event.type })
    })
    await Promise.all(this.#list().map((agent) => this.#announce(agent)))
  }

  /** Asks the host something for an agent, which it is told of first. */
  async ask(agent, method, params, signal) {
    const peer = await this.#host.peer()
    await this.#tell(peer, agent)
    return peer.ask(method, { ...params, agent: agent.id }, signal)
  }

  async #announce(agent) {
    await this.#tell(await this.#host.peer(), agent)
  }

  #tell(peer, agent) {
    const known = this.#known(peer)
    let told = known.get(agent.id)
    if (told === undefined) {
      const { header } = agent.session
      told = peer.ask('agent', { id: agent.id, cwd: header.cwd ?? null, session: agent.session.id })
      known.set(agent.id, told)
      told.catch(() => known.delete(agent.id))
    }
    return told
  }

  #known(peer) {
    if (!this.#told.has(peer)) this.#told.set(peer, new Map())
    return this.#told.get(peer)
  }

  /** The sequence number of the last `step/start` in the live log of the agent's session, or null. */
  currentStep({ session }) {
    const seen = this.#steps.get(session)
    if (seen !== undefined) return seen
    const last = session.events?.findLast?.(({ type }) => type === 'step/start')
    return last?.seq ?? null
  }

  #list() {
    return this.#ctx.get('agents')?.list() ?? []
  }

  #forget(agent) {
    const peer = this.#host.running
    if (peer !== undefined && this.#known(peer).delete(agent.id)) peer.ask('agentGone', { id: agent.id }).catch(() => {})
  }
}
