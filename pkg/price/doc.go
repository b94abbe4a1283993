// Package price knows what models cost: a list of prices that the binary carries,
// and how to find a model's in it.
//
// The list is the data of genai-prices (MIT, see genai-prices.LICENSE), made by
// tools/prices. A provider of the list is found by the URL that is called, a model
// by the provider's rules for names, so that claude-haiku-4-5-20251001 has the
// price of claude-haiku-4-5. The same model may cost something else elsewhere:
// nothing is guessed for a URL that no provider of the list owns.
//
// Prices are integers, pico-dollars a token: see [eval.Price].
package price
