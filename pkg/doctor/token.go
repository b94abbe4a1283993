package doctor

import (
	"fmt"
	"os"
)

// A Token is the farm's token as this process would show it.
type Token struct {
	// Look says that it is to be looked at.
	Look bool
	// Value is empty when there is none yet.
	Value string
	// File that it is in; empty if it is in none.
	File string
	// Err is why it cannot be had.
	Err error
}

// shortToken is the length under which a token can be guessed: 16 characters of 32
// are 80 bits.
const shortToken = 16

func (o Options) token() []Finding {
	t := o.Token
	switch {
	case !t.Look:
		return nil
	case t.Err != nil:
		return []Finding{problem("token", t.Err.Error(), "correct token_file, or set EVALFARM_TOKEN")}
	case t.Value == "":
		return []Finding{ok("token", "there is none yet; the scheduler makes one in its state folder, and workers on other machines need the same")}
	case len(t.Value) < shortToken:
		return []Finding{warning("token", fmt.Sprintf("it has %d characters, which can be guessed", len(t.Value)), "make one of 32: head -c 24 /dev/urandom | base64")}
	}
	if t.File == "" {
		return []Finding{ok("token", "from the environment")}
	}
	if info, err := os.Stat(t.File); err == nil && info.Mode().Perm()&0o077 != 0 {
		return []Finding{warning("token", fmt.Sprintf("%s can be read by others (mode %#o)", t.File, info.Mode().Perm()), "chmod 600 "+t.File)}
	}
	return []Finding{ok("token", "from "+t.File)}
}
