package demo

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A Caller is who uses the support desk.
type Caller struct {
	// Tenant is the company, acme or globex. Empty means acme.
	Tenant string
	// Token says what the caller may do: one that begins with "viewer" may not
	// refund; any other, and none, may do everything.
	Token string
}

func (c Caller) viewer() bool { return strings.HasPrefix(c.Token, "viewer") }

// callerKey is the key of a Caller in a context.
type callerKey struct{}

// admit gives the tenant of a caller.
func (d *desk) admit(c Caller) (*tenant, error) {
	if c.Tenant == "" {
		c.Tenant = "acme"
	}
	t, known := d.tenants[c.Tenant]
	if !known {
		return nil, fmt.Errorf("unknown tenant %.40q; there are %s", c.Tenant, strings.Join(slices.Sorted(maps.Keys(d.tenants)), ", "))
	}
	return t, nil
}

// guard reads who calls over HTTP from the headers X-Desk-Tenant and
// Authorization, and lets nobody in for a company that there is not.
func (d *desk) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := d.caller
		if tenant := r.Header.Get("X-Desk-Tenant"); tenant != "" {
			c.Tenant = tenant
		}
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			c.Token = token
		}
		if _, err := d.admit(c); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}
