// What components import, answered by the services of this DSH. Each is looked up for each request, as `ctx.get` does, so a service may come and go.
import { fileSystem } from './services/fs.js'
import { sessionQuery } from './services/session-query.js'
import { Processes } from './services/subprocess.js'

/** The services of DSH that components may import. */
export const SERVICES = ['fs', 'sessionQuery', 'subprocess']

/** The names of the services that there are now. */
export function presentServices(ctx) {
  return SERVICES.filter((name) => ctx.get(name) !== undefined)
}

/** The answers to the questions of one host process after another. */
export function answerServices(ctx) {
  return {
    /** The answers for one process; what it started is ended when it is released. */
    connection() {
      const processes = new Processes(() => service(ctx, 'subprocess'))
      return {
        handlers: {
          ...fileSystem(() => service(ctx, 'fs')),
          ...sessionQuery(() => service(ctx, 'sessionQuery')),
          ...processes.handlers(),
        },
        attach: (peer) => processes.attach(peer),
        release: () => processes.release(),
      }
    },
  }
}

function service(ctx, name) {
  const found = ctx.get(name)
  if (found !== undefined) return found
  const error = new Error(`${name} backend unavailable`)
  error.code = 'BACKEND_UNAVAILABLE'
  throw error
}
