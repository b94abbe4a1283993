package suite

import (
	"regexp"
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// The scalar types of servers in containers. What they hold becomes a part of the
// argument vector of docker or podman, so each has no more letters than it needs.
type (
	pull          string
	imageRef      string
	networkName   string
	memorySize    string
	containerUser string
	mountTarget   string
	// processors is a number above 0.
	processors float64
)

func (pull) Choices() []string {
	return []string{string(eval.PullMissing), string(eval.PullAlways), string(eval.PullNever)}
}

const (
	// imagePattern is a reference of an image, as far as a form can tell: what
	// docker and podman take has a grammar of its own.
	imagePattern   = `^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`
	networkPattern = `^[A-Za-z0-9][A-Za-z0-9_.-]*$`
	memoryPattern  = `^[1-9][0-9]{0,8}[kmg]$`
	userPattern    = `^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`
	targetPattern  = `^/[^,"\x00-\x1f]+$`
)

var (
	imageRE   = regexp.MustCompile(imagePattern)
	networkRE = regexp.MustCompile(networkPattern)
	memoryRE  = regexp.MustCompile(memoryPattern)
	userRE    = regexp.MustCompile(userPattern)
	targetRE  = regexp.MustCompile(targetPattern)
)

func (v *imageRef) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*v = imageRef(textLike(d, n, imageRE, "an image such as ghcr.io/name/server:1.4"))
}

func (v *networkName) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*v = networkName(textLike(d, n, networkRE, "none or the name of a network, such as bridge"))
}

func (v *memorySize) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*v = memorySize(textLike(d, n, memoryRE, "an amount of memory with a unit, such as 512m or 2g"))
}

func (v *containerUser) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind == strictyaml.Number {
		d.Report(n.Pos, "want a text, got "+n.Describe(), strconv.Quote(n.Text)+" in quotes is a user")
		return
	}
	*v = containerUser(textLike(d, n, userRE, `a user, or USER:GROUP, such as "1000:1000"`))
}

func (v *mountTarget) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*v = mountTarget(textLike(d, n, targetRE, "an absolute path in the container, below /, without commas and quotes"))
}

func (v *processors) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	const want = "a number of processors above 0"
	*v = processors(numberUpTo(d, n, most, want))
	if f, err := strconv.ParseFloat(n.Text, 64); err == nil && f == 0 && (n.Kind == strictyaml.Number || n.Loose) {
		d.Want(n, want)
	}
}

// textLike is a text of some pattern.
func textLike(d *strictyaml.Decoder, n *strictyaml.Node, like *regexp.Regexp, want string) string {
	if n.Kind != strictyaml.String || !like.MatchString(n.Text) {
		d.Want(n, want)
		return ""
	}
	return n.Text
}
