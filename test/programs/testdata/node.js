// Each test prints a line: its name and its result. With an argument this is a child of one of them.
const cp = require('child_process'), fs = require('fs'), http = require('http'), net = require('net')
const os = require('os'), path = require('path'), cluster = require('cluster')
const { Worker, isMainThread, parentPort } = require('worker_threads')

const local = '127.0.0.1'
const once = (emitter, event) => new Promise((done, failed) => emitter.once(event, done).once('error', failed))
const all = stream => new Promise((done, failed) => {
  let text = ''
  stream.setEncoding('utf8').on('data', d => text += d).on('end', () => done(text)).on('error', failed)
})
const get = async port => {
  const [response] = await Promise.all([once(http.get({ host: local, port, agent: false }), 'response')])
  return all(response)
}

const roles = {
  echo () {
    process.stdin.on('data', d => process.stdout.write('echo ' + d)).on('end', () => {
      console.error('to stderr')
      process.exitCode = 7
    })
  },
  fork () {
    process.on('message', m => { process.send({ back: m }); process.disconnect() })
  },
  sleep () { setInterval(() => {}, 1000) },
  much () { process.stdout.write('x'.repeat(3000000)) },
}

const tests = {
  async http () {
    const server = http.createServer((_, r) => r.end('hello')).listen(0, local)
    await once(server, 'listening')
    const text = await get(server.address().port)
    server.close()
    return text
  },
  async fetch () {
    const server = http.createServer((_, r) => r.end('fetched')).listen(0, local)
    await once(server, 'listening')
    const text = await (await fetch(`http://${local}:${server.address().port}`, { headers: { connection: 'close' } })).text()
    server.close()
    return text
  },
  async spawn () {
    const child = cp.spawn(process.execPath, [__filename, 'echo'])
    child.stdin.end('input')
    const [out, err, code] = await Promise.all([all(child.stdout), all(child.stderr), once(child, 'close')])
    return `${out} | ${err.trim()} | ${code}`
  },
  async spawnSync () {
    const r = cp.spawnSync(process.execPath, [__filename, 'echo'], { input: 'input' })
    return `${r.stdout} | ${String(r.stderr).trim()} | ${r.status}`
  },
  async exec () { return cp.execSync('echo of %OS%').toString().trim() },
  async inherit () {
    return once(cp.spawn(process.execPath, ['-e', 'console.log("inherited")'], { stdio: 'inherit' }), 'close')
  },
  async much () { return (await all(cp.spawn(process.execPath, [__filename, 'much']).stdout)).length },
  async fork () {
    const child = cp.fork(__filename, ['fork'])
    child.send('there')
    return JSON.stringify(await once(child, 'message'))
  },
  async kill () {
    const child = cp.spawn(process.execPath, [__filename, 'sleep'])
    await once(child, 'spawn')
    child.kill()
    await once(child, 'exit')
    return child.signalCode
  },
  async worker () { return once(new Worker(__filename), 'message') },
  async watch () {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'watch'))
    const watcher = fs.watch(folder)
    const change = new Promise(done => watcher.once('change', (event, name) => done(`${event} ${name}`)))
    fs.writeFileSync(path.join(folder, 'file'), 'x')
    const text = await change
    watcher.close()
    return text
  },
  async pipe () {
    const name = `\\\\.\\pipe\\test-${process.pid}`
    const server = net.createServer(c => c.pipe(c)).listen(name)
    await once(server, 'listening')
    const texts = await Promise.all(['a', 'b', 'c'].map(text => {
      const client = net.connect(name)
      client.end(text)
      return all(client)
    }))
    server.close()
    return texts.join()
  },
  async cluster () {
    const workers = [cluster.fork(), cluster.fork()]
    const [address] = await Promise.all(workers.map(w => once(w, 'listening')))
    const seen = new Set()
    while (seen.size < 2) seen.add(await get(address.port))
    const gone = workers.map(w => once(w, 'exit'))
    workers.forEach(w => w.process.kill())
    await Promise.all(gone)
    return [...seen].sort().join()
  },
}

async function main () {
  for (const [name, test] of Object.entries(tests)) {
    const result = await test().catch(err => err.stack)
    console.log(name, result)
  }
  const started = once(process.stdin, 'data')
  console.log('ready')
  console.log('stdin', String(await started).trim())
  process.stdin.destroy() // while a thread waits for more
  console.log('end')
}

if (!isMainThread) parentPort.postMessage('from worker')
else if (cluster.isWorker) http.createServer((_, r) => r.end('worker ' + cluster.worker.id)).listen(0, local)
else if (process.argv[2]) roles[process.argv[2]]()
else main()
