// modules.js NAME: uses a module that has native code, and prints one line.
const parts = {
  swc () {
    const { code } = require('@swc/core').transformSync('const a: number = 1; export default <T,>(x: T) => x ?? a', {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2019' }, module: { type: 'commonjs' },
    })
    const module = { exports: {} }
    new Function('module', 'exports', code)(module, module.exports)
    return [code.includes('number'), module.exports.default(null), module.exports.default(2)]
  },
  tailwind () {
    const { Scanner } = require('@tailwindcss/oxide')
    return new Scanner({ sources: [] }).scanFiles([{ content: '<p class="mt-4 hover:underline">', extension: 'html' }]).sort()
  },
  async duckdb () {
    const { DuckDBInstance } = require('@duckdb/node-api')
    const connection = await (await DuckDBInstance.create('duck.db')).connect()
    await connection.run('create table if not exists t as select range n from range(1000)')
    return (await connection.runAndReadAll('select sum(n)::int, count(*)::int from t where n % 7 = 0')).getRows()
  },
  libsql () {
    const Database = require('libsql')
    const db = new Database('libsql.db')
    db.exec('drop table if exists t; create table t (id integer primary key, name text)')
    const insert = db.prepare('insert into t (name) values (?)')
    for (const name of ['a', 'b', 'c']) insert.run(name)
    const { names, id } = db.prepare('select group_concat(name) names, max(id) id from t').get()
    return { names, id } // without how long it took
  },
  async sharp () {
    const sharp = require('sharp')
    const png = await sharp({ create: { width: 300, height: 200, channels: 3, background: '#c04020' } }).png().toBuffer()
    const small = await sharp(png).resize(30).webp().toBuffer()
    const { format, width, height } = await sharp(small).metadata()
    return { format, width, height }
  },
}

async function main () {
  console.log(process.argv[2], JSON.stringify(await parts[process.argv[2]]()))
}

main()
