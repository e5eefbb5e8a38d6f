// `ctx.fileReferences`, provided by a component.

/** Provides the service. Throws what DSH says when another plugin provides it already. */
export function provideFileReferences(ctx, agents, state) {
  if (!state.rows.some(({ fileReferences }) => fileReferences)) {
    throw new TypeError('dsh-components: fileReferences is true, and no row provides it; add { id: file-reference-local, name: dsh-file-reference-local }')
  }
  ctx.provide('fileReferences', {
    /** Candidates for the text after `@`, best first. */
    async list(agent, query, signal) {
      signal?.throwIfAborted()
      return agents.ask(agent, 'complete', { query }, signal)
    },
  })
}
