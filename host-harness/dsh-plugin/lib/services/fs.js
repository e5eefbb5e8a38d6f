// The read half of `ctx.fs`.

/** Bytes or characters of one piece of a file. */
const PIECE = 512 << 10
/** Entries of one piece of a directory. */
const ENTRIES = 2_000

/** The handlers; `fs` looks the service up. */
export function fileSystem(fs) {
  return {
    'fs.resolve': async ({ path, cwd }, { signal }) => {
      const service = fs()
      const target = await service.resolve(path, { cwd: cwd ?? undefined, signal })
      return {
        targetKey: target.targetKey,
        displayPath: target.displayPath,
        processPath: service.processPath(target),
        fileUrl: service.fileUrl(target),
      }
    },
    'fs.stat': async ({ target }, { signal }) => info(await fs().stat(target, signal)),
    'fs.lstat': async ({ path, cwd }, { signal }) => info(await fs().lstat(path, { cwd: cwd ?? undefined }, signal)),
    'fs.readText': async ({ target, max }, { signal, part }) => {
      const service = fs()
      // The service has no bound for text, so a file is looked at before it is read.
      const found = await service.stat(target, signal)
      if (found?.size > max) throw tooLarge(target, found.size, max)
      const text = await service.readText(target, signal)
      for (let start = 0; start < text.length; ) {
        const end = boundary(text, start + PIECE)
        part(text.slice(start, end))
        start = end
      }
    },
    'fs.readBytes': async ({ target, max }, { signal, part }) => {
      const bytes = await fs().readBytes(target, signal, max)
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      for (let start = 0; start < buffer.length; start += PIECE) part(buffer.toString('base64', start, start + PIECE))
    },
    'fs.listDir': async ({ target }, { signal, part }) => {
      const entries = await fs().listDir(target, signal)
      for (let start = 0; start < entries.length; start += ENTRIES) {
        part(entries.slice(start, start + ENTRIES).map(({ name, type }) => ({ name, type })))
      }
    },
  }
}

function info(found) {
  return found === undefined ? null : { version: found.version, type: found.type, size: found.size }
}

function tooLarge(target, size, max) {
  const error = new Error(`${target.displayPath}: ${size} bytes; at most ${max} are read`)
  error.name = 'FsError'
  error.code = 'FS_TOO_LARGE'
  return error
}

/** The place at or before `end` that parts no surrogate pair. */
function boundary(text, end) {
  const unit = text.charCodeAt(end - 1)
  return end < text.length && unit >= 0xd800 && unit < 0xdc00 ? end - 1 : end
}
