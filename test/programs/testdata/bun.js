// Each part prints a line.
const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch () { return new Response('hello') } })
console.log('http', await (await fetch(`http://127.0.0.1:${server.port}`)).text())
server.stop(true)

const child = Bun.spawn(['cmd', '/c', 'echo of %OS%& exit 3'])
console.log('spawn', (await new Response(child.stdout).text()).trim(), await child.exited)

const worker = new Worker('data:text/javascript,postMessage("from worker")')
console.log('worker', await new Promise(done => { worker.onmessage = e => done(e.data) }))
worker.terminate()

const file = require('os').tmpdir() + '\\bun-file'
await Bun.write(file, 'text')
console.log('file', await Bun.file(file).text())

const { Database } = require('bun:sqlite')
const db = new Database(':memory:')
console.log('sqlite', db.query('select 6 * 7 as answer').get().answer)

console.log('ready')
for await (const line of console) { console.log('stdin', line.trim()); break }
console.log('end')
process.exit()
