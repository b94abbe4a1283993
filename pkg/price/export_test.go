package price

// Parse reads a list that is not the embedded one.
func Parse(data []byte) (*List, error) { return parse(data) }

// Embedded is the list that the binary carries.
func Embedded() []byte { return embedded }
