package stub

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A Fault goes wrong in a share of the calls that are let in.
type Fault struct {
	Kind FaultKind
	// Share from 0 to 1.
	Share float64
}

// A FaultKind is what goes wrong.
type FaultKind string

const (
	// Fault500, Fault502, Fault503 and Fault529 answer with that status; 529 is
	// Anthropic's "overloaded".
	Fault500 FaultKind = "500"
	Fault502 FaultKind = "502"
	Fault503 FaultKind = "503"
	Fault529 FaultKind = "529"
	// FaultHang never answers; it ends when the client goes away.
	FaultHang FaultKind = "hang"
	// FaultCut breaks the connection in the middle of the answer.
	FaultCut FaultKind = "cut"
	// FaultMalformed answers 200 with broken JSON.
	FaultMalformed FaultKind = "malformed"
	// FaultSlow sends the answer a byte at a time, ten in a second.
	FaultSlow FaultKind = "slow"
	// FaultStream sends an "overloaded" error in the middle of a stream that began
	// with status 200. An answer that is not streamed gets 529 instead.
	FaultStream FaultKind = "stream-overloaded"
	// FaultQuota says that the money is out, with status 429.
	FaultQuota FaultKind = "quota"
	// FaultContextLength says that the conversation is too long.
	FaultContextLength FaultKind = "context_length"
	// FaultContentFilter refuses the content.
	FaultContentFilter FaultKind = "content_filter"
)

// faultKinds lists all kinds.
func faultKinds() []FaultKind {
	return []FaultKind{
		Fault500, Fault502, Fault503, Fault529, FaultHang, FaultCut, FaultMalformed, FaultSlow,
		FaultStream, FaultQuota, FaultContextLength, FaultContentFilter,
	}
}

// ParseFaults reads faults as KIND=SHARE, such as 529=0.1.
func ParseFaults(specs ...string) ([]Fault, error) {
	var faults []Fault
	total := 0.0
	for _, s := range specs {
		kind, share, _ := strings.Cut(s, "=")
		p, err := strconv.ParseFloat(share, 64)
		if err != nil || !(p >= 0 && p <= 1) { // not NaN either
			return nil, fmt.Errorf("want KIND=SHARE with a share from 0 to 1, such as 529=0.1, got %q", s)
		}
		if !slices.Contains(faultKinds(), FaultKind(kind)) {
			var names []string
			for _, k := range faultKinds() {
				names = append(names, string(k))
			}
			return nil, fmt.Errorf("unknown fault %q; there are %s", kind, strings.Join(names, ", "))
		}
		total += p
		faults = append(faults, Fault{FaultKind(kind), p})
	}
	if total > 1+1e-9 { // ten times 0.1 is a little more than 1
		return nil, fmt.Errorf("the shares add up to %g, which is more than 1", total)
	}
	return faults, nil
}

// draw says what goes wrong with a call; empty is nothing.
func draw(faults []Fault, r *rand.Rand) FaultKind {
	u := r.Float64()
	for _, f := range faults {
		if u < f.Share {
			return f.Kind
		}
		u -= f.Share
	}
	return ""
}

// failure is what a fault answers at once. It is false for those that spoil an
// answer on its way.
func (k FaultKind) failure(stream bool) (failure, bool) {
	switch k {
	case Fault500, Fault502:
		f := failureOf(llm.Network)
		if k == Fault502 {
			f.status, f.message = http.StatusBadGateway, "Bad gateway"
		}
		return f, true
	case Fault503:
		f := failureOf(llm.Overloaded)
		f.status = http.StatusServiceUnavailable
		return f, true
	case Fault529:
		return failureOf(llm.Overloaded), true
	case FaultStream:
		return failureOf(llm.Overloaded), !stream
	case FaultQuota:
		return failureOf(llm.Quota), true
	case FaultContextLength:
		return failureOf(llm.ContextLength), true
	case FaultContentFilter:
		return failureOf(llm.ContentFilter), true
	default:
		return failure{}, false
	}
}
