// Errors on their way across the bridge: name, code and message survive.

/** An error as a frame carries it. */
export function failureOf(error) {
  if (error instanceof Error || (typeof error === 'object' && error !== null && typeof error.message === 'string')) {
    const failure = { message: String(error.message) }
    if (typeof error.name === 'string' && error.name !== 'Error') failure.name = error.name
    if (typeof error.code === 'string') failure.code = error.code
    return failure
  }
  return { message: typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error)) }
}

/** A frame's error as an `Error` to be thrown. */
export function errorOf(failure) {
  const error = new Error(failure.message)
  if (failure.name !== undefined) error.name = failure.name
  if (failure.code !== undefined) error.code = failure.code
  return error
}

/** What to throw for a signal that was set: its reason, wrapped when it is no error. DSH aborts with a plain object on SIGTERM. */
export function abortError(signal) {
  const { reason } = signal
  if (reason instanceof Error) return reason
  const text = typeof reason === 'string' ? reason : 'tool call aborted'
  const error = new Error(text, { cause: reason })
  error.name = 'AbortError'
  return error
}
