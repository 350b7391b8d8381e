// An app of Express, by HTTP at the first port and by HTTPS at the second.
const express = require('express'), fs = require('fs'), http = require('http'), https = require('https')
const { execFile } = require('child_process')

const app = express()
app.use(express.json())
app.get('/hello/:name', (request, response) => response.json({ hello: request.params.name, node: process.version }))
app.post('/sum', (request, response) => response.json({ sum: request.body.reduce((a, b) => a + b, 0) }))
app.get('/command', (_, response) => execFile('cmd', ['/c', 'echo of %OS%'], (err, out) => response.send(err ?? out)))
app.use('/files', express.static(__dirname + '\\public'))

const [, , port, securePort] = process.argv
http.createServer(app).listen(port, '127.0.0.1', () => console.log('serving'))
https.createServer({ cert: fs.readFileSync('tls.crt'), key: fs.readFileSync('tls.key') }, app).listen(securePort, '127.0.0.1')
