// Sections of the system prompt that components contribute.

/** How long an assembly waits for the host. */
const PATIENCE_MS = 2_000

/** Names that a component may ask for although the model is not offered them directly, as in DSH's code mode. */
const COMMON = ['read', 'write', 'edit', 'grep', 'glob', 'bash']

/** Has the sections asked for at every assembly. A section takes its place by registration, and its text when the prompt is put together, which
 * is the only step of an assembly that can wait. */
export function contributePrompt(ctx, host, agents, log) {
  const placed = new Set()
  const place = (scope, { name, order }) => {
    if (placed.has(name)) return
    placed.add(name)
    scope.systemPrompt.section({ name, order: orderOf(scope.systemPrompt, name, order), text: () => '' })
  }

  ctx.inject(['systemPrompt'], (scope) => {
    placed.clear()
    const learn = async (agent) => {
      for (const section of await agents.ask(agent, 'prompt', { visible: COMMON })) place(scope, section)
    }
    const warn = (error) => log('warn', `dsh-components: no prompt section: ${error.message}`)
    for (const agent of ctx.get('agents')?.list() ?? []) learn(agent).catch(warn)
    scope.on('agent/created', ({ agent }) => learn(agent).catch(warn))
  })

  ctx.on('system-prompt/assemble', async (_assembly, context, next) => {
    const assembly = await next()
    const agent = context.scope
    if (agent?.session === undefined || host.stopped) return assembly
    try {
      const visible = visibleTools(ctx, assembly, agent)
      const sections = await withPatience(agents.ask(agent, 'prompt', { visible }))
      return fill(assembly, sections, placed)
    } catch (error) {
      log('warn', `dsh-components: no prompt section: ${error.message}`)
      return assembly
    }
  })
}

function visibleTools(ctx, assembly, agent) {
  const names = new Set([...assembly.tools.map(({ name }) => name), ...COMMON])
  return [...names].filter((name) => ctx.get('tools')?.get(name, agent) !== undefined)
}

function fill(assembly, sections, placed) {
  const texts = new Map(sections.map(({ name, text }) => [name, text]))
  const filled = assembly.sections.map((section) => {
    if (!placed.has(section.name) || section.text !== '') return section
    const text = texts.get(section.name) ?? ''
    // The text of a component is no template.
    return { ...section, text, interpolate: false }
  })
  const there = new Set(filled.map(({ name }) => name))
  const late = sections.filter(({ name }) => !there.has(name)).map(({ name, text }) => ({ name, text, interpolate: false }))
  return { ...assembly, sections: [...filled, ...late] }
}

/** DSH numbers the places of its own sections anew from release to release; where it can be asked, its number counts. */
function orderOf(systemPrompt, name, order) {
  const known = name === 'context:file-reference' ? systemPrompt.getSectionOrder?.('FILE_REFERENCE') : undefined
  return Number.isFinite(known) ? known : order
}

function withPatience(promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS)
    timer.unref?.()
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
