// The tools of the components, registered in this DSH.
import { presentServices } from './services.js'

/** Cards that are remembered. */
const MAX_CARDS = 1_000

/** Keeps the registered tools equal to those that the host has. */
export class Tools {
  #ctx
  #host
  #agents
  #registered = new Map()
  #cards = new Map()

  constructor(ctx, host, agents) {
    this.#ctx = ctx
    this.#host = host
    this.#agents = agents
  }

  /** Registers what is new or has changed, and removes what is gone. Cordis removes the rest when the plugin is unloaded. */
  follow(definitions) {
    const wanted = new Map(definitions.map((definition) => [definition.name, JSON.stringify(definition)]))
    for (const [name, { text, dispose }] of this.#registered) {
      if (wanted.get(name) === text) continue
      this.#registered.delete(name)
      dispose()
    }
    for (const definition of definitions) {
      if (this.#registered.has(definition.name)) continue
      const dispose = this.#ctx.tools.register(this.#define(definition))
      this.#registered.set(definition.name, { text: wanted.get(definition.name), dispose })
    }
  }

  #define({ name, description, parameters, outputSchema, timeoutMs, concurrencySafe }) {
    // `render` gets the value alone, and the text that belongs to it has come with it: they meet by the arguments of the call.
    const texts = new WeakMap()
    return {
      name,
      description,
      parameters,
      ...(timeoutMs === null ? {} : { timeoutMs }),
      isConcurrencySafe: () => concurrencySafe,
      output: {
        schema: outputSchema,
        render: (args, value) => [{ type: 'text', text: textFor(texts.get(args), value) }],
      },
      execute: async (args, exec) => {
        const { agent, callId, signal } = exec
        void this.#fetchCard(name, args)
        const params = { name, arguments: args ?? {}, callId, agent: null, step: null, services: presentServices(this.#ctx) }
        const answer =
          agent === undefined
            ? await this.#host.ask('call', params, signal)
            : await this.#agents.ask(agent, 'call', { ...params, step: this.#agents.currentStep(agent) }, signal)
        if (typeof args === 'object' && args !== null) texts.set(args, { value: JSON.stringify(answer.value), content: answer.content })
        return answer.value
      },
      presentCall: (args) => this.#card(name, args),
      presentResult: (args, { isError }) => {
        const card = this.#cards.get(cardKey(name, args))
        return isError || card === undefined ? undefined : { card: 'generic', title: card.title }
      },
    }
  }

  /** DSH asks for a card and cannot wait for the answer, so a call is first shown by its tool and its first text, and from then on as its component says. */
  #card(name, args) {
    const known = this.#cards.get(cardKey(name, args))
    if (known !== undefined) return { card: 'generic', title: known.title, kind: known.kind, rawInput: args }
    const text = Object.values(args ?? {}).find((value) => typeof value === 'string')
    return { card: 'generic', title: text === undefined ? name : `${name}: ${oneLine(text)}`, kind: 'search', rawInput: args }
  }

  async #fetchCard(name, args) {
    const key = cardKey(name, args)
    if (this.#cards.has(key)) return
    const card = await this.#host.ask('card', { name, arguments: args ?? {} }).catch(() => null)
    if (card === null) return
    if (this.#cards.size >= MAX_CARDS) this.#cards.delete(this.#cards.keys().next().value)
    this.#cards.set(key, card)
  }
}

/** The component's text, unless somebody has put another value in the place of its own. */
function textFor(given, value) {
  const text = JSON.stringify(value)
  return given !== undefined && given.value === text ? given.content : text
}

function cardKey(name, args) {
  return `${name} ${JSON.stringify(args)}`
}

function oneLine(text) {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}
