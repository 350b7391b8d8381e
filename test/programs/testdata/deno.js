// Each part prints a line.
const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen () {} }, () => new Response('hello'))
console.log('http', await (await fetch(`http://127.0.0.1:${server.addr.port}`)).text())
await server.shutdown()

const { stdout, code } = await new Deno.Command('cmd', { args: ['/c', 'echo of %OS%& exit 3'] }).output()
console.log('command', new TextDecoder().decode(stdout).trim(), code)

const worker = new Worker('data:text/javascript,postMessage("from worker")', { type: 'module' })
console.log('worker', await new Promise(done => { worker.onmessage = e => done(e.data) }))
worker.terminate()

const folder = Deno.makeTempDirSync()
Deno.writeTextFileSync(folder + '\\file', 'text')
console.log('file', Deno.readTextFileSync(folder + '\\file'))

console.log('ready')
const buffer = new Uint8Array(16)
console.log('stdin', new TextDecoder().decode(buffer.subarray(0, await Deno.stdin.read(buffer))).trim())
console.log('end')
Deno.exit()
