// The configuration of the plugin. What is wrong with it is said by key.

const KEYS = ['command', 'args', 'rows', 'fileReferences', 'base']

/** Reads the configuration, or throws a `TypeError` that names the key. */
export function readConfig(config) {
  const given = config ?? {}
  check(isMapping(given), 'config must be a mapping')
  for (const key of Object.keys(given)) {
    check(KEYS.includes(key), `unknown key "${key}" (known: ${KEYS.join(', ')})`)
  }
  const command = given.command ?? process.env.DSH_HOST_COMMAND ?? 'dsh-host'
  check(typeof command === 'string' && command.trim() !== '', 'command must be a non-empty string')
  const args = given.args ?? ['bridge']
  check(Array.isArray(args) && args.every((arg) => typeof arg === 'string'), 'args must be a list of strings')
  const rows = given.rows ?? []
  check(Array.isArray(rows) && rows.length > 0, 'rows must be a list with at least one plugin row ({id, name, config?, limits?})')
  const fileReferences = given.fileReferences ?? false
  check(typeof fileReferences === 'boolean', 'fileReferences must be true or false')
  const base = given.base ?? process.cwd()
  check(typeof base === 'string', 'base must be a string: the directory that relative .wasm paths count from')
  return { command, args, rows, fileReferences, base }
}

function check(holds, message) {
  if (!holds) throw new TypeError(`dsh-components: ${message}`)
}

function isMapping(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
