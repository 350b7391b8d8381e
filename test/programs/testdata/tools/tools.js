// tools.js NAME: uses a module that has native code, and prints one line.
const fs = require('fs')

const parts = {
  async rolldown () {
    fs.mkdirSync('src', { recursive: true })
    fs.writeFileSync('src/a.ts', 'import { b } from "./b"; const x: number = b(2); console.log(x)')
    fs.writeFileSync('src/b.ts', 'export const b = (x: number) => x * 21; export const unused = 1')
    const { rolldown } = require('rolldown')
    const bundle = await rolldown({ input: 'src/a.ts' })
    const { output } = await bundle.generate({ format: 'cjs' })
    await bundle.close()
    const code = output[0].code
    let said
    new Function('console', code)({ log: x => { said = x } })
    return [said, code.includes('unused'), code.includes('number')]
  },
  async rollup () {
    const { parseAst } = require('rollup/parseAst')
    return parseAst('export const answer = 6 * 7').body[0].declaration.declarations[0].init.operator
  },
  async canvas () {
    const { createCanvas, loadImage } = require('@napi-rs/canvas')
    const canvas = createCanvas(20, 10)
    const context = canvas.getContext('2d')
    context.fillStyle = '#336699'
    context.fillRect(0, 0, 10, 10)
    const image = await loadImage(canvas.toBuffer('image/png'))
    const copy = createCanvas(20, 10).getContext('2d')
    copy.drawImage(image, 0, 0)
    return [image.width, image.height, [...copy.getImageData(5, 5, 1, 1).data], [...copy.getImageData(15, 5, 1, 1).data]]
  },
  async lmdb () {
    const { open } = require('lmdb')
    const db = open({ path: 'lmdb' })
    await db.put('a', { n: 1 })
    await db.transaction(() => { for (let i = 0; i < 1000; i++) db.put(['k', i], i) })
    let sum = 0
    for (const { value } of db.getRange({ start: ['k', 0], end: ['k', 1000] })) sum += value
    await db.close()
    return [open({ path: 'lmdb' }).get('a'), sum]
  },
}

parts[process.argv[2]]().then(result => console.log(process.argv[2], JSON.stringify(result)))
