package farmfile

import (
	"maps"
	"regexp"
	"slices"
)

// tenantName is what a tenant may be called: people see it, and it stands in keys.
var tenantName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// TenantName says whether a tenant may have a name.
func TenantName(name string) bool { return tenantName.MatchString(name) }

// tenants checks those of a file.
func (b *build) tenants(f *farmFile) {
	for _, name := range slices.Sorted(maps.Keys(f.Tenants)) {
		entry := f.Tenants[name]
		if !TenantName(name) {
			b.report(f.Node().Place("tenants", name), "this is no name of a tenant", "letters, digits, . _ and -, at most 64 of them")
		}
		t := Tenant{Name: name, Trials: entry.Trials, Weight: entry.Weight}
		if n := entry.Node().Get("trials"); n != nil && !n.Bad && t.Trials < 1 {
			b.report(n.Pos, "trials wants a positive number", "leave it out for no bound")
		}
		if n := entry.Node().Get("weight"); n == nil {
			t.Weight = 1
		} else if !n.Bad && t.Weight < 1 {
			b.report(n.Pos, "weight wants a positive number", "1 is usual, 2 has twice its share")
		}
		b.out.Tenants = append(b.out.Tenants, t)
	}
}
