// The plugin of DSH that mounts WebAssembly components: it starts `dsh-host bridge`, registers what the components offer, and answers what they
// import with the services of this DSH. PROTOCOL.md documents what is spoken between the two.
import { Agents } from './lib/agents.js'
import { readConfig } from './lib/config.js'
import { provideFileReferences } from './lib/file-references.js'
import { HostProcess } from './lib/host-process.js'
import { contributePrompt } from './lib/prompt.js'
import { answerServices, presentServices, SERVICES } from './lib/services.js'
import { Tools } from './lib/tools.js'

export const name = 'dsh-components'

// The services of the components are optional here: a row whose services are missing waits, as the others work.
export const inject = ['tools']

/** Mounts the rows of `config`; DSH awaits it. A rejection is what DSH shows as the failure of this plugin. */
export async function apply(ctx, config) {
  const settings = readConfig(config)
  const log = (level, message) => ctx.logger?.[level]?.(message)
  const services = answerServices(ctx)
  const host = new HostProcess(settings, log, services)
  const agents = new Agents(ctx, host)
  const tools = new Tools(ctx, host, agents)
  host.onMounted((state) => tools.follow(state.tools))

  // Cordis runs this when the plugin is unloaded or reloaded, and awaits it: nothing of the host is left then.
  ctx.effect(() => () => host.stop(), 'dsh-components: dsh-host')
  try {
    const mounted = presentServices(ctx)
    const state = await host.start(() => presentServices(ctx), mounted)
    await agents.watch()
    followServices(ctx, host, mounted, log)
    if (state.rows.some((row) => row.prompt)) contributePrompt(ctx, host, agents, log)
    if (settings.fileReferences) provideFileReferences(ctx, agents, state)
  } catch (error) {
    await host.stop()
    throw error
  }
}

/** Lets rows follow the services that they need. DSH awaits what is injected, so a row is mounted before the first turn; and it takes a service
 * away only when those that use it are done, so a component ends its processes while it still can. */
function followServices(ctx, host, mounted, log) {
  const there = new Set(mounted)
  let told = [...there].sort().join()
  let turn = Promise.resolve()
  // One after another: the answer to an earlier question must not undo what a later one has brought.
  const settle = () => {
    turn = turn.catch(() => {}).then(async () => {
      const present = [...there].sort()
      if (host.stopped || present.join() === told) return
      told = present.join()
      const { rows } = await host.settle(present)
      // A configuration is judged when the row is applied, which is now for one that had to wait.
      const failed = rows.find(({ state }) => state === 'failed')
      if (failed === undefined) return
      const error = new Error(`dsh-components: row "${failed.id}": ${failed.error}`)
      // DSH starts all the same and keeps this to itself, so it is said where its own refusals are read.
      process.stderr.write(`${error.message}\n`)
      throw error
    })
    return turn
  }
  const leave = () => settle().catch((error) => log('warn', error.message))
  for (const name of SERVICES) {
    ctx.inject([name], async (scope) => {
      there.add(name)
      scope.effect(() => () => (there.delete(name), leave()), `dsh-components: ${name}`)
      await settle()
    })
  }
}
