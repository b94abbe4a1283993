// Writes what @pydantic/genai-prices makes of calls, for the tests of pkg/price:
// testdata/calls.json, calls as they are asked for, and testdata/models.json, two
// calls of every model.
import {writeFileSync} from 'node:fs'
import {calcPrice, waitForUpdate} from '@pydantic/genai-prices'

const to = new URL('../../pkg/price/testdata/', import.meta.url)
const providers = await waitForUpdate()
const own = {anthropic: 'https://api.anthropic.com', openai: 'https://api.openai.com/v1'}

// The hours at which all models that are cheaper at some cost most, because that
// is what pkg/price takes.
const at = '2026-11-30T02:00:00Z'

// cost in micro-dollars, rounded up. A float of dollars is exact to a pico-dollar
// below $1000.
function microUSD(dollars) {
  return Math.ceil(Math.round(dollars * 1e12) / 1e6)
}

function calc(usage, model, options) {
  return calcPrice({
    input_tokens: usage.input ?? 0,
    cache_read_tokens: usage.cache_read ?? 0,
    cache_write_tokens: usage.cache_write ?? 0,
    cache_write_1h_tokens: usage.cache_write_1h ?? 0,
    output_tokens: usage.output ?? 0,
    output_reasoning_tokens: usage.reasoning ?? 0,
  }, model, options)
}

const cached = {input: 421, cache_read: 300, cache_write: 100, output: 50}
const plain = {input: 10_000, output: 1_000}
const openrouter = 'https://openrouter.ai/api/v1'
const gemini = 'https://generativelanguage.googleapis.com/v1beta/openai/'

// name, wire format, URL or none for its own, model, usage, and the time if it counts.
const calls = [
  ['cache', 'anthropic', '', 'claude-opus-5', cached],
  ['cache for an hour', 'anthropic', '', 'claude-opus-5', {...cached, cache_write_1h: 40}],
  ['dated name', 'anthropic', '', 'claude-haiku-4-5-20251001', cached],
  ['name with a dot', 'anthropic', '', 'claude-opus-4.5', plain],
  ['no cache price', 'anthropic', '', 'claude-2', cached],
  ['before a price was dropped', 'anthropic', '', 'claude-opus-4-6', {input: 300_000, output: 10}, '2026-03-12T23:59:59Z'],
  ['after a price was dropped', 'anthropic', '', 'claude-opus-4-6', {input: 300_000, output: 10}, '2026-03-13T00:00:00Z'],
  ['Anthropic by its URL', 'anthropic', 'https://api.anthropic.com/v1', 'claude-sonnet-5', plain],
  ['up to the tier', 'openai', '', 'gpt-6-sol', {input: 272_000}],
  ['over the tier', 'openai', '', 'gpt-6-sol', {input: 272_001}],
  ['output up to the tier', 'openai', '', 'gpt-6-sol', {input: 272_000, output: 1000}],
  ['output over the tier', 'openai', '', 'gpt-6-sol', {input: 272_001, output: 1000}],
  ['cache over the tier', 'openai', '', 'gpt-6-sol', {input: 300_000, cache_read: 250_000, cache_write: 20_000, output: 1000, reasoning: 900}],
  ['dated name with dashes', 'openai', '', 'gpt-6-luna-2026-09-01', plain],
  ['dated name without dashes', 'openai', '', 'gpt-6-luna-20260901', plain],
  ['before a price fell', 'openai', '', 'gpt-5.6-luna', plain, '2026-07-29T12:00:00Z'],
  ['after a price fell', 'openai', '', 'gpt-5.6-luna', plain, '2026-07-30T12:00:00Z'],
  ['capital letters', 'openai', '', ' GPT-4o ', plain],
  ['o3 of old', 'openai', '', 'o3', plain, '2025-06-09T00:00:00Z'],
  ['o3', 'openai', '', 'o3', plain],
  ['Gemini', 'openai', gemini, 'gemini-2.5-flash', {...plain, cache_read: 4000}],
  ['Gemini over the tier', 'openai', gemini, 'gemini-2.5-pro', {input: 200_001, cache_read: 100, output: 10}],
  ['Gemini, not its speech', 'openai', gemini, 'gemini-2.5-pro-preview-tts', plain],
  ['Gemini of this year', 'openai', gemini, 'gemini-3.8-flash', plain],
  ['Gemini of next year', 'openai', gemini, 'gemini-3.8-flash', plain, '2027-01-01T00:00:00Z'],
  ['Claude at Google', 'openai', 'https://us-east5-aiplatform.googleapis.com/v1', 'claude-opus-5', cached],
  ['GPT at Azure', 'openai', 'https://farm.openai.azure.com/openai/v1', 'gpt-4o', plain],
  ['a model that Azure has of OpenAI', 'openai', 'https://farm.openai.azure.com/openai/v1', 'gpt-6-sol', plain],
  ['Bedrock', 'openai', 'https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1', 'eu.anthropic.claude-haiku-4-5-20251001-v1:0', cached],
  ['Mistral', 'openai', 'https://api.mistral.ai/v1', 'mistral-medium-latest', plain],
  ['Groq', 'openai', 'https://api.groq.com/openai/v1', 'llama-3.3-70b-versatile', plain],
  ['DeepSeek at its dear hours', 'openai', 'https://api.deepseek.com', 'deepseek-v4-pro', {...plain, cache_read: 9000}],
  ['OpenRouter', 'openai', openrouter, 'anthropic/claude-opus-5', cached],
  ['OpenRouter, free', 'openai', openrouter, 'openai/gpt-oss-20b:free', plain],
  ['OpenRouter, reasoning', 'openai', openrouter, 'perplexity/sonar-deep-research', {...plain, reasoning: 700}],
  ['Together', 'openai', 'https://api.together.xyz/v1', 'meta-llama/Llama-3.3-70B-Instruct-Turbo', plain],
  ['Fireworks', 'openai', 'https://api.fireworks.ai/inference/v1', 'accounts/fireworks/models/gpt-oss-120b', plain],
  ['xAI over the tier', 'openai', 'https://api.x.ai/v1', 'grok-4.5', {input: 200_001, output: 10}],
  ['Cohere', 'openai', 'https://api.cohere.ai/compatibility/v1', 'command-a-03-2025', plain],
  ['a fee for each call', 'openai', 'https://api.perplexity.ai', 'sonar-pro', plain],
  ['Moonshot', 'openai', 'https://api.moonshot.cn/v1', 'kimi-k3', plain],
  ['Hugging Face, Groq', 'openai', 'https://router.huggingface.co/groq/openai/v1', 'openai/gpt-oss-120b', plain],
].map(([name, wire, base_url, model, usage, time = at]) => {
  const found = calc(usage, model, {providerApiUrl: base_url || own[wire], timestamp: new Date(time)})
  if (!found) throw new Error(`${name}: ${model} is not in the list`)
  return {
    name, provider: wire, base_url, model, at: time, usage,
    from: `${providers.find((p) => p.models.includes(found.model)).id}/${found.model.id}`,
    microusd: microUSD(found.total_price),
  }
})
writeFileSync(new URL('calls.json', to), `[\n${calls.map((c) => JSON.stringify(c)).join(',\n')}\n]\n`)

// Both calls have every kind of token; the second is over every tier.
const usages = [
  {input: 1000, cache_read: 300, cache_write: 200, cache_write_1h: 50, output: 100, reasoning: 40},
  {input: 2_000_000, cache_read: 300_000, cache_write: 200_000, cache_write_1h: 50_000, output: 100_000, reasoning: 40_000},
]
const known = /^(input|output|cache_read|cache_write|cache_write_1h|output_reasoning)_mtok$|^requests_kcount$/
const asked = /^(web|storage)_searches_kcount$|audio|image|video/

// costs of both calls; null where the list does not price all of a call by tokens.
function costs(p, m) {
  const timestamp = new Date(at)
  let found = usages.map((u) => calc(u, m.id, {providerId: p.id, timestamp}))
  if (!found[0]) { // the model's rule does not mean its own id
    const provider = {...p, models: [{...m, match: {equals: m.id}}]}
    found = usages.map((u) => calc(u, m.id, {provider, timestamp}))
  }
  const price = found[0].model_price
  const keys = Object.keys(price)
  const free = keys.length === 0 && m.id.endsWith(':free')
  const whole = keys.every((k) => known.test(k) || asked.test(k)) && 'input_mtok' in price && 'output_mtok' in price
  return free || whole ? found.map((f) => microUSD(f.total_price)) : null
}

const models = providers.flatMap((p) => p.models.map((m) => JSON.stringify({from: `${p.id}/${m.id}`, microusd: costs(p, m)})))
writeFileSync(new URL('models.json', to), `{"at":"${at}","usages":${JSON.stringify(usages)},"models":[\n${models.join(',\n')}\n]}\n`)
