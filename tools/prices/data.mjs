// Writes pkg/price/genai-prices.json: the providers, models and prices of
// @pydantic/genai-prices, in its own form but for what is said below.
import {readFileSync, writeFileSync} from 'node:fs'
import {waitForUpdate} from '@pydantic/genai-prices'

const from = new URL('node_modules/@pydantic/genai-prices/', import.meta.url)
const to = new URL('../../pkg/price/', import.meta.url)

// What is only paid for when a call asks for it, which ours never do: media, and
// searches of the provider's own. Any other key stays, known to pkg/price or not.
const unasked = /audio|image|video|^(web|social|storage|rerank)_searches_/

// number takes off what adding floats has left: 0.18000000000000002.
function number(n) {
  const tidy = Number(n.toPrecision(12))
  if (!(tidy >= 0) || /e/.test(String(tidy))) throw new Error(`cannot write ${n}`)
  return tidy
}

function price(p) {
  if (typeof p === 'number') return number(p)
  const tiers = p.tiers.map((t) => ({start: t.start, price: number(t.price)})).sort((a, b) => a.start - b.start)
  return {base: number(p.base), tiers}
}

// prices of a model. The list leaves the prices of a model empty when it is free,
// and also when nobody knew; only the name tells the two apart.
function prices(id, all) {
  if (Array.isArray(all)) return all.map((p) => ({constraint: p.constraint, prices: prices(id, p.prices)}))
  const kept = Object.entries(all).filter(([key, p]) => p !== undefined && !unasked.test(key))
  if (Object.keys(all).length === 0 && id.endsWith(':free')) return {input_mtok: 0, output_mtok: 0}
  return Object.fromEntries(kept.map(([key, p]) => [key, price(p)]))
}

// rule rewrites what Go's expressions cannot: ^(?!a)b is "not a, and b".
function rule(r) {
  if (r.or) return {or: r.or.map(rule)}
  if (r.and) return {and: r.and.map(rule)}
  if (r.regex === undefined || !/\(\?[=!<]/.test(r.regex)) return r
  if (!r.regex.startsWith('^(?!')) throw new Error(`cannot rewrite ${r.regex}`)
  let depth = 0, end = 0
  do {
    if (r.regex[end + 1] === '(') depth++
    if (r.regex[end + 1] === ')') depth--
    end++
  } while (depth > 0)
  const not = {not: {regex: '^' + r.regex.slice('^(?!'.length, end)}}
  const rest = r.regex.slice(end + 1)
  if (/\(\?[=!<]/.test(not.not.regex + rest)) throw new Error(`cannot rewrite ${r.regex}`)
  return rest === '' ? not : {and: [not, {regex: '^' + rest}]}
}

const {version} = JSON.parse(readFileSync(new URL('package.json', from), 'utf8'))
const providers = await waitForUpdate()

// One model a line, so that a diff says which price changed.
const text = providers.map((p) => {
  const head = JSON.stringify({
    id: p.id,
    api_pattern: p.api_pattern,
    model_match: p.model_match && rule(p.model_match),
    fallback_model_providers: p.fallback_model_providers,
  })
  const models = p.models.map((m) => JSON.stringify({id: m.id, match: rule(m.match), prices: prices(m.id, m.prices)}))
  return `${head.slice(0, -1)},"models":[\n${models.join(',\n')}\n]}`
})
writeFileSync(new URL('genai-prices.json', to), `{"version":${JSON.stringify(`genai-prices ${version}`)},"providers":[\n${text.join(',\n')}\n]}\n`)
writeFileSync(new URL('genai-prices.LICENSE', to), readFileSync(new URL('LICENSE', from)))
