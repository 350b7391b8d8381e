// Starts PostgreSQL as an unprivileged user, as pg_ctl does, and answers SQL that is posted to the first port.
const {spawnSync} = require('child_process')
const http = require('http')
const {Pool} = require('pg')

const [port, server] = process.argv.slice(2)
const start = spawnSync('native\\bin\\pg_ctl.exe',
  ['start', '-w', '-D', 'data', '-l', 'server.log', '-o', `-p ${server} -h 127.0.0.1`], {stdio: 'ignore'})
console.log('pg_ctl', start.status)
const pool = new Pool({host: '127.0.0.1', port: server, user: 'postgres', database: 'postgres', max: 4})
http.createServer(async (request, response) => {
  let sql = ''
  for await (const part of request) sql += part
  try {
    const result = await pool.query(sql)
    response.end(JSON.stringify([].concat(result).at(-1).rows))
  } catch (error) {
    response.statusCode = 400
    response.end(error.message)
  }
}).listen(port, '127.0.0.1', () => console.log('serving'))
