package eval

// A PriceOverride takes the price of a model out of the price list in another way
// than by its own name. Whoever has the list makes a Price of it.
type PriceOverride struct {
	// Like names a model of the list, as "anthropic/claude-haiku-4-5". Empty: the
	// model itself.
	Like string `json:"like,omitempty"`
	// Factor multiplies all of the price, in millionths: 500,000 for half of it. Zero
	// means that the price is taken as it is.
	Factor int64 `json:"factor_millionths,omitempty"`
}
