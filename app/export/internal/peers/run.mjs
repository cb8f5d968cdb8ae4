// node run.mjs MODULES JOBS: computes each graph of JOBS, a file of JSON, with onnxruntime-web from the folder MODULES, and prints its outputs, a line of JSON a
// job. A job is {"model": FILE, "inputs": {NAME: {"type", "dims", "data"}}}.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const [modules, jobs] = process.argv.slice(2)
const ort = createRequire(resolve(modules, 'none.js'))('onnxruntime-web')
ort.env.wasm.numThreads = 1
ort.env.logLevel = 'error'

for (const job of JSON.parse(readFileSync(jobs, 'utf8'))) {
  const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(job.model)), { executionProviders: ['wasm'] })
  const feeds = {}
  for (const [name, { type, dims, data }] of Object.entries(job.inputs)) {
    feeds[name] = type === 'int64' ? new ort.Tensor(type, BigInt64Array.from(data.map(BigInt)), dims) : new ort.Tensor(type, Float32Array.from(data), dims)
  }
  const outputs = {}
  for (const [name, t] of Object.entries(await session.run(feeds))) {
    outputs[name] = { dims: t.dims, data: Array.from(t.data, v => (typeof v === 'bigint' ? Number(v) : v)) }
  }
  console.log(JSON.stringify(outputs))
}
