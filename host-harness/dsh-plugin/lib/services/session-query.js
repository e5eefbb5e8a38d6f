// `ctx.sessionQuery`.

/** Characters of text in one piece of an answer. */
const PIECE = 1 << 20
/** The longest text of one document that crosses; what is beyond is left out, and the whole length told. */
const MAX_TEXT = 4 << 20

/** The handlers; `query` looks the service up. */
export function sessionQuery(query) {
  return {
    'sessionQuery.listSessions': async (_, { signal, part }) => {
      const records = await query().listSessions(signal)
      send(records, part, () => 1_000)
    },
    'sessionQuery.listEvents': async ({ sessionId }, { part }) => {
      const records = await query().listEvents(sessionId)
      send(records, part, () => 100)
    },
    'sessionQuery.filterEvents': async ({ sessionId, filters, maxDocuments, beforeSeq }, { signal, part }) => {
      const found = await query().filterEvents(sessionId, filters)
      signal.throwIfAborted()
      const wanted = beforeSeq === null ? found : found.filter(({ seq }) => seq < beforeSeq)
      const page = wanted.slice(0, maxDocuments).map(document)
      send(page, part, ({ text }) => text.length)
      return { nextSeq: wanted[maxDocuments]?.seq ?? null }
    },
    'sessionQuery.readEvent': async ({ sessionId, seq, before, after }, { signal, part }) => {
      const service = query()
      const window = await service.readEvent({ sessionId, seq, before, after }, signal)
      const { startSeq, endSeq } = window
      // The window holds events as they were logged; what text they have is what the same service says of them.
      const documents = await service.filterEvents(sessionId, [{ kind: 'seq', from: startSeq, to: endSeq }])
      const texts = new Map(documents.map(({ seq, text }) => [seq, text]))
      for (const event of window.events) {
        const text = texts.get(event.seq) ?? ''
        const needed = event.seq === seq && text === ''
        part([{ ...event, text, data: needed ? event.data : null }])
      }
      return { session: window.session, inheritedEventCount: window.inheritedEventCount, target: seq, startSeq, endSeq }
    },
  }
}

function document({ seq, type, time, surface, text }) {
  const bytes = Buffer.byteLength(text)
  return { seq, type, time, surface, text: text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text, textBytes: bytes }
}

function send(items, part, weigh) {
  let piece = []
  let weight = 0
  for (const item of items) {
    piece.push(item)
    weight += weigh(item) + 200
    if (weight >= PIECE) {
      part(piece)
      piece = []
      weight = 0
    }
  }
  if (piece.length > 0) part(piece)
}
