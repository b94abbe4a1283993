package farmfile

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
)

// tenantName is what a tenant may be called: people see it, and type it.
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
		b.out.Tenants = append(b.out.Tenants, Tenant{Name: name, Trials: int(entry.Trials), Weight: cmp.Or(int(entry.Weight), 1)})
	}
}
