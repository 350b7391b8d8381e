// A server: HTTP at the port that is named.
const http = require('node:http');

http.createServer((request, response) => {
  const body = `http ${request.method} ${request.url} 0`;
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': body.length });
  response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1');
